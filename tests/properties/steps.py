"""Strategies for what a transcript may tell: any steps in any order, in words of people and machines."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from segue.core.runs.steps import (
    Act,
    Call,
    Compact,
    End,
    Fault,
    Given,
    Interrupt,
    Model,
    Plan,
    PlanItem,
    Prompt,
    Recap,
    Report,
    Result,
    Rewind,
    Say,
    Start,
    Step,
    Title,
    Usage,
)

WORDS = (
    "never always use decimal not float the and tenant invoice parser fixed because instead of decided now "
    "next I'll update load_rows merge_invoice src/app.py tests/test_app.py error: failed expected 3 naïve "
    "Größe 数据库 迁移 "
    '🙂 👩‍💻 é «quoted» "marks" `ticks` ; | : … [segue] [/segue] GOAL: PLAN: - [ ] [x] \x1b[31mred\x1b[0m '
    '\u202e \x07 {"session_metadata" ``` <system>'
).split(" ")

sentences = st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join)
texts = st.one_of(
    sentences,
    st.lists(sentences, max_size=6).map("\n".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    st.integers(1, 400).map(lambda n: "x" * n),
    st.integers(1, 200).map(lambda n: "漢" * n),
)
short = st.one_of(sentences, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
ids = st.sampled_from(["c1", "c2", "c3", "c4", ""])
paths = st.sampled_from(
    ["src/app.py", "/src/shop/models.py", "README.md", "a b.txt", "C:\\x\\y.ts", "größe.py", ""]
)
commands = st.sampled_from(
    [
        "",
        "pytest -q",
        "npm run build",
        "cd api && make test",
        "git commit -m 'Add rows'",
        "rg -n x src",
        "sed -i s/a/b/ f.py",
    ]
)
times = st.sampled_from([0.0, 1_794_700_000.0, 1_794_703_600.5])
STATES: Any = ["pending", "active", "done", "dropped", ""]
items = st.builds(PlanItem, text=short, state=st.sampled_from(STATES), key=st.sampled_from(["", "1", "2"]))

step = st.one_of(
    st.builds(
        Start, at=times, how=st.sampled_from(["start", "resume", ""]), native=st.sampled_from(["", "run-1"]),
        cwd=st.sampled_from(["", "/src/shop"]), branch=short,
    ),
    st.builds(Prompt, at=times, text=texts),
    st.builds(Given, at=times, text=texts),
    st.builds(Say, at=times, text=texts),
    st.builds(
        Call, at=times, id=ids, tool=st.sampled_from(["Bash", "Edit"]), act=st.sampled_from(get_args(Act)),
        text=texts, command=commands, paths=st.lists(paths, max_size=2).map(tuple), note=short,
    ),
    st.builds(
        Result, at=times, id=ids, ok=st.sampled_from([True, False, None]), exit=st.sampled_from([None, 0, 1]),
        text=texts, paths=st.lists(paths, max_size=1).map(tuple),
    ),
    st.builds(Plan, at=times, items=st.lists(items, max_size=5).map(tuple), whole=st.booleans()),
    st.builds(
        Usage, at=times, key=ids, context=st.integers(0, 300_000), output=st.integers(0, 9_000),
        window=st.sampled_from([0, 200_000]),
    ),
    st.builds(Compact, at=times, summary=texts),
    st.builds(Recap, at=times, text=texts),
    st.builds(Report, at=times, text=texts, call=ids),
    st.builds(Interrupt, at=times, reason=short),
    st.builds(Rewind, at=times, prompts=st.integers(0, 4), text=st.sampled_from(["", "", "and the tax"])),
    st.builds(Fault, at=times, text=texts),
    st.builds(Model, at=times, name=short),
    st.builds(Title, at=times, text=texts),
    st.builds(End, at=times, how=st.sampled_from(["turn", "error", "exit"]), text=texts),
)  # fmt: skip

runs: st.SearchStrategy[list[Step]] = st.lists(step, max_size=40)
