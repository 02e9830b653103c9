"""Telling a user who looks elsewhere that a supervised run ended, needs an answer, or fills its window.

A notice is a sequence that terminals turn into one of the desktop (OSC 9), or a command of the user's own,
which gets the words as its last argument and all of it as JSON on standard input. Neither can harm the run: a
command has a few seconds, nothing that it prints is shown, and that it failed is said once, at the end.
Nothing is written to a terminal while an agent draws its own screen there.
"""

from __future__ import annotations

import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from ...core.base.text import harmless_text
from ...core.base.values import Value
from ...effects.processes.end_group import end_group
from ...errors import BadSettings, SegueError
from ...settings import Settings
from ..workspace.session_handle import SessionHandle
from .supervisor import Notice, RunFinished

HOW = ("terminal", "off")
COMMAND_SECONDS = 10.0
QUESTIONS_SECONDS = 5.0
"""How often the session is looked at for new questions."""
TEXT_CHARS_MAX = 200
Kind = Literal["ended", "question", "window"]
_FOR_YOU = ("auth", "blocked")
"""Outcomes after which only the user can go on."""
_NO_NOTICES = ("dumb", "linux", "")
"""Types of terminals that would show the sequence instead of a notice."""


class DesktopNotice(Value):
    """What a user is told."""

    kind: Kind
    text: str
    session: str
    folder: str
    agent: str = ""
    launch: int = 0
    """The number of the launch; at the end, how many there were."""
    outcome: str = ""
    """Of work that ended: done, budget, auth, gave up or blocked."""
    share: float = 0.0
    """Of the window that is used."""
    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0


def osc9(text: str, environment: Mapping[str, str]) -> str:
    """The sequence that shows a text as a notice of the desktop; empty for a terminal that does not know
    it. Tmux passes it on where it is allowed to."""
    if environment.get("TERM", "") in _NO_NOTICES:
        return ""
    plain = "".join(char for char in text if char.isprintable())
    sequence = f"\x1b]9;{plain}\x07"
    if environment.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return sequence


class Notifier:
    """Notices of one piece of supervised work."""

    def __init__(
        self, session: SessionHandle, *, threshold: float, screen: bool = False,
        write: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        """``write`` writes to the user's terminal; None if there is none. On the agent's own ``screen``
        nothing is written before it has ended. Raises BadSettings."""
        workspace = session.workspace
        self._session, self._threshold, self._screen, self._write = session, threshold, screen, write
        self._folder = workspace.working_tree.root
        self._environment = workspace.environment
        self._mask = workspace.repository.mask
        self._command = command_of(workspace.settings)
        self._is_on = is_on(workspace.settings)
        self._full: set[int] = set()
        self._asked: set[str] = set(self._open_questions())
        self._next_look = time.monotonic() + QUESTIONS_SECONDS
        self._running: list[threading.Thread] = []
        self.fault = ""
        """Why a command of the user's failed, the first time that one did."""

    def hear(self, notice: Notice) -> None:
        """Take in what the supervisor says, and tell the user what he must know."""
        if not self._is_on:
            return
        if notice.share >= self._threshold and notice.launch not in self._full:
            self._full.add(notice.launch)
            self._tell("window", f"{notice.agent}: its window is {100 * notice.share:.0f} % full", notice)
        if notice.kind == "asks":
            self._tell("question", f"{notice.agent} needs you: {notice.text}", notice)
        elif time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + QUESTIONS_SECONDS
            self._look_for_questions(notice)

    def finish(self, finished: RunFinished) -> None:
        """Tell how it ended, unless the user himself ended it, and wait for what is still under way."""
        if self._is_on and finished.outcome != "paused":
            needs = "needs you" if finished.outcome in _FOR_YOU else finished.outcome
            about = DesktopNotice(
                "question" if finished.outcome in _FOR_YOU else "ended", f"{needs}: {finished.why}",
                self._session.id, str(self._folder), launch=finished.runs, outcome=finished.outcome,
                seconds=finished.seconds, tokens=finished.tokens, cost=finished.cost,
            )  # fmt: skip
            self._send(about, at_work=False)
        self.close()

    def close(self) -> None:
        """Wait for the commands that still run; none of them has longer than its time."""
        for thread in self._running:
            thread.join(COMMAND_SECONDS + 2)

    def _tell(self, kind: Kind, text: str, notice: Notice) -> None:
        about = DesktopNotice(
            kind, text, self._session.id, str(self._folder), notice.agent, notice.launch, share=notice.share,
            seconds=notice.seconds, tokens=notice.tokens, cost=notice.cost,
        )  # fmt: skip
        self._send(about, at_work=True)

    def _look_for_questions(self, notice: Notice) -> None:
        for text in self._open_questions():
            if text not in self._asked:
                self._asked.add(text)
                self._tell("question", f"a question for you: {text}", notice)

    def _open_questions(self) -> list[str]:
        with suppress(SegueError):
            return [one.text for one in self._session.state.questions.flat() if not one.answer]
        return []

    def _send(self, notice: DesktopNotice, *, at_work: bool) -> None:
        notice = msgspec.structs.replace(notice, text=self._shown(notice.text))
        if self._command:
            thread = threading.Thread(target=self._run, args=(notice,), daemon=True)
            thread.start()
            self._running = [one for one in self._running if one.is_alive()] + [thread]
        elif self._write is not None and not (at_work and self._screen):
            sequence = osc9(notice.text, self._environment)
            if sequence:
                with suppress(OSError, ValueError):
                    self._write(sequence)

    def _shown(self, text: str) -> str:
        """The words of a notice: masked, safe, on one line, and not too many."""
        words = " ".join(harmless_text(self._mask(text) if self._mask is not None else text).split())
        words = f"segue: {words}"
        return words if len(words) <= TEXT_CHARS_MAX else f"{words[: TEXT_CHARS_MAX - 1].rstrip()}…"

    def _run(self, notice: DesktopNotice) -> None:
        """Run the user's command; what goes wrong is kept, once."""
        fault = run_notify_command(
            [*self._command, notice.text], msgspec.json.encode(notice), self._folder, self._environment
        )
        self.fault = self.fault or fault


def is_on(settings: Settings) -> bool:
    """Whether the user wants notices. Raises BadSettings for a way that does not exist."""
    how = settings.text("notify")
    if how not in HOW:
        raise BadSettings(f"notify: {how!r} is not a way to notify you", hint=f"one of {', '.join(HOW)}")
    return how != "off"


def command_of(settings: Settings) -> list[str]:
    """The words of the user's command; empty if he has none. Raises BadSettings."""
    try:
        return shlex.split(settings.text("notify_command"))
    except ValueError as fault:
        hint = "write it as you would in a shell, for example: notify-send Segue"
        raise BadSettings(f"notify_command cannot be parsed: {fault}", hint=hint) from fault


def run_notify_command(
    words: list[str], body: bytes, folder: Path, environment: Mapping[str, str],
    seconds: float = COMMAND_SECONDS,
) -> str:  # fmt: skip
    """Run a command with a text on its standard input, and return why it failed; empty if it did not. It is
    ended with all that it started when its time is over."""
    try:
        process = subprocess.Popen(
            words, cwd=folder, env=dict(environment) or None, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as fault:
        return f"{words[0]} cannot be run: {getattr(fault, 'strerror', '') or fault}"
    try:
        process.communicate(body, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"{words[0]} took longer than {seconds:g} seconds"
    except OSError:
        pass  # it has not read what it was given
    finally:
        end_group(process)
        with suppress(OSError, ValueError):
            process.communicate()
    return f"{words[0]} exited with {process.returncode}" if process.returncode > 0 else ""
