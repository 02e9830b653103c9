"""The benchmark of briefs runs from end to end on made transcripts, and judges what it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.resume import report
from bench.resume.contenders import answers
from bench.resume.needs import Cut, Known, cuts, needs, rarities, unpasted, vocabulary
from bench.resume.observed import Observation, observe, short_form
from bench.resume.run import Plan, run, transcripts
from bench.resume.scoring import judged, long_lists, readable, score
from tests.support.long_story import story

from segue.testing.transcripts import written


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for seed in range(3):
        told = story(seed, calls=90, compact_every=50)
        (tmp_path / f"{seed}.jsonl").write_bytes(written("codex", told))
    return tmp_path


@pytest.mark.parametrize("compaction", [False, True])
def test_every_contender_is_scored_at_every_cut(corpus: Path, compaction: bool) -> None:
    outcome = run(transcripts([corpus]), Plan(compaction=compaction))
    rows = report.rows(outcome)
    assert outcome.transcripts == 3
    assert outcome.cuts == (3 if compaction else 9)
    assert not outcome.failures
    assert {"tail", "recency", "oracle", "segue"} <= set(rows)
    assert ("own summary, whole" in rows) is compaction
    assert rows["oracle"]["score"] > rows["segue"]["score"] > rows["recency"]["score"]
    assert not sum(one.score.violations["over budget"] for group in outcome.of("segue") for one in group)
    low, high = report.interval(outcome.of("segue"), report.figure("score"))
    assert low <= rows["segue"]["score"] <= high


def test_the_table_is_printed(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(cuts=1)
    report.show(run(transcripts([corpus]), plan), plan)
    printed = capsys.readouterr().out
    assert "| segue " in printed and "95 %" in printed and "solved shown as broken" in printed


def test_a_command_of_another_is_asked_with_file_and_bytes(corpus: Path) -> None:
    transcript = observe(corpus / "0.jsonl")
    cut = cuts(transcript, 1, False)[0]
    found = dict(answers(transcript, cut, {"goal": {"rows": 1.0}}, 300, ("wc -c --", "false")))
    assert found["false"].failed == "exit 1"
    assert found["wc -c --"].failed  # there is no file called 300
    assert "prefix.jsonl" in found["wc -c --"].text


def test_a_need_occurs_in_the_past(corpus: Path) -> None:
    transcript = observe(corpus / "1.jsonl")
    known = Known()
    for cut in cuts(transcript, 3, False):
        known.advance(transcript.seen, len(cut.past))
        past = "\n".join(one.text + one.shown + one.command for one in cut.past).lower()
        needed = needs(cut, known, rarities(dict.fromkeys(vocabulary(transcript), 1), 1))  # type: ignore[arg-type]
        assert {"files", "commands", "todos", "goal", "identifiers"} <= set(needed)
        assert all(what.lower() in past for wanted in needed.values() for what in wanted)


def test_a_heap_of_words_counts_for_little() -> None:
    wanted = {"goal": {f"word{chr(97 + n)}": 1.0 for n in range(26)}}
    heap = " ".join(wanted["goal"])
    assert score(heap, wanted, gated=False).total == 1.0
    assert score(heap, wanted).total < 0.3
    assert readable("The rows are in the table and the parser is not.")[1] > 0.5


def past(*seen: Observation) -> Cut:
    return Cut(seen, [], 0)


def test_finished_work_shown_as_open_is_a_violation() -> None:
    plan = (("Write the model", "completed"), ("Write the routes", "pending"))
    cut = past(Observation(0, "call", plan=plan))
    wrong = judged(
        "PLAN (0 of 2 done): now Write the model; Write the routes", {"goal": {"x": 1.0}}, cut, 2_048
    )
    right = judged("PLAN (1 of 2 done): now Write the routes", {"goal": {"x": 1.0}}, cut, 2_048)
    assert wrong.violations["finished shown as open"] == 1
    assert right.violations["finished shown as open"] == 0


def test_a_solved_failure_shown_as_broken_is_a_violation() -> None:
    failed = Observation(0, "result", "AssertionError: expected 3 rows", typed="pytest", failed=True)
    passed = Observation(1, "result", "3 passed", typed="pytest")
    brief = 'BROKEN: `pytest` failed: "AssertionError: expected 3 rows"'
    needed = {"goal": {"x": 1.0}}
    assert judged(brief, needed, past(failed, passed), 2_048).violations["solved shown as broken"] == 1
    assert judged(brief, needed, past(failed), 2_048).violations["solved shown as broken"] == 0


def test_precision_is_of_the_files_that_are_named() -> None:
    seen = [Observation(0, "call", files=["a/one.py"]), Observation(1, "call", files=["two.py"])]
    cut = Cut(seen, [Observation(2, "call", files=["one.py"])], 0)
    assert judged("FILES: one.py, two.py", {"goal": {"x": 1.0}}, cut, 2_048).precision == 0.5
    assert judged("done.pyx", {"goal": {"x": 1.0}}, cut, 2_048).precision is None


def test_a_line_of_more_than_ten_items_is_noticed_and_prose_is_not() -> None:
    assert long_lists("FILES: " + ", ".join(f"f{n}.py" for n in range(11))) == 1
    assert long_lists("FILES: " + ", ".join(f"f{n}.py" for n in range(10))) == 0
    assert long_lists("When it rains in the morning, we stay at home together, as all of us always did.") == 0


@pytest.mark.parametrize(
    ("command", "short"),
    [
        ("cd api && FOO=1 npm run build -- -q", "npm run build"),
        ("echo hi; pytest -q", "pytest"),
        ("cat x | grep y", "cat x"),
        ("", ""),
    ],
)
def test_the_judge_has_a_short_form_of_its_own(command: str, short: str) -> None:
    assert short_form(command) == short


def test_pasted_lines_are_no_request() -> None:
    assert unpasted("Why is it so slow here?\nat a\nat b\nat c\nPlease have a look at it.").count("\n") == 1
