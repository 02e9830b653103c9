"""Runs one after another in a project, each with the hooks that its agent calls and the transcript that it
writes.

Every event goes through the entry that the installed hook calls, to a store on disk. The brief of a start
hook stands in the transcript of those agents that write it there; OpenCode and Gemini CLI do not.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace
from tests.support.runs import environment, opened

from segue import Segue
from segue.agents import agent as agent_of, traits_of
from segue.agents.cline.install import EVENTS as CLINE_MODES
from segue.agents.hooks import HookEvent
from segue.agents.install import installer
from segue.core.runs.steps import Call, Change, End, Fault, Given, Model, Prompt, Result, Say, Start, Step
from segue.services.brief.for_hooks import brief_for_hook
from segue.services.brief.project_brief import told_bytes
from segue.services.hooks.handler import answered
from segue.services.hooks.spool_drain import drain
from segue.services.workspace.data_folder import DataFolder
from segue.services.workspace.open_workspace import open_workspace
from segue.surfaces.hook import installed_file
from segue.testing.transcripts import placed

BETWEEN_SECONDS = 600.0
Answer = Callable[[str, str, bytes], bytes]
"""Gives the reply to an agent's event with its payload."""


class Hooks(NamedTuple):
    """The names of an agent's events, and where its reply holds the context."""

    start: str
    prompt: str
    stop: str
    failure: str = ""
    context: tuple[str, ...] = ("hookSpecificOutput", "additionalContext")
    writes_brief: bool = True  # whether the brief stands in its transcript


HOOKS = {
    "claude-code": Hooks("SessionStart", "UserPromptSubmit", "Stop", "StopFailure"),
    "codex": Hooks("SessionStart", "UserPromptSubmit", "Stop"),
    "gemini-cli": Hooks("SessionStart", "BeforeAgent", "AfterAgent", writes_brief=False),
    "opencode": Hooks("start", "prompt", "idle", "error", ("context",), writes_brief=False),
    "cline": Hooks("TaskStart", "UserPromptSubmit", "TaskComplete", "TaskError", ("contextModification",)),
}


def mode_of(agent: str, event: str) -> str:
    """How the installed file is called for an event."""
    if agent == "cline":
        return CLINE_MODES.get(event, "speak")
    known = installer(agent)
    return {**known.live_events, **known.events}.get(event, ("speak", 0))[0]


class Chain:
    """A project in which runs follow one another."""

    def __init__(self, home: Path, project: Path) -> None:
        self.home, self.project = home, project
        self.data = home / "segue"
        DataFolder(self.data).make()
        project.mkdir(parents=True, exist_ok=True)
        self.env = environment(home)
        self.count = 0
        self.clock = time.time() - 24 * BETWEEN_SECONDS
        self.answered: Answer = self._answered

    def begin(
        self, agent: str, *, folder: Path | None = None, source: str = "startup", writes: bool = True
    ) -> ChainRun:
        """Start a run; its brief is what the start hook replied. One that does not write dies before its
        agent has written a transcript."""
        self.count += 1
        self.clock += BETWEEN_SECONDS
        run = ChainRun(self, agent, f"{self.count:03}{agent[:2]}-run", folder or self.project, self.clock)
        if not writes:
            run.hide()
        run.start(source)
        return run

    def _answered(self, agent: str, event: str, payload: bytes) -> bytes:
        """What the installed file does for an event, in this process."""
        home, mode = str(self.data), mode_of(agent, event)
        if mode == "record" or (mode == "look" and not installed_file.due(home, payload)):
            installed_file.record(home, agent, event, payload)
            return b""
        return answered(home, agent, event, payload, self.env, seconds=60.0)

    def forget(self) -> None:
        """Everything that Segue stored is gone, as on another machine; transcripts stay."""
        shutil.rmtree(self.data)
        DataFolder(self.data).make()

    def open(self) -> Segue:
        return opened(self.home, self.project)

    def log(self) -> str:
        path = self.data / "segue.log"
        return path.read_text() if path.exists() else ""


class ChainRun:
    """One run: the steps in its transcript, and its hooks."""

    def __init__(self, chain: Chain, agent: str, native: str, folder: Path, at: float) -> None:
        self.chain, self.agent, self.native, self.folder, self.at = chain, agent, native, folder, at
        self.hooks = HOOKS[agent]
        self.steps: list[Step] = []
        self.path: Path | None = None
        self.brief = ""
        self.starts = 0
        self.writes = True

    def call(self, event: str, **more: Any) -> str:
        """The context in the reply to an event."""
        payload: dict[str, Any] = {
            "session_id": self.native, "taskId": self.native, "cwd": str(self.folder),
            "workspaceRoots": [str(self.folder)], "hook_event_name": event, **more,
        }  # fmt: skip
        if self.agent not in ("opencode", "cline"):  # its name is known before the file is there
            payload["transcript_path"] = str(self.path or self.folder / "not-yet" / self.native)
        data = json.dumps(payload).encode()
        reply = self.chain.answered(self.agent, event, data)
        if not reply.startswith(b"{"):
            return reply.decode()
        value = json.loads(reply)
        for key in self.hooks.context:
            value = value.get(key, {}) if isinstance(value, dict) else value
        return value if isinstance(value, str) else ""

    def start(self, source: str = "startup") -> str:
        """The agent starts, or empties its window, and is told something."""
        self.starts += 1  # agents send the time as well, so that no two starts are the same
        text = self.call(self.hooks.start, source=source, timestamp=self.starts)
        if source in ("startup", "clear") and traits_of(agent_of(self.agent)).takes_context_at_prompts:
            self.brief = self._told_to_go_on() or self.brief
        self.brief = text or self.brief
        if source == "startup":
            self.add(Start(0, "start", self.native, str(self.folder)), Model(0, "model-1"))
        if text and self.hooks.writes_brief:
            self.add(Given(0, text))
        return text

    def _told_to_go_on(self) -> str:
        """What the run would be told with its first prompt if that only said to go on."""
        event = HookEvent(
            self.agent, "start", self.native, str(self.folder), str(self.path or ""), "startup", "go on"
        )
        with open_workspace(folder=self.folder, environment=self.chain.env, actor=self.agent) as workspace:
            drain(workspace, commands=False)
            return brief_for_hook(workspace, event, budget=told_bytes(workspace)).text

    def hide(self) -> None:
        """Write nothing from now on; hooks are told where the transcript will be, as far as they ever are."""
        self.writes = False
        self.at = self.chain.clock = max(
            self.at, time.time()
        )  # of such a run only the time of a hook is known
        if self.agent not in ("opencode", "cline"):
            home, start = self.chain.home, Start(self.at, "start", self.native, str(self.folder))
            self.path = placed(self.agent, [start], home=home, native=self.native, cwd=str(self.folder))
            self.path.unlink()

    def add(self, *steps: Step) -> ChainRun:
        """Write steps to the transcript, each a second after the one before."""
        for step in steps:
            self.at += 1
            self.steps.append(replace(step, at=self.at))
        self.chain.clock = max(self.chain.clock, self.at)
        if not self.writes:
            return self
        self.path = placed(
            self.agent, self.steps, home=self.chain.home, native=self.native, cwd=str(self.folder)
        )
        if self.path.suffix != ".db":
            for file in self.path.parent.iterdir() if self.agent == "cline" else (self.path,):
                os.utime(file, (self.at, self.at))
        return self

    def prompt(self, text: str) -> ChainRun:
        """The user types."""
        told = {"prompt": text, "text": text, "userPromptSubmit": {"prompt": text}}
        if self.path is not None and len(self.steps) > 3:
            self.add(Prompt(0, text))
            self._heard(self.call(self.hooks.prompt, **told))
        else:
            self._heard(self.call(self.hooks.prompt, **told))
            self.add(Prompt(0, text))
        return self

    def _heard(self, text: str) -> None:
        """Take in what a hook said with a prompt."""
        if text.startswith("[segue]"):
            self.brief = text
            if self.hooks.writes_brief:
                self.add(Given(0, text))

    def edits(self, path: str) -> ChainRun:
        """A small piece of work."""
        id = f"e{len(self.steps)}"
        change = Change(str(self.folder / path), "edit", "a = 1", f"a = {len(self.steps)}")
        self.add(
            Call(0, id, "Edit", "edit", path, paths=(str(self.folder / path),), changes=(change,)),
            Result(0, id, True, None, "done"),
        )
        return self

    def runs(self, command: str, output: str, exit: int = 0) -> ChainRun:
        """A command with its result."""
        id = f"r{len(self.steps)}"
        self.add(Call(0, id, "Bash", "run", command, command), Result(0, id, exit == 0, exit, output))
        return self

    def asks(self, question: str, answer: str) -> ChainRun:
        """A question of the agent, and the user's choice."""
        id = f"a{len(self.steps)}"
        self.add(Call(0, id, "Ask", "ask", question, note=question), Result(0, id, True, None, answer))
        return self

    def stop(self, words: str = "That much is done for now.") -> ChainRun:
        """The turn ends, and the agent waits for the user."""
        self.add(Say(0, words), End(0, "turn", words))
        self.call(self.hooks.stop, last_assistant_message=words, prompt_response=words)
        return self

    def fail(self, text: str = "overloaded") -> ChainRun:
        """The model cannot be reached."""
        self.add(Fault(0, text, 529))
        if self.hooks.failure:
            self.call(self.hooks.failure, error=text, taskError={"error": text})
        return self
