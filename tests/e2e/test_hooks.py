"""Hooks in the real agents, proven by what the model was really sent."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.e2e.conftest import AGENTS, MakeRig
from tests.support.rig import Rig
from tests.support.scripted import Edit, Mcp, Run, Say, Script, Write

from segue.services.hooks import hook_file
from segue.services.workspace.data_folder import DataFolder

CUT_OFF = "echo $$ > started.txt; sleep 97"
WORK = Script(
    "work",
    [
        [Say("First the module."), Write("calc.py", "def add(a, b):\n    return a - b\n")],
        [Edit("calc.py", "    return a - b", "    return a + b")],
        [Run(CUT_OFF, 100)],
        [Say("That was long.")],
    ],
)
HELLO = Script("hello", [[Say("Hello.")]])
MORE = Script("more", [[Say("Here is what I think of it.")]])
DONE = Script(
    "done", [[Say("Everything is implemented. Done.")], [Say("All of it is done.")], [Say("I give up.")]]
)
PLAN = Script("plan", [[Mcp("plan", {"goal": "Build a calculator"})], [Say("Planned.")]])
GATED = ("claude-code", "codex", "gemini-cli")


def data(made: Rig) -> Path:
    return made.home / ".local" / "share" / "segue"


def init(made: Rig, agent: str, *words: str) -> None:
    more = ["--trust-hooks", "--yes"] if agent == "codex" else []
    done = made.segue("init", "--yes", "--agent", agent, *more, *words)
    assert done.code == 0, done


def snapshot(*folders: Path) -> dict[str, bytes]:
    files = (path for folder in folders for path in folder.rglob("*"))
    return {str(path): path.read_bytes() for path in files if path.is_file() and not path.is_symlink()}


def soon(path: Path, seconds: float = 60.0) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path.name} did not come")


def cut_off(made: Rig, agent: str, prompt: str = "SCRIPT:work build the calculator, please") -> None:
    """A run that is killed -9 in the middle of a call."""
    at_work = made.start(agent, prompt)
    soon(made.work / "started.txt")
    time.sleep(0.4)
    at_work.kill()
    made.end_all()


def log(made: Rig) -> str:
    path = data(made) / "segue.log"
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("agent", AGENTS)
def test_the_next_run_is_told_what_was_cut_off_and_where_the_work_stands(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=[WORK, HELLO])
    init(made, agent, *(["--live"] if agent == "gemini-cli" else []))
    cut_off(made, agent)
    before = len(made.model.requests)
    done = made.run(agent, "SCRIPT:hello go on")
    assert done.code == 0, done
    told = [one.text for one in made.model.sent("[segue] Where the last run stopped", after=before)]
    assert told, log(made)
    brief = told[0][told[0].index("[segue]") : told[0].index("[/segue]")]
    assert "build the calculator" in brief and "calc.py" in brief
    assert "NO RESULT YET" in brief and ("sleep 97" in brief or "started.txt" in brief), brief
    assert len(brief.encode()) <= 2048


@pytest.mark.parametrize("agent", AGENTS)
def test_off_sends_and_stores_nothing_and_uninit_restores_every_byte(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=[WORK, HELLO, MORE])
    made.run(agent, "SCRIPT:more warm up")  # agents write files of their own at their first start
    before = snapshot(made.work)
    settings = {path for path in snapshot(made.home) if "settings" in path or "config" in path}
    init(made, agent)
    assert made.segue("off").code == 0
    kept = snapshot(data(made))
    sent = len(made.model.requests)
    assert made.run(agent, "SCRIPT:hello there").code == 0
    assert not made.model.sent("[segue]", after=sent)
    after = snapshot(data(made))
    assert {p for p in after if after[p] != kept.get(p)} == set(), "nothing was stored"
    assert made.segue("on").code == 0
    assert made.segue("uninit", "--yes").code == 0
    assert {path: body for path, body in snapshot(made.work).items() if ".git/" not in path} == {
        path: body for path, body in before.items() if ".git/" not in path
    }
    now = snapshot(made.home)
    assert not [path for path in settings if b"segue" in now.get(path, b"")]
    assert not (data(made) / "hook").exists()


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_after_a_compaction_the_run_is_told_where_it_stands(rig: MakeRig, agent: str) -> None:
    if agent == "claude-code":
        made = rig(agent, scripts=[WORK, HELLO, MORE])
        init(made, agent)
        first = made.run(agent, "SCRIPT:more build the calculator, please")
        before = len(made.model.requests)
        done = made.run(agent, "/compact", resume=first.native)
        steer = made.model.sent("When you summarise, keep", after=before)
        assert steer, (done, log(made))
        after = len(made.model.requests)
        made.run(agent, "SCRIPT:hello go on", resume=first.native)
        told = made.model.sent("after compaction 1 of this run", after=after)
        assert told, log(made)
        request = next(one for one in made.model.requests if one.number == told[-1].request)
        said = json.dumps(request.body)
        assert said.count("[segue] What the summary of this run lacks") == 1, "it stands in the window once"
        assert "build the calculator, please" in said.partition("[segue] What the summary")[2]
        return
    made = rig(agent, scripts=[WORK, HELLO, MORE])
    config = made.home / ".codex" / "config.toml"
    config.write_text("model_auto_compact_token_limit = 2000\n" + config.read_text())
    init(made, agent)
    first = made.run(agent, "SCRIPT:more build the calculator, please")
    before = len(made.model.requests)
    made.run(agent, "SCRIPT:hello go on", resume=first.native)
    assert made.model.sent("after compaction 1 of this run", after=before), log(made)


def test_a_summary_that_says_everything_needs_no_word_after_it(rig: MakeRig) -> None:
    """Claude Code asks the hook after a compaction before it has written down the summary."""
    made = rig("claude-code", scripts=[WORK, HELLO, MORE])
    made.model.summary = "The user wants: build the calculator, please. Never touch legacy/."
    init(made, "claude-code")
    first = made.run("claude-code", "SCRIPT:more build the calculator, please. Never touch legacy/.")
    after = len(made.model.requests)
    made.run("claude-code", "/compact", resume=first.native)
    assert made.model.sent("When you summarise, keep", after=after), log(made)
    after = len(made.model.requests)
    made.run("claude-code", "SCRIPT:hello go on", resume=first.native)
    assert made.model.sent("Never touch legacy/", after=after), "it stands in the summary"
    assert not made.model.sent("What the summary of this run lacks", after=after), log(made)


@pytest.mark.parametrize("agent", GATED)
def test_the_gate_refuses_a_false_done_and_lets_a_true_one_pass(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=[DONE, HELLO])
    init(made, agent)
    check = made.work / "check.py"
    check.write_text("raise SystemExit(1)\n")
    assert made.segue("start", "Build the calculator").code == 0
    words = ("--check", "python3 check.py", "--covers", "check.py")
    added = made.segue("feature", "add", "adds", "it adds", *words)
    assert added.code == 0, added
    done = made.run(agent, "SCRIPT:done please")
    assert done.code == 0, done
    assert made.model.sent("adds", after=0) and len(made.model.turns("done")) == 3, (
        [one.turn for one in made.model.turns("done")], log(made),
    )  # fmt: skip
    check.write_text("raise SystemExit(0)\n")
    assert made.segue("verify").code == 0
    before = len(made.model.turns("done"))
    made.run(agent, "SCRIPT:done once more")
    assert len(made.model.turns("done")) == before + 1, "a true one passes at once"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("gone", ["package", "home", "interpreter"])
def test_whatever_of_segue_is_removed_every_agent_starts_prompts_and_stops(
    rig: MakeRig, agent: str, gone: str
) -> None:
    made = rig(agent, scripts=[HELLO])
    init(made, agent)
    if gone == "package":
        (data(made) / "hook" / "paths").write_bytes(b"/nowhere")
    elif gone == "home":
        import shutil

        shutil.rmtree(data(made))
    else:
        import sys

        for path in [*made.home.rglob("*"), *made.work.rglob("*")]:
            if path.is_file() and not path.is_symlink() and "node_modules" not in str(path):
                body = path.read_bytes()
                if sys.executable.encode() in body and path.suffix in (".json", ".jsonc", ".toml", ".js"):
                    path.write_bytes(body.replace(sys.executable.encode(), b"/nowhere/python"))
    done = made.run(agent, "SCRIPT:hello there")
    assert done.code == 0, done
    assert "Hello." in done.out, done


def test_one_plugin_serves_claude_code_and_two_installs_act_once(rig: MakeRig) -> None:
    made = rig("claude-code", scripts=[WORK, HELLO])
    init(made, "claude-code")
    folder = made.home / "market"
    assert made.segue("init", "--yes", "--plugin", str(folder)).code == 0
    cut_off(made, "claude-code")
    before = len(made.model.requests)
    done = made.run("claude-code", "SCRIPT:hello go on", "--plugin-dir", str(folder / "plugins" / "segue"))
    assert done.code == 0, done
    last = made.model.requests[-1]
    assert json.dumps(last.body).count("[segue] Where the last run stopped") == 1, log(made)
    assert made.model.sent("[segue]", after=before)
    assert hook_file.file_of(DataFolder(data(made))).exists()


def test_the_same_plugin_serves_codex_once_its_hooks_are_trusted(rig: MakeRig) -> None:
    made = rig("codex", scripts=[WORK, HELLO, PLAN])
    folder = made.home / "market"
    assert made.segue("init", "--yes", "--plugin", str(folder)).code == 0
    for words in (("marketplace", "add", str(folder)), ("add", "segue@segue-local")):
        added = made.spawn(["codex", "plugin", *words]).wait(60)
        assert added.code == 0, added
    cut_off(made, "codex")
    before = len(made.model.requests)
    assert made.run("codex", "SCRIPT:hello go on").code == 0
    assert not made.model.sent("[segue]", after=before), "nobody has said yes"
    trusted = made.segue("init", "--plugin", str(folder), "--trust-hooks", "--yes")
    assert trusted.code == 0 and "trusts 5 hooks" in trusted.out, trusted
    before = len(made.model.requests)
    assert made.run("codex", "SCRIPT:plan go on").code == 0
    told = [one.text for one in made.model.sent("[segue] Where the last run stopped", after=before)]
    assert told and "calc.py" in told[0], log(made)
    assert json.loads(made.segue("status", "--json").out)["goal"] == "Build a calculator", made.model.told()
