"""Every command works against a Segue server, and without it: what can wait waits, and is brought once."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.hooks import Agent, own
from tests.support.remote import KEY, Cutting, Portal
from tests.support.said_runs import place_split
from tests.surfaces.conftest import Cli, a_day_of_work

from segue import Segue
from segue.core import event_kinds as ev
from segue.core.sessions.commands import Describe
from segue.effects.files.spool import Spool
from segue.errors import StoreUnavailable
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.offline_queue import QueuedCommand
from segue.stores.remote import client
from segue.stores.sqlite import SqliteStore
from segue.testing import armed

SECRET = "ghp_" + "a1B2" * 9


class There:
    """A server that can be switched off and on, on the same port and with the same data."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, patch
        self.clients: list[client.Client] = []
        """Of programs that go on meanwhile."""
        folder.mkdir()
        self.server: Portal | None = Portal(folder)
        self.port, self.url = self.server.port, self.server.url

    def off(self) -> None:
        if self.server is not None:
            self.server.stop()
            self.server = None
        self._patch.setattr(client, "_FIRST_SECONDS", 0.2)  # nobody will answer
        for one in self.clients:
            one.busy_timeout_ms = 300

    def on(self) -> Portal:
        client._unreached.clear()
        self._patch.setattr(client, "_FIRST_SECONDS", 10.0)
        for one in self.clients:
            one.busy_timeout_ms = 10_000
            one.first_seconds = 10.0
        self.server = self.server or Portal(self.folder, port=self.port)
        return self.server

    def events(self, session: str) -> list[ev.Event]:
        journal = SqliteStore(self.folder / "server.db")
        try:
            return journal.read(f"session/{session}")
        finally:
            journal.close()

    def texts(self, session: str) -> list[str]:
        bodies = (ev.read_body(event) for event in self.events(session))
        return [body.text for body in bodies if isinstance(body, ev.Noted | ev.ItemDone)]


@pytest.fixture
def there(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[There]:
    client._unreached.clear()
    made = There(tmp_path / "there", monkeypatch)
    made.on()
    monkeypatch.setenv("SEGUE_STORE", made.url)
    monkeypatch.setenv("SEGUE_API_KEY", KEY)
    yield made
    made.off()


def pending(home: Path | None = None) -> int:
    """How many records wait."""
    folder = DataFolder(Path(os.environ["SEGUE_HOME"])).for_store(os.environ["SEGUE_STORE"])
    return Spool(folder.pending, "commands").count()[0]


# -- with the server -------------------------------------------------------------------------------


def test_a_day_of_work_leaves_no_store_here(there: There, started: Cli) -> None:
    a_day_of_work(started)
    assert started("undo").code == started("rewind", "one").code == 0
    home = Path(os.environ["SEGUE_HOME"])
    assert not list(home.rglob("segue.db*")) and not list(home.rglob("backups"))


def test_what_a_file_could_do_is_refused_in_a_sentence(there: There, started: Cli) -> None:
    for words, said in (
        (("backup",), "so Segue does not back it up"),
        (("doctor", "--prove"), "is not a file"),
        (("migrate", "--from", "sqlite:///x.db", "--to", there.url), "on the machine of the Segue server"),
    ):
        ran = started(*words, code=65)
        assert said in ran.err and "hint:" in ran.err
        assert KEY not in ran.err


def test_sessions_are_archived_in_the_server_and_brought_back_from_it(there: There, started: Cli) -> None:
    id = started("status", "--json").value["id"]
    started("complete", "--force", "enough")
    assert [one["id"] for one in started("cleanup", "--days", "0", "--json").value] == [id]
    assert started("list", "--all", "--json").value == []
    assert started("cleanup", "--restore", id, "--json").value["status"] == "completed"
    assert [one["id"] for one in started("list", "--all", "--json").value] == [id]


def test_doctor_recover_scrub_and_migrate_work_from_here(there: There, started: Cli, tmp_path: Path) -> None:
    started("note", f"uses {SECRET[4:]} nowhere")
    told = started("doctor").out
    assert "every chain verified" in told and "admin: everything" in told and KEY not in told
    assert "nothing had to be changed" in started("recover").out
    started("scrub", SECRET[4:], "--yes")
    for name in ("kangaroo42", "wombat4711"):
        started("remember", f"never say {name} aloud")
        assert started("scrub", name, "--yes", "--json").value["memories"] == 1
    assert SECRET[4:].encode() not in (there.folder / "server.db").read_bytes()
    copy = tmp_path / "copy.db"
    assert "verified" in started("migrate", "--from", there.url, "--to", f"sqlite://{copy}").out
    assert started("status", "--store", f"sqlite://{copy}", "-s", "jwt", "--json").value["id"] == "jwt"


def test_a_key_is_shown_by_no_command(there: There, started: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEY not in started("config").out and KEY not in started("config", "--json").out
    monkeypatch.setenv("SEGUE_API_KEY", "wrong-key")
    ran = started("status", code=77)
    assert "SEGUE_API_KEY" in ran.err and "wrong-key" not in ran.err


def test_a_project_cannot_name_a_key(there: There, started: Cli, project: Path) -> None:
    (project / "segue.toml").write_text('api_key = "theirs"\n')
    ran = started("trust", "--yes", code=64)
    assert "may not be set by a project" in ran.err


# -- without it ------------------------------------------------------------------------------------


def test_commands_that_can_wait_are_pending_and_are_brought_once(there: There, started: Cli) -> None:
    started("status")
    there.off()
    ran = started("done", "auth middleware")
    assert ran.out.startswith("pending: done auth middleware") and "saved" not in ran.out
    told = started("note", "went on alone", "--json").value
    assert told["pending"] is True and told["events"] == 0
    assert pending() == 2
    there.on()
    ran = started("status", "--json")
    assert "saved 2 pending changes" in ran.err
    assert ran.value["done"] == ["user model", "auth middleware"] and pending() == 0
    started("status")
    assert there.texts("jwt") == ["user model", "auth middleware", "went on alone"]


def test_what_cannot_wait_is_refused_and_not_kept(there: There, started: Cli) -> None:
    started("status")
    there.off()
    for words in (("resume",), ("complete",), ("undo",), ("rewind", "x"), ("abandon",), ("hold",)):
        ran = started(*words, code=74)
        assert "cannot reach" in ran.err and KEY not in ran.err
    assert pending() == 0


def test_a_pause_that_an_emergency_file_keeps_is_said_to_wait(there: There, started: Cli) -> None:
    started("status")
    there.off()
    ran = started("pause", "--reason", "lunch")
    assert "cannot reach" in ran.err and KEY not in ran.err
    assert "`segue doctor`" not in started("doctor", code=70).out
    assert "pending: paused jwt" in ran.out and "emergency file, " in ran.out
    value = started("pause", "--reason", "lunch", "--json").value
    assert value["status"] == "emergency" and Path(value["manifest"]).is_file()
    assert "cannot reach" in value["error"]
    there.on()
    assert started("status", "--json").value["status"] == "paused"
    assert [event.kind for event in there.events("jwt")].count("session.paused") == 1
    assert not Path(value["manifest"]).exists()


def test_status_and_brief_tell_what_was_last_seen_and_say_so(there: There, started: Cli) -> None:
    started("status")
    there.off()
    started("done", "auth middleware")
    ran = started("status")
    assert "last seen" in ran.err and "1 pending" in ran.err and "auth middleware" in ran.out
    told = started("status", "--json").value
    assert told["pending"] == 1 and told["as_of"] and told["done"] == ["user model", "auth middleware"]
    brief = started("brief").out
    assert "GOAL: Refactor authentication to JWT" in brief and "as of 2" in brief and "1 pending" in brief
    assert len(brief.encode()) <= 2_049


def test_numbers_mean_what_they_meant_when_they_were_said(there: There, started: Cli) -> None:
    started("status")
    there.off()
    started("done", "#3")
    with Segue(there.on().store(), home=there.folder / "other", folder=there.folder) as other:
        other.session("jwt").drop("analyse codebase")
        other.session("jwt").add("something else")
    assert started("status", "--json").value["done"] == ["user model", "auth middleware"]
    there.off()
    started("done", "#99", code=64)


def test_a_conflict_is_told_in_the_session_and_nothing_is_dropped(there: There, started: Cli) -> None:
    started("status")
    there.off()
    started("checkpoint", "--summary", "mine", "--note", "and a note")
    started("note", "merges")
    with Segue(there.on().store(), home=there.folder / "other", folder=there.folder) as other:
        other.session("jwt").apply(Describe(summary="theirs"))
    ran = started("status", "--json")
    assert "a pending change was refused" in ran.err
    [event] = [event for event in there.events("jwt") if event.kind == "pending.refused"]
    body = ev.read_body(event)
    assert (
        isinstance(body, ev.PendingRefused) and "mine" in body.what and "somebody else wrote" in body.reason
    )
    assert any("not kept" in error["text"] for error in ran.value["errors"]), ran.value
    assert there.texts("jwt")[-1] == "merges" and "not saved" in started("log").out
    started("status")
    assert len([event for event in there.events("jwt") if event.kind == "pending.refused"]) == 1


def test_a_session_that_is_over_by_then_still_tells_what_was_refused(there: There, started: Cli) -> None:
    started("status")
    there.off()
    started("note", "too late")
    with Segue(there.on().store(), home=there.folder / "other", folder=there.folder) as other:
        other.session("jwt").complete("done by another")
    assert "a pending change was refused" in started("list").err
    assert there.events("jwt")[-1].kind == "pending.refused" and pending() == 0


def test_a_session_that_is_gone_by_then_is_said_and_noted(there: There, started: Cli) -> None:
    from segue.stores.base import Append

    started("status")
    there.off()
    started("note", "into nothing")
    journal = there.on().store()
    journal.drop(Append("session/jwt", journal.head("session/jwt").version))
    assert "a pending change was refused" in started("list").err
    [ledger] = [name for name, _ in journal.streams("ledger/offline/")]
    [event] = journal.read(ledger)
    body = ev.read_body(event)
    assert isinstance(body, ev.PendingBrought) and body.refused and pending() == 0


def test_a_session_begun_without_the_server_has_an_id_of_its_own(there: There, cli: Cli) -> None:
    cli("start", "first", "--id", "first")
    there.off()
    told = cli("start", "Alone", "--item", "a", "--json").value
    assert told["pending"] is True and told["status"] == "pending"
    id = told["session"]
    assert "-x" in id and not id.rpartition("-")[2].isdecimal()
    cli("done", "a")
    assert cli("status", "--json").value["goal"] == "Alone"
    there.on()
    found = cli("status", "--json").value
    assert (found["id"], found["done"]) == (id, ["a"])
    assert cli("start", "next", "--json").value["session"].endswith("-001"), "numbers come from the store"


def test_an_id_that_somebody_else_took_meanwhile_is_a_conflict(there: There, cli: Cli) -> None:
    cli("start", "first", "--id", "first")
    there.off()
    cli("start", "Mine", "--id", "same")
    with Segue(there.on().store(), home=there.folder / "other", folder=there.folder) as other:
        other.start("Theirs", id="same")
    assert "somebody else has started" in cli("list").err
    events = there.events("same")
    assert [event.kind for event in events] == ["session.created", "session.started", "pending.refused"]


def test_secrets_are_masked_before_they_wait(there: There, started: Cli) -> None:
    started("status")
    there.off()
    started("note", f"the token is {SECRET}")
    home = Path(os.environ["SEGUE_HOME"])
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files and not any(SECRET.encode() in path.read_bytes() for path in files)
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_a_pause_file_brakes_what_waits_too(there: There, started: Cli, project: Path) -> None:
    started("status")
    there.off()
    (project / "PAUSE").touch()
    started("note", "not now", code=65)
    assert pending() == 0


# -- once ------------------------------------------------------------------------------------------


@pytest.fixture
def seg(there: There, started: Cli, tmp_path: Path) -> Segue:
    """A program that has seen the session."""
    segue = Segue(there.url, home=tmp_path / "home", folder=tmp_path, api_key=KEY)
    there.clients.append(segue.workspace.store.client)  # type: ignore[attr-defined]
    assert segue.session("jwt").state.version
    segue.workspace.offline.remember()  # type: ignore[attr-defined]
    return segue


def test_the_ledger_is_corrected_through_the_server_and_while_it_is_away(there: There, started: Cli) -> None:
    [rule] = started("ledger", "add", "rule", "Never push to main.", "--json").value["entries"]
    started("ledger", "--json")  # seen, so that its handle is known here
    there.off()
    ran = started("ledger", "drop", rule["handle"], "--why", "the bot pushes")
    assert ran.out.startswith(f"pending: ledger drop {rule['handle']}")
    told = started("ledger", "add", "rule", "Answer in French.", "--json").value
    assert told["pending"] is True and told["entries"] == [] and pending() == 2
    assert "there is no entry" in started("ledger", "done", "zzzz", code=64).err
    shown = {one["text"]: one["state"] for one in started("ledger", "--all", "--json").value}
    assert shown == {"Never push to main.": "withdrawn", "Answer in French.": "open"}
    there.on()
    assert "saved 2 pending changes" in started("ledger").err and pending() == 0
    kinds = [event.kind for event in there.events("jwt")]
    assert kinds[-3:] == ["ledger.kept", "ledger.corrected", "ledger.kept"]
    assert started("ledger", "reopen", rule["id"]).out == f"open: {rule['handle']} Never push to main.\n"


def test_sessions_are_joined_in_the_server_and_not_while_it_is_away(
    there: There, cli: Cli, home: Path, project: Path
) -> None:
    place_split(home, project)
    cli("sync")
    [work] = cli("sessions", "join", "--json").value
    there.off()
    assert "hint:" in cli("sessions", "join", *work["sessions"], "--yes", code=74).err
    there.on()
    assert cli("sessions", "join", *work["sessions"], "--yes", "--json").value["joined"]
    cards = {card["id"]: card for card in cli("list", "--json").value}
    assert [len(cards[id]["runs"]) for id in work["sessions"]] == [3, 0, 0]
    assert len(cli("ledger", work["sessions"][0], "--kind", "request", "--json").value) == 3


def test_a_program_is_told_pending_and_what_waits_goes_first(there: There, seg: Segue) -> None:
    session = seg.session("jwt")
    there.off()
    saved = session.note("one")
    assert isinstance(saved, QueuedCommand) and saved.pending and not saved.events
    there.on()
    assert not isinstance(session.note("two"), QueuedCommand)
    assert there.texts("jwt") == ["user model", "one", "two"]


def test_what_a_program_said_itself_is_no_conflict(there: There, seg: Segue) -> None:
    session = seg.session("jwt")
    session.describe(summary="first")
    session.add("five")
    there.off()
    assert isinstance(session.describe(summary="second"), QueuedCommand)
    assert isinstance(session.done("#5"), QueuedCommand)
    there.on()
    session.note("after")
    assert session.state.summary == "second" and there.texts("jwt") == ["user model", "five", "after"]
    assert not [event for event in there.events("jwt") if event.kind == "pending.refused"]


@pytest.mark.parametrize("place", ["spool.take.after_rename", "spool.drop.before_unlink"])
def test_a_drain_that_dies_anywhere_brings_nothing_twice(there: There, seg: Segue, place: str) -> None:
    there.off()
    for number in range(3):
        seg.session("jwt").note(f"n{number}")
    there.on()
    with armed(place, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        seg.session("jwt").note("after")
    seg.session("jwt").note("after")
    assert there.texts("jwt") == ["user model", "n0", "n1", "n2", "after"]


def test_a_drain_whose_answers_are_lost_brings_nothing_twice(
    there: There, seg: Segue, tmp_path: Path
) -> None:
    there.off()
    for number in range(3):
        seg.session("jwt").note(f"n{number}")
    there.on()
    cuts = iter(["answer", "", "answer", "request"])
    way = Cutting(there.port, lambda path: next(cuts, "") if path.endswith("append") else "")
    [client_of] = there.clients
    client_of.close()
    client_of.address.port = way.port
    seg.session("jwt").note("after")
    way.stop()
    assert way.cut == 3 and there.texts("jwt") == ["user model", "n0", "n1", "n2", "after"]


def test_a_write_in_doubt_does_not_wait(there: There, seg: Segue) -> None:
    session = seg.session("jwt")
    server = there.on()
    there.clients[0].busy_timeout_ms = 300
    hang = [True]

    def answer(name: str, call: Callable[[], bytes]) -> bytes:
        done = call()
        if hang and name == "journal/append":
            time.sleep(0.6)
        return done

    server.answer = answer
    with pytest.raises(StoreUnavailable, match="may or may not have happened"):
        session.note("perhaps")
    hang.clear()
    time.sleep(0.5)
    there.on()
    session.note("after")
    assert there.texts("jwt") == ["user model", "perhaps", "after"]


def test_two_that_drain_at_once_bring_nothing_twice(there: There, seg: Segue, tmp_path: Path) -> None:
    import threading

    there.off()
    for number in range(8):
        seg.session("jwt").note(f"n{number}")
    there.on()
    others = [
        Segue(there.url, home=tmp_path / "home", folder=tmp_path, api_key=KEY, busy_timeout_ms=5_000)
        for _ in range(3)
    ]
    threads = [threading.Thread(target=lambda one=one: one.session("jwt").note("end")) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [text for text in there.texts("jwt") if text.startswith("n")]
    assert told == [f"n{number}" for number in range(8)]


# -- hooks -----------------------------------------------------------------------------------------


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and never answers."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(64)
        yield f"http://127.0.0.1:{one.getsockname()[1]}"


def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each request took from now on."""
    times: list[float] = []
    real = client.Client.call

    def call(self: client.Client, *args: Any) -> Any:
        begun = time.monotonic()
        try:
            return real(self, *args)
        finally:
            times.append(time.monotonic() - begun)

    monkeypatch.setattr(client.Client, "call", call)
    return times


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "PostToolUse", "SessionEnd"])
@pytest.mark.parametrize("dead", ["refuses", "is silent"])
def test_a_hook_waits_a_moment_for_a_dead_server_and_spools(
    event: str, dead: str, silent: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client._unreached.clear()
    agent = Agent(home, tmp_path / "shop")
    agent.env = {**agent.env, "SEGUE_STORE": silent if dead == "is silent" else "http://127.0.0.1:9"}
    path = own(agent)
    times = waited(monkeypatch)
    agent.call(event, transcript_path=str(path), source="startup", prompt="go on", tool_name="Bash")
    assert times and sum(times) < 2, times  # 0.3 s and what a busy machine adds; anybody else waits for 10
    assert event in agent.spooled(), agent.log()


def test_a_hook_with_settings_that_cannot_be_read_spools(home: Path, tmp_path: Path) -> None:
    agent = Agent(home, tmp_path / "shop")
    agent.env = {**agent.env, "SEGUE_CONFIG": str(tmp_path / "config.toml")}
    (tmp_path / "config.toml").write_text("store = [")
    assert agent.start() == "" and agent.spooled()[0] == "SessionStart"
    assert "config.toml" in agent.log()


def test_only_one_that_waited_long_enough_says_that_the_server_is_down(
    there: There, started: Cli, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = DataFolder(Path(os.environ["SEGUE_HOME"])).for_store(there.url).unreachable_note
    there.off()
    agent = Agent(home, project)
    agent.env = {**agent.env, "SEGUE_STORE": there.url, "SEGUE_API_KEY": KEY}
    agent.start()
    assert not down.exists(), "a hook waits too little to know"
    client._unreached.clear()
    monkeypatch.setattr(client, "_FIRST_SECONDS", 1.1)
    started("list", code=74)
    assert down.exists()
    before = down.stat().st_mtime_ns
    client._unreached.clear()
    begun = time.monotonic()
    started("list", code=74)
    assert time.monotonic() - begun < 1 and down.stat().st_mtime_ns == before
    there.on()
    started("list")
    assert not down.exists()


def test_a_run_that_starts_without_the_server_is_told_what_was_last_seen(
    there: There, started: Cli, project: Path, home: Path
) -> None:
    started("status")
    there.off()
    agent = Agent(home, project)
    agent.env = {**agent.env, "SEGUE_STORE": there.url, "SEGUE_API_KEY": KEY}
    told = agent.start()
    assert "Refactor authentication to JWT" in told and "as of" in told
    there.on()
    started("status")
    assert agent.spooled() == []
    assert json.loads(json.dumps(there.on().journal.streams("run/")))
