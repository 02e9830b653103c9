"""Long made-up sessions: prompts, plans, edits, tests that fail and pass, decisions, compactions.

``story(seed, calls=120)`` gives a plausible session, always the same for a seed. ``facts(seed)`` says what it
is about, so that a test knows what a brief of it must contain.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from segue.core.base.values import Value
from segue.core.runs.steps import (
    Act,
    Call,
    Compact,
    End,
    Model,
    Plan,
    PlanItem,
    Planning,
    Prompt,
    Report,
    Result,
    Say,
    Start,
    Step,
    Usage,
)

BEGAN = 1_794_700_000.0
_THINGS = (
    "invoice", "ledger", "basket", "voucher", "session", "parcel", "catalogue", "refund", "subscription",
    "webhook", "tariff", "customer", "address", "coupon", "stock", "shipment",
)  # fmt: skip
_PARTS = ("store", "service", "router", "parser", "cache", "worker", "schema", "client", "mapper", "policy")
_VERBS = ("load", "merge", "validate", "render", "expire", "apply", "resolve", "split", "sync", "normalise")
_AIMS = (
    "Move the {thing} {part} from polling to events and keep the old endpoint until the mobile client is out",
    "Rework the {thing} {part} so that amounts are kept in cents, and migrate the rows that exist",
    "Find out why the {thing} {part} is slow for large customers and make it at least twice as fast",
    "Replace the hand-written {thing} {part} by one that reads its rules from the settings of the tenant",
)
_RULES = (
    "Never touch the generated files under {thing}_gen.",
    "Use decimal amounts, not floats.",
    "Always run the linter before a commit.",
    "Do not change the public names of the {thing} {part}.",
)
_CHOICES = (
    "I'll keep the {part} behind a flag instead of replacing it, because the mobile client still calls it.",
    "We will use one table for {thing} and history rather than two, so that a migration stays small.",
    "The root cause is that {name} reads the whole {thing} list for each request.",
)
_WHYS = (
    "AssertionError: expected 3 rows from {name}, got 2",
    "TypeError: {name}() missing 1 required positional argument: 'tenant'",
    "KeyError: '{thing}_id' in {name}",
    "ValueError: invalid amount for {thing} in {name}",
)
_REPORTS = (
    "The {thing} {part} is called from four places; only {name} writes. The others may stay as they are.",
    "No migration touches {thing} rows since March, and {name} has no tests of its own.",
)
_SAYS = (
    "Now let me look at how {name} handles an empty {thing} before I change {file}.",
    "I updated {file}: {name} takes the tenant now, and the {part} hands it on.",
    "The {part} still builds the {thing} twice; I'll move that into {name} next.",
    "Added a case for an expired {thing} to the tests of {file}.",
)


class Facts(Value):
    """What a made-up session is about."""

    goal: str
    rules: tuple[str, ...]
    items: tuple[str, ...]
    files: tuple[str, ...]
    names: tuple[str, ...]
    test: str


def facts(seed: int) -> Facts:
    """What the session of this seed is about."""
    chance = random.Random(f"facts {seed}")
    thing, part = chance.choice(_THINGS), chance.choice(_PARTS)
    others = chance.sample([word for word in _THINGS if word != thing], 3)
    parts = chance.sample([word for word in _PARTS if word != part], 5)
    names = [f"{verb}_{word}" for verb in chance.sample(_VERBS, 5) for word in (thing, others[0])]
    files = [f"src/shop/{thing}_{word}.py" for word in (part, *parts)]
    files += [f"src/shop/{word}.py" for word in others] + [f"tests/test_{thing}_{part}.py"]
    items = [
        f"Map every caller of {names[0]} and write down what it expects",
        f"Give {names[1]} the tenant and hand it on in {thing}_{parts[0]}.py",
        f"Move the {thing} rules out of {thing}_{parts[1]}.py into {names[2]}",
        f"Cover {names[3]} and {names[4]} with tests for an empty {others[0]}",
        f"Migrate the {thing} rows that exist, in batches of 500",
        f"Describe the new {part} in the guide for operators",
    ]
    return Facts(
        goal=_filled(chance, _AIMS, thing=thing, part=part),
        rules=tuple(_filled(chance, (rule,), thing=thing, part=part) for rule in chance.sample(_RULES, 2)),
        items=tuple(items),
        files=tuple(files),
        names=tuple(names),
        test=f"pytest tests/test_{thing}_{part}.py",
    )


def _filled(chance: random.Random, forms: tuple[str, ...], **about: str) -> str:
    return chance.choice(forms).format(**about)


def story(seed: int = 0, calls: int = 120, *, compact_every: int = 0) -> list[Step]:
    """A session of about so many calls; with ``compact_every``, it is compacted after each so many."""
    return list(_Writer(seed, calls, compact_every).steps())


class _Writer:
    """Writes the steps of a session."""

    def __init__(self, seed: int, calls: int, compact_every: int) -> None:
        self.chance = random.Random(f"story {seed}")
        self.about = facts(seed)
        self.now = BEGAN + seed * 10_000
        self.left, self.made, self.compact_every = calls, 0, compact_every
        self.done = 0
        self.tokens = 18_000

    def _at(self) -> float:
        self.now += self.chance.randint(2, 40)
        return self.now

    def steps(self) -> Iterator[Step]:
        yield Start(self._at(), "start", native="", branch=f"work/{self.about.items[0].split()[-1]}")
        yield Model(self._at(), "made-model-1")
        yield Prompt(self._at(), f"{self.about.goal}. {' '.join(self.about.rules)}")
        yield Say(self._at(), f"I'll start with the callers, then change {self.about.names[1]}.")
        yield from self._plan()
        while self.left > 0:
            yield from self._work()
            if self.compact_every and self.made >= self.compact_every:
                self.made = 0
                yield self._compacted()
        yield End(self._at())

    def _work(self) -> Iterator[Step]:
        """A few minutes of work: read, edit, test, fix."""
        file, name = self._file_and_name()
        yield from self._read(file, name)
        if self.chance.random() < 0.7:
            yield self._say(_SAYS, file, name)
        if self.chance.random() < 0.15:
            yield from self._ask_subagent(name)
        yield from self._edit(file, name)
        yield from self._test(name)
        if self.chance.random() < 0.3:
            yield self._say(_CHOICES, file, name)
        if self.chance.random() < 0.25:
            yield from self._finish()
        self.tokens = min(190_000, self.tokens + self.chance.randint(900, 4_000))
        yield Usage(self._at(), f"u{self.left}", context=self.tokens, output=400, window=200_000)

    def _file_and_name(self) -> tuple[str, str]:
        """A file and the name of a function, most often those of the current item."""
        at = min(self.done, len(self.about.files) - 1)
        file = self.about.files[at] if self.chance.random() < 0.5 else self.chance.choice(self.about.files)
        return file, self.chance.choice(self.about.names)

    def _words(self, file: str, name: str) -> dict[str, str]:
        thing, _, part = file.rsplit("/", 1)[-1].removeprefix("test_").removesuffix(".py").partition("_")
        return {"thing": thing, "part": part or "module", "name": name, "file": file.rsplit("/", 1)[-1]}

    def _say(self, forms: tuple[str, ...], file: str, name: str) -> Say:
        return Say(self._at(), _filled(self.chance, forms, **self._words(file, name)))

    def _call(
        self, act: Act, tool: str, output: str, *, text: str = "", command: str = "",
        paths: tuple[str, ...] = (), exit: int = 0, note: str = "",
    ) -> Iterator[Step]:  # fmt: skip
        self.left -= 1
        self.made += 1
        id = f"call-{self.left}"
        yield Call(self._at(), id, tool, act, text or command, command, paths, note)
        yield Result(self._at(), id, ok=exit == 0, exit=exit if command else None, text=output)

    def _read(self, file: str, name: str) -> Iterator[Step]:
        body = "\n".join(
            f"def {function}(tenant, rows): ..." for function in self.chance.sample(self.about.names, 4)
        )
        yield from self._call("read", "Read", body, text=file, paths=(file,))
        if self.chance.random() < 0.5:
            output = f"{file}:{self.chance.randint(5, 300)}: {name}(tenant)"
            yield from self._call("run", "Bash", output, command=f"rg -n {name} src")

    def _edit(self, file: str, name: str) -> Iterator[Step]:
        other = self.chance.choice(self.about.names)
        text = f"return {name}(rows)\nreturn {name}(tenant, {other}(rows))"
        yield from self._call("edit", "Edit", "done", text=text, paths=(file,))

    def _test(self, name: str) -> Iterator[Step]:
        file = self.about.files[-1]
        if self.chance.random() < 0.35:
            why = _filled(self.chance, _WHYS, **self._words(file, name))
            output = f"FAILED {file}::test_{name}\nE   {why}\n1 failed, 11 passed"
            yield from self._call("run", "Bash", output, command=self.about.test, exit=1)
            if self.chance.random() < 0.8:
                yield from self._edit(file, name)
                yield from self._call("run", "Bash", "12 passed", command=self.about.test)
        else:
            yield from self._call("run", "Bash", "12 passed", command=self.about.test)

    def _ask_subagent(self, name: str) -> Iterator[Step]:
        report = _filled(self.chance, _REPORTS, **self._words(self.about.files[0], name))
        yield from self._call("agent", "Task", report, text=f"Who calls {name}?", note=f"Callers of {name}")
        yield Report(self._at(), report, "explorer")

    def _finish(self) -> Iterator[Step]:
        """Commit a finished item, and continue with the next one."""
        if self.done >= len(self.about.items) - 1:
            return
        subject = f"{self.about.items[self.done].split(' and ')[0]}"
        yield from self._call("run", "Bash", "1 file changed", command=f'git commit -am "{subject}"')
        self.done += 1
        yield from self._plan()
        if self.chance.random() < 0.3:
            request = (
                f"Good. Please also make sure that {self.about.names[-1]} logs the tenant, not its name."
            )
            yield Prompt(self._at(), request)

    def _plan(self) -> Iterator[Step]:
        id = f"plan-{self.done}"
        yield Call(self._at(), id, "TodoWrite", "plan")
        yield Plan(
            self._at(),
            tuple(PlanItem(text, self._state(at)) for at, text in enumerate(self.about.items)),
        )
        yield Result(self._at(), id, ok=True, text="Plan updated")

    def _state(self, at: int) -> Planning:
        return "done" if at < self.done else "active" if at == self.done else "pending"

    def _compacted(self) -> Compact:
        done = "; ".join(self.about.items[: self.done]) or "nothing yet"
        summary = (
            f"The user asked: {self.about.goal}. Rules: {' '.join(self.about.rules)} Done: {done}. "
            f"Under way: {self.about.items[self.done]}. Files: {', '.join(self.about.files[:6])}."
        )
        self.tokens = 20_000
        return Compact(self._at(), summary, "auto", 180_000)
