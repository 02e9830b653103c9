"""Export and import: nothing lost, nothing believed, nothing overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segue import Segue, Session
from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.journal.event import Draft
from segue.errors import BadImport, ConflictError, Paused, UnknownSession, UsageError
from segue.services.handoff.export import export_session, import_session
from segue.services.sessions.repository import stream_of
from segue.services.upkeep.scrub import scrub_document
from segue.stores.base import Append, Journal, Rewrite
from segue.stores.memory.store import VolatileStore
from segue.stores.sqlite import SqliteStore

Opener = Callable[[str], Segue]
STATE = {"plan": [f"step {i}" for i in range(400)], "mode": "edit"}


@pytest.fixture(params=["volatile", "sqlite"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    opened: list[Segue] = []

    def make(name: str) -> Segue:
        journal: Journal = VolatileStore()
        if request.param == "sqlite":
            journal = SqliteStore(tmp_path / f"{name}.db")
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        opened.append(Segue(journal, home=folder, folder=folder))
        return opened[-1]

    yield make
    for seg in opened:
        seg.close()


@pytest.fixture
def seg(tmp_path: Path) -> Segue:
    return Segue(VolatileStore(), home=tmp_path / "home", folder=tmp_path)


def worked(seg: Segue, id: str = "s-1") -> str:
    s = seg.start("Refactor auth", items=["user model", "middleware"], id=id, project="shop")
    s.checkpoint(done="user model", begin="middleware", note="45-89 ✅", decide=[("HS256", "one issuer")])
    s.ask("which key?")
    s.save_agent("coder", STATE)
    s.save_agent("coder", {**STATE, "mode": "review"})
    return s.id


def tampered(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The export with a change that its checksum knows of."""
    export = json.loads(data)
    change(export)
    export.pop("checksum")
    return canonical.encode({**export, "checksum": canonical.digest(canonical.encode(export)).hex()})


# -- JSON --------------------------------------------------------------------------------------


def test_an_import_into_an_empty_store_has_the_same_head_and_agents_states(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    id = worked(here)
    session = import_session(there.workspace, export_session(here.workspace, id))
    assert there.workspace.store.head(stream_of(id)) == here.workspace.store.head(stream_of(id))
    assert there.workspace.store.read(stream_of(id)) == here.workspace.store.read(stream_of(id))
    assert session.state == here.session(id).state
    assert session.load_agent("coder") == {**STATE, "mode": "review"}


def test_an_export_is_canonical_and_the_same_each_time(seg: Segue) -> None:
    data = export_session(seg.workspace, worked(seg))
    assert data == export_session(seg.workspace, "s-1") == canonical.encode(canonical.decode(data))


def test_an_imported_session_can_be_worked_on(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    session = Session.of(import_session(there.workspace, export_session(here.workspace, worked(here))))
    session.done("middleware")
    session.save_agent("coder", {"new": True})
    assert session.status().done == ["user model", "middleware"]
    assert session.load_agent("coder") == {"new": True}


def test_importing_twice_adds_nothing(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    data = export_session(here.workspace, worked(here))
    import_session(there.workspace, data)
    head = there.workspace.store.head(stream_of("s-1"))
    import_session(there.workspace, data)
    assert there.workspace.store.head(stream_of("s-1")) == head


def test_importing_an_older_export_over_a_session_that_went_on_changes_nothing(seg: Segue) -> None:
    data = export_session(seg.workspace, worked(seg))
    seg.session("s-1").done("middleware")
    head = seg.workspace.store.head(stream_of("s-1"))
    import_session(seg.workspace, data)
    assert seg.workspace.store.head(stream_of("s-1")) == head


def test_an_import_that_was_cut_off_goes_on_where_it_stopped(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    data = export_session(here.workspace, worked(here))
    first = [e for e in here.workspace.store.read(stream_of("s-1")) if e.version <= 4]
    drafts = [Draft(e.kind, e.body, e.at, e.actor, e.run, e.format) for e in first]
    there.workspace.store.append(Append(stream_of("s-1"), 0, drafts))
    import_session(there.workspace, data)
    assert there.workspace.store.head(stream_of("s-1")) == here.workspace.store.head(stream_of("s-1"))


def test_a_session_with_another_history_is_refused_and_the_place_is_named(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    there.start("something else", id="s-1")
    before = there.workspace.store.read(stream_of("s-1"))
    with pytest.raises(ConflictError, match="differ from version 1") as caught:
        import_session(there.workspace, export_session(here.workspace, worked(here)))
    assert "--as" in caught.value.hint
    assert there.workspace.store.read(stream_of("s-1")) == before


def test_another_id_gives_a_new_chain_with_the_same_bodies(open_store: Opener) -> None:
    seg = open_store("here")
    data = export_session(seg.workspace, worked(seg))
    session = import_session(seg.workspace, data, as_id="copy")
    assert session.state.id == "copy"
    mine, theirs = session.log(), seg.session("s-1").log()
    assert [e.body for e in mine[1:]] == [e.body for e in theirs[1:]]
    assert mine[-1].hash != theirs[-1].hash
    assert all(event.chained() and event.intact() for event in mine)
    assert session.load_agent("coder") == {**STATE, "mode": "review"}


def test_events_of_unknown_kinds_formats_and_odd_bodies_come_back_to_the_byte(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    id, stream = worked(here), stream_of("s-1")
    bodies = (b'{"b":1,"a":2}', b"\xff\xfe", b"12345678901234567890123", b'{"fine":1.0}', b"")
    drafts = [
        Draft(f"future.{i}", body, "2031-01-01T00:00:00Z", "x", "r1", 7) for i, body in enumerate(bodies)
    ]
    here.workspace.store.append(Append(stream, here.workspace.store.head(stream).version, drafts))
    import_session(there.workspace, export_session(here.workspace, id))
    assert there.workspace.store.read(stream) == here.workspace.store.read(stream)
    assert there.session(id).state.unknown == len(bodies)


def first_body(change: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return lambda export: export["events"][0]["body"].update(change)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (first_body({"goal": "Another goal"}), "version 1: its body was changed"),
        (lambda x: x["events"][2].update(at="2001-01-01T00:00:00Z"), "version 3: its envelope was changed"),
        (lambda x: x["events"].pop(3), "version 4: an event is missing"),
        (lambda x: x.update(events=x["events"][:3]), "version 3: the rest of its commit is missing"),
        (lambda x: x["events"][1].update(hash="zz"), "version 2: non-hexadecimal"),
        (lambda x: x["events"][1].update(erased=True, body={"x": 1}), "version 2: its body was changed"),
        (lambda x: x["events"].clear(), "first event does not create"),
        (lambda x: x["pieces"].popitem(), "it lacks 1 piece of agents' states"),
        (lambda x: x["pieces"].update({"0" * 32: "AAAA"}), "does not match its address"),
        (lambda x: x.update(session="../../etc"), "its structure is wrong"),
        (lambda x: x.update(segue=2), "its format is 2"),
        (lambda x: x.update(more=1), "its structure is wrong"),
        (lambda x: x["events"][0].update(more=1), "its structure is wrong"),
    ],
)
def test_what_does_not_verify_is_refused_with_version_and_reason(
    seg: Segue, tmp_path: Path, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    there = Segue(VolatileStore(), home=tmp_path / "there", folder=tmp_path)
    data = tampered(export_session(seg.workspace, worked(seg)), change)
    with pytest.raises(BadImport, match=reason):
        import_session(there.workspace, data)
    assert there.workspace.store.streams("session/") == []


def test_every_flipped_byte_of_an_export_is_noticed(seg: Segue, tmp_path: Path) -> None:
    data = export_session(seg.workspace, worked(seg))
    there = Segue(VolatileStore(), home=tmp_path / "there", folder=tmp_path)
    for place in range(0, len(data), 97):
        broken = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(BadImport):
            import_session(there.workspace, broken, format="json")
    assert there.workspace.store.streams("session/") == []


def test_half_a_file_is_refused(seg: Segue, tmp_path: Path) -> None:
    data = export_session(seg.workspace, worked(seg))
    there = Segue(VolatileStore(), home=tmp_path / "there", folder=tmp_path)
    with pytest.raises(BadImport):
        import_session(there.workspace, data[: len(data) // 2])


def test_an_export_with_control_characters_is_refused(seg: Segue, tmp_path: Path) -> None:
    stream = stream_of(worked(seg))
    draft = ev.draft(ev.Noted("\x1b[31mred"), at="2026-01-01T00:00:00Z", actor="x")
    seg.workspace.store.append(Append(stream, seg.workspace.store.head(stream).version, [draft]))
    there = Segue(VolatileStore(), home=tmp_path / "there", folder=tmp_path)
    with pytest.raises(BadImport, match="control characters"):
        import_session(there.workspace, export_session(seg.workspace, "s-1"))


def erased(seg: Segue, id: str, version: int) -> None:
    stream, body = stream_of(id), canonical.encode({"text": "[scrubbed]"})
    record = ev.draft(
        ev.Erased([version], [canonical.digest(body).hex()]), at="2026-01-01T00:00:00Z", actor="u"
    )
    end = seg.workspace.store.head(stream).version
    seg.workspace.store.erase([Rewrite(stream, version, body)], {}, Append(stream, end, [record]))
    seg.workspace.repository.forget()


def test_a_scrubbed_session_imports_with_its_bodies_and_a_chain_that_verifies(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    id = worked(here)
    erased(here, id, 4)
    data = export_session(here.workspace, id)
    session = import_session(there.workspace, data)
    assert [e.body for e in session.log()] == [e.body for e in here.session(id).log()]
    assert session.state == here.session(id).state
    assert all(event.chained() and event.intact() and not event.erased for event in session.log())
    head = there.workspace.store.head(stream_of(id))
    import_session(there.workspace, data)
    import_session(here.workspace, data)
    assert there.workspace.store.head(stream_of(id)) == head


def test_a_rewritten_piece_is_imported_as_rewritten(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    id = worked(here)
    addresses = here.session(id).state.agents["coder"].pieces
    address = next(a for a, body in here.workspace.store.pieces(addresses).items() if b"step 7" in body)
    masked = here.workspace.store.pieces([address])[address].replace(b"step 7", b"******")
    here.workspace.store.erase([], {address: masked})
    import_session(there.workspace, export_session(here.workspace, id))
    assert there.workspace.store.pieces([address]) == {address: masked}
    assert "******" in there.session(id).load_agent("coder")["plan"]


def test_scrubbing_an_export_leaves_no_trace_of_the_text_and_a_chain_that_verifies(
    open_store: Opener,
) -> None:
    here, there = open_store("here"), open_store("there")
    s = here.session(worked(here))
    s.note("the passphrase is tulip-garden")
    s.save_agent("coder", {"memo": "tulip-garden " * 400})
    clean = scrub_document(export_session(here.workspace, s.id), "tulip-garden")
    session = import_session(there.workspace, clean)
    assert "tulip" not in repr(session.log()) + repr(session.load_agent("coder"))
    assert session.state.goal == "Refactor auth"
    assert scrub_document(clean, "tulip-garden") == clean


def test_a_pause_file_stops_an_import(seg: Segue, tmp_path: Path) -> None:
    data = export_session(seg.workspace, worked(seg))
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "PAUSE").touch()
    with pytest.raises(Paused):
        import_session(seg.workspace, data, as_id="other")


def test_an_unknown_session_and_an_unknown_format_are_said(seg: Segue) -> None:
    with pytest.raises(UnknownSession):
        export_session(seg.workspace, "nobody")
    with pytest.raises(UsageError, match="unknown format: xml"):
        export_session(seg.workspace, worked(seg), "xml")
    with pytest.raises(UsageError, match="unknown format: xml"):
        import_session(seg.workspace, b"", "xml")


def test_the_format_is_told_by_the_content(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    id = worked(here)
    assert (
        import_session(
            there.workspace, export_session(here.workspace, id, "yaml"), as_id="from-yaml"
        ).state.id
        == "from-yaml"
    )
    assert import_session(there.workspace, export_session(here.workspace, id)).state == here.session(id).state
