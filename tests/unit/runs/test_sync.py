"""Taking runs in: once, incrementally, the same again, and to which session each belongs."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import msgspec
import pytest
from tests.support.runs import DAY, HOUR, SECRET, environment, opened, place, work

from segue import Paused, Segue
from segue.api.session import Session
from segue.core.base.values import seconds_of
from segue.core.runs.digest import decode, encode
from segue.core.runs.steps import Prompt
from segue.core.sessions.state import OBSERVER
from segue.effects.redaction.redact import redact_bytes
from segue.services.runs import assign_session, cursor, sync as ingest
from segue.services.runs.observed import runs_of
from segue.services.runs.sync_workers import TranscriptImporter
from segue.services.upkeep.rebuild import rebuild
from segue.services.upkeep.scrub import scrub
from segue.testing.transcripts import MAKERS, placed, written

AGENTS = sorted(MAKERS)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def grow(path: Path, *more: str) -> None:
    """Write what a running agent would add."""
    with path.open("ab") as file:
        for text in more:
            line = {
                "timestamp": "2026-11-15T05:00:00.000Z", "type": "event_msg",
                "payload": {"type": "agent_message", "message": text},
            }  # fmt: skip
            file.write(msgspec.json.encode(line) + b"\n")


def digests(seg: Segue) -> dict[str, bytes]:
    found = {}
    for row in runs_of(seg.workspace).runs.rows():
        full = runs_of(seg.workspace).runs.get(row.key)
        kept = cursor.unpacked(full.reading if full is not None else None)
        assert kept is not None
        found[row.native] = kept.digest
    return found


# -- reading


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_of_each_agent_is_taken_in_once(agent: str, home: Path, project: Path) -> None:
    place(home, project, agent, native="0a1b2c3d")
    with opened(home, project) as seg:
        done = seg.sync()
        assert (done.read, done.new, done.unchanged, done.unreadable) == (1, 1, 0, [])
        run = seg.run("0a1b")
        assert (run.agent, run.goal, run.archived) == (agent, "Make the login use tokens, please", True)
        assert run.project == str(project) and run.cwd == str(project)
        again = seg.sync()
        assert (again.read, again.new, again.unchanged) == (0, 0, 1)
        assert seg.run("0a1b") == run


def test_what_was_added_is_read_behind_the_cursor_and_gives_the_same_digest(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(home, project)
    with opened(home, project) as seg:
        seg.sync()
        size = path.stat().st_size
        grow(path, "more was said", "and still more")
        done = seg.sync()
        assert done.read == 1 and done.bytes_read == path.stat().st_size - size
        assert b"".join(runs_of(seg.workspace).archive.read(seg.run("run-1").key)) == redact_bytes(
            path.read_bytes()
        )
        step_by_step = digests(seg)
    shutil.rmtree(home / "segue")
    with opened(home, project) as seg:
        seg.sync()
        assert digests(seg) == step_by_step


def test_a_half_written_line_is_told_and_read_again_when_it_is_whole(home: Path, project: Path) -> None:
    path = place(home, project)
    line = msgspec.json.encode(
        {"timestamp": "2026-11-15T05:00:00.000Z", "type": "event_msg",
         "payload": {"type": "agent_message", "message": "the end of it"}}
    )  # fmt: skip
    whole = path.read_bytes() + line
    path.write_bytes(whole[:-10])
    with opened(home, project) as seg:
        seg.sync()
        path.write_bytes(whole + b"\n")
        os.utime(path, (time.time() + 5, time.time() + 5))
        seg.sync()
        kept = digests(seg)["run-1"]
        assert b"the end of it" in kept and kept.count(b"the end of it") <= 2
        assert b"".join(runs_of(seg.workspace).archive.read(seg.run("run-1").key)).endswith(
            b'the end of it"}}\n'
        )


@pytest.mark.parametrize("change", ["rewritten", "truncated", "replaced"])
def test_a_file_that_is_no_longer_the_same_is_read_anew(change: str, home: Path, project: Path) -> None:
    path = place(home, project)
    steps = work("Something quite different now", calls=9, cwd=str(project))
    other = written("codex", steps, native="run-1", cwd=str(project))
    with opened(home, project) as seg:
        seg.sync()
        if change == "replaced":
            path.unlink()
        path.write_bytes(
            other if change != "truncated" else other[: len(other) // 3].rpartition(b"\n")[0] + b"\n"
        )
        os.utime(path, (time.time() - 50, time.time() - 50))
        assert seg.sync().read == 1
        assert seg.run("run-1").goal == "Something quite different now"
        assert b"".join(runs_of(seg.workspace).archive.read(seg.run("run-1").key)) == path.read_bytes()


def test_a_digest_of_another_format_is_made_anew(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(home, project)
    with opened(home, project) as seg:
        seg.sync()
        row = runs_of(seg.workspace).runs.get(runs_of(seg.workspace).runs.rows()[0].key)
        assert row is not None
        kept = cursor.unpacked(row.reading)
        assert kept is not None
        kept.digest = b"\xff" + kept.digest[1:]
        assert cursor.reading_of(kept) is None
        monkeypatch.setattr(ingest, "FORMAT", 999)
        assert seg.sync().read == 1


def test_a_row_that_nobody_can_read_is_made_anew(home: Path, project: Path) -> None:
    place(home, project)
    with opened(home, project) as seg:
        seg.sync()
        [row] = runs_of(seg.workspace).runs.rows()
        runs_of(seg.workspace).runs.put([msgspec.structs.replace(row, facts=b"?", reading=b"?")])
        assert seg.sync().read == 1
        assert seg.run("run-1").goal


def test_an_unreadable_transcript_is_collected_and_costs_no_other_one(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(home, project, "codex")
    place(home, project, "claude-code", native="run-2")

    class Broken:
        skipped = malformed = 0

        def __init__(self, kept: object = None) -> None: ...

        def read(self, record: bytes) -> list[object]:
            raise ZeroDivisionError("a bug in a reader")

        def keep(self) -> None: ...

    monkeypatch.setattr("segue.agents.codex.AGENT.reader", Broken, raising=False)
    with opened(home, project) as seg:
        done = seg.sync()
    assert (done.read, done.new) == (1, 1)
    [one] = done.unreadable
    assert one.agent == "codex" and "a bug in a reader" in one.reason


@pytest.mark.parametrize("workers", (2, 4, 9))
def test_more_processes_give_the_same(
    home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    for n in range(6):
        place(home, project, AGENTS[n], native=f"0a1b-{n}", old=HOUR * (n + 1))
    with opened(home, project) as seg:
        seg.sync()
        alone, runs = digests(seg), seg.runs()
    shutil.rmtree(home / "segue")
    monkeypatch.setattr(ingest, "FORK_BYTES_MIN", 1)
    with opened(home, project) as seg:
        done = seg.sync(workers=workers)
        assert (done.read, done.new) == (6, 6)
        assert (digests(seg), [r.id for r in seg.runs()]) == (alone, [r.id for r in runs])
        assert all(run.archived for run in seg.runs())


def test_other_processes_that_die_cost_nothing_but_time(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(4):
        place(home, project, "codex", native=f"run-{n}")
    parent, take = os.getpid(), TranscriptImporter.read

    def die(self: object, place: int, job: object) -> object:
        if os.getpid() != parent:
            os._exit(9)
        return take(self, place, job)  # type: ignore[arg-type]

    monkeypatch.setattr(ingest, "FORK_BYTES_MIN", 1)
    monkeypatch.setattr(TranscriptImporter, "read", die)
    with opened(home, project) as seg:
        assert seg.sync(workers=3).read == 4
        assert len(seg.runs()) == 4


def test_transcripts_from_elsewhere_are_taken_in_by_their_path(
    home: Path, project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "old logs"
    folder.mkdir()
    for agent in ("codex", "claude-code"):
        (folder / f"{agent}.jsonl").write_bytes(written(agent, work(native=agent), native=agent))
    (folder / "notes.txt").write_text("no transcript")
    with opened(home, project) as seg:
        done = seg.sync(paths=[folder, tmp_path / "not there"])
        assert done.read == 2 and [one.path for one in done.unreadable] == [str(tmp_path / "not there")]
        assert {run.agent for run in seg.runs()} == {"codex", "claude-code"}


def test_the_days_after_which_an_agent_deletes_are_told(home: Path, project: Path) -> None:
    place(home, project, "claude-code")
    place(home, project, "codex")
    with opened(home, project) as seg:
        assert seg.sync().retention == {"claude-code": 30}


def test_pause_brakes_a_sync_and_looking_goes_on(home: Path, project: Path) -> None:
    place(home, project)
    with opened(home, project) as seg:
        (project / "PAUSE").touch()
        with pytest.raises(Paused):
            seg.sync()
        assert len(seg.runs()) == 1
        assert runs_of(seg.workspace).runs.rows() == []


# -- secrets


@pytest.mark.parametrize("agent", AGENTS)
def test_no_secret_of_a_transcript_is_kept_anywhere(agent: str, home: Path, project: Path) -> None:
    prompt = f"Deploy with {SECRET} please"
    place(home, project, agent, native="0a1b2c3d", secret=SECRET, prompt=prompt)
    with opened(home, project) as seg:
        seg.sync()
        seg.workspace.backups.make()
        copy = b"".join(runs_of(seg.workspace).archive.read(seg.run("0a1b").key))
        assert SECRET.encode() not in copy and b"[redacted:" in copy
        assert all(SECRET.encode() not in digest for digest in digests(seg).values())
        assert SECRET not in seg.run("0a1b").goal
    holding = [p for p in (home / "segue").rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
    assert holding == []


@pytest.mark.parametrize("agent", AGENTS)
def test_no_secret_in_the_colours_of_a_terminal_is_kept_or_shown(
    agent: str, home: Path, project: Path
) -> None:
    value = "jiQSLkvr4qRo4aNYjOHFqJYwZTtH67i3"
    coloured = f"API_KEY=\x1b[32m{value}\x1b[0m"
    place(home, project, agent, native="0a1b2c3d", secret=coloured, prompt=f"Deploy with {coloured} please")
    with opened(home, project) as seg:
        seg.sync()
        copy = b"".join(runs_of(seg.workspace).archive.read(seg.run("0a1b").key))
        assert value.encode() not in copy and b"[redacted:" in copy
        assert all(value.encode() not in digest for digest in digests(seg).values())
        assert value not in seg.run("0a1b").goal


def test_a_scrubbed_text_is_gone_from_digests_copies_and_backups(home: Path, project: Path) -> None:
    name = 'Zörbach "& Söhne'
    place(home, project, prompt=f"Write to {name} today", calls=3, secret=name)
    with opened(home, project) as seg:
        seg.sync()
        seg.workspace.backups.make()
        dry = scrub(seg.workspace, name, dry_run=True)
        done = scrub(seg.workspace, name)
        assert dry.runs == done.runs == 1 and done.originals == [seg.run("run-1").path]
        assert scrub(seg.workspace, name, dry_run=True).runs == 0
        assert name.encode() not in digests(seg)["run-1"]
        copy = b"".join(runs_of(seg.workspace).archive.read(seg.run("run-1").key))
        assert "Zörbach".encode() not in copy
        assert "Zörbach" not in seg.run("run-1").goal and "Zörbach" not in seg.session().state.goal
        assert seg.sync().unchanged == 1
    for path in (home / "segue").rglob("*"):
        assert not path.is_file() or "Zörbach".encode() not in path.read_bytes(), path


def test_a_rebuild_finds_digests_as_they_are_and_mends_one_that_is_not(home: Path, project: Path) -> None:
    paths = [place(home, project, agent, native=f"0a1b-{agent}") for agent in AGENTS]
    with opened(home, project) as seg:
        seg.sync()
        found = rebuild(seg.workspace, check=True)
        assert (found.runs, found.runs_different) == (len(AGENTS), [])
        for path in paths:
            path.unlink()
        before = digests(seg)
        [row, *_] = runs_of(seg.workspace).runs.rows()
        full = runs_of(seg.workspace).runs.get(row.key)
        kept = cursor.unpacked(full.reading if full else None)
        assert full is not None and kept is not None
        digest = decode(kept.digest)
        assert digest is not None
        digest.title = "wrong"
        kept.digest = encode(digest)
        runs_of(seg.workspace).runs.put([msgspec.structs.replace(full, reading=msgspec.msgpack.encode(kept))])
        assert rebuild(seg.workspace, check=True).runs_different == [row.native]
        assert rebuild(seg.workspace).runs_different == [row.native]
        assert digests(seg) == before and rebuild(seg.workspace, check=True).runs_different == []


# -- the archive's limits


def test_old_copies_go_when_the_archive_is_too_large_or_they_are_too_old(home: Path, project: Path) -> None:
    for n in range(3):
        place(home, project, native=f"run-{n}", old=(n * 20 + 1) * DAY, prompt=f"Task {n} of three, please")
    with opened(home, project, SEGUE_ARCHIVE_DAYS_MAX="30") as seg:
        seg.start("other work", id="other")
        assert seg.sync().dropped == 0  # each is the newest copy of a session that is open
        for card in seg.list():
            seg.session(card.id).complete()
        assert seg.sync().dropped == 1
        archived = {run.id: run.archived for run in seg.runs()}
        assert archived == {"run-0": True, "run-1": True, "run-2": False}
        assert seg.sync().dropped == 0
    with opened(home, project, SEGUE_ARCHIVE_BYTES_MAX="1000") as seg:
        assert seg.sync().dropped == 2


def test_no_copies_are_kept_if_the_archive_may_hold_nothing(home: Path, project: Path) -> None:
    path = place(home, project)
    with opened(home, project, SEGUE_ARCHIVE_BYTES_MAX="0") as seg:
        seg.sync()
        grow(path, "more")
        assert seg.sync().read == 1
        assert not seg.run("run-1").archived and not seg.workspace.home.transcripts.exists()


# -- sessions


def only(seg: Segue) -> Session:
    [card] = seg.list(everywhere=True)
    return seg.session(card.id)


def test_a_run_without_a_session_gets_one_that_says_who_began_it(home: Path, project: Path) -> None:
    place(home, project)
    with opened(home, project) as seg:
        done = seg.sync()
        session = only(seg)
        assert done.sessions == [session.id] and seg.session().id == session.id
        assert session.state.goal == "Make the login use tokens, please"
        assert {event.actor for event in session.log()} == {OBSERVER}
        assert session.state.last_action == "observed: codex began with this request"
        assert seg.run("run-1").session == session.id
        assert abs(time.time() - HOUR - seconds_of(session.state.created)) < 60


def test_a_run_that_was_active_since_belongs_to_the_declared_session(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        place(home, project, native="before", old=5 * DAY)
        seg.start("Rewrite the login", id="login")
        place(home, project, native="after", old=-5)
        seg.sync()
        assert seg.run("after").session == "login" and seg.run("before").session != "login"
        assert seg.session().id == "login"


def test_a_given_session_takes_the_runs(home: Path, project: Path) -> None:
    place(home, project, old=5 * DAY)
    with opened(home, project) as seg:
        seg.start("Rewrite the login", id="login")
        seg.start("Other", id="other")
        seg.sync(session="login")
        assert seg.run("run-1").session == "login"


@pytest.mark.parametrize(
    ("branch", "apart_days", "together"), [("main", 1, True), ("feature", 1, False), ("main", 9, False)]
)
def test_an_undeclared_session_takes_runs_on_the_same_branch_within_seven_days(
    branch: str, apart_days: float, together: bool, home: Path, project: Path
) -> None:
    place(home, project, native="first", old=20 * DAY)
    place(home, project, native="second", old=(20 - apart_days) * DAY, branch=branch)
    with opened(home, project) as seg:
        seg.sync()
        same = seg.run("first").session == seg.run("second").session
        assert same == together
        assert seg.session().id == seg.run("second").session


def test_an_undeclared_session_that_was_completed_takes_no_more(home: Path, project: Path) -> None:
    place(home, project, native="first", old=2 * DAY)
    with opened(home, project) as seg:
        seg.sync()
        seg.session().complete()
        place(home, project, native="second", old=DAY)
        seg.sync()
        assert seg.run("first").session != seg.run("second").session


def test_a_fork_goes_on_in_the_session_of_its_parent_after_any_time(home: Path, project: Path) -> None:
    place(home, project, native="first", old=40 * DAY)
    place(home, project, native="second", old=DAY, parent="first")
    with opened(home, project) as seg:
        seg.sync()
        assert seg.run("second").parent == "first"
        assert seg.run("first").session == seg.run("second").session


def test_a_resumed_run_stays_in_its_session(home: Path, project: Path) -> None:
    path = place(home, project, old=40 * DAY)
    with opened(home, project) as seg:
        seg.sync()
        before = seg.run("run-1").session
        grow(path, "here I am again")
        assert seg.sync().sessions == [] and seg.run("run-1").session == before


def test_of_two_living_runs_each_has_a_session_of_its_own(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        seg.start("Rewrite the login", id="login")
        place(home, project, native="first", old=-2, ends=False)
        seg.sync()
        assert seg.run("first").session == "login" and seg.run("first").ended == "recent"
        place(home, project, native="second", old=-3, ends=False)
        seg.sync()
        assert seg.run("second").session not in ("", "login")
        assert seg.session().id == "login"


def test_a_run_leaves_a_session_alone_that_another_one_holds(home: Path, project: Path) -> None:
    with opened(home, project) as seg:
        session = seg.start("Rewrite the login", id="login")
        with session.hold(holder="codex", run="someone-else"):
            place(home, project, native="second", old=-3)
            seg.sync()
            assert seg.run("second").session not in ("", "login")
        with session.hold(holder="codex", run="third"):
            place(home, project, native="third", old=-4)
            seg.sync()
            assert seg.run("third").session == "login"


def test_a_run_in_which_nothing_was_asked_has_no_session(home: Path, project: Path) -> None:
    from segue.core.runs.steps import Start

    steps = [Start(time.time(), "start", native="run-1", cwd=str(project))]
    placed("codex", steps, home=home, native="run-1", cwd=str(project))
    with opened(home, project) as seg:
        seg.sync()
        assert seg.list(everywhere=True) == [] and seg.run("run-1").session == ""


@pytest.mark.parametrize("text", ["go on", "Continue.", "mach weiter", "yes, please"])
def test_a_run_that_was_only_told_to_go_on_begins_no_session_of_its_own(
    text: str, home: Path, project: Path
) -> None:
    place(home, project, native="second", prompt=text, old=DAY)
    with opened(home, project) as seg:
        seg.sync()
        assert seg.list(everywhere=True) == [] and seg.run("second").session == ""
        place(home, project, native="first", old=2 * DAY)
        seg.sync()
        assert only(seg).state.goal == "Make the login use tokens, please"
        assert seg.run("first").session == seg.run("second").session != ""


def test_a_run_that_names_its_task_later_is_about_that(home: Path, project: Path) -> None:
    path = place(home, project, "claude-code", prompt="go on", old=HOUR)
    with opened(home, project) as seg:
        seg.sync()
        assert seg.list(everywhere=True) == []
        more = [Prompt(time.time(), "Now write the release notes, please")]
        with path.open("ab") as file:
            file.write(written("claude-code", more, native="run-1", cwd=str(project)))
        seg.sync()
        assert only(seg).state.goal == "Now write the release notes, please"


@pytest.mark.parametrize("agent", ["codex", "claude-code", "gemini-cli", "cline", "copilot-cli"])
def test_a_transcript_that_is_named_by_its_path_is_the_run_that_the_agent_lists(
    agent: str, home: Path, project: Path
) -> None:
    path = place(home, project, agent, native="0a1b2c3d")
    with opened(home, project) as seg:
        seg.sync(paths=[path])
        seg.sync()
        assert [run.id for run in seg.runs()] == ["0a1b2c3d"]


@pytest.mark.parametrize(("alive_seconds", "together"), [(600.0, False), (10.0, True)])
def test_a_run_that_was_alive_when_it_was_last_read_does_not_keep_its_session_for_ever(
    alive_seconds: float, together: bool, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assign_session, "ALIVE_SECONDS", alive_seconds)
    with opened(home, project) as seg:
        place(home, project, native="first", old=60, ends=False)
        seg.sync()
        assert seg.run("first").ended == "recent"
        second = place(home, project, native="second", prompt="Now write the release notes", old=5)
        seg.sync(paths=[second])  # the first one is not read again
        assert (seg.run("first").session == seg.run("second").session) == together


def test_after_the_store_was_lost_a_sync_finds_the_same_sessions(home: Path, project: Path) -> None:
    for n in range(4):
        place(home, project, native=f"run-{n}", old=(30 - 9 * n) * DAY)
    with opened(home, project) as seg:
        seg.sync()
        before = {run.id: run.session for run in seg.runs()}
    for path in (home / "segue").glob("segue.db*"):
        path.unlink()
    shutil.rmtree(home / "segue" / "backups")
    with opened(home, project) as seg:
        seg.sync()
        assert {run.id: run.session for run in seg.runs()} == before


def test_a_library_call_without_an_environment_reads_the_home_that_it_is_given(
    home: Path, project: Path
) -> None:
    place(home, project)
    seg = Segue(home=home / "segue", folder=project, environment=environment(home))
    assert [run.id for run in seg.runs(limit=1)] == ["run-1"]
    seg.close()
