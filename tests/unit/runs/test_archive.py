"""The archive: copies that grow, share, are proven when read, and keep to their limits."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from pathlib import Path

import msgspec
import pytest

from segue import DamagedError
from segue.effects.files import archive as module
from segue.effects.files.archive import Archive, Copy, CopyOwner, CopyWriter, to_drop
from segue.effects.files.compression import compress

ABOUT = CopyOwner("k1", "codex", "run-1", "/logs/run-1.jsonl")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(module, "FLUSH_BYTES", 3000)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive" / "transcripts.db")


def lines(count: int, seed: int = 1) -> bytes:
    rng = random.Random(seed)
    return b"".join(b"%d %s\n" % (n, rng.randbytes(rng.randrange(60)).hex().encode()) for n in range(count))


def keep(archive: Archive, *blocks: bytes, about: CopyOwner = ABOUT, before: Copy | None = None) -> Copy:
    writer = CopyWriter(archive, about, before, last=time.time())
    for block in blocks:
        writer.add(block)
    copy = writer.finish(sum(map(len, blocks)) + (before.about.offset if before else 0))
    archive.put([copy], writer.waiting)
    return copy


def test_a_copy_is_read_back_as_it_was_written(archive: Archive) -> None:
    body = lines(300)
    copy = keep(archive, body)
    assert len(copy.chunks) > 5 and copy.about.size == copy.about.offset == len(body)
    assert b"".join(archive.read("k1")) == body
    assert archive.find("k1") == copy


def test_where_it_is_cut_does_not_depend_on_how_often_somebody_looked(archive: Archive) -> None:
    body = lines(400)
    whole = keep(archive, body)
    copy: Copy | None = None
    at = 0
    rng = random.Random(5)
    while at < len(body):
        end = body.find(b"\n", min(len(body) - 1, at + rng.randrange(1, 3000))) + 1 or len(body)
        copy = keep(archive, body[at:end], about=msgspec.structs.replace(ABOUT, key="k2"), before=copy)
        at = end
    assert copy is not None and (copy.chunks, copy.proof) == (whole.chunks, whole.proof)
    assert b"".join(archive.read("k2")) == body


def test_growing_adds_chunks_and_touches_no_old_one(archive: Archive) -> None:
    first = keep(archive, lines(200))
    more = lines(100, seed=2)
    second = keep(archive, more, before=archive.find("k1"))
    assert second.chunks[: len(first.chunks)] == first.chunks
    assert b"".join(archive.read("k1")) == lines(200) + more


def test_what_two_transcripts_have_in_common_is_stored_once(archive: Archive) -> None:
    keep(archive, lines(300))
    before = archive.size()
    keep(archive, lines(300) + b"and one more\n", about=msgspec.structs.replace(ABOUT, key="fork"))
    assert archive.size() - before < before / 4


def test_a_document_without_lines_is_cut_all_the_same(archive: Archive) -> None:
    writer = CopyWriter(archive, ABOUT, last=1.0)
    body = b"x" * 2500 + b"y" * 700
    writer.add(body, whole=False)
    archive.put([writer.finish(len(body))], writer.waiting)
    assert b"".join(archive.read("k1")) == body


def test_a_torn_last_line_is_kept_beside_and_replaced(archive: Archive) -> None:
    writer = CopyWriter(archive, ABOUT, last=1.0)
    writer.add(b"whole\n")
    archive.put([writer.finish(6, torn=b'{"half')], writer.waiting)
    assert list(archive.read("k1")) == [b"whole\n", b'{"half']
    keep(archive, b'{"half":1}\n', before=archive.find("k1"))
    assert b"".join(archive.read("k1")) == b'whole\n{"half":1}\n'


def test_bytes_that_are_not_what_was_written_are_refused(archive: Archive) -> None:
    keep(archive, lines(300))
    archive.close()
    db = sqlite3.connect(archive.path)
    other = compress(b"something else")
    db.execute("UPDATE chunks SET body = ? WHERE no = 2", (other,))
    db.commit()
    db.close()
    with pytest.raises(DamagedError, match="not what was written"):
        list(archive.read("k1"))


def test_a_missing_chunk_is_named_and_found_by_a_look(archive: Archive) -> None:
    keep(archive, lines(300))
    archive.close()
    db = sqlite3.connect(archive.path)
    db.execute("DELETE FROM chunks WHERE no = 1")
    db.commit()
    db.close()
    assert archive.broken() == ["run-1"]
    with pytest.raises(DamagedError, match="a chunk is missing"):
        list(archive.read("k1"))


def test_a_file_that_is_no_archive_is_damage_and_stays_as_it_is(archive: Archive) -> None:
    archive.path.parent.mkdir()
    archive.path.write_bytes(b"this is no database" * 500)
    assert archive.unreadable()
    with pytest.raises(DamagedError):
        keep(archive, b"x\n")
    assert archive.path.read_bytes().startswith(b"this is no database")


def test_looking_makes_no_file(archive: Archive) -> None:
    assert (archive.copies(), archive.find("k1"), archive.sessions(), archive.size()) == ([], None, {}, 0)
    assert list(archive.read("k1")) == [] and not archive.path.parent.exists()


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: permissions are POSIX's")
def test_only_the_owner_may_read_it(archive: Archive) -> None:
    keep(archive, b"x\n")
    assert archive.path.stat().st_mode & 0o077 == 0
    assert archive.path.parent.stat().st_mode & 0o077 == 0


def test_dropping_removes_what_no_other_copy_needs(archive: Archive) -> None:
    keep(archive, lines(300))
    keep(archive, lines(300) + lines(50, seed=9), about=msgspec.structs.replace(ABOUT, key="k2"))
    archive.drop(["k1"])
    assert b"".join(archive.read("k2")) == lines(300) + lines(50, seed=9)
    archive.drop(["k2"])
    archive.compact()
    assert archive.copies() == [] and archive.weights() == {} and archive.size() < 30_000


def test_limits_take_the_oldest_first_and_never_one_that_stays() -> None:
    now = time.time()
    copies = [
        Copy(msgspec.structs.replace(ABOUT, key=name), "s", now - days * 86400, (), b"", b"")
        for name, days in (("old", 90), ("middle", 20), ("new", 1))
    ]
    weights = {"old": 100, "middle": 100, "new": 100}

    def gone(bytes_max: float, days_max: float, stays: set[str]) -> list[str]:
        return to_drop(copies, weights, bytes_max=bytes_max, days_max=days_max, stays=stays)

    assert gone(1000, 0, set()) == []
    assert gone(1000, 30, set()) == ["old"]
    assert gone(1000, 30, {"old"}) == []
    assert gone(150, 0, set()) == ["old", "middle"]
    assert gone(150, 0, {"old"}) == ["middle", "new"]


def test_a_rewrite_reaches_what_lies_across_a_cut(archive: Archive) -> None:
    body = b"a" * 990 + b"SECRET-WORD" + b"b" * 2000 + b"\n" + lines(50)
    writer = CopyWriter(archive, ABOUT, last=1.0)
    writer.add(body, whole=False)
    archive.put([writer.finish(len(body), torn=b"SECRET-WORD")], writer.waiting)
    change = lambda text: text.replace(b"SECRET-WORD", b"*" * 11)  # noqa: E731
    assert archive.rewrite(change, dry_run=True) == ["k1"]
    assert archive.rewrite(change) == ["k1"]
    assert b"".join(archive.read("k1")) == body.replace(b"SECRET-WORD", b"*" * 11) + b"*" * 11
    archive.close()
    assert archive.rewrite(change) == []


def test_a_session_is_named_later_and_stays_when_the_copy_grows(archive: Archive) -> None:
    keep(archive, b"x\n")
    archive.name_sessions({"k1": "jwt", "unknown": "other"})
    assert archive.sessions() == {"k1": "jwt"}
    assert keep(archive, b"y\n", before=archive.find("k1")).session == "jwt"


def test_an_archive_from_before_sessions_had_a_table_is_read_and_written(archive: Archive) -> None:
    keep(archive, b"x\n")
    archive.name_sessions({"k1": "jwt"})
    archive.close()
    with contextlib.closing(sqlite3.connect(archive.path)) as db:
        db.executescript("UPDATE copies SET session = 'old'; DROP TABLE belongs; PRAGMA user_version = 1")
    assert archive.sessions() == {"k1": "old"}
    assert archive.copies()[0].session == "old"
    archive.name_sessions({"k1": "new"})
    assert archive.sessions() == {"k1": "new"}
    copy = archive.find("k1")
    assert copy is not None and copy.session == archive.copies()[0].session == "new"
    archive.drop(["k1"])
    assert archive.sessions() == {}
    keep(archive, b"x\n")
    assert archive.sessions() == {"k1": ""}
