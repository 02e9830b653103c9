"""Commands about features: what is refused, what happens once, and what an old event can no longer do."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.features.test_features import AT, NOW, PASS, after, ran, refused, verdict

from segue import Segue, UsageError
from segue.core.features import events as ev
from segue.core.features.checks import Check
from segue.core.features.verdict import definition_of
from segue.core.sessions import commands as do, feature_commands as fc
from segue.core.sessions.commands import Command, Refusal, decide
from segue.core.sessions.fold import fold_body
from segue.core.sessions.state import SessionState


@pytest.fixture
def state() -> SessionState:
    return after(SessionState(), do.Create("s", "goal", "o", "p"))


@pytest.fixture
def added(state: SessionState) -> SessionState:
    return after(state, fc.AddFeature("jwt", "log in", steps=("a", "b"), checks=(PASS,), covers=("src/**",)))


def bodies(state: SessionState, command: Command) -> list[Any]:
    """What a person's command comes to."""
    outcome = decide(state, replace(command, by="user") if command.SIGNED else command)
    assert not isinstance(outcome, Refusal), outcome
    return list(outcome)


def folded(state: SessionState, body: Any, actor: str = "user") -> SessionState:
    return fold_body(state, body, version=state.version + 1, at=AT, actor=actor)


@pytest.mark.parametrize(
    "command",
    [
        fc.ChangeFeature("absent", category="x"),
        fc.RemoveFeature("absent"),
        fc.MoveFeature("absent", "failing"),
        fc.AttestStep("absent", "a", "ana", "seen"),
        fc.BeginChecks("absent", "d", ()),
        fc.RecordRun(ev.CheckRan("absent", "d", "c", "true")),
        fc.Report("absent", "junit.xml"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_a_feature_that_is_not_there_is_named_in_the_refusal(added: SessionState, command: Command) -> None:
    assert refused(added, command).code == "unknown_feature"


@pytest.mark.parametrize(
    "command",
    [
        fc.AttestStep("f", "d", "ana", "seen"),
        fc.BeginChecks("f", "d", ()),
        fc.RecordRun(ev.CheckRan("f", "d", "c", "true", 0)),
    ],
    ids=lambda command: type(command).__name__,
)
def test_nobody_but_segue_itself_may_say_what_it_observed(seg: Segue, command: Command) -> None:
    session = seg.start("g")
    session.features.add("f", "d")
    with pytest.raises(UsageError, match="only Segue itself"):
        session.apply(command)


# -- adding -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "proves", "fine"),
    [
        (2, (1,), True), (2, (2,), True), (2, (0,), False), (2, (3,), False), (2, (1, 3), False),
        (0, (1,), True), (0, (2,), False), (0, (), True),
    ],
)  # fmt: skip
def test_a_check_proves_steps_that_are_there_and_the_description_is_the_only_step_of_none(
    state: SessionState, steps: int, proves: tuple[int, ...], fine: bool
) -> None:
    command = fc.AddFeature("f", "d", steps=("a", "b")[:steps], checks=(Check(("true",), proves=proves),))
    if fine:
        assert after(state, command).features["f"].checks[0].proves == proves
    else:
        assert "there is no step" in refused(state, command).message


@pytest.mark.parametrize("words", [(), ("",), ("", "x")])
def test_a_check_needs_a_command(state: SessionState, words: tuple[str, ...]) -> None:
    assert "needs a command" in refused(state, fc.AddFeature("f", "d", checks=(Check(words),))).message
    assert after(state, fc.AddFeature("f", "d", checks=(Check(("grep", "")),))).features


def test_checks_and_steps_that_are_named_twice_count_once_and_checks_are_signed(state: SessionState) -> None:
    command = fc.AddFeature("f", "d", steps=("a", "a"), checks=(PASS, PASS), source="features.json")
    feature = after(state, command, by="codex").features["f"]
    assert (feature.steps, len(feature.checks)) == (("a",), 1)
    assert (feature.checks[0].by, feature.checks[0].source) == ("codex", "features.json")


@pytest.mark.parametrize(
    "change", [{"description": "x"}, {"steps": ("a",)}, {"checks": ()}, {"covers": ()}]
)  # fmt: skip
def test_adding_the_same_again_changes_nothing_and_another_of_that_name_is_refused(
    added: SessionState, change: dict[str, Any]
) -> None:
    same: dict[str, Any] = {
        "description": "log in",
        "steps": ("a", "b"),
        "checks": (PASS,),
        "covers": ("src/**",),
    }
    assert bodies(added, fc.AddFeature("jwt", **same)) == []
    assert refused(added, fc.AddFeature("jwt", **{**same, **change})).code == "feature_exists"


# -- changing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("description", "sign in"), ("category", "auth"), ("steps", ("a", "b", "c")),
        ("checks", (Check(("true",)),)), ("covers", ("lib/**",)),
    ],
)  # fmt: skip
def test_of_a_change_only_the_part_that_differs_is_recorded(
    added: SessionState, field: str, value: Any
) -> None:
    parts = ("description", "category", "steps", "checks", "covers")
    [body] = bodies(added, fc.ChangeFeature("jwt", **{field: value}))
    assert [name for name in parts if getattr(body, name) is not None] == [field]
    old = added.features["jwt"]
    assert bodies(added, fc.ChangeFeature("jwt", **{field: getattr(old, field)})) == []
    new = after(added, fc.ChangeFeature("jwt", **{field: value})).features["jwt"]
    assert [name for name in parts if getattr(new, name) != getattr(old, name)] == [field]


def test_a_check_that_stays_keeps_its_author_and_its_source(state: SessionState) -> None:
    own = after(state, fc.AddFeature("f", "d", checks=(PASS,), source="old.json"), by="claude")
    more = fc.ChangeFeature("f", checks=(PASS, Check(("ruff",))), source="new.json")
    checks = after(own, more, by="codex").features["f"].checks
    assert [(check.by, check.source) for check in checks] == [("claude", "old.json"), ("codex", "new.json")]


@pytest.mark.parametrize("change", [{"steps": ("a",)}, {"covers": ("src/**",)}])
def test_an_agent_may_not_narrow_what_a_person_left_open(state: SessionState, change: dict[str, Any]) -> None:
    whole = after(state, fc.AddFeature("f", "d"))
    assert refused(whole, fc.ChangeFeature("f", **change), by="claude").code == "refused"
    assert after(whole, fc.ChangeFeature("f", **change)) != whole
    own = after(state, fc.AddFeature("f", "d"), by="claude")
    assert after(own, fc.ChangeFeature("f", **change), by="codex") != own


def test_what_a_person_changes_is_theirs_from_then_on(state: SessionState) -> None:
    own = after(state, fc.AddFeature("f", "d"), by="claude")
    theirs = after(own, fc.ChangeFeature("f", category="x"))
    assert refused(theirs, fc.RemoveFeature("f"), by="claude").code == "refused"
    still = after(own, fc.ChangeFeature("f", category="x"), by="codex")
    assert after(still, fc.RemoveFeature("f"), by="claude").features == {}


def test_what_changed_is_told_in_words(added: SessionState) -> None:
    change = fc.ChangeFeature(
        "jwt", description="x", steps=("a", "c"), checks=(), covers=("src/**", "lib/**")
    )
    [told] = after(added, change).feature_changes
    assert told.what == (
        "description changed; step removed: b; step added: c; "
        "check removed: pytest tests/test_auth.py; covered path added: lib/**"
    )
    slower = fc.ChangeFeature("jwt", checks=(Check(PASS.command, limit_seconds=5),))
    [told] = after(added, slower).feature_changes
    assert told.what == "how its checks are run or what they prove"


def test_what_is_removed_is_told_and_the_others_stay(added: SessionState) -> None:
    left = after(added, fc.AddFeature("other", "o"), fc.RemoveFeature("jwt", "not needed"))
    assert list(left.features) == ["other"]
    assert [(one.feature, one.what, one.reason) for one in left.feature_changes] == [
        ("jwt", "removed", "not needed")
    ]


# -- moving, reporting, attesting -------------------------------------------------------------------


def test_a_status_that_is_declared_again_is_no_event_unless_it_takes_a_proof_away(
    added: SessionState,
) -> None:
    failed = after(added, fc.MoveFeature("jwt", "failing", "boom"))
    assert bodies(failed, fc.MoveFeature("jwt", "failing", "boom")) == []
    assert len(bodies(failed, fc.MoveFeature("jwt", "failing", "bang"))) == 1
    proven = after(failed, ran(failed))
    assert len(bodies(proven, fc.MoveFeature("jwt", "failing", "boom"))) == 1
    begun = after(added, fc.MoveFeature("jwt", "in_progress"), ran(added))
    assert bodies(begun, fc.MoveFeature("jwt", "in_progress")) == []


@pytest.mark.parametrize("field", ["implemented_by", "notes", "claim"])
def test_what_a_move_does_not_name_stays(added: SessionState, field: str) -> None:
    named = after(added, fc.MoveFeature("jwt", "in_progress", **{field: "x"}))
    assert bodies(named, fc.MoveFeature("jwt", "in_progress", **{field: "x"})) == []
    moved = after(named, fc.MoveFeature("jwt", "testing"))
    assert getattr(moved.features["jwt"], field) == "x"
    again = after(moved, fc.MoveFeature("jwt", "testing", **{field: "y"}))
    assert getattr(again.features["jwt"], field) == "y"


@pytest.mark.parametrize("field", ["source", "passed", "failed", "first"])
def test_a_report_that_says_the_same_is_no_event_and_one_that_differs_is(
    added: SessionState, field: str
) -> None:
    report: dict[str, Any] = {"source": "junit.xml", "passed": 3, "failed": 1, "first": "boom"}
    known = after(added, fc.Report("jwt", **report))
    assert bodies(known, fc.Report("jwt", **report)) == []
    assert len(bodies(known, fc.Report("jwt", **{**report, field: 9 if field[-2:] == "ed" else "x"}))) == 1


@pytest.fixture
def looks(state: SessionState) -> SessionState:
    """A feature of two steps that no check proves."""
    return after(state, fc.AddFeature("looks", "is nice", steps=("layout", "colours")))


def test_a_step_is_attested_by_its_text_or_its_number(looks: SessionState) -> None:
    for step, meant in (("#1", "layout"), ("#2", "colours"), ("colours", "colours")):
        proven = after(looks, fc.AttestStep("looks", step, "ana", "seen", NOW))
        assert list(proven.features["looks"].attested) == [meant]
    for step in ("#0", "#3", "#", "1"):
        assert "has no step" in refused(looks, fc.AttestStep("looks", step, "ana", "seen", NOW)).message


@pytest.mark.parametrize("change", [{"who": "bob"}, {"note": "again"}, {"covered": "d" * 32}])
def test_attesting_the_same_again_is_no_event_and_another_word_is(
    looks: SessionState, change: dict[str, str]
) -> None:
    word = {"who": "ana", "note": "seen", "covered": NOW}
    told = after(looks, fc.AttestStep("looks", "layout", **word))
    assert bodies(told, fc.AttestStep("looks", "layout", **word)) == []
    assert len(bodies(told, fc.AttestStep("looks", "layout", **{**word, **change}))) == 1


@pytest.mark.parametrize(
    ("actor", "name"), [("user", "ana"), ("ana", "ana"), ("codex", "ana, reported by codex")]
)
def test_an_agent_that_attests_in_the_name_of_somebody_is_named(
    looks: SessionState, actor: str, name: str
) -> None:
    told = after(looks, fc.AttestStep("looks", "layout", "ana", "seen", NOW), by=actor)
    assert told.features["looks"].attested["layout"].name == name


@pytest.mark.parametrize("change", [{"definition": "other"}, {"step": "absent"}, {"who": ""}, {"note": ""}])
def test_a_word_about_something_else_or_of_nobody_counts_for_nothing(
    looks: SessionState, change: dict[str, str]
) -> None:
    about = definition_of(looks.features["looks"])
    word = {"step": "layout", "who": "ana", "note": "seen", "definition": about, "covered": NOW}
    assert folded(looks, ev.StepAttested("looks", **word)).features["looks"].attested
    assert not folded(looks, ev.StepAttested("looks", **{**word, **change})).features["looks"].attested


def test_a_word_or_a_run_reopens_what_was_declared_as_failing_and_nothing_else(looks: SessionState) -> None:
    word = fc.AttestStep("looks", "layout", "ana", "seen", NOW)
    failed = after(looks, fc.MoveFeature("looks", "failing", "boom"), word)
    assert (failed.features["looks"].status, failed.features["looks"].reason) == ("in_progress", "")
    blocked = after(looks, fc.MoveFeature("looks", "blocked", "no key"), word)
    assert (blocked.features["looks"].status, blocked.features["looks"].reason) == ("blocked", "no key")


# -- events about what is no longer so --------------------------------------------------------------


def test_only_checks_of_the_feature_are_running_and_the_results_of_others_stay(state: SessionState) -> None:
    two = (Check(("one",)), Check(("two",)))
    proven = after(state, fc.AddFeature("f", "d", checks=two))
    proven = after(proven, ran(proven, "f", two[0]), ran(proven, "f", two[1]))
    about = definition_of(proven.features["f"])
    begun = folded(proven, ev.ChecksBegun("f", about, [two[0].hash, "absent"])).features["f"]
    assert begun.running == (two[0].hash,) and list(begun.ran) == [two[1].hash]
    assert folded(proven, ev.ChecksBegun("f", "other", [two[0].hash])).features == proven.features


def test_a_run_that_is_over_is_no_longer_running_and_the_others_are(state: SessionState) -> None:
    two = (Check(("one",)), Check(("two",)))
    known = after(state, fc.AddFeature("f", "d", checks=two))
    about = definition_of(known.features["f"])
    begun = after(known, fc.BeginChecks("f", about, (two[0].hash, two[1].hash)))
    over = after(begun, ran(begun, "f", two[0])).features["f"]
    assert over.running == (two[1].hash,) and over.ran[two[0].hash].ok and over.ran[two[0].hash].first == ""


@pytest.mark.parametrize("change", [{"definition": "other"}, {"check": "absent"}, {"feature": "absent"}])
def test_a_run_of_something_else_proves_nothing(added: SessionState, change: dict[str, str]) -> None:
    facts: dict[str, Any] = {
        "feature": "jwt",
        "definition": definition_of(added.features["jwt"]),
        "check": PASS.hash,
    }
    body = ev.CheckRan(**{**facts, **change}, command="x", exit_code=0, covered=NOW, after=NOW)
    assert folded(added, body).features == added.features


def test_evidence_is_voided_of_one_feature_or_of_all_and_the_claim_says_why(added: SessionState) -> None:
    both = after(added, fc.AddFeature("b", "b", checks=(PASS,), claim="was green"))
    both = after(both, ran(both), ran(both, "b"))
    one = folded(both, ev.EvidenceVoided("recovered", "jwt"))
    assert not verdict(one).passes and verdict(one, "b").passes
    every = folded(both, ev.EvidenceVoided("recovered"))
    assert [bool(feature.ran) for feature in every.features.values()] == [False, False]
    assert [feature.claim for feature in every.features.values()] == ["recovered", "was green"]


def test_a_change_takes_away_what_somebody_else_reported_and_new_words_do_not(added: SessionState) -> None:
    bad = after(added, fc.Report("jwt", "junit.xml", failed=1, first="boom"))
    assert after(bad, fc.ChangeFeature("jwt", description="x")).features["jwt"].reported.failed == 1
    assert after(bad, fc.ChangeFeature("jwt", steps=("a",))).features["jwt"].reported.failed == 0


def test_events_about_a_feature_that_is_there_or_gone_twice_change_nothing(added: SessionState) -> None:
    again = ev.FeatureAdded("jwt", "another description")
    assert folded(added, again).features == added.features
    for body in (
        ev.FeatureChanged("absent", "x"),
        ev.FeatureRemoved("absent"),
        ev.FeatureMoved("jwt", "passing"),
        ev.FeatureMoved("absent", "failing"),
        ev.CheckReported("absent", "x"),
    ):
        then = folded(added, body)
        assert (then.features, then.feature_changes) == (added.features, added.feature_changes)
