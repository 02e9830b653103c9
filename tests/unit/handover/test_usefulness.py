"""What a handover was worth: told by the run that came after it, with reasons, per kind of fact."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.runs import opened

from segue import Segue
from segue.core.handover.usefulness import Score, chart, facts_in, judge
from segue.core.runs.steps import Call, Given, Plan, PlanItem, Prompt, Result, Say, Start, Step, Usage
from segue.handover.flow import Handover
from segue.handover.scoring import by_kind, score, score_last, scores
from segue.services.brief.delivered import append, brief_body
from segue.services.runs.run_stream import stream_of_run
from segue.testing.transcripts import placed

BRIEF = """[segue] Where the work stands (branch main).
GOAL: Refactor the login to JSON web tokens
PLAN (1 of 3 done): now write the middleware; document the endpoints
DECIDED: HS256 because there is one issuer
FILES: src/auth.py, src/middleware.py
FAILED: `pytest -q tests/test_auth.py` AssertionError
[/segue]"""


def kinds(result: Score) -> dict[str, list[int]]:
    return result.kinds


def call(n: int, act: str = "run", command: str = "", paths: tuple[str, ...] = ()) -> Call:
    return Call(100.0 + n, f"c{n}", "Tool", act, command=command, paths=paths)  # type: ignore[arg-type]


def test_a_brief_is_read_fact_by_fact() -> None:
    found = {(fact.kind, fact.text) for fact in facts_in(BRIEF)}
    assert found == {
        ("goal", "Refactor the login to JSON web tokens"),
        ("item", "write the middleware"),
        ("item", "document the endpoints"),
        ("decision", "HS256 because there is one issuer"),
        ("file", "src/auth.py"),
        ("file", "src/middleware.py"),
        ("file", "tests/test_auth.py"),
        ("command", "pytest"),
    }
    marked = "- **GOAL:** Refactor\n- **PLAN (1 of 2 done):** write the middleware"
    assert [fact.kind for fact in facts_in(marked)] == ["goal", "item"]


def test_a_run_that_uses_what_it_was_told_scores_higher_than_one_that_finds_it_again() -> None:
    known = ("src/auth.py", "src/middleware.py", "src/user.py", "src/db.py")
    good: list[Step] = [
        Start(99, "start"), Prompt(100, "go on"), Say(100, "I write the middleware now"),
        call(1, "edit", paths=("/src/shop/src/middleware.py",)),
        call(2, command="pytest -q tests/test_auth.py"),
    ]  # fmt: skip
    poor: list[Step] = [
        Start(99, "start"), Prompt(100, "go on"),
        *(call(n, "read", paths=(path,)) for n, path in enumerate(known)),
        *(call(10 + n, command=f"ls -la d{n}") for n in range(40)),
        Prompt(150, "No, refactor the login to JSON web tokens as planned"),
        call(60, "edit", paths=("README.md",)),
    ]  # fmt: skip
    high, low = judge(BRIEF, good, known), judge(BRIEF, poor, known)
    assert high.score > 80 > 50 > low.score
    assert kinds(high)["item"] == [2, 1] and kinds(high)["command"] == [1, 1]
    assert "src/middleware.py" in [fact.text for fact in high.facts if fact.used]
    assert (low.measures.reads, low.measures.known) == (4, 4)
    assert (low.measures.repeated, low.measures.corrections) == (1, 1)
    assert high.measures.calls_to_edit == 1 and low.measures.calls_to_edit == 45
    assert any("known already" in reason for reason in low.reasons)
    assert any("repeated" in reason for reason in low.reasons)


def test_a_file_of_the_brief_that_is_not_there_is_counted_as_wrong() -> None:
    steps: list[Step] = [
        call(1, "read", paths=("src/auth.py",)),
        Result(101, "c1", ok=False, text="no such file"),
    ]
    assert judge(BRIEF, steps).measures.missing == 1
    assert any("could not be read" in reason for reason in judge(BRIEF, steps).reasons)


def test_time_and_tokens_to_the_first_edit_are_measured() -> None:
    steps: list[Step] = [
        Start(90, "start"), Usage(95, "u1", output=100), Usage(96, "u1", output=150),
        Usage(97, "u2", output=50),
        call(10, "edit", paths=("a.py",)), Usage(200, "u3", output=999),
    ]  # fmt: skip
    measures = judge(BRIEF, steps).measures
    assert (measures.seconds_to_edit, measures.tokens_to_edit) == (20.0, 200)


def test_the_brief_itself_and_plans_count_as_they_should() -> None:
    assert not any(fact.used for fact in judge(BRIEF, [Given(1, BRIEF)]).facts)
    planned = judge(BRIEF, [Plan(1, (PlanItem("write the middleware"),))])
    assert kinds(planned)["item"] == [2, 1]
    assert judge("", []).score == 0.0 and judge("nothing to see", [call(1)]).reasons


def test_a_chart_has_a_column_a_score() -> None:
    assert chart([0, 50, 100]) == "▁▅█" and chart([0, 100], unicode=False) == "_#"


# -- with runs -------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def put(home: Path, project: Path, native: str, later: float, *steps: Step) -> None:
    """A transcript of a run that began so many seconds from now."""
    at = time.time() + later
    first: list[Step] = [
        Start(at, "start", native=native, cwd=str(project)),
        Prompt(at, "go on with the work"),
    ]
    moved = [_at(step, at + 1 + n) for n, step in enumerate(steps)]
    placed("codex", [*first, *moved], home=home, native=native, cwd=str(project))


def _at(step: Step, at: float) -> Step:
    from msgspec.structs import replace

    return replace(step, at=at)


def shell_call(n: int, command: str) -> Call:
    return Call(0, f"c{n}", "shell", "run", text=command, command=command)


def handed_over(segue: Segue) -> str:
    session = segue.start("Refactor the login to tokens", items=["write the middleware"])
    session.decide("HS256 because there is one issuer")
    return Handover(segue).run(note="the middleware is next").run


def test_the_first_run_after_a_handover_judges_it_once_and_the_score_is_kept(
    home: Path, project: Path
) -> None:
    with opened(home, project) as segue:
        put(home, project, "before", -60, shell_call(0, "cat src/auth.py"))
        run = handed_over(segue)
        assert score(segue) == [] and score_last(segue) is None
        put(home, project, "after", 30, Say(0, "I write the middleware"), shell_call(1, "cat src/auth.py"))
        [one] = score(segue)
        assert one.handover == run and one.by == "codex/after" and 0 < one.score <= 100
        assert one.kinds["item"] == [1, 1] and one.measures["known"] == 1.0
        assert score(segue) == [] and [kept.score for kept in scores(segue)] == [one.score]
        assert len(score(segue, again=True)) == 1 and len(scores(segue)) == 1
        assert by_kind(scores(segue))["item"] == (1, 1)
        assert Handover(segue).check() == 2


def test_what_a_hook_told_the_run_is_what_counts(home: Path, project: Path) -> None:
    with opened(home, project) as segue:
        handed_over(segue)
        put(home, project, "after", 30, Say(0, "the ledger parser comes first"), shell_call(1, "make"))
        told = brief_body(segue.workspace, "GOAL: repair the ledger parser", kind="brief", source="startup")
        append(segue.workspace.store, stream_of_run("codex", "after"), [told], actor="codex")
        [one] = score(segue)
        assert list(one.kinds) == ["goal"] and one.kinds["goal"] == [1, 1]


def test_a_handover_that_no_run_came_after_is_left_for_later(home: Path, project: Path) -> None:
    with opened(home, project) as segue:
        handed_over(segue)
        handed_over(segue)
        put(home, project, "after", 30, shell_call(1, "make"))
        assert len(score(segue)) == 1 and len(scores(segue)) == 1


def test_a_step_scores_within_a_handover(home: Path, project: Path) -> None:
    with opened(home, project) as segue:
        handed_over(segue)
        put(home, project, "after", 30, shell_call(1, "make"))
        segue.workspace.working_tree.project_file.write_text('[[handover.step]]\nkind = "score"\n')
        segue.workspace.working_tree.trust(
            segue.workspace.pause_file, at="2026-01-01T00:00:00.000000Z", actor="user"
        )
        ran = Handover(segue).run()
        assert ran.executed == ["score"] and ran.outputs["score"]["score"] == scores(segue)[0].score
