"""Scrubbing: a text is gone from everything that is kept, and the chains still verify."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from segue import Paused, Segue, UsageError
from segue.core.journal.chain import faults
from segue.services.handoff.export import unpack
from segue.services.upkeep.archive_sessions import Cleanup
from segue.services.upkeep.rebuild import rebuild
from segue.services.upkeep.scrub import SCRUBBED, scrub, scrub_journal

TEXT = 'the "customer" is Zörbach & Söhne\nof Ulm'


@pytest.fixture
def seg(tmp_path: Path) -> Segue:
    (tmp_path / "project").mkdir()
    return Segue(home=tmp_path / "home", folder=tmp_path / "project")


def holding(folder: Path, text: str) -> list[str]:
    """Files below a folder that hold the text in any spelling."""
    forms = [text.encode(), text.encode().replace(b'"', b'\\"').replace(b"\n", b"\\n")]
    return [
        str(p.relative_to(folder))
        for p in sorted(folder.rglob("*"))
        if p.is_file() and any(form in p.read_bytes() for form in forms)
    ]


def test_a_text_is_gone_from_journal_pieces_backups_archive_and_emergency_files(seg: Segue) -> None:
    over = seg.start(f"an old session about {TEXT}", id="over")
    over.complete(TEXT)
    s = seg.start("work", id="work", items=[f"call {TEXT}", "other"])
    s.checkpoint("before", done=f"call {TEXT}", decide=[(TEXT, "because")], thread=[TEXT])
    s.save_agent("planner", {"messages": [{"text": f"{'x' * 300} {TEXT} {i}"} for i in range(40)]})
    s.save_agent("planner", {"blob": "y" * 4090 + TEXT + "z" * 5000})
    s.rewind("before")
    seg.workspace.backups.make()
    Cleanup(seg.workspace).run(days=0)
    with pytest.raises(RuntimeError), s.guard(helper=lambda: {"memo": TEXT}):
        raise RuntimeError("stop")
    assert holding(seg.workspace.home.path, TEXT) != []
    found = scrub(seg.workspace, TEXT, dry_run=True)
    assert holding(seg.workspace.home.path, TEXT) != []
    did = scrub(seg.workspace, TEXT)
    seg.workspace.store.close()
    assert (did.events, did.pieces, did.files) == (found.events, found.pieces, found.files)
    assert did.events >= 4 and did.pieces > 2 and did.sessions == ["work"]
    assert holding(seg.workspace.home.path, TEXT) == []
    for stream, _ in seg.workspace.store.streams():
        assert faults(stream, seg.workspace.store.read(stream)) == []
    assert s.status().done == [f"call {SCRUBBED}"]
    assert rebuild(seg.workspace, check=True).different == []
    assert seg.session("work").load_agent("helper") == {"memo": "*" * len(TEXT.encode())}
    archived = Cleanup(seg.workspace).restore("over")
    assert archived.state.goal == f"an old session about {SCRUBBED}"


def test_a_scrubbed_state_of_an_agent_still_loads_with_the_text_masked(seg: Segue) -> None:
    s = seg.start("work")
    s.save_agent("planner", {"blob": "y" * 4090 + "hunter2-secret" + "z" * 5000, "n": 1})
    scrub(seg.workspace, "hunter2-secret")
    assert s.load_agent("planner") == {"blob": "y" * 4090 + "*" * 14 + "z" * 5000, "n": 1}
    s.save_agent("planner", {"blob": "new", "n": 2})
    assert (
        Segue(home=seg.workspace.home.path, folder=seg.workspace.folder)
        .session(s.id)
        .load_agent("planner")["n"]
        == 2
    )


def test_names_of_fields_are_not_touched(seg: Segue) -> None:
    s = seg.start("work")
    s.checkpoint("mark", done="a text about text", learn="the reason of threads")
    s.note("after")
    s.rewind("mark")
    scrub(seg.workspace, "text")
    scrub(seg.workspace, "threads")
    assert s.status().done == [f"a {SCRUBBED} about {SCRUBBED}"]
    assert [f.text for f in s.state.findings] == [f"the reason of {SCRUBBED}"]
    assert faults(f"session/{s.id}", s.log()) == []


def test_an_export_after_a_scrub_proves_itself(seg: Segue) -> None:
    from segue.services.handoff.export import export_session

    s = seg.start("the secret goal")
    scrub(seg.workspace, "secret")
    assert unpack(export_session(seg.workspace, s.id)).events[0].erased


def test_a_short_text_and_a_pause_file_are_refused(seg: Segue) -> None:
    seg.start("work")
    with pytest.raises(UsageError):
        scrub(seg.workspace, "abc")
    (seg.workspace.home.path / "PAUSE").touch()
    with pytest.raises(Paused):
        scrub(seg.workspace, "work on it")


def test_a_text_that_is_nowhere_changes_nothing(seg: Segue) -> None:
    s = seg.start("work")
    version = s.state.version
    time.sleep(0.01)
    assert scrub(seg.workspace, "never said").events == 0
    assert s.state.version == version


def test_a_text_that_was_only_in_free_pages_or_a_damaged_backup_is_gone_too(seg: Segue) -> None:
    s = seg.start("work", id="old")
    for i in range(40):
        s.note(f"hunter2-secret {i} " + "x" * 200)
    s.complete()
    made = seg.workspace.backups.make()
    body = bytearray(made.path.read_bytes())
    body[:100] = bytes(100)
    made.path.write_bytes(body)
    seg.cleanup().run(days=0)
    scrub(seg.workspace, "hunter2-secret")
    seg.workspace.store.close()
    assert holding(seg.workspace.home.path, "hunter2-secret") == []


def test_states_that_an_undo_brought_back_are_scrubbed(seg: Segue) -> None:
    s = seg.start("work")
    s.save_agent("p", {"blob": "a" * 9000})
    s.save_agent("p", {"blob": "b" * 9000})
    s.undo()
    s.save_agent("p", {"blob": "a" * 4000 + "y" * 90 + "hunter2-secret" + "z" * 5000})
    assert scrub(seg.workspace, "hunter2-secret").pieces > 0
    assert "hunter2" not in s.load_agent("p")["blob"]


def test_a_word_of_a_sessions_id_stays_there_and_is_told(seg: Segue) -> None:
    s = seg.start("build falcon", id="falcon-001")
    found = scrub(seg.workspace, "falcon")
    assert found.stays == ["session/falcon-001"]
    assert seg.session("falcon-001").state.goal == f"build {SCRUBBED}"
    assert seg.session().id == s.id == seg.list()[0].id


# -- memories --------------------------------------------------------------------------------------


def test_memories_that_say_the_same_without_the_text_become_one(seg: Segue) -> None:
    first = seg.remember("the deploy key is AAAA-1111").id
    seg.scrub("AAAA-1111")
    second = seg.remember("the deploy key is BBBB-2222").id
    seg.workspace.backups.make()
    assert seg.scrub("BBBB-2222").memories == 1
    assert seg.memories.get(first).live
    assert seg.memories.get(second).superseded_by == first
    assert [one.id for one in seg.recall("the deploy key")] == [first]
    assert seg.scrub("BBBB-2222").memories == 0
    seg.workspace.store.close()
    for file in seg.workspace.home.path.rglob("*"):
        assert not file.is_file() or b"BBBB-2222" not in file.read_bytes(), file


def test_two_memories_that_become_the_same_at_once_become_one(seg: Segue) -> None:
    first, second = (seg.remember(f"{text} is the key").id for text in ("AAAA-1111", "[scrubbed] AAAA-1111"))
    other = seg.remember("AAAA-1111 AAAA-1111 is the key").id
    assert seg.scrub("AAAA-1111").memories == 3
    assert seg.memories.get(first).live and seg.memories.get(second).live
    assert seg.memories.get(other).superseded_by == second


def test_a_text_in_a_vote_or_in_the_trail_is_found_and_erased(seg: Segue) -> None:
    first, second = seg.remember("use the pool").id, seg.remember("use the queue").id
    seg.memories.vote(first, "helpful", context="so said AAAA-1111")
    seg.memories.update(second, reason="asked by AAAA-1111", content="use the stack")
    assert seg.scrub("AAAA-1111", dry_run=True).memories == 2
    assert seg.scrub("AAAA-1111").memories == 2
    assert seg.scrub("AAAA-1111").memories == 0


def test_a_text_that_is_part_of_the_mask_can_be_erased(seg: Segue) -> None:
    seg.remember("a scrubbed floor")
    assert seg.scrub("scrubbed").memories == 1
    assert seg.scrub("scrubbed").memories == 0


def test_a_scrub_beside_a_writer_tries_again_with_what_is_new(
    seg: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, quiet = seg.start(f"about {TEXT}", id="busy"), seg.start(f"also {TEXT}", id="quiet")
    store, erase, read = seg.workspace.store, seg.workspace.store.erase, seg.workspace.store.read
    writes, reads = [f"{TEXT}, {number}" for number in range(3)], list[str]()

    def erase_late(*arguments: Any) -> None:
        if writes:
            busy.note(writes.pop())
        erase(*arguments)

    def read_counted(stream: str, **options: Any) -> Any:
        reads.append(stream)
        return read(stream, **options)

    monkeypatch.setattr(store, "erase", erase_late)
    monkeypatch.setattr(store, "read", read_counted)
    events, _, sessions = scrub_journal(store, TEXT, "user", False)
    assert (events, sessions) == (5, ["busy", "quiet"]) and not writes
    assert reads.count("session/quiet") == 1
    monkeypatch.undo()
    assert not any(TEXT in str(event) for session in (busy, quiet) for event in session.log())
