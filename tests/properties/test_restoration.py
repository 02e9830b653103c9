"""Restorations of anything: never over budget, never less for more, and the log is true."""

from __future__ import annotations

import random

from hypothesis import given, strategies as st
from tests.properties.steps import runs
from tests.support.long_story import story

from segue.core.base.token_estimate import estimate
from segue.core.brief.compose import compose
from segue.core.brief.facts import facts as brief_facts
from segue.core.brief.passages import passages
from segue.core.resume.restoration import (
    PRIORITIES,
    TOKENS_MIN,
    Candidate,
    Restoration,
    facts,
    pieces_of,
    restore,
)
from segue.core.runs.digest import fold
from segue.core.runs.quotable import gather
from segue.core.runs.steps import Step

TEXTS = st.text(st.characters(codec="utf-8"), max_size=400)
LINES = st.lists(
    st.sampled_from(["def to_cents(x):", "    return 100 * x", "", "# Money", "Größe", "数"]), max_size=60
)

KINDS = st.sampled_from(["notes", "decisions", "changes"])


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    names = draw(st.lists(st.text("abcdef", min_size=1, max_size=4), max_size=12, unique=True))
    return [
        Candidate(
            name, draw(KINDS), draw(st.sampled_from(list(PRIORITIES))), name,
            pieces_of(draw(TEXTS | LINES.map("\n".join))), draw(st.sampled_from(["yours", "agent", "data"])),
            draw(st.floats(0.1, 1.0)), name if draw(st.booleans()) else "",
            draw(st.sampled_from(["", "", "missing: no such note"])),
        )
        for name in names
    ]  # fmt: skip


def briefs(seed: int) -> list[str]:
    shown = brief_facts([fold(story(seed, calls=30))])
    return [compose(shown, size) for size in (600, 1_024, 2_048)]


def told(found: list[Candidate], seed: int, budget: int) -> Restoration:
    run = list(story(seed, calls=40))
    quotes = passages(gather(run).blocks, fold(run))
    return restore(briefs(seed), found, quotes, budget=budget)


@given(candidates(), st.integers(0, 5), st.integers(TOKENS_MIN, 30_000))
def test_a_restoration_is_never_over_budget_and_says_what_it_used(
    found: list[Candidate], seed: int, budget: int
) -> None:
    given = told(found, seed, budget)
    assert estimate(given.text) == given.tokens_used <= budget
    assert given.budget_remaining == budget - given.tokens_used
    assert given.budget_total == budget


@given(candidates(), st.integers(0, 5), st.integers(TOKENS_MIN, 12_000), st.integers(0, 12_000))
def test_a_bigger_budget_never_loses_a_fact(
    found: list[Candidate], seed: int, budget: int, more: int
) -> None:
    small, large = told(found, seed, budget), told(found, seed, budget + more)
    kept = set(large.text.split("\n"))
    lines = [line for line in small.text.split("\n") if line.startswith("  ") and line != "  …"]
    assert [line for line in lines if _is_quoted(line) and line not in kept] == []
    whole = " ".join(large.text.split())
    brief = "\n".join(line for line in small.text.split("\n") if not _is_quoted(line))
    assert [fact for fact in _of_brief(brief) if fact not in whole] == []
    assert _loaded(small) <= _loaded(large)


def _is_quoted(line: str) -> bool:
    return line.startswith(("  |", "  user:", "  agent"))


def _of_brief(text: str) -> list[str]:
    """The facts of the brief's own lines: those before the first section of the restoration."""
    lines = []
    for line in text.split("\n"):
        if line.rstrip(":").isupper() and line.endswith(":"):
            break
        lines.append(line)
    return facts("\n".join([*lines, ""])) if lines[-1] != text.split("\n")[-1] else facts("\n".join(lines))


def _loaded(given: Restoration) -> set[str]:
    return {entry.item for entry in given.log if entry.status in ("loaded", "cut")}


@given(candidates(), st.integers(0, 5), st.integers(TOKENS_MIN, 12_000), st.randoms())
def test_the_order_of_what_is_handed_in_does_not_matter(
    found: list[Candidate], seed: int, budget: int, chance: random.Random
) -> None:
    mixed = list(found)
    chance.shuffle(mixed)
    assert told(found, seed, budget) == told(mixed, seed, budget)


@given(candidates(), st.integers(0, 5), st.integers(TOKENS_MIN, 30_000))
def test_what_the_log_says_was_loaded_is_in_the_text(found: list[Candidate], seed: int, budget: int) -> None:
    given = told(found, seed, budget)
    status = {entry.item: entry.status for entry in given.log}
    bars = {"yours": "  ", "agent": "  | ", "data": "  | "}
    lines = set(given.text.split("\n"))
    for one in found:
        shown = [f"{bars[one.trust]}{line}".rstrip() for piece in one.pieces for line in piece.split("\n")]
        plain = [line for line in shown if line.isascii() and line.isprintable() and "segue" not in line]
        if status[one.id] == "loaded":
            assert [line for line in plain if line not in lines] == []
            assert f"  {one.title} (" in given.text
        elif status[one.id] == "skipped":
            assert f"  {one.title} (" not in given.text


@given(runs, st.integers(TOKENS_MIN, 8_000))
def test_any_run_can_be_restored(run: list[Step], budget: int) -> None:
    digest = fold(run)
    forms = [compose(brief_facts([digest]), size) for size in (600, 1_024, 2_048)]
    given = restore(forms, (), passages(gather(run).blocks, digest), budget=budget)
    assert estimate(given.text) <= budget
    assert given.text.count("[segue]") == given.text.count("[/segue]") == 1
