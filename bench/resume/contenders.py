"""Who is asked for a brief: the obvious, what the agent itself wrote, what knows the future, and Segue."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.resume.needs import Cut, Needs, plan_of
from bench.resume.observed import Transcript, base
from bench.resume.scoring import WEIGHTS

SEGUE = "segue"


@dataclass(slots=True)
class Answer:
    """A contender's brief."""

    text: str
    gated: bool = True  # is it held to being readable?
    bounded: bool = True  # is it held to the budget?
    over: bool = False  # it gave more than it was asked for
    failed: str = ""
    seconds: float | None = None


def clipped(text: str, budget: int) -> str:
    """At most so many bytes of a text, from its beginning."""
    return text.encode("utf-8", "replace")[:budget].decode("utf-8", "ignore")


def tail(cut: Cut, budget: int) -> str:
    """The end of the conversation, without what the tools gave."""
    texts = [
        f"{observation.tool} {observation.shown[:200]}"
        if observation.kind == "call"
        else observation.text[:600]
        for observation in cut.past[-80:]
        if observation.kind != "result"
    ]
    return "\n".join(texts).encode("utf-8", "replace")[-budget:].decode("utf-8", "ignore")


def recency(cut: Cut, budget: int) -> str:
    """The latest of everything, in a form that needs no thought."""
    newest = list(reversed(cut.past))
    goal = next((observation.text for observation in newest if observation.kind == "user"), "")
    said = next((observation.text for observation in newest if observation.kind == "say"), "")
    files = list(dict.fromkeys(base(path) for observation in newest for path in observation.files))[:25]
    commands = list(dict.fromkeys(observation.command for observation in newest if observation.command))[:6]
    open_items = "; ".join(text for text, state in plan_of(cut.past) if state not in ("completed", "done"))
    lines = {
        "Goal": clipped(goal, 500),
        "Open": open_items[:500],
        "Files": ", ".join(files),
        "Commands": "; ".join(commands),
        "Last": said,
    }
    return clipped("\n".join(f"{label}: {text}" for label, text in lines.items()), budget)


def oracle(needed: Needs, budget: int) -> str:
    """The needs themselves, those first that earn most a byte."""
    whole = sum(WEIGHTS[category] for category in needed)
    priced = []
    for category, wanted in needed.items():
        total = sum(wanted.values())
        for what, weight in wanted.items():
            cost = len(what.encode()) + 1
            priced.append((WEIGHTS[category] / whole * weight / total / cost, what, cost))
    chosen: list[str] = []
    for _, what, cost in sorted(priced, reverse=True):
        if cost <= budget:
            chosen.append(what)
            budget -= cost
    return " ".join(chosen)


def segue_brief(prefix: Path, budget: int) -> Answer:
    """Segue's, in this process."""
    from segue.services.brief.brief import brief_of_transcript

    start = time.perf_counter()
    text = brief_of_transcript(prefix, budget=budget)
    seconds = time.perf_counter() - start
    return Answer(clipped(text, budget), over=len(text.encode()) > budget, seconds=seconds)


def outside(command: str, prefix: Path, budget: int) -> Answer:
    """Whatever a command prints, run as ``COMMAND PREFIX BUDGET``."""
    start = time.perf_counter()
    ran = subprocess.run(
        [*shlex.split(command), str(prefix), str(budget)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    text = ran.stdout.rstrip("\n")
    over = len(text.encode("utf-8", "replace")) > budget
    failed = ran.stderr[-300:] or f"exit {ran.returncode}" if ran.returncode else ""
    return Answer(clipped(text, budget), over=over, failed=failed, seconds=seconds)


@contextmanager
def prefix_file(transcript: Transcript, cut: Cut) -> Iterator[Path]:
    """The lines before the cut, as a file; removed when it is done."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prefix.jsonl"
        text = "".join(transcript.lines[: cut.line])
        path.write_text(text, encoding="utf-8", errors="replace", newline="")
        yield path


def answers(
    transcript: Transcript, cut: Cut, needed: Needs, budget: int, commands: tuple[str, ...]
) -> Iterator[tuple[str, Answer]]:
    """Every contender's brief of a cut."""
    yield "tail", Answer(tail(cut, budget))
    yield "recency", Answer(recency(cut, budget))
    if cut.summary:
        yield "own summary, cut", Answer(clipped(cut.summary, budget))
        yield "own summary, whole", Answer(cut.summary, bounded=False)
    yield "oracle", Answer(oracle(needed, budget), gated=False)
    with prefix_file(transcript, cut) as prefix:
        yield SEGUE, segue_brief(prefix, budget)
        for command in commands:
            yield command, outside(command, prefix, budget)
