"""`segue status --watch` and `segue log --follow`: what other processes write is shown as it comes."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.followed import Followed
from tests.support.postgres_store import needs_postgres, url_for
from tests.support.screen import Screen
from tests.support.server import SegueServer
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.services.resume import watched_status
from segue.services.resume.watched_status import StatusWatch
from segue.services.runs.sessions_shown import KnownStatus, known_status
from segue.services.workspace.session_handle import SessionHandle
from segue.surfaces.cli.screen import Screen as OwnScreen
from segue.surfaces.render import Style

WATCH = ("status", "--watch", "--every", "0.1")
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


def screen(project: Path, *words: str) -> Screen:
    command = [sys.executable, "-m", "segue", *(words or WATCH)]
    return Screen(command, folder=project, environment=dict(os.environ))


# -- on a terminal ---------------------------------------------------------------------------------


def test_a_terminal_is_redrawn_when_another_process_writes_and_is_as_before_after_ctrl_c(
    started: Cli, project: Path
) -> None:
    with screen(project) as drawn:
        before = termios.tcgetattr(drawn._ours)[3]
        assert drawn.wait_for("auth middleware")
        started("done", "auth middleware")
        assert drawn.wait_for("2/4 done")
        assert drawn._drawn.startswith(ENTER) and LEAVE not in drawn._drawn
        drawn.press("\x03")
        assert drawn.process.wait(20) == 0
        drawn._reader.join(5)
        assert drawn._drawn.endswith(LEAVE) and b"\x1b[?25h" in drawn._drawn
        assert termios.tcgetattr(drawn._ours)[3] == before, "keys are shown again"
        assert "Traceback" not in drawn.text


def test_q_ends_it_and_a_signal_that_kills_leaves_the_terminal_as_it_was(started: Cli, project: Path) -> None:
    with screen(project) as drawn:
        assert drawn.wait_for("auth middleware")
        drawn.press("x")
        time.sleep(0.3)
        assert drawn.process.poll() is None
        drawn.press("q")
        assert drawn.process.wait(20) == 0
    with screen(project) as drawn:
        assert drawn.wait_for("auth middleware")
        drawn.process.send_signal(signal.SIGTERM)
        assert drawn.process.wait(20) == 128 + signal.SIGTERM
        drawn._reader.join(5)
        assert drawn._drawn.endswith(LEAVE)


def test_a_window_that_changes_is_filled_anew_and_no_line_is_longer(started: Cli, project: Path) -> None:
    started("add", "a rather long item with many words that does not fit into a narrow window at all")
    with screen(project) as drawn:
        assert drawn.wait_for("into a narrow window")
        fcntl.ioctl(drawn._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 50, 0, 0))
        assert drawn.wait_for("more lines in a taller window")
        last = drawn._drawn.rpartition(b"\x1b[H")[2].decode()
        assert len(last.split("\r\n")) == 6


@pytest.mark.skipif(shutil.which("bash") is None, reason="NOT TESTED: job control needs bash")
def test_while_it_is_stopped_the_terminal_belongs_to_the_shell(started: Cli, project: Path) -> None:
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with Screen(shell, folder=project, environment={**os.environ, "PS1": "ready> "}) as drawn:
        assert drawn.wait_for("ready>")
        drawn.press(f"{sys.executable} -m segue {' '.join(WATCH)}\n")
        assert drawn.wait_for("auth middleware")
        drawn.press("\x1a")
        assert drawn.wait_for("Stopped")
        assert drawn._drawn.rindex(LEAVE) > drawn._drawn.rindex(ENTER)
        drawn._drawn = b""
        drawn.press("fg\n")
        assert drawn.wait_for("auth middleware") and ENTER in drawn._drawn
        drawn._drawn = b""
        drawn.press("q")
        assert drawn.wait_for("ready>")
        drawn.press("echo code $?\n")
        assert drawn.wait_for("code 0")


def test_nothing_is_written_to_a_terminal_while_nothing_changes() -> None:
    written = io.BytesIO()
    out = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    with OwnScreen(out) as own:
        own.draw(["one", "two"], Style())
        first = written.getvalue()
        own.draw(["one", "two"], Style())
        assert written.getvalue() == first
        own.draw(["one", "three"], Style())
        assert written.getvalue() != first


# -- on a pipe -------------------------------------------------------------------------------------


def test_on_a_pipe_a_block_is_printed_only_for_a_change(started: Cli, project: Path) -> None:
    with Followed(*WATCH, folder=project) as watched:
        watched.wait_for("auth middleware")
        time.sleep(0.6)
        assert watched.out.count("--- ") == 1
        started("note", "half way")
        watched.wait_for("Last action  half way")
        assert watched.out.count("--- ") == 2 and "\x1b" not in watched.out
        assert watched.interrupt() == 0
        assert watched.err == ""


def test_json_has_a_line_for_every_change_and_follows_a_switch_of_sessions(
    started: Cli, project: Path
) -> None:
    with Followed(*WATCH, "--json", folder=project) as watched:
        watched.wait_for('"version":8')
        started("note", "half way")
        watched.wait_for('"last_action":"half way"')
        started("start", "Other work", "--id", "other")
        watched.wait_for('"id":"other"')
        assert watched.interrupt() == 0
        lines = [json.loads(line) for line in watched.out.splitlines()]
    assert [line["id"] for line in lines] == ["jwt", "jwt", "other"]
    assert lines[1] == {**started("status", "jwt", "--json").value, "fault": ""}


def test_a_named_session_is_watched_though_another_becomes_current(started: Cli, project: Path) -> None:
    with Followed(*WATCH, "jwt", "--json", folder=project) as watched:
        watched.wait_for('"version":8')
        started("start", "Other work", "--id", "other")
        started("note", "of jwt", "-s", "jwt")
        watched.wait_for('"last_action":"of jwt"')
        assert '"id":"other"' not in watched.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="NOT TESTED: the codes of a pipe need bash")
@pytest.mark.parametrize("words", [WATCH, ("log", "--follow")])
def test_it_ends_when_nobody_reads_it_any_more(started: Cli, project: Path, words: tuple[str, ...]) -> None:
    line = f"{sys.executable} -m segue {' '.join(words)} | head -n 1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", line], cwd=project, capture_output=True, text=True, timeout=60)
    assert ended.stdout.splitlines()[-1] == "141" and ended.stderr == ""


def test_times_that_make_no_sense_are_refused(started: Cli) -> None:
    for every in ("0", "-1", "nan", "1e9"):
        assert "is not possible" in started("status", "--watch", "--every", every, code=64).err
    assert "--every needs --watch" in started("status", "--every", "3", code=64).err
    assert "no session is current" in started("status", "--watch", "-C", "/").err


def test_the_store_is_not_read_while_its_files_do_not_change(
    started: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    def counted(session: SessionHandle) -> KnownStatus:
        reads.append(session.id)
        return known_status(session)

    monkeypatch.setattr(watched_status, "known_status", counted)
    monkeypatch.setattr(watched_status, "PATIENCE", 0.0)
    with Segue() as segue:
        watch = StatusWatch(segue.workspace)
        for _ in range(20):
            watch.look()
        assert len(reads) == 1
        started("note", "from elsewhere")
        assert watch.look().known.state.last_action == "from elsewhere"
        assert len(reads) == 2
        monkeypatch.setattr(watched_status, "ANYWAY_SECONDS", 0.0)
        watch.look()
        assert len(reads) == 3, "what no store knows is looked at from time to time"


# -- events ----------------------------------------------------------------------------------------


def test_events_of_other_processes_come_in_order_and_once(started: Cli, project: Path) -> None:
    with Followed("log", "-f", "--json", folder=project) as followed:
        followed.wait_for('"version":8')
        for number in range(12):
            started("note", f"step {number}")
        followed.wait_for("step 11")
        assert followed.interrupt() == 0
        events = [json.loads(line) for line in followed.out.splitlines()]
    assert events == started("log", "--json").value
    assert [event["version"] for event in events] == list(range(1, len(events) + 1))


def test_following_begins_with_the_newest_ten_or_where_it_is_told(started: Cli, project: Path) -> None:
    for number in range(20):
        started("note", f"step {number}")
    for words, first in ((), 19), (("--limit", "2"), 27), (("--after", "25"), 26), (("--limit", "0"), 1):
        with Followed("log", "-f", "--json", *words, folder=project) as followed:
            followed.wait_for("step 19")
            assert json.loads(followed.out.partition("\n")[0])["version"] == first


def test_text_for_people_has_the_form_of_the_log(started: Cli, project: Path) -> None:
    with Followed("log", "--follow", "--limit", "0", folder=project) as followed:
        followed.wait_for("begun: auth middleware")
        started("note", "half\x1b[2J way")
        followed.wait_for("note: half")
        assert followed.interrupt() == 0
        assert "\x1b" not in followed.out
        assert [line.strip() for line in followed.out.splitlines()] == [
            line.strip() for line in started("log").out.splitlines()
        ]


def test_a_store_that_a_recovery_replaces_is_followed_and_not_in_its_way(
    started: Cli, project: Path, home: Path
) -> None:
    started("backup")
    started("note", "after the backup")
    with (
        Followed("log", "-f", "--json", folder=project) as followed,
        Followed(*WATCH, "--json", folder=project) as watched,
    ):
        followed.wait_for("after the backup")
        watched.wait_for("after the backup")
        database = home / "segue" / "segue.db"
        database.with_name("segue.db-wal").unlink(missing_ok=True)
        content = database.read_bytes()
        database.write_bytes(b"\0" * 8192 + content[8192:])
        started("recover")
        started("note", "behind the recovery")
        followed.wait_for("behind the recovery")
        watched.wait_for("behind the recovery")
        assert followed.interrupt() == watched.interrupt() == 0


def test_a_store_that_is_gone_is_waited_for_and_never_made_anew(
    started: Cli, project: Path, home: Path
) -> None:
    started("status")
    database = home / "segue" / "segue.db"
    with Followed("log", "-f", "--json", folder=project) as followed:
        followed.wait_for('"version":8')
        database.rename(home / "aside.db")
        followed.wait_for("waiting: ", err=True)
        time.sleep(0.7)
        assert not database.exists() and followed.err.count("waiting: ") == 1
        (home / "aside.db").rename(database)
        followed.wait_for("the store can be read again", err=True)
        started("note", "it is back")
        followed.wait_for("it is back")


# -- stores that machines share --------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    made = SegueServer(tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.stop()


def test_a_server_that_goes_away_and_comes_back_is_followed(
    server: SegueServer, cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_STORE", server.url)
    monkeypatch.setenv("SEGUE_API_KEY", server.token)
    monkeypatch.setenv("SEGUE_BUSY_TIMEOUT_MS", "1500")
    cli("start", "Far away", "--id", "far")
    with (
        Followed("log", "-f", "--json", folder=project) as followed,
        Followed(*WATCH, "--json", folder=project) as watched,
    ):
        followed.wait_for("Far away")
        watched.wait_for("Far away")
        cli("note", "one")
        followed.wait_for('"text":"one"')
        watched.wait_for('"last_action":"one"')
        server.kill()
        followed.wait_for("waiting: ", err=True)
        server.start()
        cli("note", "two")
        followed.wait_for('"text":"two"')
        watched.wait_for('"last_action":"two"')
        assert followed.interrupt() == watched.interrupt() == 0
        versions = [json.loads(line)["version"] for line in followed.out.splitlines()]
    assert versions == list(range(1, len(versions) + 1))


@needs_postgres
@pytest.mark.xdist_group("postgres")
def test_a_store_in_postgres_is_followed(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGUE_STORE", url_for(project))
    cli("start", "In a team", "--id", "team")
    with (
        Followed("log", "-f", "--json", folder=project) as followed,
        Followed(*WATCH, "--json", folder=project) as watched,
    ):
        followed.wait_for("In a team")
        watched.wait_for("In a team")
        cli("note", "one")
        followed.wait_for('"text":"one"')
        watched.wait_for('"last_action":"one"')
        assert followed.interrupt() == watched.interrupt() == 0
