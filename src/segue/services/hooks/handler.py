"""What Segue does when an agent calls a hook: the code behind ``segue hook``, which must be fast.

Nothing here may break or slow down the agent. The store gets only a short time; what it does not take goes to
the spool, and what it does not tell is left out of the reply. Hooks never hold a session. The same event from
two installations takes effect once. A run is kept from stopping only if it claims to be done, only because of
verdicts that are known, and only a limited number of times; never under ``segue run``, which runs the checks
itself as soon as the agent has stopped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ...agents import agent as agent_of, hooks as wire, traits_of
from ...agents.base import Found
from ...agents.hooks import HookEvent, HookReply
from ...core import event_kinds as ev
from ...core.base.canonical import sha256
from ...core.runs.brief_labels import Label
from ...core.runs.brief_text import CLOSING, OPENING
from ...core.runs.model import RunDigest
from ...core.runs.tree import still_failing
from ...core.runs.window_pressure import (
    BEFORE_EXIT,
    TWO_HOURS,
    WINDOW_FULL,
    Pressure,
    marks_of,
    triggered,
)
from ...core.sessions.state import OPEN
from ...effects.deadline import Deadline, OutOfTime
from ...effects.files.atomic import write_whole
from ...effects.files.log import log
from ...effects.files.spool import SpoolRecord
from ...effects.processes.identity import ancestor_running, command_of, own_age_seconds
from ...errors import Paused, RateLimited, SegueError, StoreError, TranscriptUnreadable
from ...settings import store_of
from ..brief import delivered
from ..brief.for_compaction import words_to_keep
from ..brief.for_hooks import FRESH_STARTS, STEER, brief_for_hook
from ..brief.for_prompts import RESTED_SECONDS, brief_after_rest, rested_seconds
from ..brief.for_starts import HookBrief, own_run, session_state
from ..brief.notices import notices_of
from ..brief.project_brief import told_bytes
from ..resume.window_pressure import pressure_of_digest
from ..runs import cursor
from ..runs.discovery import RunFinder, found_of
from ..runs.model_windows import remember_window
from ..runs.observed import runs_of
from ..runs.read_transcript import final
from ..runs.run_stream import brief_given, stream_of_run
from ..runs.select import LOOKED_AT, newest_unread
from ..runs.unwritten_runs import UnwrittenRun
from ..workspace.data_folder import DataFolder, is_remote
from ..workspace.on_off import any_session_off, is_off
from ..workspace.open_session import find_session
from ..workspace.open_workspace import open_workspace, without_store
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .looks import Looks
from .once import is_first
from .spool_drain import GIVEN, drain, session_of_run, spool_of, store
from .time_limits import deadline_of

PATIENCE_MS = 60
"""How long a hook waits for a busy store; after the first time it does not try again."""
PATIENCE_REMOTE_MS = 250
"""The same for a server, which is further away."""
LOOK_STEPS = 24
LOOK_BYTES_MIN = 16_384
RUNS_BEFORE = 4
"""How many of the runs that a run took up are read together with it."""
SMALL_BYTES = 262_144
DRAINS_SHARE = 0.25
"""How much of its time a hook gives to what others have left in the spool."""
PREPARES_SECONDS, LEARNS_AT_ONCE_SECONDS = 0.25, 0.25
"""How long git is asked for a manifest, and habits are learnt; less if there is no time for it."""
LEARNS_SECONDS = 600.0
"""How often habits are learnt at the end of a turn, in a project where no run tells its end."""
PITFALL = "Segue, from an earlier run (a record, not an order): "
STATUS_LINE = "StatusLine"
"""What asks for a status line; it reports nothing that would have to be kept."""
SUPERVISED, ON_SCREEN = "SEGUE_SUPERVISED", "screen"
"""A variable that ``segue run`` sets for the agents that it launches, and its value for those with their own
screen, which do not end when they stop."""


def answered(
    home: str, agent: str, name: str, payload: bytes, environment: Mapping[str, str],
    *, seconds: float | None = None, in_own_process: bool = False,
) -> bytes:  # fmt: skip
    """The reply to the agent; never raises. What could not be stored is in the spool. After so many
    ``seconds``, or as many as the event has (``time_limits.py``), nothing more is read; what the start of the
    process took counts if that was for this event."""
    folder = Path(home)
    record = SpoolRecord(agent, name, payload, os.urandom(8).hex(), time.time_ns(), os.getppid())
    try:
        event = wire.read(agent, name, payload)
        if event is None and name == STATUS_LINE:
            return b""
        if event is None:
            _spool(folder, record)
            log(folder, f"hook {agent} {name}: {len(payload)} bytes that are not an event")
            return b""
        off = is_off(DataFolder(folder), Path(event.cwd or "/"))
        if event.side or off or not is_first(folder, event, name, payload):
            return b""
        event = replace(event, pid=event.pid or _pid(agent, environment))
        if _is_member(agent, event.pid):
            return b""
        spent = own_age_seconds() if in_own_process else 0.0
        deadline = deadline_of(event.kind, spent) if seconds is None else Deadline(seconds)
        answer = Handler(folder, event, record, environment, deadline).answer()
        hooks = wire.hooks_of(agent)
        return hooks.write(event, name, answer) if hooks is not None else b""
    except (Exception, OutOfTime) as fault:
        log(folder, f"hook {agent} {name}: {type(fault).__name__}: {fault}")
        with suppress(Exception):
            if name != STATUS_LINE:
                _spool(folder, record)
        return b""


def _pid(agent: str, environment: Mapping[str, str]) -> int:
    """The agent's process: the one that it names, or the one that called us; 0 if it is not known."""
    traits = traits_of(agent_of(agent))
    pid = environment.get(traits.pid_variable, "")
    if pid.isdecimal():
        return int(pid)
    program = traits.start.partition(" ")[0]
    return ancestor_running(program) if program else 0


def _is_member(agent: str, pid: int) -> bool:
    """Whether a process works for another one, its lead, which Segue speaks to."""
    options = traits_of(agent_of(agent)).member_options
    return bool(options and pid) and any(word.partition("=")[0] in options for word in command_of(pid))


def _store(environment: Mapping[str, str]) -> str:
    """The configured store; empty if the settings cannot be read, which is reported when the store is
    opened."""
    with suppress(SegueError):
        return store_of(environment)
    return ""


def _spool(home: Path, record: SpoolRecord) -> None:
    if (home / "PAUSE").exists():
        return
    if not spool_of(home).append(record):
        log(home, f"hook {record.agent} {record.event}: the spool is full")


class Handler:
    """One event of one run."""

    def __init__(
        self, home: Path, event: HookEvent, record: SpoolRecord, environment: Mapping[str, str],
        deadline: Deadline,
    ) -> None:  # fmt: skip
        self.home, self.event, self.name = home, event, record.event
        self.record = record
        """The event as it is kept, under one id: it may be in the store already when it is spooled because
        the store did not say so."""
        self.looks = Looks(home, event.native)
        self.deadline = deadline
        """When nothing more is read: the agent waits."""
        self.given = environment
        """The environment of the agent, without what holds for a hook alone."""
        patience_ms = PATIENCE_REMOTE_MS if is_remote(_store(environment)) else PATIENCE_MS
        self.environment = {
            **environment, "SEGUE_HOME": str(home), "SEGUE_BUSY_TIMEOUT_MS": str(patience_ms),
            "SEGUE_BACKUP_EVENTS": "1000000000", "SEGUE_BACKUP_HOURS": "1000000",
        }  # fmt: skip
        cwd = Path(event.cwd)
        self.folder = cwd if event.cwd and cwd.is_dir() else Path.cwd()
        self.writes = True
        """False as soon as the store refuses a write or a PAUSE file is found."""

    def answer(self) -> HookReply:
        """Handle the event and return the reply."""
        try:
            workspace = open_workspace(
                folder=self.folder, environment=self.environment, actor=self.event.agent
            )
        except SegueError as fault:
            return self._without_store(fault)
        with workspace:
            runs_of(workspace).until = self.deadline
            try:
                return self._answer(workspace)
            except (StoreError, RateLimited) as fault:
                return self._without_store(fault)

    def _answer(self, workspace: Workspace) -> HookReply:
        if workspace.pause_file.in_force():
            self.writes = False
        if self.event.kind != "status":
            self._try(lambda: drain(workspace, commands=False, until=self.deadline.part(DRAINS_SHARE)))
        if any_session_off(workspace.home):
            session = self._session(workspace)
            if session is not None and is_off(workspace.home, workspace.folder, session.id):
                return HookReply()
        if self.event.kind == "stop":
            return self._stop(workspace, self._session(workspace))
        answers = {
            "start": self._start, "prompt": self._prompt, "compact": self._compact, "end": self._end,
            "failure": self._end, "tool": self._look, "status": self._status,
        }  # fmt: skip
        answer = answers.get(self.event.kind)
        return answer(workspace) if answer is not None else HookReply()

    def _without_store(self, fault: SegueError) -> HookReply:
        """Spool the event; a run that starts still gets a brief from transcripts alone."""
        log(self.home, f"hook {self.event.agent} {self.name}: {type(fault).__name__}: {fault.message}")
        if not isinstance(fault, Paused) and self.event.kind != "status":
            _spool(self.home, self.record)
        is_told = self.event.kind == "prompt" and self._tells_at_prompt() and not self._is_supervised()
        if self.event.kind not in ("start", "compact") and not is_told:
            return HookReply()
        from ..workspace.last_seen import last_here

        self.writes = False
        last = None
        with suppress(SegueError):
            last = last_here(DataFolder(self.home).for_store(_store(self.environment)), self.folder)
        with without_store(self.folder, self.environment, last) as workspace:
            runs_of(workspace).until = self.deadline
            if self.event.kind == "compact":
                return self._steer(workspace, stored=False)
            if self.event.kind == "start":
                return self._start(workspace, stored=False)
            return self._first_told(workspace, stored=False) or HookReply()

    def _try(self, write: Callable[[], object]) -> bool:
        """Whether a write succeeded; after the first failure no other write is tried."""
        if not self.writes:
            return False
        try:
            write()
            return True
        except (SegueError, OSError) as fault:
            log(self.home, f"hook {self.event.agent} {self.name}: {type(fault).__name__}: {fault}")
            self.writes = False
            return False

    def _session(self, workspace: Workspace) -> SessionHandle | None:
        id = session_of_run(workspace, self.event.agent, self.event.native)
        with suppress(SegueError):
            return find_session(workspace, id)
        return None

    def _start(self, workspace: Workspace, *, stored: bool = True) -> HookReply:
        if self._is_supervised() and self.event.source in FRESH_STARTS:
            return HookReply()  # its prompt holds the brief
        if self.event.source in FRESH_STARTS and self._tells_at_prompt():
            return self._notify(workspace)
        return self._tell(workspace, self.event, stored=stored)

    def _tells_at_prompt(self) -> bool:
        """Whether the agent has a hook at prompts, so that what is told can be chosen by the first one."""
        return traits_of(agent_of(self.event.agent)).takes_context_at_prompts

    def _notify(self, workspace: Workspace) -> HookReply:
        """Reply with what holds for whatever the run will be asked; the rest is told with its first
        prompt."""
        notices = notices_of(workspace, None)
        if not notices:
            return HookReply()
        return HookReply(context=f"{OPENING} {Label.NOTICE}: {'; '.join(notices)} {CLOSING}")

    def _tell(self, workspace: Workspace, about: HookEvent, *, stored: bool = True) -> HookReply:
        """Reply with the brief for an event, unless it was given already, and record that it was given."""
        budget, event = told_bytes(workspace), self.event
        stream = stream_of_run(event.agent, event.native)
        before = [body for body in self._bodies(workspace, stream) if isinstance(body, ev.BriefGiven)]
        brief = brief_for_hook(workspace, about, budget=budget)
        if not brief.text:
            return HookReply()
        text = brief.text
        if event.source == "compact":
            count = 1 + sum(body.source == "compact" and body.what == "brief" for body in before)
            text = f"{text}\n(after compaction {count} of this run)"  # the same text would not be sent twice
        is_forgotten = event.source == "resume" and traits_of(agent_of(event.agent)).forgets_hook_context
        if any(body.hash == delivered.text_hash(text) for body in before) and not is_forgotten:
            return HookReply()
        body = delivered.brief_body(
            workspace, text, kind="brief", source=about.source, session=brief.session,
            declared=brief.declared, runs=brief.runs, own=brief.own,
        )  # fmt: skip
        self._record_given(workspace, body, stored=stored)
        return HookReply(context=text, shown=brief.shown)

    def _record_given(self, workspace: Workspace, body: ev.BriefGiven, *, stored: bool = True) -> None:
        """Record what the run is told; in the spool if the store does not take it."""
        event = self.event
        stream = stream_of_run(event.agent, event.native)
        write = partial(delivered.append, workspace.store, stream, [body], actor=event.agent)
        kept = stored and self._try(write)
        if not kept and not workspace.pause_file.in_force():
            delivery = {"native": event.native, "body": msgspec.to_builtins(body)}
            _spool(self.home, SpoolRecord(event.agent, GIVEN, msgspec.json.encode(delivery)))

    def _bodies(self, workspace: Workspace, stream: str) -> list[ev.Body]:
        found = (ev.read_body(event) for event in workspace.store.read(stream))
        return [body for body in found if body is not None]

    def _prompt(self, workspace: Workspace) -> HookReply:
        rested = rested_seconds(self.event)
        self._keep_event(workspace)
        if self._is_supervised() or not self._tells_at_prompt():
            return self._look(workspace)
        told = self._first_told(workspace)
        if told is None:
            told = self._tell_changes(workspace, rested) if rested >= RESTED_SECONDS else HookReply()
        seen = self._look(workspace)  # from now on its process is known
        return told if told.context else seen

    def _first_told(self, workspace: Workspace, *, stored: bool = True) -> HookReply | None:
        """What is told with the first prompt of a run; None if this is a later one."""
        if not self._is_first_prompt(workspace):
            return None
        return self._tell(workspace, replace(self.event, kind="start", source="startup"), stored=stored)

    def _is_supervised(self) -> bool:
        return bool(self.environment.get(SUPERVISED))

    def _is_first_prompt(self, workspace: Workspace) -> bool:
        """Whether the user has written nothing in this run before, and it was told nothing."""
        event = self.event
        bodies = self._bodies(workspace, stream_of_run(event.agent, event.native))
        asked = [body for body in bodies if isinstance(body, ev.RunHooked) and body.kind == "prompt"]
        told = any(isinstance(body, ev.BriefGiven) and body.what == "brief" for body in bodies)
        if told or len(asked) > 1:
            return False
        own = own_run(runs_of(workspace).finder(), event)
        return own is None or not _has_answer(runs_of(workspace).finder(), own)

    def _tell_changes(self, workspace: Workspace, rested: float) -> HookReply:
        """Reply with what changed while the conversation rested."""
        finder = runs_of(workspace).finder()
        own = own_run(finder, self.event)
        brief = brief_after_rest(workspace, finder, own, rested) if own is not None else HookBrief()
        if not brief.text:
            return HookReply()
        body = delivered.brief_body(workspace, brief.text, kind="changes", source=self.event.source, own=True)
        self._record_given(workspace, body)
        return HookReply(context=brief.text)

    def _keep_event(self, workspace: Workspace) -> bool:
        if self._try(lambda: store(workspace, [self.record])):
            return True
        if not workspace.pause_file.in_force():
            _spool(self.home, self.record)
        return False

    def _look(self, workspace: Workspace) -> HookReply:
        """Read what is new in the transcript, check how full the window is, and prepare if a trigger
        fired."""
        event = self.event
        if event.window and event.model:
            remember_window(workspace.home, event.model, event.window)
        taken = self._take_in(workspace)
        if taken is None:
            return HookReply()
        found, digest = taken
        pressure = pressure_of_digest(
            digest, workspace.settings, workspace.home, run=event.native, agent=event.agent,
            used=event.context, window=event.window,
        )  # fmt: skip
        reasons = self._prepare(workspace, found, digest, pressure)
        if WINDOW_FULL in reasons and event.kind in ("prompt", "tool"):
            return HookReply(context=_notice(pressure))
        return self._pitfall(workspace, digest) if event.kind in ("prompt", "tool") else HookReply()

    def _pitfall(self, workspace: Workspace, digest: RunDigest) -> HookReply:
        """What mended a failure before that the run meets now; told once to a run."""
        failing = [(*run.lines, *run.tests) for _, run in still_failing(digest.tree) if run.lines]
        if not failing or not self.writes:
            return HookReply()
        from ..lessons.pitfalls import pitfalls

        event, found = self.event, pitfalls(workspace, failing)
        stream = stream_of_run(event.agent, event.native)
        told = (
            [b.text for b in self._bodies(workspace, stream) if isinstance(b, ev.BriefGiven)] if found else ()
        )
        new = [one for one in found if not any(f"[{one.id}]" in text for text in told)]
        if not new:
            return HookReply()
        text = "\n".join(f"{PITFALL}{one.line}" for one in new)
        body = delivered.brief_body(workspace, text, kind="pitfall", source=event.source)
        self._try(partial(delivered.append, workspace.store, stream, [body], actor=event.agent))
        return HookReply(context=text)

    def _status(self, workspace: Workspace) -> HookReply:
        """The parts of a status line. The transcript is looked at only when it has the size for it."""
        from .status_line import status_parts

        event = self.event
        if event.window and event.model and self.writes:
            remember_window(workspace.home, event.model, event.window)
        parts = status_parts(workspace, self._session(workspace), event.native, keeps=self.writes)
        if self.looks.is_due(self.event.transcript):
            self._look(workspace)
        return HookReply(context="\n".join(parts))

    def _take_in(self, workspace: Workspace) -> tuple[Found, RunDigest] | None:
        from ..runs.sync import sync

        finder = runs_of(workspace).finder()
        finder.remember()
        found = own_run(finder, self.event)
        if found is None:
            self._note_unwritten(workspace)
            return None
        named = self.environment.get("SEGUE_SESSION", "") if self.environment.get(SUPERVISED) else ""
        before = [] if named else self._runs_before(workspace, finder, found)
        runs, until = [found, *before], self.deadline
        self._try(lambda: sync(workspace, found=runs, session=named, wait_seconds=0.1, until=until))
        try:
            return found, final(finder.reading(found), agent_of(found.agent))
        except TranscriptUnreadable:
            if not finder.cut_readings:
                raise
            return None  # a document that there is no time for

    def _note_unwritten(self, workspace: Workspace) -> None:
        """Remember a run that was given a prompt and has no transcript yet."""
        event = self.event
        if event.kind == "prompt":
            cwd = event.cwd or str(self.folder)
            run = UnwrittenRun(event.agent, event.native, cwd, event.transcript, time.time(), event.pid)
            unwritten = runs_of(workspace).unwritten
            unwritten.tidy(days_max=workspace.settings.number("resumable_days"))
            self._try(lambda: unwritten.note(run))

    def _runs_before(self, workspace: Workspace, finder: RunFinder, found: Found) -> list[Found]:
        """The runs that a run took up and that were not read to their end, as those that were killed: asked
        at its first prompt, where the user waits, for small ones, and for all when its turn is over."""
        is_over = self.event.kind in ("stop", "end", "failure")
        if not is_over and (self.event.kind != "prompt" or finder.row(found) is not None):
            return []
        wanted = self._told_of(workspace, found)[:RUNS_BEFORE]
        rows = [row for key in wanted if (row := runs_of(workspace).runs.get(key)) is not None]
        before = [found_of(row) for row in rows]
        if len(rows) < len(wanted):
            before = [run for run in islice(finder.found(), LOOKED_AT) if finder.key(run) in wanted]
        beside = {key for run in before for key in self._told_of(workspace, run)[:1]} - {*wanted}
        rows = [row for key in sorted(beside) if (row := runs_of(workspace).runs.get(key)) is not None]
        before += map(found_of, rows)  # whether they went on meanwhile says whose work it is
        known = {finder.key(run) for run in (*before, found)}
        before += [run for run in newest_unread(finder) if finder.key(run) not in known]
        return [
            run for run in before if is_over or cursor.stamp_of(run, agent_of(run.agent)).size <= SMALL_BYTES
        ]

    def _told_of(self, workspace: Workspace, found: Found) -> Sequence[str]:
        given = brief_given(workspace.store, found.agent, found.native)
        return given.runs if given is not None else ()

    def _prepare(
        self, workspace: Workspace, found: Found, digest: RunDigest, pressure: Pressure, reason: str = ""
    ) -> tuple[str, ...]:
        """Prepare the recovery if there is a reason to, and return the reasons. What there is no time for is
        prepared the next time, except at the end and before a compaction."""
        before = self.looks.marks()
        features = self._proven(workspace)
        full = pressure.should_prepare
        marks = marks_of(digest, now=time.time(), full=full, before=before, features=features)
        reasons = ((reason,) if reason else ()) + triggered(before, marks)
        is_late = self.deadline.is_over and not reason
        if reasons and self.writes and not is_late:
            from ..resume.prepare import prepare

            path = found.path if Path(found.path).is_file() else None
            run, agent = found.native, found.agent
            write = partial(prepare, workspace, reason=reasons[0], transcript=path, run=run, agent=agent)
            if self._try(partial(write, seconds=self.deadline.at_most(PREPARES_SECONDS))):
                self._ask_model(workspace, found, digest, reasons)
        per_step = (found.size - self._left_out(workspace, found)) / max(1, digest.steps)
        due = found.size + max(LOOK_BYTES_MIN, int(LOOK_STEPS * per_step))
        if self.writes:
            self.looks.again_at(due, before if is_late else marks if reasons else (before or marks))
        return reasons

    def _left_out(self, workspace: Workspace, found: Found) -> int:
        """How many bytes of a transcript are not in its digest, because there was no time for them."""
        runs = runs_of(workspace)
        cut = runs.cut_readings.get(runs.finder().key(found))
        return cut.left_out if cut is not None else 0

    def _ask_model(
        self, workspace: Workspace, found: Found, digest: RunDigest, reasons: Sequence[str]
    ) -> None:
        """Have a model asked, by another process, if the user wants that at such a moment."""
        from ..models.triggers import FULL, LONG, LONG_STEPS, AskedAbout, ask_later

        is_long = TWO_HOURS in reasons or (BEFORE_EXIT in reasons and digest.steps >= LONG_STEPS)
        trigger = FULL if WINDOW_FULL in reasons else LONG if is_long else ""
        if trigger:
            path = found.path if Path(found.path).is_file() else ""
            about = AskedAbout(found.native, found.agent, digest.steps, path)
            ask_later(workspace, trigger, about, {**self.given, "SEGUE_HOME": str(self.home)})

    def _proven(self, workspace: Workspace) -> tuple[str, ...]:
        session = self._session(workspace)
        if session is None or not session.state.features:
            return ()
        from ..features.features import Features

        return tuple(one.id for one in Features(session).verdicts() if one.passes)

    def _compact(self, workspace: Workspace) -> HookReply:
        return self._steer(workspace) if self._leave(workspace) is not None else HookReply()

    def _steer(self, workspace: Workspace, *, stored: bool = True) -> HookReply:
        """What a summary of the window should keep, in the words in which it was said; nothing for agents
        that take nothing."""
        if not traits_of(agent_of(self.event.agent)).takes_context_at_compactions:
            return HookReply()
        finder = runs_of(workspace).finder()
        finder.remember()
        own = own_run(finder, self.event)
        words = words_to_keep(workspace, finder, own) if own is not None else ""
        if not words:
            return HookReply()
        text = f"{STEER}\n{words}"
        body = delivered.brief_body(workspace, text, kind="steer", source=self.event.source, own=True)
        self._record_given(workspace, body, stored=stored)
        return HookReply(context=text)

    def _leave(self, workspace: Workspace) -> tuple[Found, RunDigest] | None:
        """Prepare the recovery of a run that ends, or whose window is emptied; None if it is not found."""
        taken = self._take_in(workspace)
        if taken is not None:
            found, digest = taken
            pressure = pressure_of_digest(digest, workspace.settings, workspace.home)
            self._prepare(workspace, found, digest, pressure, BEFORE_EXIT)
        return taken

    def _stop(self, workspace: Workspace, session: SessionHandle | None) -> HookReply:
        if traits_of(agent_of(self.event.agent)).calls_seen_by_hooks_only:
            self._keep_event(workspace)  # its transcript does not tell whether a call was to follow
        self._look(workspace)
        self._learn_now_and_then(workspace)
        session = self._featured(workspace, session)
        if session is None:
            return HookReply()
        from ...core.language.done_claims import claims_done
        from ..features.features import Features

        if self.environment.get(SUPERVISED) not in (None, "", ON_SCREEN) or not claims_done(self.event.text):
            return HookReply()
        gate = Features(session).gate()
        most = int(workspace.settings.number("gate_stops_max"))
        if gate.ok or self._refused(workspace) >= most:
            return HookReply()
        stream = stream_of_run(self.event.agent, self.event.native)
        reason = f"{gate.text}\n{gate.hint}" if gate.hint else gate.text
        body = ev.StopRefused(self.event.turn, reason, session.id)
        if not self._try(lambda: delivered.append(workspace.store, stream, [body], actor=self.event.agent)):
            return HookReply()  # if refusals cannot be counted, they could go on for ever
        return HookReply(refuse=reason)

    def _featured(self, workspace: Workspace, session: SessionHandle | None) -> SessionHandle | None:
        """The open session with features that the run works on: its own, or the one that is current here."""
        current = session_state(workspace, "")
        for id in dict.fromkeys((session.id if session else "", current.id if current else "")):
            state = session_state(workspace, id) if id else None
            if state is not None and state.features and state.status in OPEN:
                return find_session(workspace, id)
        return None

    def _refused(self, workspace: Workspace) -> int:
        """How often this run was kept from stopping since the user's last prompt. Our own text, which some
        agents return as a prompt, does not count as the user's."""
        count, reason = 0, ""
        for body in self._bodies(workspace, stream_of_run(self.event.agent, self.event.native)):
            if isinstance(body, ev.RunHooked) and body.kind == "prompt":
                ours = bool(reason) and reason.partition("\n")[0] in body.text
                count = count if ours else 0
            elif isinstance(body, ev.StopRefused) and body.turn == self.event.turn:
                count, reason = count + 1, body.reason
        return count

    def _end(self, workspace: Workspace) -> HookReply:
        if self._keep_event(workspace):
            taken = self._leave(workspace)
            if self.event.kind == "end":
                self._learn(workspace, taken)
        return HookReply()

    def _learn(self, workspace: Workspace, ended: tuple[Found, RunDigest] | None) -> None:
        """Learn the habits of the project from this run, which is over, and from those before it."""
        seconds = self.deadline.at_most(LEARNS_AT_ONCE_SECONDS)
        if seconds and workspace.settings["habits"] and self.writes:
            from ..habits.kept_habits import learn_at_end

            found, digest = ended if ended is not None else (None, None)
            key = runs_of(workspace).finder().key(found) if found is not None else ""
            self._try(lambda: learn_at_end(workspace, key, digest, seconds))
            with suppress(OSError, SegueError):
                write_whole(self._learnt_file(workspace), b"")

    def _learn_now_and_then(self, workspace: Workspace) -> None:
        """Learn from runs that were over without a hook being told so: some agents tell no end, and those
        that were killed tell nothing. Their turn is over, so nobody waits for the run that asks."""
        try:
            age_seconds = time.time() - self._learnt_file(workspace).stat().st_mtime
        except OSError:
            age_seconds = LEARNS_SECONDS
        if age_seconds >= LEARNS_SECONDS:
            self._learn(workspace, None)

    def _learnt_file(self, workspace: Workspace) -> Path:
        """The file whose time is when habits were last learnt by a hook here."""
        key = workspace.working_tree.project_key(workspace.settings)[0]
        return self.home / "hook" / "learnt" / sha256(key.encode(errors="replace")).hexdigest()[:24]


def _has_answer(finder: RunFinder, own: Found) -> bool:
    """Whether the agent has said or called anything in a run."""
    try:
        digest = final(finder.reading(own), agent_of(own.agent))
    except SegueError:
        return False
    return bool(digest.says or digest.calls)


def _notice(pressure: Pressure) -> str:
    return (
        f"Segue: this window is {pressure.usage_percentage:g} % full ({pressure.pressure_level}). A recovery"
        " is prepared: the next run starts from it. Finish the step at hand, and record what must not be lost"
        " with `segue checkpoint`."
    )
