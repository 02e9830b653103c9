"""However a transcript tells its responses, each counts once, and no token is lost or made up."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.support.examples import examples

from segue.core.runs.digest import decode, encode, fold
from segue.core.runs.model import RunDigest
from segue.core.runs.steps import Compact, Model, Step, Usage
from segue.core.usage.counted_responses import RECENT_MAX, copy_ids, without_copies
from segue.core.usage.report import Period, UsedRun, Valuation, usage_report

AT = 1_790_000_000.0
FIELDS = ("input", "cache_read", "cache_write", "output")
tokens = st.integers(0, 300_000)
told = st.builds(
    Usage, at=st.integers(0, 40).map(lambda days: AT + 30_000.0 * days),
    key=st.integers(0, RECENT_MAX - 1).map(str), context=tokens, input=tokens, cache_read=tokens,
    cache_write=tokens, output=st.integers(1, 9_000), cost=st.sampled_from([0.0, 0.0, 0.5]),
    model=st.sampled_from(["", "opus"]),
)  # fmt: skip
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(told, told, st.builds(Model, at=st.just(AT), name=st.sampled_from(["a", "b"])),
              st.builds(Compact, at=st.just(AT))), max_size=60,
)  # fmt: skip


def summed(digest: RunDigest) -> dict[str, int]:
    return {name: sum(getattr(row, name) for row in digest.usage.rows) for name in (*FIELDS, "responses")}


@examples(200)
@given(steps)
def test_the_sums_are_those_of_the_highest_numbers_of_each_response(told: list[Step]) -> None:
    highest: dict[str, dict[str, int]] = {}
    for step in told:
        if isinstance(step, Usage):
            known = highest.setdefault(step.key, dict.fromkeys(FIELDS, 0))
            highest[step.key] = {name: max(known[name], getattr(step, name)) for name in FIELDS}
    expected = {name: sum(one[name] for one in highest.values()) for name in FIELDS}
    assert summed(fold(told)) == {**expected, "responses": len(highest)}


@examples(200)
@given(steps, st.integers(0, 60))
def test_counting_goes_on_where_it_stopped(told: list[Step], place: int) -> None:
    kept = decode(encode(fold(told[:place])))
    assert kept is not None
    assert fold(told[place:], kept).usage == fold(told).usage


@examples(200)
@given(steps)
def test_without_its_copies_nothing_is_left_of_a_copy(told: list[Step]) -> None:
    usage = fold(told).usage
    own = without_copies(usage, copy_ids(usage))
    assert all(not any(getattr(row, name) for name in (*FIELDS, "responses")) for row in own.rows)
    assert without_copies(usage, ()).rows == usage.rows


@examples(100)
@given(steps, st.sampled_from(["day", "run", "model", "project", "agent", "session"]))
def test_the_rows_of_a_report_add_up_to_its_total(told: list[Step], by: str) -> None:
    runs = [UsedRun("k", "id", "codex", fold(told).usage), UsedRun("l", "id2", "cline", fold(told[:9]).usage)]
    found = usage_report(runs, by, Period(), 0, Valuation(lambda _: None, lambda *_: 1))  # type: ignore[arg-type]
    for name in (*FIELDS, "tokens", "responses"):
        assert sum(getattr(row, name) for row in found.rows) == getattr(found.total, name)
