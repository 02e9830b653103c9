"""Features as values: what makes one pass, what takes the proof away, who may change what."""

from __future__ import annotations

from typing import Any

import pytest

from segue.core.features import events as ev
from segue.core.features.checks import Check, covered_patterns, definition, glob_regex, run_paths
from segue.core.features.verdict import GATE_BYTES_MAX, Verdict, gate, unchecked_steps, verdict_of
from segue.core.sessions import commands as do, feature_commands as fc
from segue.core.sessions.commands import Command, DecidedBatch, Refusal, decide_all
from segue.core.sessions.state import SessionState

AT = "2026-01-01T00:00:00.000000Z"
NOW = "c" * 32
PASS = Check(("pytest", "tests/test_auth.py"))


def after(state: SessionState, *commands: Command, by: str = "user") -> SessionState:
    outcome = decide_all(state, commands, at=AT, actor=by, run="")
    assert isinstance(outcome, DecidedBatch), outcome
    return outcome.state


def refused(state: SessionState, command: Command, by: str = "user") -> Refusal:
    outcome = decide_all(state, [command], at=AT, actor=by, run="")
    assert isinstance(outcome, Refusal)
    return outcome


@pytest.fixture
def state() -> SessionState:
    return after(SessionState(), do.Create("s", "goal", "o", "p"))


@pytest.fixture
def added(state: SessionState) -> SessionState:
    return after(state, fc.AddFeature("jwt", "log in", steps=("a", "b"), checks=(PASS,), covers=("src/**",)))


def ran(state: SessionState, id: str = "jwt", check: Check = PASS, **facts: Any) -> fc.RecordRun:
    feature = state.features[id]
    about = definition(feature.steps, feature.checks, feature.covers)
    values = {"exit_code": 0, "covered": NOW, "after": NOW, **facts}
    return fc.RecordRun(ev.CheckRan(id, about, check.hash, check.text, **values))


def verdict(state: SessionState, id: str = "jwt", covered: str = NOW, **more: Any) -> Verdict:
    return verdict_of(state.features[id], covered, **more)


def test_a_feature_passes_when_its_check_ran_and_the_files_are_the_same(added: SessionState) -> None:
    assert verdict(added).status == "not_started"
    proven = after(added, ran(added))
    assert verdict(proven).passes
    assert verdict(proven, covered="d" * 32).status == "stale"
    assert verdict(proven, covered="").status == "stale"


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"exit_code": 1, "first": "FAILED test_expired"}, "FAILED test_expired"),
        ({"exit_code": None, "signal": 9}, "ended by signal 9"),
        ({"exit_code": None, "timed_out": True}, "not finished after 600 s"),
        ({"exit_code": None, "fault": "pytest: No such file"}, "pytest: No such file"),
        ({"after": "e" * 32}, "covered files changed while it ran"),
        ({"covered": "", "after": ""}, "the covered files were not looked at"),
    ],
)
def test_a_run_that_does_not_prove_says_why(added: SessionState, facts: dict[str, Any], why: str) -> None:
    failed = verdict(after(added, ran(added, **facts)))
    assert (failed.status, failed.reason) == ("failing", why)


def test_an_exit_code_and_a_pattern_may_be_expected(state: SessionState) -> None:
    check = Check(("grep",), exit_code=3, pattern="done")
    state = after(state, fc.AddFeature("f", "d", checks=(check,)))
    assert verdict(after(state, ran(state, "f", check, exit_code=0, found=True)), "f").status == "failing"
    half = verdict(after(state, ran(state, "f", check, exit_code=3)), "f")
    assert (half.status, half.reason) == ("failing", "its output does not match /done/")
    assert verdict(after(state, ran(state, "f", check, exit_code=3, found=True)), "f").passes


def test_evidence_about_another_definition_proves_nothing(added: SessionState) -> None:
    late = ran(added)
    changed = after(added, fc.ChangeFeature("jwt", steps=("a",)))
    assert verdict(after(changed, late)).status == "not_started"


@pytest.mark.parametrize(
    "change",
    [
        {"steps": ("a",)},
        {"steps": ("a", "b", "c")},
        {"covers": ()},
        {"covers": ("src/**", "lib/**")},
        {"checks": ()},
        {"checks": (Check(("true",)),)},
        {"checks": (Check(PASS.command, limit_seconds=5),)},
        {"checks": (Check(PASS.command, proves=(1,)),)},
    ],
)
def test_any_change_of_what_is_proven_takes_the_proof_away_and_is_told(
    added: SessionState, change: dict[str, Any]
) -> None:
    changed = after(after(added, ran(added)), fc.ChangeFeature("jwt", **change, reason="easier"))
    assert not verdict(changed).passes and not changed.features["jwt"].ran
    [told] = gate(changed, {}).changes
    assert told.startswith("jwt: ") and told.endswith(", by user (easier)")


def test_words_may_change_without_a_new_proof_and_a_category_is_not_told(added: SessionState) -> None:
    proven = after(added, ran(added))
    reworded = after(proven, fc.ChangeFeature("jwt", category="auth", description="log in by token"))
    assert verdict(reworded).passes
    assert [change.what for change in reworded.feature_changes] == ["description changed"]


def test_the_description_is_the_step_where_there_are_none(state: SessionState) -> None:
    state = after(state, fc.AddFeature("look", "it looks good"))
    word = fc.AttestStep("look", "it looks good", "ana", "seen", NOW)
    proven = after(state, word)
    assert verdict(proven, "look").passes and verdict(proven, "look").attested
    assert not verdict(after(proven, fc.ChangeFeature("look", description="it works")), "look").passes


def test_attesting_needs_a_step_that_no_check_proves_a_name_and_a_note(state: SessionState) -> None:
    half = Check(("true",), proves=(1,))
    state = after(state, fc.AddFeature("f", "d", steps=("a", "b"), checks=(half,)))
    assert unchecked_steps(state.features["f"]) == ("b",)
    assert "cannot be attested" in refused(state, fc.AttestStep("f", "a", "ana", "seen", NOW)).message
    assert "has no step" in refused(state, fc.AttestStep("f", "c", "ana", "seen", NOW)).message
    both = after(state, fc.AttestStep("f", "#2", "ana", "seen", NOW), ran(state, "f", half))
    assert verdict(both, "f").passes and verdict(both, "f").verified_by == "ana, user"
    assert not verdict(both, "f", attest=False).passes
    assert verdict(both, "f", covered="x").status == "stale"


def test_beginning_a_check_takes_its_old_result_away(added: SessionState) -> None:
    proven = after(added, ran(added))
    feature = proven.features["jwt"]
    about = definition(feature.steps, feature.checks, feature.covers)
    begun = after(proven, fc.BeginChecks("jwt", about, (PASS.hash,)))
    assert verdict(begun).status == "testing"
    assert verdict(after(begun, ran(begun))).passes
    assert refused(proven, fc.BeginChecks("jwt", "other", (PASS.hash,))).code == "conflict"


def test_a_declared_failure_stays_until_the_next_proof(added: SessionState) -> None:
    failed = after(after(added, ran(added)), fc.MoveFeature("jwt", "failing", "seen on staging"))
    assert (verdict(failed).status, verdict(failed).reason) == ("failing", "seen on staging")
    moved = after(failed, fc.MoveFeature("jwt", "in_progress"))
    assert verdict(moved).status == "in_progress", "an older proof does not come back"
    feature = failed.features["jwt"]
    about = definition(feature.steps, feature.checks, feature.covers)
    assert verdict(after(failed, fc.BeginChecks("jwt", about, (PASS.hash,)), ran(failed))).passes


@pytest.mark.parametrize("status", ["passing", "complete", "stale", ""])
def test_nobody_can_say_that_a_feature_passes(added: SessionState, status: str) -> None:
    assert refused(added, fc.MoveFeature("jwt", status)).code == "usage"


def test_a_report_of_somebody_else_can_fail_a_feature_and_never_pass_it(added: SessionState) -> None:
    good = after(added, fc.Report("jwt", "junit.xml", passed=9))
    assert verdict(good).status == "not_started"
    bad = after(added, fc.Report("jwt", "junit.xml", passed=8, failed=1, first="test_x: boom"))
    assert (verdict(bad).status, verdict(bad).reason) == ("failing", "test_x: boom")
    assert verdict(after(bad, ran(bad))).passes, "what Segue saw itself is newer and better"


@pytest.mark.parametrize(
    "command",
    [
        fc.RemoveFeature("jwt"),
        fc.ChangeFeature("jwt", description="anything"),
        fc.ChangeFeature("jwt", steps=("a",)),
        fc.ChangeFeature("jwt", steps=("b", "a")),
        fc.ChangeFeature("jwt", checks=()),
        fc.ChangeFeature("jwt", checks=(Check(("true",)),)),
        fc.ChangeFeature("jwt", checks=(Check(PASS.command, proves=(1,)),)),
        fc.ChangeFeature("jwt", covers=("src/auth/**",)),
    ],
)
def test_an_agent_cannot_drop_or_weaken_what_a_person_set(added: SessionState, command: Command) -> None:
    assert refused(added, command, by="claude").code == "refused"
    assert after(added, command, by="user") != added


def test_an_agent_may_add_to_what_a_person_set_and_change_its_own(added: SessionState) -> None:
    more = fc.ChangeFeature(
        "jwt", steps=("a", "b", "c"), checks=(PASS, Check(("ruff",))), covers=("src/**", "lib/**")
    )
    grown = after(added, more, by="claude")
    assert [check.by for check in grown.features["jwt"].checks] == ["user", "claude"]
    assert refused(grown, fc.RemoveFeature("jwt"), by="claude").code == "refused"
    own = after(added, fc.AddFeature("mine", "d"), by="claude")
    assert "mine" not in after(own, fc.RemoveFeature("mine"), by="codex").features


def test_who_signs_is_not_what_the_command_says(added: SessionState) -> None:
    assert refused(added, fc.RemoveFeature("jwt", by="user"), by="claude").code == "refused"


def test_a_refusal_to_complete_says_what_would_prove_each(added: SessionState) -> None:
    assert refused(added, do.Complete()).hint == "prove them with `segue verify`"
    looks = after(added, fc.AddFeature("looks", "is nice", steps=("layout",)))
    alone = after(looks, fc.RemoveFeature("jwt"))
    assert refused(alone, do.Complete()).hint.startswith("confirm what no check proves")
    assert refused(alone, do.Complete(attest=False)).hint.startswith("give it a check")
    assert refused(looks, do.Complete()).hint.startswith("prove them with `segue verify`; confirm")


def test_completing_is_refused_while_something_is_not_proven(added: SessionState) -> None:
    assert refused(added, do.Complete()).code == "unverified_features"
    proven = after(added, ran(added))
    assert refused(proven, do.Complete()).code == "unverified_features", "nobody looked at the files"
    done = after(proven, do.Complete(covered={"jwt": NOW}))
    assert done.status == "completed"
    forced = decide_all(added, [do.Complete(force="demo at noon")], at=AT, actor="user", run="")
    assert isinstance(forced, DecidedBatch) and b'"forced":"demo at noon"' in forced.drafts[0].body


def test_a_refusal_names_the_first_failing_line_of_each_within_a_kilobyte(state: SessionState) -> None:
    for number in range(40):
        state = after(
            state, fc.AddFeature(f"feature-{number}", "é" * 200, checks=(Check((f"c{number}", "é" * 90)),))
        )
    found = gate(state, {})
    assert not found.ok and len(found.text.encode()) <= GATE_BYTES_MAX
    assert found.text.startswith(
        "40 features not proven; 0 of 40 proven\n- feature-0 not_started: not run: c0"
    )
    assert found.text.splitlines()[-1].startswith("… and ")
    assert len(found.unproven) == 40


def test_failing_comes_first_then_stale(added: SessionState) -> None:
    both = after(added, fc.AddFeature("z", "z"), fc.AddFeature("bad", "bad"), ran(added))
    both = after(both, fc.MoveFeature("bad", "failing", "boom"))
    lines = gate(both, {"jwt": "other"}).text.splitlines()
    assert lines[0] == "1 feature failing, 1 stale, 1 not proven; 0 of 3 proven"
    assert [line.split()[1] for line in lines[1:]] == ["bad", "jwt", "z"]


def test_without_features_the_gate_is_open_and_says_that_nothing_was_proven(state: SessionState) -> None:
    assert (gate(state, {}).ok, gate(state, {}).text) == (True, "No features: nothing was proven.")


def test_neither_rewind_nor_undo_brings_a_proof_back(added: SessionState) -> None:
    proven = after(added, ran(added))
    failing = after(proven, ran(proven, exit_code=1))
    back = after(failing, do.Rewind(proven.version, proven, "m"))
    assert back.features == failing.features
    back = after(failing, do.Note("x"), do.Rewind(proven.version, proven, lifecycle=True))
    assert verdict(back).status == "failing"


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        (
            ("pytest", "tests/a.py::test_x"),
            {"tests/a.py", "tests/conftest.py", "pyproject.toml", "conftest.py"},
        ),
        (("./run.sh", "--file=data/x.json"), {"run.sh", "data/x.json"}),
        (("make", "test"), {"Makefile"}),
        (("python", "-m", "tools.check"), {"tools/check.py", "tools/check/__main__.py"}),
    ],
)
def test_files_that_a_check_runs_count_as_covered(command: tuple[str, ...], paths: set[str]) -> None:
    check = Check(command)
    assert paths <= set(run_paths(check))
    assert paths <= set(covered_patterns(("src/**",), (check,)))
    assert covered_patterns((), (check,)) == (), "nothing given: the whole tree"


def test_paths_outside_of_the_tree_are_not_covered() -> None:
    assert run_paths(Check(("/bin/sh", "../x.sh", "$HOME/y", "~/z", "-q", "*.py"))) == ()
    assert "sub/x.py" in run_paths(Check(("python", "x.py"), folder="sub"))
    assert "a.py" in run_paths(Check(("cd sub && python ../a.py; true",), shell=True, folder="sub"))


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("src/**", "src/a/b.py", "srcs/a.py"),
        ("src/*.py", "src/a.py", "src/a/b.py"),
        ("src/**/*.py", "src/a/b/c.py", "src/a/b.c"),
        ("src", "src/a", "src.py"),
        ("a?.c", "ab.c", "a.c"),
        ("**/x.[y]", "q/x.[y]", "q/x.y"),
    ],
)
def test_globs_cross_folders_only_with_two_stars(glob: str, yes: str, no: str) -> None:
    import re

    rule = re.compile(glob_regex(glob))
    assert rule.fullmatch(yes) and not rule.fullmatch(no)
