"""Examples of briefs in a form that a person can read and extend: steps of a run, and lines of its brief.

A case begins with ``## `` and a sentence. Then one step a line, a word and its text:

- ``user``, ``queued``, ``command``, ``refusal``: what the user typed, and how;
- ``say``, ``think``: what the agent said, or thought;
- ``run``, ``read``, ``search``, ``agent``, ``ask``: a call; also ``edit PATH | old | new``,
  ``create PATH | text``, ``delete PATH`` and ``tool NAME ARGUMENTS``;
- ``ok``, ``failed``, ``exit N``, ``unknown``: the result of the last call, with its output;
- ``refused``: the user rejected the last call, with these words;
- ``process ID``, ``settled ID``: the last call goes on in the background; it has ended, or
  ``settled ID failed TEXT``; ``poll ID``, ``typed ID TEXT``: a call that asks it for output, or types;
- ``plan``: items, as in ``[x] done; [>] now; [ ] open``;
- ``folder``, ``branch``, ``end``, ``interrupt``, ``fault`` (of the model), ``recap``, ``given``;
- ``clock``: the time of the next step, as in ``2026-03-04 09:12``;
- ``window USED SIZE``: how many tokens are in the window;
- ``parent ID``: the run is a sub-agent's, of the run with this id;
- ``by AGENT``: the run is written as a transcript of this agent, and read back from it;
- ``next``: the run is over, and the next one begins;
- ``12 times STEP ;; STEP``: steps that are repeated, with their number in the place of ``#``;
- ``briefed CASE``: the run was given the brief of an earlier case of the file.

What others than the run know, in cases without ``by``:

- ``declared goal``, ``item``, ``decision``, ``finding``, ``question``, ``trouble``, ``thread``, ``feature``,
  ``focus``: what somebody told Segue; an item as ``[x] done``, ``[>] now``, ``[ ] open`` or ``[!] blocked``,
  and behind a `` | `` its reason, why it was decided, the answer, the solution or the last note;
- ``memory``, ``notice``, ``claim``: what was remembered, what Segue says itself, what a model concluded;
- ``now branch NAME``, ``now changed FILES``, ``now committed SUBJECTS``: what git says of the working tree,
  separated by ``; ``; ``now slow``: it did not answer in time.

Which brief it is: ``bytes N`` its size (2,048 unless told), ``as manifest`` or ``as account`` its form (the
manifest is shown with a line for each value), ``sizes`` if it is written down at several sizes.

``\\n`` in a text is a line end, ``\\t`` a tab, ``{word*3}`` is ``word1 word2 word3``, and
``{word*3, }`` is ``word1, word2, word3``. Then what is expected: ``=> `` a line of the brief, from its
beginning or anywhere in it; ``!> `` words that are nowhere in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from msgspec import structs
from tests.support.briefs import known as known_after

from segue.core.base.persistent_list import Rows
from segue.core.base.persistent_places import Places
from segue.core.brief.compose import compose
from segue.core.brief.facts import Claim, Probe
from segue.core.brief.long_brief import account
from segue.core.brief.manifest import manifest
from segue.core.features.model import Feature
from segue.core.runs.digest import fold
from segue.core.runs.quotable import gather
from segue.core.runs.steps import (
    Call,
    Change,
    End,
    Fault,
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
    Usage,
)
from segue.core.sessions.state import (
    Decision,
    Finding,
    Focus,
    Item,
    Question,
    SessionState,
    Thread,
    Trouble,
)
from segue.services.brief.brief import Format, brief_of_transcript
from segue.testing.transcripts import written

_STATES: dict[str, Any] = {"x": "done", ">": "active", " ": "pending", "-": "dropped"}
_BEGAN = 1_760_000_000.0


class Example:
    """A case: what happened, and what the brief says of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.runs: list[list[Step]] = [[]]
        self.expected: list[str] = []
        self.absent: list[str] = []
        self.agent = ""
        self.now = _BEGAN
        self.bytes = 2_048
        self.form: Literal["text", "manifest", "account"] = "text"
        self.sized = False
        self.declared: dict[str, list[str]] = {}
        self.probe: Probe | None = None

    @property
    def steps(self) -> list[Step]:
        """The steps of the last run."""
        return self.runs[-1]

    def brief(self, budget: int = 0, form: Format = "text") -> str:
        budget = budget or self.bytes
        if not self.agent:
            return self._composed(budget)
        cwd = next(step.cwd for step in self.steps if isinstance(step, Start) and step.cwd)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "transcript.json"
            path.write_bytes(written(self.agent, self.steps, cwd=cwd))
            return brief_of_transcript(path, self.agent, budget=budget, form=form)

    def _composed(self, budget: int) -> str:
        runs = [steps for steps in self.runs if steps]
        session = _session(self.declared) if self.declared else None
        memories, agent = self.declared.get("memory", ()), "codex" * bool(runs)
        known = known_after(*runs, session=session, probe=self.probe, memories=memories, agent=agent)
        known.notices = self.declared.get("notice", [])
        known.claims = [
            Claim("risk", text, ("s1", "s2", "s3"), "agent") for text in self.declared.get("claim", ())
        ]
        if self.form == "manifest":
            return manifest(known, budget, "segue show r1").decode()
        if self.form == "account":
            return account(known, fold(self.steps), gather(self.steps).blocks, budget, "segue show r1")
        return compose(known, budget)

    def lines(self, budget: int = 0) -> list[str]:
        """The lines of the brief; of a manifest a line for each value."""
        text = self.brief(budget)
        shown = (
            json.dumps(json.loads(text), indent=1, ensure_ascii=False) if self.form == "manifest" else text
        )
        return shown.split("\n")

    def add(self, word: str, text: str) -> None:
        """A line of the case."""
        self.now += 1
        at, steps = self.now, self.steps
        if word == "next":
            self.runs.append([])
        elif word in ("user", "queued", "command", "refusal"):
            steps.append(Prompt(at, text, "" if word == "user" else word))  # type: ignore[arg-type]
        elif word in ("run", "read", "search", "agent", "ask", "edit", "create", "delete", "tool"):
            steps.append(_call(at, f"c{len(steps)}", word, text))
        elif word == "poll":
            steps.append(Call(at, f"c{len(steps)}", "BashOutput", "other", text, process=text))
        elif word == "typed":
            process, _, typed = text.partition(" ")
            steps.append(Call(at, f"c{len(steps)}", "write_stdin", "run", typed, process=process))
        elif word in ("ok", "failed", "unknown", "exit", "process"):
            steps.append(_result(at, _last_call(steps).id, word, text))
        elif word == "refused":
            call = _last_call(steps).id
            steps += [Interrupt(at, text, call), Result(at, call)]
        elif word == "settled":
            process, _, said = text.partition(" ")
            failed = said.split(" ")[0] == "failed"
            steps.append(Settled(at, process, not failed, said.removeprefix("failed").strip()))
        elif word == "plan":
            items = [item.strip() for item in text.split(";")]
            steps.append(Plan(at, tuple(PlanItem(item[4:], _STATES[item[1]]) for item in items)))
        elif word == "by":
            self.agent = text
        elif word in ("declared", "memory", "notice", "claim"):
            kind, _, said = text.partition(" ") if word == "declared" else (word, "", text)
            self.declared.setdefault(kind, []).append(said)
        elif word == "now":
            self.probe = _probe(self.probe or Probe(at, head="1a2b3c4"), text)
        elif word == "bytes":
            self.bytes = int(text)
        elif word == "as":
            self.form = text  # type: ignore[assignment]
        elif word == "sizes":
            self.sized = True
        elif word == "clock":
            self.now = datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp()
        elif word in ("folder", "branch", "parent"):
            before = steps[-1] if steps else None
            if isinstance(before, Start):
                steps[-1] = _start(before, word, text)
            else:
                steps.append(_start(Start(at), word, text))
        else:
            steps.append(_OTHERS[word](at, text))


def examples(path: Path) -> Iterator[Example]:
    """The cases of a file."""
    cases: dict[str, Example] = {}
    for block in path.read_text().split("\n## ")[1:]:
        name, _, body = block.partition("\n")
        example = cases[name.strip()] = Example(name.strip())
        for line in body.split("\n"):
            word, _, text = line.partition(" ")
            if word == "=>":
                example.expected.append(text)
            elif word == "!>":
                example.absent.append(text)
            elif word == "briefed":
                example.add("given", cases[text].brief())
            elif text.startswith("times "):
                for number in range(1, int(word) + 1):
                    for step in text.removeprefix("times ").replace("#", str(number)).split(" ;; "):
                        again, _, rest = step.partition(" ")
                        example.add(again, _spelled(rest.strip()))
            elif line.strip() and not line.startswith("#"):
                example.add(word, _spelled(text.strip()))
        yield example


_MANY = re.compile(r"\{([^{}*]+)\*(\d+)([^{}]*)\}")


def _spelled(text: str) -> str:
    """A text of a case with its line ends, tabs and rows of words."""
    text = text.replace("\\n", "\n").replace("\\t", "\t")
    return _MANY.sub(
        lambda many: (many[3] or " ").join(f"{many[1]}{number + 1}" for number in range(int(many[2]))), text
    )


def _session(declared: dict[str, list[str]]) -> SessionState:
    """The session to which somebody declared these things."""

    def pairs(kind: str) -> list[tuple[str, str]]:
        return [(text, rest) for text, _, rest in (one.partition(" | ") for one in declared.get(kind, ()))]

    rows = [(_ITEMS[text[1]], text[4:], reason) for text, reason in pairs("item")]
    at = {status: Places(n for n, row in enumerate(rows) if row[0] == status) for status in _ITEMS.values()}
    place, position = next(iter(pairs("focus")), ("", ""))
    return SessionState(
        id="s1", status="active", goal=next(iter(declared.get("goal", ())), ""),
        items=Rows(Item(text, status, reason=reason) for status, text, reason in rows),
        next=at["next"], active=at["active"], blocked=at["blocked"], done=Rows(at["done"]),
        decisions=Rows(Decision(text, why) for text, why in pairs("decision")),
        questions=Rows(Question(text, answer=answer) for text, answer in pairs("question")),
        findings=Rows(Finding(text) for text, _ in pairs("finding")),
        troubles=Rows(Trouble(text, solution=solution) for text, solution in pairs("trouble")),
        threads={
            text: Thread(
                text, note if note in ("done", "paused") else "in_progress", f"{at:03}",
                (note,) if note not in ("", "paused") else (),
            )
            for at, (text, note) in enumerate(pairs("thread"))
        },
        focus=Focus(file=place, position=position),
        features={text: Feature(text, text, status=status) for text, status in pairs("feature")},
    )  # fmt: skip


_ITEMS = {"x": "done", ">": "active", " ": "next", "!": "blocked"}


def _probe(probe: Probe, text: str) -> Probe:
    """What git says, with one more thing."""
    word, _, said = text.partition(" ")
    if word == "slow":
        return structs.replace(probe, cut=True)
    if word == "branch":
        return structs.replace(probe, branch=said)
    names = {"changed": "dirty", "committed": "commits"}
    return structs.replace(probe, **{names[word]: tuple(said.split("; "))})


def _usage(at: float, text: str) -> Usage:
    used, size = text.split()
    return Usage(at, f"u{at}", int(used), 0, int(size))


_OTHERS: dict[str, Any] = {
    "say": Say,
    "think": Thought,
    "recap": Recap,
    "fault": Fault,
    "given": Given,
    "window": _usage,
    "end": lambda at, text: End(at, text or "turn"),
    "interrupt": lambda at, text: Interrupt(at, text or "by the user"),
}


def _start(start: Start, word: str, text: str) -> Start:
    """A beginning, with one more thing that is known of it."""
    if word != "branch":
        start = structs.replace(start, how="start", native="r1")
    return structs.replace(start, **{"cwd" if word == "folder" else word: text})


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
