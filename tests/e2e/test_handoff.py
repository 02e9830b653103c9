"""The commands that `segue handoff` prints are typed into a shell, and the real agents take the work up."""

from __future__ import annotations

import json

import pytest
from tests.e2e.conftest import AGENTS, MakeRig
from tests.support.rig import Rig
from tests.support.scripted import Say, Script

NOTE = 'mind the "gap", the `ticks` and $HOME'


def used_before(made: Rig, agent: str) -> None:
    """What an agent asks at its very first start was answered long ago."""
    if agent == "claude-code":
        known = {
            "hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": ["none"], "rejected": []},
            "projects": {str(made.work): {"hasTrustDialogAccepted": True}},
        }  # fmt: skip
        (made.home / ".claude" / ".claude.json").write_text(json.dumps(known))
    if agent == "codex":
        config = made.home / ".codex" / "config.toml"
        newest = config.read_text().replace("gpt-5.5", "gpt-6-sol")  # it offers no newer one to this
        config.write_text(f'{newest}\n[projects."{made.work}"]\ntrust_level = "trusted"\n')


@pytest.mark.parametrize("agent", AGENTS)
def test_the_command_that_a_handoff_prints_starts_the_agent_with_all_of_it(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=[Script("take", [[Say("I take it over.")]])], queue=["take"] * 3)
    used_before(made, agent)
    assert made.segue("start", "Build the calculator", "--item", "write it well").code == 0
    done = made.segue("handoff", "--to", agent, "--note", NOTE, "--json")
    assert done.code == 0, done
    handed = json.loads(done.out)
    with made.screen(handed["start"]) as screen:
        try:
            found = made.model.wait_for(
                lambda requests: [one for one in requests if "write it well" in one.text()], 150
            )
        except TimeoutError as fault:
            raise AssertionError(screen.text[-3000:]) from fault
    sent = "\n".join(one.text for one in made.model.sent("write it well"))
    assert found and NOTE in sent and "Goal: Build the calculator" in sent
    assert f"segue handoff --accept {handed['offer']['id']}" in sent
