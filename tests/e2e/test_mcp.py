"""The model of each real agent calls Segue's tools, and is sent what they give."""

from __future__ import annotations

import json
import sys

import pytest
from tests.e2e.conftest import AGENTS, MakeRig
from tests.support.rig import Rig
from tests.support.scripted import Mcp, Say, Script

WORK = Script(
    "work",
    [
        [Mcp("plan", {"goal": "Build a calculator", "add": ["add()", "a test"]})],
        [Mcp("checkpoint", {"done": ["add()"], "decide": {"plain functions": "no state is needed"}})],
        [Mcp("feature", {"action": "add", "name": "sums", "text": "it sums", "checks": ["true"]})],
        [Mcp("resume")],
        [Say("Noted.")],
    ],
)
SERVER = {"command": sys.executable, "args": ["-m", "segue", "mcp"]}


def install(rig: Rig, agent: str) -> tuple[str, ...]:
    """Name the server in the agent's own configuration; more words for its command line."""
    if agent == "claude-code":
        return ("--mcp-config", json.dumps({"mcpServers": {"segue": SERVER}}), "--strict-mcp-config")
    if agent == "codex":
        with (rig.home / ".codex" / "config.toml").open("a") as file:
            file.write(
                f'\n[mcp_servers.segue]\ncommand = "{sys.executable}"\nargs = ["-m", "segue", "mcp"]\n'
            )
            file.write("required = true\nstartup_timeout_sec = 30\n")
        return ()
    path = {
        "opencode": ".config/opencode/opencode.json", "gemini-cli": ".gemini/settings.json",
        "cline": ".cline/data/settings/cline_mcp_settings.json",
    }[agent]  # fmt: skip
    (rig.home / path).parent.mkdir(parents=True, exist_ok=True)
    settings = json.loads((rig.home / path).read_text()) if (rig.home / path).exists() else {}
    if agent == "opencode":
        command = [SERVER["command"], *SERVER["args"]]
        settings["mcp"] = {"segue": {"type": "local", "command": command, "enabled": True}}
    else:
        named = {key: value for key, value in rig.environment().items() if key == "PYTHONPATH"}
        settings["mcpServers"] = {"segue": {**SERVER, "trust": True, "env": named}}  # few variables pass
    (rig.home / path).write_text(json.dumps(settings))
    return ()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_model_plans_saves_and_resumes_through_the_tools(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=[WORK])
    more = install(made, agent)
    done = made.run(agent, "SCRIPT:work please", first=more, seconds=120)
    assert done.code == 0, done
    state = json.loads(made.segue("status", "--json").out)
    assert state["goal"] == "Build a calculator", made.model.told()
    assert "add()" in state["done"] and "a test" in [*state["next"], *state["active"]]
    assert made.model.sent("no state is needed"), "what resume gave was not sent to the model"
    runs = json.loads(made.segue("runs", "--json").out)
    assert [one["agent"] for one in runs if not one["side"]] == [agent], "one conversation is one run"
    brief = made.segue("brief").out
    assert "a test" in brief and "Build a calculator" in brief, brief
    shown = json.loads(made.segue("feature", "show", "sums", "--json").out)
    assert shown["by"] == agent, "a model's word must not pass for a person's"
