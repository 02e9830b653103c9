"""What is asked after the last compaction: which of the words that stand can still be known.

Whoever lists them reads what the user said, and how the turns ended, but no summary and nothing of Segue. The
judge reads that list, and what stands in the window of each arm, under letters that are dealt for each
conversation. Who is who is in ``.key.json`` alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from bench.compactions.conversations import STRETCHES, Passage, in_stretches, opened, passages
from bench.compactions.rounds import ARMS, WORDS, Chains, RoundIncomplete, read, window_after, write
from bench.compactions.stretch import HEADS, shortened

KEY, VERDICT = ".key.json", "verdict.md"
KINDS = ("rule", "request", "choice", "exact")
LETTERS = "AB"
USER_CHARACTERS, SAID_CHARACTERS = 8_000, 1_500
LAST = "## The last stretch: only to see what is done, or taken back, by now"
_ITEM = re.compile(
    rf"^\s*(\d+)[.)]\s*\**\[?({'|'.join(KINDS)})\]?\**\s*[:.–—-]", re.IGNORECASE | re.MULTILINE
)


def write_truth(chains: Chains) -> list[Path]:
    """Write what the user said in each conversation, for those who list what stands."""
    written = []
    for one in chains.conversations:
        told = passages(opened(Path(one.path)))
        *stretches, last = in_stretches(told, one.ends)
        parts = [f"# Conversation {one.label}: what the user said, and how the turns ended"]
        for number, stretch in enumerate(stretches, 1):
            parts += [f"## Stretch {number}", *_words(stretch)]
        parts += [LAST, *_words(last)]
        path = chains.out / "truth" / f"{one.label}.md"
        write(path, "\n\n".join(parts) + "\n")
        written.append(path)
    write(chains.out / "truth" / "words.md", read(WORDS / "lister.md"))
    return written


def _words(stretch: Sequence[Passage]) -> Iterator[str]:
    for one in stretch:
        if one.role in ("user", "choice"):
            yield f"{HEADS[one.role]}: {shortened(one.text.strip(), USER_CHARACTERS)}"
        elif one.ends_turn:
            yield f"AGENT, at the end of its turn: {shortened(one.text.strip(), SAID_CHARACTERS)}"


def list_file(out: Path, label: str) -> Path:
    return out / "truth" / f"{label}.list.md"


def items(path: Path) -> dict[int, str]:
    """The kind of each listed item, by its number; raises RoundIncomplete."""
    if not path.exists():
        raise RoundIncomplete(f"{path} is not there")
    text = read(path)
    found = {int(match[1]): match[2].lower() for match in _ITEM.finditer(text)}
    numbered = re.findall(r"^\s*(\d+)[.)]\s", text, re.MULTILINE)
    if not found or len(numbered) != len(found):
        raise RoundIncomplete(
            f"{path}: of {len(numbered)} numbered lines, {len(found)} begin with a number of their own and"
            f" one of: {', '.join(KINDS)}"
        )
    return found


def write_final(chains: Chains) -> list[Path]:
    """Write what stands in the windows after the last compaction, under letters, and the judge's table."""
    listed = {one.label: items(list_file(chains.out, one.label)) for one in chains.conversations}
    for one in chains.conversations:
        if not chains.file(STRETCHES, ARMS[-1], one, "told").exists():
            raise RoundIncomplete(f"round {STRETCHES} is not taken in: the step `next` comes first")
    final = chains.out / "final"
    random = Random(f"letters {chains.seed}")
    key: dict[str, dict[str, str]] = {}
    rows = ["| case | letter | item | kept, half or lost |", "|---|---|---|---|"]
    for one in chains.conversations:
        key[one.label] = dict(zip(LETTERS, random.sample(ARMS, len(ARMS)), strict=True))
        for letter, arm in key[one.label].items():
            write(final / f"{one.label}-{letter}.md", window_after(chains, arm, one).rstrip() + "\n")
            rows += [f"| {one.label} | {letter} | {number} | |" for number in sorted(listed[one.label])]
        write(final / f"{one.label}.list.md", read(list_file(chains.out, one.label)))
    write(chains.out / KEY, json.dumps(key, indent=1) + "\n")
    write(final / "words.md", read(WORDS / "judge.md"))
    if not (final / VERDICT).exists():
        write(final / VERDICT, "\n".join(rows) + "\n")
    return sorted(final.glob("*-[AB].md"))


def letters(out: Path) -> dict[str, dict[str, str]]:
    """Which arm is behind a conversation's letter."""
    path = out / KEY
    if not path.exists():
        raise RoundIncomplete(f"{path} is not there: the step `final` comes first")
    key: dict[str, dict[str, str]] = json.loads(read(path))
    return key
