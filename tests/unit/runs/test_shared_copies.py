"""Copies in a shared store: cut into pieces, sent once, proven when they are read, erased where they are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from segue.core.journal.event import read_body
from segue.core.runs.events import TranscriptShared
from segue.core.runs.shared_copies import PIECE_BYTES, SharedCopy, fold, history, lengths, stream_of
from segue.effects.files.archive import Copy, CopyOwner
from segue.errors import DamagedError
from segue.services.runs import shared_copies
from segue.services.upkeep.scrub import mask_all, scrub_journal
from segue.stores.sqlite import SqliteStore
from segue.testing import armed

KEY = "0123456789abcdef0123"
STREAM = stream_of(KEY)
COPY = Copy(CopyOwner(KEY, "codex", "run-1", "/there/run-1.jsonl"), "s", 0.0, (), b"", b"")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "segue.db")
    yield made
    made.close()


def lines(count: int, seed: int = 1) -> bytes:
    """Lines that do not compress well."""
    chance = random.Random(seed)
    return b"".join(b'{"n": "%s"}\n' % chance.randbytes(400).hex().encode() for _ in range(count))


def share(journal: SqliteStore, text: bytes) -> bool:
    return shared_copies.share(journal, COPY, text, actor="user")


def told(journal: SqliteStore) -> list[TranscriptShared]:
    return shared_copies.bodies(journal.read(STREAM))


def whole(journal: SqliteStore) -> bytes:
    return b"".join(shared_copies.SharedCopies(journal).read(KEY))


def test_an_event_replaces_what_does_not_stay_and_adds_what_comes() -> None:
    first = TranscriptShared(KEY, "codex", "run-1", 5, "h1", 0, [("a", 2), ("b", 3)])
    second = TranscriptShared(KEY, "codex", "run-1", 9, "h2", 1, [("c", 7)])
    after = fold(fold(SharedCopy(), first), second)
    assert after == SharedCopy(9, "h2", (("a", 2), ("c", 7)))
    assert [one.pieces for one in history([first, second])] == [(("a", 2), ("b", 3)), after.pieces]


def test_a_text_is_cut_where_it_was_cut_before_and_evenly_behind_that() -> None:
    assert lengths([10, 20], 35) == [10, 20, 5]
    assert lengths([10, 20], 25) == [10, 15]
    assert lengths([], 2 * PIECE_BYTES + 1) == [PIECE_BYTES, PIECE_BYTES, 1]
    assert lengths([], 0) == []


def test_a_copy_that_grew_sends_only_what_is_new_and_reads_as_it_is(journal: SqliteStore) -> None:
    text = lines(1000)
    assert share(journal, text[:400_000]) and share(journal, text) and not share(journal, text)
    first, second = told(journal)
    assert second.stays == len(first.pieces) == 2 and second.size == len(text)
    assert sum(length for _, length in second.pieces) == len(text) - 400_000
    assert (
        max(map(len, journal.pieces(shared_copies.piece_addresses(journal.read(STREAM))).values()))
        <= PIECE_BYTES + 1000
    )
    blocks = list(shared_copies.SharedCopies(journal).read(KEY))
    assert b"".join(blocks) == text and all(block.endswith(b"\n") for block in blocks)


def test_of_a_copy_that_was_rewritten_the_same_pieces_stay(journal: SqliteStore) -> None:
    text = lines(1000)
    share(journal, text)
    other = text[:600_000] + b"x" + text[600_001:-50_000]
    assert share(journal, other)
    assert told(journal)[-1].stays == 600_000 // PIECE_BYTES
    assert whole(journal) == other
    assert share(journal, other[:300_000]) and whole(journal) == other[:300_000]


def test_a_large_copy_comes_in_commits_and_an_interruption_leaves_a_whole_beginning(
    journal: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_copies, "BATCH_BYTES", 200_000)
    text = lines(3000)
    with pytest.raises(KeyboardInterrupt), armed("store.append.before_commit", KeyboardInterrupt(), count=3):
        share(journal, text)
    begun = whole(journal)
    assert begun and len(begun) < len(text) and text.startswith(begun)
    assert share(journal, text) and whole(journal) == text
    assert all(body.stays for body in told(journal)[1:])


def test_a_secret_that_an_old_copy_holds_is_masked_before_it_is_shared(journal: SqliteStore) -> None:
    secret = b"ghp_wJk3Zt9QmX5rVb2LcN8sYd4FhG7aPeT1uKo0"
    share(journal, lines(3))
    text = lines(3) + b'{"token": "' + secret + b'"}\n'
    share(journal, text)
    assert secret not in whole(journal) and whole(journal).startswith(lines(3))


def test_a_piece_that_is_gone_or_of_another_run_is_said(journal: SqliteStore) -> None:
    share(journal, lines(1000))
    gone = told(journal)[0].pieces[1][0]
    journal.drop(pieces=[gone])
    with pytest.raises(DamagedError, match="a piece is missing"):
        whole(journal)
    with pytest.raises(DamagedError, match="belongs to another run"):
        shared_copies.unpacked("f" * 20, shared_copies.packed(KEY, b"text"))


def test_a_text_is_scrubbed_from_every_copy_even_across_a_cut_and_from_one_that_was_replaced(
    journal: SqliteStore,
) -> None:
    text = lines(1000)
    at = PIECE_BYTES - 4
    held = text[:at] + b"wombat4711" + text[at + 10 :]
    share(journal, held)
    share(journal, text[:1000])  # the agent began anew
    share(journal, held[:-1000])
    events, pieces, _ = scrub_journal(journal, "wombat4711", "user", dry_run=True)
    assert (events, pieces) == (0, 3) and b"wombat4711" in whole(journal)
    assert scrub_journal(journal, "wombat4711", "user", dry_run=False)[1] == 3
    assert whole(journal) == mask_all(held[:-1000], "wombat4711")
    bodies = journal.pieces(shared_copies.piece_addresses(journal.read(STREAM))).values()
    first = b"".join(map(partial(shared_copies.unpacked, KEY), bodies))
    assert b"wombat4711" not in first
    assert not share(journal, held[:-1000]), "who has the text still brings it back to nobody"
    assert b"wombat4711" not in whole(journal)
    assert read_body(journal.read(STREAM)[-1]) == told(journal)[-1]
