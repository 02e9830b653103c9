"""No sequence of events makes a feature pass without an executed check or an attestation of it as it is."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st
from tests.properties.strategies import commands as any_command, grow
from tests.support.examples import examples

from segue.core import event_kinds as ev
from segue.core.features.checks import Check
from segue.core.features.evidence import passed
from segue.core.features.verdict import definition_of, gate, unchecked_steps, verdict_of
from segue.core.sessions import feature_commands as fc
from segue.core.sessions.commands import Command, DecidedBatch, decide_all
from segue.core.sessions.fold import fold
from segue.core.sessions.state import SessionState

HASHES = ("aa", "aa", "aa", "bb", "")
"""Mostly the same, so that something passes now and then."""
CHECKS = (Check(("true",)), Check(("true",), proves=(1,)), Check(("false",), exit_code=1, pattern="x"))
IDS = ("f", "g")
ids = st.sampled_from(IDS)
hashes = st.sampled_from(HASHES)
definitions = st.sampled_from(["now", "now", "now", "now", "zz"])


@st.composite
def runs(draw: st.DrawFn) -> tuple[str, Any]:
    covered = draw(hashes)
    after = covered if draw(st.integers(0, 3)) else draw(hashes)
    late = draw(st.integers(0, 3)) == 0
    return "run", {
        "feature": draw(ids), "definition": draw(definitions), "check": draw(st.sampled_from(CHECKS)).hash,
        "command": "x", "exit_code": draw(st.sampled_from([0, 0, 1, None])), "found": draw(st.booleans()),
        "signal": draw(st.sampled_from([0, 0, 0, 9])), "timed_out": late, "covered": covered, "after": after,
        "fault": draw(st.sampled_from(["", "", "", "gone"])),
    }  # fmt: skip


@st.composite
def words(draw: st.DrawFn) -> tuple[str, Any]:
    return "word", {
        "feature": draw(ids), "step": draw(st.sampled_from(["a", "b", "d"])),
        "who": draw(st.sampled_from(["ana", "ana", ""])), "note": draw(st.sampled_from(["seen", "seen", ""])),
        "covered": draw(hashes), "definition": draw(definitions),
    }  # fmt: skip


declared: st.SearchStrategy[Command] = st.one_of(
    st.builds(
        fc.AddFeature, ids, st.just("d"), steps=st.sampled_from([(), ("a",), ("a", "b")]),
        checks=st.lists(st.sampled_from(CHECKS), max_size=2).map(tuple),
    ),
    st.builds(
        fc.ChangeFeature, ids, steps=st.none() | st.sampled_from([("a",), ("b",)]),
        checks=st.none() | st.lists(st.sampled_from(CHECKS), max_size=2).map(tuple),
        covers=st.none() | st.sampled_from([(), ("src",)]),
    ),
    st.builds(fc.RemoveFeature, ids),
    st.builds(fc.MoveFeature, ids, st.sampled_from(["in_progress", "failing", "blocked", "testing"])),
    st.builds(fc.Report, ids, st.just("r"), st.integers(0, 3), st.integers(0, 1)),
)  # fmt: skip
begun = st.builds(lambda f, d: ("begin", {"feature": f, "definition": d}), ids, definitions)
ours = st.integers(0, 9).flatmap(
    lambda n: (
        runs() if n < 4 else words() if n < 6 else declared if n < 8 else begun if n < 9 else any_command
    )
)
steps = st.lists(ours, max_size=30)
first = st.sampled_from([(), CHECKS[:1], CHECKS[1:2], CHECKS[:2], CHECKS[2:]])


def _event(state: SessionState, what: Any, number: int) -> list[ev.Event]:
    """Commands as decided; facts as they might stand in a journal, whoever wrote them there."""
    if isinstance(what, Command):
        outcome = decide_all(state, [what], at="t", actor="user" if number % 3 else "claude", run="")
        drafts = outcome.drafts if isinstance(outcome, DecidedBatch) else []
    else:
        kind, values = what
        feature = state.features.get(values["feature"])
        if values["definition"] == "now" and feature is not None:
            values = {**values, "definition": definition_of(feature)}
        if kind == "begin":
            values = {**values, "checks": [check.hash for check in CHECKS]}
        body = {"run": ev.CheckRan, "word": ev.StepAttested, "begin": ev.ChecksBegun}[kind](**values)
        drafts = [ev.draft(body, at=f"t{number:04}", actor="user")]
    return ev.seal("session/s", state.version, bytes(32), drafts)


@examples(400)
@given(first, steps, hashes, st.sampled_from([True, True, False]))
def test_what_passes_was_run_or_attested_as_it_is_defined_and_with_these_files(
    checks: tuple[Check, ...], sequence: list[Any], covered: str, attest: bool
) -> None:
    state = SessionState()
    begin: list[list[Command]] = [[fc.AddFeature("f", "d", steps=("a", "b"), checks=checks)]]
    for event in grow(begin, [0]):
        state = fold(state, event)
    evidence: dict[str, list[Any]] = {id: [] for id in IDS}
    about = {"f": definition_of(state.features["f"])}
    for number, what in enumerate(sequence):
        for event in _event(state, what, number):
            state = fold(state, event)
            body = ev.read_body(event)
            for id in IDS:  # evidence counts from the last change of its feature on
                feature = state.features.get(id)
                if feature is None or about.get(id) != definition_of(feature):
                    evidence[id] = []
                about[id] = definition_of(feature) if feature else ""
            if isinstance(body, ev.CheckRan | ev.StepAttested) and body.feature in evidence:
                evidence[body.feature].append(body)
    for id, feature in state.features.items():
        if id not in IDS or not verdict_of(feature, covered, attest=attest).passes:
            continue
        assert covered
        for check in feature.checks:
            [*_, last] = [
                b
                for b in evidence[id]
                if isinstance(b, ev.CheckRan) and b.check == check.hash and b.definition == about[id]
            ]
            assert passed(check, last) and last.covered == last.after == covered
        for step in unchecked_steps(feature):
            assert attest
            [*_, word] = [
                b
                for b in evidence[id]
                if isinstance(b, ev.StepAttested) and b.step == step and b.who and b.note
            ]
            assert word.covered == covered
        assert feature.checks or unchecked_steps(feature)
    found = gate(state, dict.fromkeys(state.features, covered), attest=attest)
    assert found.ok == all(verdict_of(f, covered, attest=attest).passes for f in state.features.values())
    assert len(found.text.encode()) <= 1024
