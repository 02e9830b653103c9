"""What may become a memory, and who may say how far it is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from segue.api.segue import Segue
from segue.effects.vectors.embedder import HashEmbedder
from segue.errors import BadImport, UnknownSession, UsageError
from segue.services.memories import curation as upkeep

KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def seg(tmp_path: Path):
    with opened(tmp_path) as segue:
        yield segue


def opened(tmp_path: Path, **more: Any) -> Segue:
    return Segue(home=tmp_path / "home", folder=tmp_path, embedder=HashEmbedder(), **more)


@pytest.mark.parametrize("seconds", [0, -5, float("inf"), float("nan"), 1e12])
def test_a_time_to_live_is_a_time(seg: Segue, seconds: float):
    with pytest.raises(UsageError, match="time to live"):
        seg.remember("soon over", ttl_seconds=seconds)


def test_times_that_are_none_are_refused_and_others_are_written_in_one_way(seg: Segue):
    for field in ("created", "valid_from", "valid_to"):
        with pytest.raises(UsageError, match=f"{field} is not a time"):
            seg.remember("x", **{field: "soon"})
    for field in ("since", "until"):
        with pytest.raises(UsageError, match=f"{field} is not a time"):
            seg.recall("x", **{field: "nonsense"})
    seg.remember("an old fact", created="2026-03-01T09:00+02:00")
    [found] = seg.recall("fact", since="2026-03-01", until="2026-03-01")
    assert found.memory.created == "2026-03-01T07:00:00.000000Z"


def test_an_agent_in_whose_shell_we_run_does_not_speak_for_the_user(tmp_path: Path):
    with opened(tmp_path, environment={"CLAUDECODE": "1"}) as agent:
        id = agent.remember("I was told to", trust="user").id
        memory = agent.memories.get(id)
        assert (memory.trust, memory.provenance.actor) == ("agent", "claude-code")


def test_an_agent_cannot_raise_trust_and_its_words_are_not_the_users(tmp_path: Path, seg: Segue):
    told = seg.remember("never force-push").id
    seen = seg.remember("you must run the following", trust="transcript").id
    with opened(tmp_path, actor="bot") as agent:
        assert agent.memories.update(seen, trust="user").trust == "transcript"
        assert agent.memories.update(told, metadata={"area": "git"}).trust == "user"
        assert agent.memories.update(told, content="always force-push").trust == "agent"
    assert seg.memories.update(seen, trust="user").trust == "user", "a person may"


def test_what_is_changed_passes_the_same_door(seg: Segue):
    id = seg.remember("the key is kept elsewhere").id
    changed = seg.memories.update(id, error_pattern=f"401 with {KEY}", correct_approach="a\x1b[31mb\x00c")
    assert KEY not in changed.error_pattern and changed.correct_approach == "abc"
    with pytest.raises(UsageError, match="expires is not a time"):
        seg.memories.update(id, expires="never")


def test_a_delta_with_a_field_that_no_memory_has_is_a_usage_error(seg: Segue):
    with pytest.raises(UsageError, match="cannot be added"):
        seg.memories.delta([{"type": "add", "content": "x", "colour": "red"}])
    assert seg.recall("*") == []


def test_an_import_brings_nothing_in_that_could_not_have_been_remembered(seg: Segue):
    def line(**fields: Any) -> bytes:
        head = {"format": "segue-memories", "version": 1}
        row = {"id": "m1", "content": "x", "project": "p", **fields}
        return msgspec.json.encode(head) + b"\n" + msgspec.json.encode(row) + b"\n"

    with pytest.raises((UsageError, BadImport)):
        upkeep.import_(seg.memories, line(created="yesterday"))
    odd = line(
        id="\x1b[2J/etc", agent="a\x07b", scope="global", provenance={"source": KEY}, flags=["trusted"]
    )
    assert upkeep.import_(seg.memories, odd) == (1, 0)
    [found] = seg.recall("*")
    assert found.id.startswith("m") and found.memory.agent == "ab" and found.memory.trust == "imported"
    assert KEY not in found.memory.provenance.source and found.memory.flags == ()


def test_a_prune_of_a_session_that_nobody_knows_is_an_error(seg: Segue):
    with pytest.raises(UnknownSession, match="nope"):
        upkeep.prune(seg.memories, "nope")


def test_the_beginning_of_an_id_must_say_which(seg: Segue):
    row = {"format": "segue-memories", "version": 1}
    rows = [{"id": f"mabc{n}", "content": f"fact {n}", "scope": "global"} for n in (1, 2)]
    upkeep.import_(seg.memories, b"\n".join(map(msgspec.json.encode, [row, *rows])))
    with pytest.raises(UsageError, match="several memories"):
        seg.memories.get("mabc")
    assert seg.memories.get("mabc1").content == "fact 1"


def test_an_import_says_what_was_known_and_drops_no_text_whose_id_is_taken(seg: Segue) -> None:
    kept = seg.remember("tokens last 15 minutes")
    file = upkeep.export(seg.memories)
    assert upkeep.import_(seg.memories, file) == (0, 1)
    assert upkeep.import_(seg.memories, file.replace(b"15 minutes", b"an hour")) == (1, 0)
    head, line = file.splitlines()[:2]
    twice = [line.replace(b"tokens last 15 minutes", text) for text in (b"one", b"two")]
    taken = [one.replace(kept.id.encode(), b"m00000000aaaa") for one in twice]
    assert upkeep.import_(seg.memories, b"\n".join([head, *taken])) == (2, 0)
    said = {one.memory.content for one in seg.recall("*")}
    assert said == {"tokens last 15 minutes", "tokens last an hour", "one", "two"}
    seg.memories.forget(kept.id)
    assert upkeep.import_(seg.memories, file) == (0, 1)
