"""Six compactions of each conversation, in two arms: what is on disk, and what each round is given.

A summariser is given one file and nothing else. In the arm ``segue`` it has what Segue's hooks said: after
the compaction before, behind the summary, where it stood in the window; and before this one, as instructions,
where Claude Code puts it. Both arms are given the same stretch of the conversation, in the same words.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from bench.compactions.cases import medians, size, with_told
from bench.compactions.conversations import STRETCHES, Conversation, in_stretches, opened, passages
from bench.compactions.hooks import PlayedRun
from bench.compactions.retold import Compacted, retold
from bench.compactions.stretch import rendered

ALONE, SEGUE = "alone", "segue"
ARMS = (ALONE, SEGUE)
WORDS = Path(__file__).parent / "words"
PLAN = Path("chains") / "plan.json"
SUMMARY_CHARACTERS = 7_500


class RoundIncomplete(Exception):
    """Somebody has not written what the next step needs."""


class Said(NamedTuple):
    """What Segue's hooks say about the last of some compactions."""

    told: str = ""  # after it
    words: str = ""  # before the next one


@dataclass(slots=True)
class Chains:
    """The conversations of a benchmark, and the folder that it is in."""

    out: Path
    seed: int
    conversations: list[Conversation]

    def write(self) -> None:
        fields = {"seed": self.seed, "conversations": [asdict(one) for one in self.conversations]}
        write(self.out / PLAN, json.dumps(fields, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, out: Path) -> Chains:
        path = out / PLAN
        if not path.exists():
            raise RoundIncomplete(f"{path} is not there: begin with the step `chains`")
        fields = json.loads(path.read_text(encoding="utf-8"))
        return cls(out, fields["seed"], [Conversation(**one) for one in fields["conversations"]])

    @property
    def round(self) -> int:
        """The round that is under way."""
        return max((int(path.name) for path in (self.out / "rounds").iterdir()), default=0)

    def file(self, round: int, arm: str, one: Conversation, kind: str = "") -> Path:
        """What a summariser is given (``.md``), what it wrote (``.summary.md``), what Segue told after that
        (``.told.md``)."""
        return self.out / "rounds" / str(round) / arm / f"{one.label}{kind and '.' + kind}.md"

    def summaries(self, arm: str, one: Conversation, rounds: int) -> list[str]:
        """The summaries of the first rounds of an arm."""
        return [read(self.file(number, arm, one, "summary")).strip() for number in range(1, rounds + 1)]

    def told(self, round: int, arm: str, one: Conversation) -> str:
        """What Segue told after the compaction of a round; nothing in the arm that is without it."""
        return read(self.file(round, arm, one, "told")).strip() if arm == SEGUE else ""


def begin(out: Path, seed: int, conversations: list[Conversation]) -> Chains:
    """Write the stretches of all conversations, and the first round."""
    chains = Chains(out, seed, conversations)
    for one in conversations:
        transcript = opened(Path(one.path))
        for number, stretch in enumerate(in_stretches(passages(transcript), one.ends), 1):
            write(stretch_file(out, one, number), rendered(stretch))
    said = [said_after(one, []) for one in conversations]
    for one, words in zip(conversations, said, strict=True):
        write_windows(chains, one, 1, words)
    chains.write()
    return chains


def stretch_file(out: Path, one: Conversation, number: int) -> Path:
    return out / "chains" / one.label / f"stretch-{number}.md"


def go_on(chains: Chains) -> list[int]:
    """Take in the round that is under way, and write the next one. How many bytes were told after each of
    its compactions."""
    round = chains.round
    check(chains, round)
    said = [said_after(one, chains.summaries(SEGUE, one, round)) for one in chains.conversations]
    for one, words in zip(chains.conversations, said, strict=True):
        write(chains.file(round, SEGUE, one, "told"), words.told)
        if round < STRETCHES:
            write_windows(chains, one, round + 1, words)
    return [size(words.told) for words in said]


def check(chains: Chains, round: int) -> None:
    """Refuse to go on while summaries are missing or too long."""
    faults = []
    for arm in ARMS:
        for one in chains.conversations:
            path = chains.file(round, arm, one, "summary")
            text = read(path).strip() if path.exists() else ""
            if not text:
                faults.append(f"{path} is not there, or empty")
            elif len(text) > SUMMARY_CHARACTERS:
                faults.append(f"{path} has {len(text)} characters, more than {SUMMARY_CHARACTERS}")
    if faults:
        raise RoundIncomplete("\n".join(faults))


def said_after(one: Conversation, summaries: Sequence[str]) -> Said:
    """What the hooks say after compactions with these summaries, and before the next one."""
    transcript = opened(Path(one.path))
    made: list[Compacted] = []
    told = words = ""
    with tempfile.TemporaryDirectory() as folder:
        run = PlayedRun(Path(folder), "claude-code", one.native)
        for end, summary in zip(one.ends, summaries, strict=False):
            run.before(retold(transcript, end, made))
            made.append(Compacted(end, summary))
            told = run.after(retold(transcript, end, made))
        if len(made) < STRETCHES:
            words = run.before(retold(transcript, one.ends[len(made)], made))
    return Said(told, words)


def write_windows(chains: Chains, one: Conversation, round: int, said: Said) -> None:
    """Write what the summarisers of both arms are given in a round."""
    stretch = read(stretch_file(chains.out, one, round))
    for arm in ARMS:
        before = chains.summaries(arm, one, round - 1)[-1:]
        parts = [read(WORDS / "summariser.md"), f"# Conversation {one.label}, window {round}"]
        if before:
            told = said.told if arm == SEGUE else ""
            parts += ["## The summary that you went on from", with_told(before[0], told)]
        parts += ["## What happened since" if before else "## What happened", stretch]
        if arm == SEGUE and said.words:
            parts += ["## Additional instructions", said.words]
        write(chains.file(round, arm, one), "\n\n".join(part.strip() for part in parts) + "\n")


def window_after(chains: Chains, arm: str, one: Conversation) -> str:
    """What stands in the window after the last compaction."""
    return with_told(chains.summaries(arm, one, STRETCHES)[-1], chains.told(STRETCHES, arm, one))


def report(round: int, sizes: Sequence[int]) -> None:
    """Print what was told after a round, and what comes now."""
    print(f"round {round}: {len(sizes)} compactions, {medians(sizes)}")
    if round < STRETCHES:
        print(f"rounds/{round + 1} is ready for its summarisers")
    else:
        print("all rounds are done: go on with the steps `truth` and `final`")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
