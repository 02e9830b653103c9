"""`segue brief FILE`: nothing but the brief on standard output, and no store is made for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.long_story import facts, story
from tests.support.runs import place
from tests.surfaces.conftest import Cli

from segue.core.runs.steps import Call, Plan, PlanItem, Prompt, Result, Say, Start, Step
from segue.testing.transcripts import MAKERS, written


@pytest.fixture
def transcript(project: Path) -> Path:
    path = project / "rollout.jsonl"
    path.write_bytes(written("codex", story(1, calls=60)[:-4]))
    return path


def test_only_the_brief_is_on_standard_output_and_no_store_is_made(
    cli: Cli, transcript: Path, home: Path
) -> None:
    ran = cli("brief", str(transcript))
    assert ran.err == ""
    assert ran.out.startswith("[segue] Where the last run stopped (codex")
    assert ran.out.splitlines()[-1].startswith("[/segue]")
    assert ran.out.endswith("\n") and not ran.out.endswith("\n\n")
    assert facts(1).goal.split(" and ")[0] in ran.out
    assert not (home / "segue").exists()


@pytest.mark.parametrize("budget", [256, 300, 777, 2_048, 4_096])
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_brief_keeps_to_its_budget_in_every_form(
    cli: Cli, transcript: Path, budget: int, form: str
) -> None:
    ran = cli("brief", "rollout.jsonl", "--max-bytes", str(budget), "--format", form)
    assert 100 < len(ran.out.rstrip("\n").encode()) <= budget


def test_json_is_the_manifest_by_either_option(cli: Cli, transcript: Path) -> None:
    by_flag = cli("brief", str(transcript), "--json").value
    assert by_flag == json.loads(cli("brief", str(transcript), "--format", "json").out)
    assert by_flag["session_metadata"]["goal"]
    assert by_flag["context_compression_metrics"]["compressed_tokens"] < 500


def test_the_markdown_form_is_a_list(cli: Cli, transcript: Path) -> None:
    assert "\n- **USER (" in cli("brief", str(transcript), "--format", "markdown").out


def test_the_agent_is_recognised_or_named(cli: Cli, transcript: Path) -> None:
    known = cli("brief", str(transcript)).out
    assert cli("brief", str(transcript), "--agent", "codex").out == known


def test_an_unknown_agent_exits_64_and_names_those_that_are_known(cli: Cli, transcript: Path) -> None:
    ran = cli("brief", str(transcript), "--agent", "hal-9000", code=64)
    assert ran.out == ""
    assert "no agent is called 'hal-9000'" in ran.err
    assert "codex" in ran.err


@pytest.mark.parametrize("content", [b"just words\n", b"{}\n", b"\x00\xff\xfe"])
def test_a_file_that_no_agent_wrote_exits_69(cli: Cli, project: Path, content: bytes) -> None:
    (project / "notes.txt").write_bytes(content)
    ran = cli("brief", str(project / "notes.txt"), code=69)
    assert ran.out == ""
    assert "it was not written by an agent that Segue knows" in ran.err


def test_a_file_that_is_not_there_exits_69(cli: Cli, project: Path) -> None:
    ran = cli("brief", str(project / "gone.jsonl"), "--json", code=69)
    assert ran.value["error"]["code"] == "transcript_unreadable"


@pytest.mark.parametrize("budget", ["255", "0", "-5"])
def test_a_budget_that_is_too_small_exits_64(cli: Cli, transcript: Path, budget: str) -> None:
    ran = cli("brief", str(transcript), f"--max-bytes={budget}", code=64)
    assert ran.out == ""
    assert "at least 256 bytes" in ran.err


def test_a_torn_last_line_costs_only_itself(cli: Cli, transcript: Path) -> None:
    whole = cli("brief", str(transcript)).out
    with transcript.open("ab") as file:
        file.write(b'{"timestamp": "2026-11-15T00:00:00Z", "type": "resp')
    assert cli("brief", str(transcript)).out == whole


def test_a_secret_in_a_transcript_is_not_shown(cli: Cli, project: Path) -> None:
    from segue.core.runs.steps import Prompt

    key = "AKIA" + "QWERTZUIOPASDFGH"
    path = project / "secret.jsonl"
    path.write_bytes(written("codex", [Prompt(1, f"Use the key {key} for the upload of the parser rows")]))
    for form in ("text", "json", "markdown"):
        assert key not in cli("brief", str(path), "--format", form).out


def test_the_name_of_a_file_that_is_not_there_is_not_taken_for_a_run(cli: Cli, project: Path) -> None:
    ran = cli("brief", "rollout.jsonl", code=69)
    assert "cannot read" in ran.err and "No such file" in ran.err


def test_an_empty_file_is_said_to_be_empty(cli: Cli, project: Path) -> None:
    (project / "rollout.jsonl").touch()
    assert "it is empty" in cli("brief", "rollout.jsonl", code=69).err


def test_agent_and_id_name_a_run_not_a_file(cli: Cli, project: Path) -> None:
    assert "there is no run 'codex/0193a7c4'" in cli("brief", "codex/0193a7c4", code=64).err


def test_a_transcript_may_come_in_by_standard_input(cli: Cli, transcript: Path) -> None:
    known = cli("brief", str(transcript)).out
    assert cli("brief", "-", stdin=transcript.read_bytes()).out == known
    for body, why in (
        (b"", "it is empty"),
        (b"just words", "it was not written by an agent that Segue knows"),
    ):
        ran = cli("brief", "-", code=69, stdin=body)
        assert f"cannot read standard input: {why}" in ran.err and "--agent" in ran.err


def test_a_transcript_that_tells_nothing_gives_a_brief_that_says_so(cli: Cli, project: Path) -> None:
    (project / "rollout.jsonl").write_text("{}\n")
    assert "nothing of its work is known" in cli("brief", "rollout.jsonl", "--agent", "codex").out


@pytest.mark.parametrize(
    ("agent", "tool"),
    [("claude-code", "mcp__segue__checkpoint"), ("opencode", "segue_checkpoint"), ("codex", "checkpoint")],
)
def test_a_call_of_segues_own_tools_that_failed_is_nothing_that_is_broken(
    cli: Cli, project: Path, agent: str, tool: str
) -> None:
    steps: list[Step] = [
        Start(1.0, "start", "run-1", str(project)),
        Prompt(2.0, "Make the login use tokens, please"),
        Call(3.0, "c1", tool, "other", text="half"),
        Result(4.0, "c1", False, None, '{\n  "error": {"code": "usage"}\n}'),
        Say(5.0, "I go on without it."),
    ]
    path = project / ("export.json" if agent == "opencode" else "rollout.jsonl")
    path.write_bytes(written(agent, steps))
    text = cli("brief", str(path)).out
    assert "BROKEN" not in text and "FAILING" not in text


@pytest.mark.parametrize("agent", sorted(MAKERS.keys() - {"roo"}))  # an editor has its files
def test_explain_says_what_the_lines_of_the_newest_run_of_any_agent_rest_on(
    cli: Cli, home: Path, project: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    place(home, project, agent, native="1a1b2c3d-explained")
    lines = cli("brief", "--explain", "--json").value["lines"]
    assert any("use tokens" in source["text"] for line in lines for source in line["sources"])


def test_explain_says_what_a_plan_had_and_puts_no_colon_before_nothing(cli: Cli, project: Path) -> None:
    steps: list[Step] = [
        Start(1.0, "start", "run-1", str(project)),
        Prompt(2.0, "Make the login use tokens, please"),
        Plan(3.0, (PlanItem("sign tokens", "active"), PlanItem("let them expire"))),
        Call(4.0, "c1", "Bash", "run", command="make test"),
        Result(5.0, "c1", False, 2, ""),
    ]
    (project / "rollout.jsonl").write_bytes(written("codex", steps))
    told = cli("brief", "rollout.jsonl", "--explain").out
    assert ", plan: sign tokens (active); let them expire (pending)\n" in told
    assert not [line for line in told.splitlines() if line.startswith("      ") and line.endswith(":")]
