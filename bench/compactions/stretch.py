"""A stretch of a conversation as the one who summarises it reads it.

What the user said is always there. Where all would be too long, results are shortened first, then calls, then
what the agent said, each from the middle of the stretch outwards: its beginning goes on from the summary
before, its end is where the work stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.compactions.conversations import USER_CHARACTERS, Passage, Role

STRETCH_CHARACTERS = 45_000
LIMITS: dict[Role, int] = {
    "user": USER_CHARACTERS, "choice": USER_CHARACTERS, "said": 1_500, "call": 300, "result": 500,
    "stopped": 300,
}  # fmt: skip
TIGHTER: tuple[tuple[Role, int], ...] = (
    ("result", 120), ("result", 0), ("call", 120), ("call", 0), ("said", 400), ("said", 0),
)  # fmt: skip
HEADS: dict[Role, str] = {
    "user": "USER", "choice": "THE USER'S ANSWER", "said": "AGENT", "call": "CALL", "result": "RESULT",
    "stopped": "STOPPED",
}  # fmt: skip


def rendered(told: Sequence[Passage], most: int = STRETCH_CHARACTERS) -> str:
    """The stretch as Markdown."""
    return "\n\n".join(_joined(told, fitting(told, most))) + "\n"


def fitting(told: Sequence[Passage], most: int) -> list[int]:
    """How many characters of each passage are shown; 0: it is left out."""
    limits = [LIMITS[one.role] for one in told]
    sizes = [len(shown(one, limit)) + 2 for one, limit in zip(told, limits, strict=True)]
    middle = (len(told) - 1) / 2
    outwards = sorted(range(len(told)), key=lambda at: abs(at - middle))
    total = sum(sizes)
    for role, limit in TIGHTER:
        for at in outwards:
            if total <= most:
                return limits
            if told[at].role == role and limit < limits[at]:
                limits[at] = limit
                total -= sizes[at]
                sizes[at] = len(shown(told[at], limit)) + 2 if limit else 0
                total += sizes[at]
    return limits


def shown(one: Passage, limit: int) -> str:
    """A passage with its head; empty if it is left out."""
    if not limit:
        return ""
    head = HEADS[one.role]
    if one.role == "call":
        head = f"{head} {one.tool}"
    if one.failed:
        head = f"{head} (failed)"
    return f"{head}: {shortened(one.text.strip(), limit)}"


def shortened(text: str, limit: int) -> str:
    """At most so many characters of a text: of a longer one the beginning and the end."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    left_out = len(text) - limit
    return f"{text[:head]} [… {left_out} characters …] {text[len(text) - limit + head :]}"


def _joined(told: Sequence[Passage], limits: Sequence[int]) -> Iterator[str]:
    """The passages, with a line where steps are left out. That a call has no result shows by itself."""
    missing = 0
    for one, limit in zip(told, limits, strict=True):
        if not limit:
            missing += one.role != "result"
            continue
        if missing:
            yield _left_out(missing)
            missing = 0
        yield shown(one, limit)
    if missing:
        yield _left_out(missing)


def _left_out(steps: int) -> str:
    return f"[… {steps} steps are not shown …]"
