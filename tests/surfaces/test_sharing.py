"""Transcripts for a team: where it is set, another machine reads what a run did; else nothing leaves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.postgres_store import needs_postgres, url_for
from tests.support.remote import shared
from tests.support.runs import SECRET, environment, place
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core.runs.shared_copies import PREFIX
from segue.effects.files.archive import Archive
from segue.errors import RefusedError, SegueError
from segue.services.brief import project_brief as briefs
from segue.services.runs import shared_copies
from segue.services.runs.listing import steps_of
from segue.services.runs.observed import runs_of
from segue.services.upkeep.archive_sessions import Cleanup
from segue.services.upkeep.migrate import migrate
from segue.services.upkeep.recover.remote import recover_server
from segue.services.upkeep.scrub import scrub
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.on_off import switch
from segue.settings import resolve

pytestmark = pytest.mark.xdist_group("postgres")


class Machine:
    """A home with a project in it, on a store that others share."""

    def __init__(self, folder: Path, store: dict[str, str]) -> None:
        self.home, self.project = folder / "home", folder / "work" / "shop"
        self.project.mkdir(parents=True)
        self.store = store

    def environment(self, **more: str) -> dict[str, str]:
        return environment(self.home, **{"SEGUE_PROJECT": "shop", **self.store, **more})

    def segue(self, *, shares: bool = False, **more: str) -> Segue:
        told = {"SEGUE_SHARE_TRANSCRIPTS": "1"} if shares else {}
        return Segue(folder=self.project, environment=self.environment(**told, **more))

    @contextmanager
    def away(self) -> Iterator[None]:
        """Within it nobody sees the files of this machine."""
        hidden = self.home.rename(self.home.with_name("away"))
        try:
            yield
        finally:
            hidden.rename(self.home)

    def brief(self, what: str = "", budget: int = 2048) -> str:
        with briefs.workspace_to_look(self.project, self.environment()) as workspace:
            return briefs.brief_here(workspace, what, budget=budget)


@pytest.fixture(params=["server", pytest.param("postgres", marks=needs_postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    if request.param == "postgres":
        return {"SEGUE_STORE": url_for(tmp_path)}
    server = shared()
    project = "t" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    return {"SEGUE_STORE": f"{server.url}?project={project}", "SEGUE_API_KEY": server.token}


@pytest.fixture
def ours(tmp_path: Path, store: dict[str, str]) -> Machine:
    return Machine(tmp_path / "ours", store)


@pytest.fixture
def theirs(tmp_path: Path, store: dict[str, str]) -> Machine:
    return Machine(tmp_path / "theirs", store)


@pytest.fixture(params=["codex", "gemini-cli"])
def synced(request: pytest.FixtureRequest, ours: Machine) -> Iterator[str]:
    """A run of ours that was shared, of an agent that writes lines and of one that writes documents."""
    path = place(ours.home, ours.project, request.param, secret=SECRET)
    with ours.segue(shares=True) as segue:
        done = segue.sync()
        assert (done.read, done.shared, done.unshared) == (1, 1, [])
        assert segue.sync().shared == 0
        [run] = segue.runs()
    assert SECRET.encode() in path.read_bytes()
    yield run.id


def test_another_machine_shows_the_timeline_and_tells_in_a_brief_what_was_said(
    synced: str, ours: Machine, theirs: Machine
) -> None:
    with ours.away(), theirs.segue() as segue:
        run = segue.run(synced)
        assert run.shared and not run.present and not run.archived
        steps = str(steps_of(segue.workspace, run))
        assert "pytest -q t1.py" in steps and "HS256" in steps and SECRET not in steps
    with ours.away():
        short, newest, long = theirs.brief(synced), theirs.brief(), theirs.brief(synced, budget=8000)
    assert "Make the login use tokens" in short and "HS256" in newest
    assert "AssertionError: 0 != 2" in long and SECRET not in short + newest + long


def test_no_piece_holds_a_secret(synced: str, theirs: Machine) -> None:
    with theirs.segue() as segue:
        [(stream, _)] = segue.workspace.store.streams(PREFIX)
        events = segue.workspace.store.read(stream)
        key = stream.removeprefix(PREFIX)
        pieces = segue.workspace.store.pieces(shared_copies.piece_addresses(events)).values()
        text = b"".join(shared_copies.unpacked(key, piece) for piece in pieces)
    assert b"AssertionError" in text and SECRET.encode() not in text


def test_nothing_is_shared_unless_it_is_set(ours: Machine, theirs: Machine) -> None:
    place(ours.home, ours.project)
    with ours.segue() as segue:
        done = segue.sync()
        assert (done.read, done.shared, segue.workspace.store.streams(PREFIX)) == (1, 0, [])
        [run] = segue.runs()
    with ours.away(), theirs.segue() as segue:
        assert not segue.run(run.id).shared
        with pytest.raises(SegueError, match="no copy was kept"):
            steps_of(segue.workspace, segue.run(run.id))


def test_a_store_of_ones_own_and_copies_that_are_not_masked_share_nothing(ours: Machine) -> None:
    place(ours.home, ours.project)
    with ours.segue(shares=True, SEGUE_STORE="", SEGUE_API_KEY="") as segue:
        assert (segue.sync().shared, segue.workspace.store.streams(PREFIX)) == (0, [])
    with ours.segue(shares=True, SEGUE_REDACT="0") as segue:
        done = segue.sync()
        assert done.shared == 0 and "redact is off" in done.unshared[0].reason
        assert segue.workspace.store.streams(PREFIX) == []


def test_a_run_that_goes_on_is_brought_up_to_date(ours: Machine, theirs: Machine) -> None:
    place(ours.home, ours.project, ends=False)
    with ours.segue(shares=True) as segue:
        segue.sync()
        place(ours.home, ours.project, calls=30)
        assert segue.sync().shared == 1
        [run] = segue.runs()
        [(_, version)] = segue.workspace.store.streams(PREFIX)
    with ours.away(), theirs.segue() as segue:
        assert version == 2 and "pytest -q t29.py" in str(steps_of(segue.workspace, segue.run(run.id)))


def test_a_transcript_beyond_the_bound_is_not_shared_and_it_is_said(
    ours: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_copies, "SHARED_BYTES_MAX", 100)
    path = place(ours.home, ours.project)
    with ours.segue(shares=True) as segue:
        [one] = segue.sync().unshared
        assert one.path == str(path) and "not shared" in one.reason
        assert segue.workspace.store.streams(PREFIX) == []


def test_where_segue_is_off_nothing_is_shared(ours: Machine) -> None:
    place(ours.home, ours.project)
    with ours.segue() as segue:
        [session] = segue.sync().sessions
    home = DataFolder(ours.home / "segue")
    switch(home, ours.project, session, on=False)
    with ours.segue(shares=True) as segue:
        assert segue.sync().shared == 0
        switch(home, ours.project, session, on=True)
        switch(home, ours.project, on=False)
        with pytest.raises(RefusedError):
            segue.sync()
        assert segue.workspace.store.streams(PREFIX) == []
        switch(home, ours.project, on=True)
        assert segue.sync().shared == 1


def test_a_scrub_elsewhere_reaches_what_was_shared(synced: str, ours: Machine, theirs: Machine) -> None:
    with ours.away(), theirs.segue() as segue:
        did = scrub(segue.workspace, "AssertionError")
        assert did.pieces == 1
        assert "AssertionError" not in str(steps_of(segue.workspace, segue.run(synced)))
    with ours.segue(shares=True) as segue:
        segue.sync()
    with ours.away():
        assert "AssertionError" not in theirs.brief(synced, budget=8000)


def test_a_session_that_only_a_shared_transcript_knows_is_recovered_elsewhere(
    ours: Machine, theirs: Machine
) -> None:
    from segue.stores.base import Append

    place(ours.home, ours.project)
    with ours.segue(shares=True) as segue:
        [session] = segue.sync().sessions
        name = f"session/{session}"
        segue.workspace.store.drop(Append(name, segue.workspace.store.head(name).version))
    settings = resolve(environment=theirs.environment())
    home = DataFolder(theirs.home / "segue").for_store(theirs.store["SEGUE_STORE"])
    did = recover_server(home, settings, dry_run=False)
    rung = next(rung for rung in did.rungs if rung.name == "transcript")
    assert rung.status == "used" and session in rung.detail
    with theirs.segue() as segue:
        assert segue.session(session).state.goal == "Make the login use tokens, please"
    assert not Archive(home.transcripts).copies()


def test_a_migration_takes_copies_along_and_they_leave_the_store_with_their_session(
    synced: str, theirs: Machine, tmp_path: Path
) -> None:
    file = f"sqlite://{tmp_path / 'moved.db'}"
    migrate(
        theirs.store["SEGUE_STORE"], file, DataFolder(theirs.home / "segue"),
        resolve(environment=theirs.environment()),
    )  # fmt: skip
    theirs.store = {"SEGUE_STORE": file}
    with theirs.segue() as segue:
        [(stream, _)] = segue.workspace.store.streams(PREFIX)
        pieces = shared_copies.piece_addresses(segue.workspace.store.read(stream))
        text = b"".join(shared_copies.SharedCopies(segue.workspace.store).read(stream.removeprefix(PREFIX)))
        assert b"AssertionError" in text
        segue.session(runs_of(segue.workspace).runs.rows()[0].session).complete()
        Cleanup(segue.workspace).run(days=0)
        assert segue.workspace.store.streams(PREFIX) == [] and segue.workspace.store.pieces(pieces) == {}


def test_who_may_only_read_sees_the_timeline_on_the_command_line(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = shared()
    name = "t" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    ours = Machine(
        tmp_path / "ours", {"SEGUE_STORE": f"{server.url}?project={name}", "SEGUE_API_KEY": server.token}
    )
    place(ours.home, Path.cwd(), secret=SECRET)
    for variable, value in ours.environment(SEGUE_SHARE_TRANSCRIPTS="1").items():
        monkeypatch.setenv(variable, value)
    assert "1 transcript shared, as masked copies in the store" in cli("sync").out
    theirs = Machine(
        tmp_path / "theirs",
        {"SEGUE_STORE": server.url, "SEGUE_API_KEY": server.key(role="reader", project=name)},
    )
    for variable, value in theirs.environment().items():
        monkeypatch.setenv(variable, value)
    with ours.away():
        shown = cli("show", "run-1", "--timeline").out
        assert "pytest -q t1.py" in shown and SECRET not in shown
        assert "a copy is in the store" in cli("show", "run-1").out
        assert "HS256" in cli("brief").out


def test_a_run_that_is_forgotten_on_the_server_leaves_no_copy_there(tmp_path: Path) -> None:
    server = shared()
    name = "t" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    key = server.key(role="writer", project=name)
    ours = Machine(tmp_path / "ours", {"SEGUE_STORE": server.url, "SEGUE_API_KEY": key})
    place(ours.home, ours.project)
    with ours.segue(shares=True) as segue:
        assert segue.sync().shared == 1
        [(stream, _)] = segue.workspace.store.streams(PREFIX)
        pieces = shared_copies.piece_addresses(segue.workspace.store.read(stream))
        route = f"/v1/runs/{stream.removeprefix(PREFIX)}"
        assert server.ask("GET", route, token=key)[1]["run"]["shared"] is True
        assert server.ask("DELETE", route, token=key)[0] in (200, 204)
        assert segue.workspace.store.streams(PREFIX) == [] and segue.workspace.store.pieces(pieces) == {}
