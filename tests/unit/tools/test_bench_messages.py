"""Messages for readers: no message is judged by what is not its own, and harm is counted right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.messages.__main__ import main
from bench.messages.gather import KEY, MESSAGES, Message, gather
from bench.messages.score import Reading, faults, reading_of

from segue.core.runs import steps as s
from segue.testing.transcripts import written

BEGAN = 1_794_700_000.0
FIRST = "Move the login of the shop from cookies to signed tokens, with tests for both."
RULE = "Never touch the files in legacy/."
ADDED = "Also cover the signed tokens of the login with a test for cookies."
OTHER = (
    "Rewrite the importer of the weather stations so that it reads every CSV with polars and drops Celsius."
)


def run(folder: Path, name: str, said: list[str], at: float = BEGAN) -> Path:
    """A run of Claude Code in which the user says this."""
    told: list[s.Step] = [s.Start(at, "start", name, "/src/shop", "main")]
    for number, text in enumerate(said):
        told += [
            s.Prompt(at + 10 * number + 1, text),
            s.Say(at + 10 * number + 2, f"I looked at part {number} of {name}."),
        ]
    folder = folder / "claude-code" / "anna__shop" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_bytes(written("claude-code", told, native=name))
    return path


def message(path: Path, text: str, **more: str) -> Message:
    return Message(
        "000", "anna__shop", path.name, more.get("before", ""), more.get("kind", "later"), "tuning", text
    )


def gold(relation: str, end: str = "open", *, rule: bool = False) -> list[dict[str, object]]:
    return [{"relation": relation, "end": end, "rule": rule}] * 2


def test_each_message_is_shown_with_what_came_before_it_and_how_it_ended(tmp_path: Path) -> None:
    run(tmp_path, "0a", [FIRST, RULE, "Also write the changelog."])
    messages = gather([tmp_path], wanted=10, seed=1)
    later = {one.text: one for one in messages}
    assert set(later) <= {FIRST, RULE, "Also write the changelog."}
    for text, one in later.items():
        assert text not in one.earlier and text not in one.later
        assert one.end == "I looked at part 2 of 0a."


def test_a_first_message_is_shown_with_the_run_before_it(tmp_path: Path) -> None:
    run(tmp_path, "0a", [FIRST])
    run(tmp_path, "0b", [OTHER], at=BEGAN + 9_000)
    [first] = [one for one in gather([tmp_path], wanted=10, seed=1) if one.kind == "first"]
    assert (first.text, first.earlier) == (OTHER, [FIRST])
    assert first.agent_last == "I looked at part 0 of 0a."


def test_readings_come_from_the_ledger_of_the_run(tmp_path: Path) -> None:
    path = run(tmp_path, "0a", [FIRST, RULE, "What does the importer do?"])
    corpus = path.parent
    assert reading_of(message(path, FIRST), corpus).relation == "new"
    assert reading_of(message(path, RULE), corpus).rules == [RULE]
    assert reading_of(message(path, "What does the importer do?"), corpus).relation == "asks"
    assert reading_of(message(path, "go on"), corpus).relation == "goes_on"


def test_the_first_message_of_a_run_is_held_against_the_run_before_it(tmp_path: Path) -> None:
    before = run(tmp_path, "0a", [FIRST])
    other = run(tmp_path, "0b", [OTHER])
    same = run(tmp_path, "0c", [ADDED])
    for path, relation in ((other, "new"), (same, "adds")):
        text = gather([path.parents[2]], wanted=1, seed=1) and path.read_text(encoding="utf-8")
        said = (
            OTHER if path is other else "Also cover the signed tokens of the login with a test for cookies."
        )
        assert said in text
        one = message(path, said, before=before.name, kind="first")
        assert reading_of(one, path.parent).relation == relation


def test_a_change_that_is_taken_for_a_question_is_lost() -> None:
    assert faults(Reading("asks", "", []), gold("adds")) == {"lost", "label"}
    assert faults(Reading("corrects", "open", []), gold("adds")) == {"label"}
    assert faults(Reading("new", "open", []), gold("adds")) == {"opened", "label"}


def test_what_both_readers_call_open_must_not_be_done_or_withdrawn() -> None:
    assert faults(Reading("adds", "done", []), gold("adds", "open")) == {"ended"}
    assert faults(Reading("adds", "withdrawn", []), gold("adds", "done")) == {"ended"}
    assert faults(Reading("adds", "answered", []), gold("adds", "open")) == set()


def test_a_rule_counts_as_missed_only_if_both_readers_see_it() -> None:
    assert faults(Reading("adds", "open", []), gold("adds", rule=True)) == {"missed"}
    one_reader = [*gold("adds", rule=True)[:1], *gold("adds")[:1]]
    assert faults(Reading("adds", "open", []), one_reader) == set()
    assert faults(Reading("adds", "open", [RULE]), gold("adds")) == {"rule"}


def test_both_steps_run_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "corpus", "0a", [FIRST, RULE, "Also write the changelog."])
    out = tmp_path / "out"
    main(["gather", str(tmp_path / "corpus"), "--out", str(out)])
    assert "THE MESSAGE TO LABEL" in (out / MESSAGES).read_text(encoding="utf-8")
    rows = [json.loads(line) for line in (out / KEY).read_text(encoding="utf-8").splitlines()]
    labels = out / "labels.jsonl"
    told = [{"id": row["id"], "relation": "adds", "rule": False, "end": "open"} for row in rows]
    labels.write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
    main(["score", str(tmp_path / "corpus"), str(out), str(labels), str(labels), "--show", "rule"])
    printed = capsys.readouterr().out
    assert f"messages {len(rows)} of 1 repositories" in printed and "rule" in printed
