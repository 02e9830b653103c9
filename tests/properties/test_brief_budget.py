"""A brief keeps to its budget in every form, cuts only between words, and has what a run needs most."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from hypothesis import example, given, strategies as st
from tests.properties.steps import runs, short, texts
from tests.support.briefs import known
from tests.support.examples import examples
from tests.support.long_story import story

from segue.core.base.page import cut, size
from segue.core.brief.compose import compose, marked_down
from segue.core.brief.facts import BriefFacts, PlanLine, Probe
from segue.core.brief.manifest import Manifest, manifest
from segue.core.brief.requests import Requests
from segue.core.ledger.model import KINDS, Entry
from segue.core.ledger.standing import Standing, standing
from segue.core.runs.digest import fold, trail
from segue.core.runs.model import Failure, SaidText, UserMessage
from segue.core.runs.steps import Step
from segue.surfaces.cli.table import TABLE

budgets = st.one_of(st.integers(256, 700), st.integers(256, 8_192))
MORE = "segue brief run-1 --max-bytes 8192"

many = st.lists(texts, max_size=5)
names = st.lists(short, max_size=12)
states = st.sampled_from(["active", "next", "blocked"])
failures = st.lists(st.builds(Failure, what=short, why=texts, at=st.just(3)), max_size=3)
messages = st.builds(UserMessage, texts, st.integers(1, 9), st.sampled_from(["", "queued", "refusal"]), texts)
wants = st.builds(
    Requests, last=st.none() | messages, answers=texts, request=st.none() | messages, mends=st.booleans(),
    before=st.none() | messages,
)  # fmt: skip
folded = st.sampled_from([fold(story(seed, calls=20 * seed)[: -(seed % 5) - 1]) for seed in range(1, 6)])
said = st.builds(
    Entry, id=st.integers(0, 10**6).map(str), kind=st.sampled_from(KINDS), text=texts,
    state=st.sampled_from(["open", "active", "answered", "done", "withdrawn"]),
    by=st.sampled_from(["user", "codex"]), answers=texts, reply=texts, of=st.sampled_from(["", "1", "2"]),
)  # fmt: skip
standings = st.lists(said, max_size=12).map(standing)
pictures = st.builds(
    BriefFacts,
    agent=st.sampled_from(["", "codex"]), run=short, project=short, status=short, branch=short, folder=short,
    when=st.sampled_from([0.0, 1_794_700_000.0]), ending=short, context=st.integers(0, 300_000),
    window=st.sampled_from([0, 200_000]), chars=st.integers(0, 10**8), calls=st.integers(0, 99), goal=texts,
    wanted=wants, standing=standings, rules=many, plan_done=many, plan_total=st.integers(0, 20),
    plan=st.lists(st.builds(PlanLine, text=texts, state=states, reason=short), max_size=14),
    trail=folded.map(trail), tree=folded.map(lambda digest: digest.tree),
    thought=st.none() | st.builds(SaidText, texts, st.integers(1, 999)),
    failing=failures, fault=texts, questions=many, threads=many, focus=short, decided=many, learnt=many,
    memories=many, notices=many,
    probe=st.none() | st.builds(Probe, head=short, dirty=names.map(tuple), commits=names.map(tuple)),
)  # fmt: skip
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def forms(shown: BriefFacts, budget: int) -> dict[str, str]:
    return {
        "text": compose(shown, budget, MORE),
        "markdown": marked_down(shown, budget, MORE),
        "json": manifest(shown, budget, MORE).decode("utf-8"),
    }


@examples(80)
@given(pictures, budgets)
def test_no_form_of_any_picture_is_over_its_budget_or_holds_a_control_character(
    shown: BriefFacts, budget: int
) -> None:
    for form, text in forms(shown, budget).items():
        assert len(text.encode("utf-8")) <= budget, form
        assert not CONTROL.search(text), form


@examples(60)
@given(runs, budgets)
def test_no_brief_of_any_steps_is_over_its_budget(steps: list[Step], budget: int) -> None:
    probe = Probe(now=1_794_710_000.0, branch="main", dirty=("src/app.py",), commits=("Add rows",))
    for form, text in forms(known(steps, probe=probe, agent="codex"), budget).items():
        assert len(text.encode("utf-8")) <= budget, form


@examples(50)
@given(pictures, budgets)
def test_every_manifest_is_valid(shown: BriefFacts, budget: int) -> None:
    text = manifest(shown, budget, MORE)
    msgspec.json.decode(text, type=Manifest, strict=True)
    assert list(json.loads(text)) == [key for key in Manifest.__struct_fields__ if key in json.loads(text)]


told = st.lists(
    st.sampled_from("move the invoice parser to decimals and keep old rows".split()), min_size=3, max_size=60
)


@examples(60)
@given(
    goal=told, now=told, then=told, why=told, budget=budgets, ending=st.booleans(), extra=pictures,
    agent=st.sampled_from(["", "claude-code"]), branch=st.sampled_from(["", "feature/" + "x" * 60]),
)  # fmt: skip
def test_goal_work_next_step_and_what_is_broken_are_in_every_brief(
    goal: list[str], now: list[str], then: list[str], why: list[str], budget: int, ending: bool,
    extra: BriefFacts, agent: str, branch: str,
) -> None:  # fmt: skip
    shown = msgspec.structs.replace(
        extra,
        agent=agent, branch=branch, ending="the model could not be reached at the end" if ending else "",
        goal=" ".join(["GGG", *goal]), failing=[Failure("BBB run", " ".join(why), 3)], wanted=Requests(),
        standing=Standing(),
        plan=[PlanLine(" ".join(["NNN", *now]), "active"), PlanLine(" ".join(["TTT", *then]), "next")],
    )  # fmt: skip
    for form, text in forms(shown, budget).items():
        for mark in ("GGG", "NNN", "TTT", "BBB"):
            assert mark in text, (form, mark)


@examples(60)
@given(goal=told, items=st.lists(told, min_size=1, max_size=12), budget=budgets)
def test_what_is_cut_ends_at_a_word(goal: list[str], items: list[list[str]], budget: int) -> None:
    shown = BriefFacts(goal=" ".join(goal), plan=[PlanLine(" ".join(item), "next") for item in items])
    known = {*goal, *(word for item in items for word in item)}
    known |= {
        "[segue]",
        "Where",
        "the",
        "work",
        "stands.",
        "GOAL:",
        "OPEN:",
        "[/segue]",
        "and",
        "more",
        "more:",
    }
    known |= set(MORE.split())
    for word in compose(shown, budget, MORE).split():
        bare = word.rstrip("…;.,")
        assert bare in {one.rstrip(".") for one in known} or bare.isdigit(), word


@given(texts, st.integers(0, 300))
@example("a" * 50, 20)
@example("", 0)
def test_a_cut_is_within_its_bytes_and_begins_the_text(text: str, most: int) -> None:
    short = cut(text, most)
    assert size(short) <= most
    whole = cut(text, 100_000)
    assert short == whole or whole.startswith(short.rstrip("…").rstrip()), (short, whole)
    kept = short.rstrip("…")
    if short.endswith("…") and short != whole and " " in kept[len(kept) // 2 :]:  # else it is one long word
        assert not whole[len(kept) :][:1].isalnum() or not kept[-1:].isalnum()


@examples(40)
@given(pictures, budgets)
def test_the_last_line_names_only_a_command_that_exists(shown: BriefFacts, budget: int) -> None:
    last = compose(shown, budget, MORE).split("\n")[-1]
    named = re.findall(r"segue (\w+)", last.replace("[/segue]", ""))
    assert last.startswith("[/segue]")
    assert all(name in TABLE for name in named)


def test_the_schema_is_one_that_every_key_of_the_contract_is_in() -> None:
    from segue.core.brief.manifest import schema

    found: dict[str, Any] = schema()
    kinds = found["$defs"]
    assert {"project", "phase", "timestamp", "context_usage_before"} <= set(kinds["Metadata"]["properties"])
    assert {"task", "priority", "status", "context"} == set(kinds["Pending"]["properties"])
