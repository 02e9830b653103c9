"""The benchmark of models runs from end to end on made transcripts, and its liar gets nothing through."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from bench.model.__main__ import compared, priced
from bench.resume.run import transcripts
from tests.support.long_story import story

from segue.testing.transcripts import written


def test_briefs_with_claims_are_scored_beside_those_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(2):
        (tmp_path / f"{seed}.jsonl").write_bytes(written("codex", story(seed, calls=90)))
    corpus = transcripts([tmp_path])
    compared(argparse.Namespace(cuts=2, minutes=0), corpus, tmp_path)
    priced(corpus[0], tmp_path)
    out = capsys.readouterr().out
    rows = {cells[1].strip(): [cell.strip() for cell in cells] for line in out.split("\n")
            if len(cells := line.split("|")) > 10}  # fmt: skip
    lies, quotes = rows["script that lies"], rows["script that quotes"]
    assert lies[3] == lies[4] and lies[7] == "0" and int(lies[8]) > 4, lies
    assert int(quotes[7]) > 0 and quotes[6].startswith("0 of"), quotes
    costs = re.findall(r"openai/gpt-4o-mini .*\$(0\.\d+)\s*\|$", out, re.M)
    assert len(costs) == 1 and 0 < float(costs[0]) < 0.01
