"""Transcripts that are told in a few lines, and what the truth check says of briefs of them."""

from __future__ import annotations

from pathlib import Path

from bench.resume.truth.judge import Judgement, judge
from bench.resume.truth.sources import Source, source_of
from tests.support.brief_examples import examples

from segue.testing.transcripts import placed


def made(steps: str, folder: Path) -> Source:
    """A transcript of Claude Code of steps in the language of the brief's examples."""
    (folder / "story.txt").write_text(f"\n## A story\n{steps}")
    [example] = examples(folder / "story.txt")
    path = placed("claude-code", example.steps, home=folder, cwd="/home/ann/shop")
    found = source_of(path)
    assert found is not None and found.agent == "claude-code"
    return found


def judged(brief: str, source: Source) -> list[Judgement]:
    found, unknown = judge(brief, source.read(len(source.records)))
    assert not unknown
    return found
