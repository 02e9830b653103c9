"""Real transcripts, where a folder of them is named: what holds for made-up ones holds for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from tests.support.briefs import known

from segue.agents import agents
from segue.agents.base import HEAD_BYTES, Agent
from segue.core.brief.facts import facts
from segue.core.runs.digest import decode, encode, fold
from segue.core.runs.model import RunDigest
from segue.core.runs.steps import Step
from segue.services.brief.brief import render_brief
from segue.testing import damage

BYTES_MAX = 3_000_000
_steps = msgspec.json.Decoder(list[Step])


def transcripts(corpus: Path) -> Iterator[tuple[Path, Agent, bytes]]:
    """Every file that an agent knows as its own, and what its reader is given."""
    for path in sorted(corpus.rglob("*.json*")):
        if not path.is_file() or path.stat().st_size > BYTES_MAX:
            continue
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        for one in agents():
            if one.recognises(head, str(path)):
                yield path, one, one.load(path, path.stem)


def records(agent: Agent, data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line] if agent.form == "lines" else [data]


def read(agent: Agent, data: bytes) -> list[Step]:
    reader = agent.reader()
    return [step for record in records(agent, data) for step in reader.read(record)]


def test_a_transcript_is_one_agents_and_is_read(corpus):
    owners: dict[Path, str] = {}
    for path, agent, data in transcripts(corpus):
        assert path not in owners, f"{path} is {owners[path]}'s and {agent.name}'s"
        owners[path] = agent.name
        steps = read(agent, data)
        assert _steps.decode(msgspec.json.encode(steps)) == steps, path
        digest = fold(steps)
        for budget in (256, 700, 2_048):
            for form in ("text", "json", "markdown"):
                text = render_brief(facts([digest], agent=agent.name), budget=budget, form=form)
                assert len(text.encode()) <= budget, (path, budget, form)
    if not owners:
        pytest.skip("NOT TESTED on real transcripts: SEGUE_CORPUS holds none")


def test_pieces_give_the_same_digest(corpus):
    for path, agent, data in transcripts(corpus):
        if agent.form != "lines":
            continue
        random = Random(path.name)
        rows, digest, kept, at = records(agent, data), RunDigest(), None, 0
        while at < len(rows):
            end = at + random.randrange(1, 150)
            reader = agent.reader(kept)
            digest = fold((step for row in rows[at:end] for step in reader.read(row)), digest)
            digest = decode(encode(digest)) or RunDigest()
            kept, at = json.loads(json.dumps(reader.keep())), end
        assert encode(digest) == encode(fold(read(agent, data))), path


def test_damage_is_survived(corpus, kill_count):
    for path, agent, data in transcripts(corpus):
        random = Random(path.name)
        for number in range(max(1, kill_count // 10)):
            one = random.choice(damage.ALL)
            try:
                spoilt = one(data[:200_000], random) if data else data
            except (ValueError, IndexError):
                continue
            steps = read(agent, spoilt)
            text = render_brief(known(steps, agent=agent.name), budget=256)
            assert len(text.encode()) <= 256, (path, number, one.__name__)
