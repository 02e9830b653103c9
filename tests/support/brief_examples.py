"""Examples of briefs in a form that a person can read and extend: steps of a run, and lines of its brief.

A case begins with ``## `` and a sentence. Then one step a line, a word and its text:

- ``user``, ``queued``, ``command``, ``refusal``: what the user typed, and how;
- ``say``, ``think``: what the agent said, or thought;
- ``run``, ``read``, ``search``, ``agent``, ``ask``: a call; also ``edit PATH | old | new``,
  ``create PATH | text``, ``delete PATH`` and ``tool NAME ARGUMENTS``;
- ``ok``, ``failed``, ``exit N``, ``unknown``: the result of the last call, with its output;
- ``refused``: the user rejected the last call, with these words;
- ``process ID``, ``settled ID``: the last call goes on in the background; it has ended;
- ``plan``: items, as in ``[x] done; [>] now; [ ] open``;
- ``folder``, ``branch``, ``parent``, ``end``, ``interrupt``, ``recap``, ``given``.

``\\n`` in a text is a line end. Then what is expected: ``=> `` a line of the brief, from its beginning or
anywhere in it; ``!> `` words that are nowhere in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from segue.core.brief.compose import compose
from segue.core.brief.facts import facts
from segue.core.runs.digest import fold
from segue.core.runs.steps import (
    Call,
    Change,
    End,
    Given,
    Interrupt,
    Plan,
    PlanItem,
    Prompt,
    Recap,
    Result,
    Say,
    Settled,
    Start,
    Step,
    Thought,
)

_STATES: dict[str, Any] = {"x": "done", ">": "active", " ": "pending", "-": "dropped"}


class Example(NamedTuple):
    """A case: what happened, and what the brief says of it."""

    name: str
    steps: list[Step]
    expected: list[str]
    absent: list[str]

    def brief(self, budget: int = 2_048) -> str:
        return compose(facts([fold(self.steps)], agent="codex"), budget)


def examples(path: Path) -> Iterator[Example]:
    """The cases of a file."""
    for block in path.read_text().split("\n## ")[1:]:
        name, _, body = block.partition("\n")
        example = Example(name.strip(), [], [], [])
        for line in body.split("\n"):
            if line.startswith("=> "):
                example.expected.append(line[3:])
            elif line.startswith("!> "):
                example.absent.append(line[3:])
            elif line.strip() and not line.startswith("#"):
                word, _, text = line.partition(" ")
                _add(example.steps, word, text.strip().replace("\\n", "\n"))
        yield example


def _add(steps: list[Step], word: str, text: str) -> None:
    at = 1_760_000_000.0 + len(steps)
    if word in ("user", "queued", "command", "refusal"):
        steps.append(Prompt(at, text, "" if word == "user" else word))  # type: ignore[arg-type]
    elif word in ("run", "read", "search", "agent", "ask", "edit", "create", "delete", "tool"):
        steps.append(_call(at, f"c{len(steps)}", word, text))
    elif word in ("ok", "failed", "unknown", "exit", "process"):
        steps.append(_result(at, _last_call(steps).id, word, text))
    elif word == "refused":
        call = _last_call(steps).id
        steps += [Interrupt(at, text, call), Result(at, call)]
    elif word == "settled":
        steps.append(Settled(at, text.split(" ")[0], True))
    elif word == "plan":
        items = [item.strip() for item in text.split(";")]
        steps.append(Plan(at, tuple(PlanItem(item[4:], _STATES[item[1]]) for item in items)))
    else:
        steps.append(_OTHERS[word](at, text))


_OTHERS: dict[str, Any] = {
    "say": Say,
    "think": Thought,
    "recap": Recap,
    "given": Given,
    "end": lambda at, text: End(at, text or "turn"),
    "interrupt": lambda at, text: Interrupt(at, text or "by the user"),
    "folder": lambda at, text: Start(at, "start", "r1", text),
    "parent": lambda at, text: Start(at, "start", "r1", parent=text),
    "branch": lambda at, text: Start(at, branch=text),
}


def _last_call(steps: list[Step]) -> Call:
    return next(step for step in reversed(steps) if isinstance(step, Call))


def _call(at: float, id: str, word: str, text: str) -> Call:
    parts = [part.strip(" ") for part in text.split(" | ")]
    if word == "run":
        return Call(at, id, "Bash", "run", text, text)
    if word == "edit":
        path, old, new = parts
        return Call(at, id, "Edit", "edit", text, paths=(path,), changes=(Change(path, "edit", old, new),))
    if word == "create":
        path, new = parts
        return Call(
            at, id, "Write", "create", text, paths=(path,), changes=(Change(path, "create", "", new),)
        )
    if word == "delete":
        return Call(at, id, "Delete", "delete", text, paths=(text,), changes=(Change(text, "delete"),))
    if word == "tool":
        name, _, arguments = text.partition(" ")
        return Call(at, id, name, "other", arguments)
    paths = (text,) if word == "read" else ()
    return Call(at, id, word.title(), word, text, paths=paths, note=text if word in ("agent", "ask") else "")  # type: ignore[arg-type]


def _result(at: float, id: str, word: str, text: str) -> Result:
    if word == "exit":
        code, _, output = text.partition(" ")
        return Result(at, id, int(code) == 0, int(code), output)
    if word == "process":
        process, _, output = text.partition(" ")
        return Result(at, id, None, None, output, process=process)
    return Result(at, id, {"ok": True, "failed": False, "unknown": None}[word], None, text)
