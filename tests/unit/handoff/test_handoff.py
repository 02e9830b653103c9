"""Handoffs: offered, taken by exactly one, declined, withdrawn, run out; and bundles for another machine."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import subprocess
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue import BadImport, HandoffSettled, Paused, RefusedError, Segue, UnknownHandoff, UsageError
from segue.services.handoff import bundle
from segue.services.handoff.offers import BEGIN

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def segue(tmp_path: Path, project: Path) -> Iterator[Segue]:
    with Segue(home=tmp_path / "home", folder=project) as seg:
        s = seg.start("Refactor auth", id="auth", items=["user model", "OAuth", "docs"])
        s.begin("user model")
        s.block("docs", "no words yet", stay=True)
        s.ask("which scopes?")
        yield seg


def test_an_offer_freezes_a_checkpoint_and_tells_the_taker_what_is_open(segue: Segue) -> None:
    handed = segue.session("auth").hand_off("codex", "OAuth waits for credentials")
    offer = handed.offer
    assert (offer.status, offer.to, offer.by) == ("open", "codex", "user")
    state = segue.session("auth").state
    assert offer.mark in state.marks and state.handed[-1].to == "codex"
    text = Path(handed.file).read_text()
    for told in (
        "> OAuth waits",
        "under way: user model",
        "blocked: docs (no words yet)",
        "next: OAuth",
        "which scopes?",
    ):
        assert told in text
    assert handed.start.startswith("codex ") and handed.file in handed.start
    assert Path(handed.file).stat().st_mode & 0o077 == 0


def test_the_taker_may_read_a_memory_of_the_handoff_and_others_may_not(segue: Segue, tmp_path: Path) -> None:
    offer = segue.session("auth").hand_off("codex", "mind the gap").offer
    found = segue.memories.recall("mind the gap", agent="codex", types=["handoff"])
    assert [one.id for one in found] == list(offer.memories)
    assert segue.memories.recall("mind the gap", agent="gemini-cli", types=["handoff"]) == []


def test_one_takes_it_and_the_next_is_told(segue: Segue) -> None:
    offer = segue.handoff("auth", "anyone").offer
    taken = segue.handoffs.accept(offer.id, by="codex")
    assert taken.offer.status == "taken" and taken.offer.taker == "codex"
    assert segue.session("auth").status().last_action == "taken over by codex"
    with pytest.raises(HandoffSettled, match="taken by codex"):
        segue.handoffs.accept(offer.id, by="gemini-cli")
    with pytest.raises(HandoffSettled):
        segue.handoffs.withdraw(offer.id)


def test_another_agent_than_the_one_that_is_meant_does_not_get_it(segue: Segue) -> None:
    offer = segue.handoff("auth", "codex").offer
    with pytest.raises(UnknownHandoff):
        segue.handoffs.accept(offer.id, by="gemini-cli")
    assert segue.handoffs.accept(by="codex").offer.id == offer.id


def test_taking_one_offer_withdraws_the_others(segue: Segue) -> None:
    first, second = segue.handoff("auth", "codex").offer, segue.handoff("auth", "gemini").offer
    segue.handoffs.accept(second.id, by="gemini-cli")
    assert [(o.id, o.status) for o in segue.handoffs.of("auth")] == [
        (first.id, "withdrawn"),
        (second.id, "taken"),
    ]


def test_an_offer_that_is_declined_or_withdrawn_can_be_made_again_and_all_stays_visible(segue: Segue) -> None:
    segue.handoff("auth", "codex")
    assert segue.handoffs.decline(by="codex", reason="no time").reason == "no time"
    segue.handoff("auth", "codex")
    assert segue.handoffs.withdraw("auth", reason="mine again").status == "withdrawn"
    segue.handoff("auth", "codex")
    segue.handoffs.accept("auth", by="codex")
    assert [o.status for o in segue.handoffs.listing()] == ["taken", "withdrawn", "declined"]


def test_an_offer_runs_out(segue: Segue) -> None:
    offer = segue.handoff("auth", "codex", hours=1e-7).offer
    with pytest.raises(HandoffSettled, match="expired"):
        segue.handoffs.accept(offer.id, by="codex")
    assert [o.status for o in segue.handoffs.of("auth")] == ["expired"]
    for hours in (0, -1, 1e9):
        with pytest.raises(UsageError):
            segue.handoff("auth", "codex", hours=hours)


def take(home: str, folder: str, offer: str, name: str) -> str:
    with Segue(home=home, folder=folder) as seg:
        try:
            return seg.handoffs.accept(offer, by=name).offer.taker
        except HandoffSettled:
            return "too late"


def test_of_many_takers_at_once_exactly_one_gets_it(segue: Segue, tmp_path: Path, project: Path) -> None:
    offers = [segue.handoff("auth", "anyone").offer.id for _ in range(3)]
    segue.close()
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        for offer in offers[:1]:
            asks = [(str(tmp_path / "home"), str(project), offer, f"agent{n}") for n in range(8)]
            said = pool.starmap(take, asks)
            assert sorted(said)[1:] == ["too late"] * 7 and sorted(said)[0].startswith("agent")


def test_the_agents_own_file_tells_it_until_the_offer_is_settled(segue: Segue, project: Path) -> None:
    (project / "AGENTS.md").write_text("# Rules\nuse tabs\n")
    handed = segue.handoff("auth", "codex", "look", rules=True)
    text = (project / "AGENTS.md").read_text()
    assert text.startswith("# Rules\nuse tabs\n") and BEGIN in text and "their words, not" in text
    assert handed.rules == str(project / "AGENTS.md")
    segue.handoffs.accept(by="codex")
    assert (project / "AGENTS.md").read_text() == "# Rules\nuse tabs\n"
    segue.handoff("auth", "cline", rules=True)
    assert (project / ".clinerules" / "01-segue-handoff.md").is_file()
    segue.handoffs.decline(by="cline")
    assert not (project / ".clinerules" / "01-segue-handoff.md").exists()


def test_pause_refuses_to_offer_and_to_take(segue: Segue, project: Path) -> None:
    offer = segue.handoff("auth", "codex").offer
    (project / "PAUSE").touch()
    for call in (
        lambda: segue.handoff("auth", "codex"),
        lambda: segue.handoffs.accept(offer.id, by="codex"),
        lambda: segue.handoffs.decline(offer.id, by="codex"),
    ):
        with pytest.raises(Paused):
            call()
    assert [o.status for o in segue.handoffs.of("auth")] == ["open"]


def test_a_secret_in_a_note_is_masked(segue: Segue) -> None:
    handed = segue.handoff("auth", "codex", f"use {TOKEN}")
    assert TOKEN not in Path(handed.file).read_text() + handed.offer.note


# -- bundles ---------------------------------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Segue]:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with Segue(home=tmp_path / "other-home", folder=folder) as seg:
        yield seg


def test_a_bundle_brings_the_session_its_memories_and_an_offer_to_another_machine(
    segue: Segue, other: Segue
) -> None:
    segue.session("auth").save_agent("planner", {"private": "thoughts"})
    segue.remember("PyJWT wants bytes", session="auth", scope="session")
    packed = bundle.pack(segue.workspace, "auth", to="codex", note="go on")
    found = bundle.unpack(other.workspace, packed.body)
    assert found.sha256 == packed.sha256 and found.session == "auth" and "go on" in found.restoration
    session = other.session("auth")
    assert [e.hash for e in session.log()] == [e.hash for e in segue.session("auth").log()]
    assert b"thoughts" not in gzip.decompress(packed.body)
    taken = other.handoffs.accept(packed.offer, by="codex")
    assert taken.offer.note == "go on" and other.session().id == "auth"
    assert "PyJWT wants bytes" in Path(taken.file).read_text()
    bundle.unpack(other.workspace, packed.body)
    assert len(other.handoffs.of("auth")) == 1
    recalled = other.memories.recall("PyJWT wants bytes", agent="codex")
    assert [one.content for one in recalled].count("PyJWT wants bytes") == 1


@pytest.mark.parametrize("begins", [b"{", b"0"])
def test_a_small_file_with_a_huge_content_is_refused_with_little_memory(begins: bytes) -> None:
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(begins), *(packer.compress(bytes(1 << 20)) for _ in range(600)), packer.flush()]
    tracemalloc.start()
    try:
        with pytest.raises(BadImport, match=r"far too large|not a bundle"):
            bundle.read(b"".join(parts))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("change", ["note", "events", "cut", "junk"])
def test_a_bundle_that_was_changed_is_refused_and_nothing_is_imported(
    change: str, segue: Segue, other: Segue
) -> None:
    body = bundle.pack(segue.workspace, "auth").body
    value = json.loads(gzip.decompress(body))
    value["note"] = "other" if change == "note" else value["note"]
    value["events"] = value["events"][:-8] if change == "events" else value["events"]
    bad = {"cut": body[: len(body) // 2], "junk": b"\x1f\x8bjunk"}.get(
        change, gzip.compress(json.dumps(value).encode())
    )
    with pytest.raises(BadImport):
        bundle.unpack(other.workspace, bad)
    assert other.list(everywhere=True) == []


def test_a_session_with_a_secret_in_its_journal_does_not_leave(tmp_path: Path) -> None:
    with Segue(home=tmp_path / "open", folder=tmp_path, redact=False) as seg:
        session = seg.start("x", id="s")
        session.note(f"the key is {TOKEN}")
        with pytest.raises(RefusedError, match="version 3 of s") as refused:
            bundle.pack(seg.workspace, "s")
        assert TOKEN not in str(refused.value) and seg.handoffs.of("s") == []
