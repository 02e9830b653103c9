"""An agent that calls hooks, for tests."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.support.runs import environment, opened, work

from segue import Segue
from segue.effects.files.spool import decoded
from segue.services.hooks.handler import answered
from segue.services.workspace.data_folder import DataFolder
from segue.testing.transcripts import placed


class Agent:
    """An agent that calls hooks, with a home and a project."""

    def __init__(self, home: Path, project: Path, agent: str = "claude-code") -> None:
        self.home, self.project, self.agent = home, project, agent
        self.data = home / "segue"
        DataFolder(self.data).make()
        project.mkdir(parents=True, exist_ok=True)
        self.env = environment(home)
        self.seconds: float | None = 60.0
        """How long each hook may work; None: as long as for a user, which a busy machine may exceed."""

    def raw(self, event: str, payload: bytes) -> bytes:
        return answered(str(self.data), self.agent, event, payload, self.env, seconds=self.seconds)

    def call(self, event: str, native: str = "now-1", **told: Any) -> dict[str, Any]:
        """The reply to the agent as JSON; empty if there is none."""
        base = {"session_id": native, "cwd": str(self.project), "hook_event_name": event}
        said = self.raw(event, json.dumps({**base, **told}).encode())
        return dict(json.loads(said)) if said.startswith(b"{") else {"text": said.decode()} if said else {}

    def start(
        self, source: str = "startup", native: str = "now-1", prompt: str = "go on", **told: Any
    ) -> str:
        """What a run is told before its model sees anything: at its start, and with its first prompt."""
        said = [self.call("SessionStart", native, source=source, **told)]
        if source in ("startup", "clear"):
            said.append(self.call("UserPromptSubmit", native, prompt=prompt, **told))
        contexts = [str(one.get("hookSpecificOutput", {}).get("additionalContext", "")) for one in said]
        return "\n".join(filter(None, contexts))

    def open(self) -> Segue:
        return opened(self.home, self.project)

    def log(self) -> str:
        path = self.data / "segue.log"
        return path.read_text() if path.exists() else ""

    def spooled(self) -> list[str]:
        path = self.data / "spool" / "hooks"
        return [record.event for record in decoded(path.read_bytes())] if path.exists() else []


def own(agent: Agent, *, native: str = "now-1", ends: bool = True, **more: Any) -> Path:
    """The transcript of the run that calls."""
    steps = work(at=time.time() - 30, native=native, cwd=str(agent.project), ends=ends, **more)
    return placed("claude-code", steps, home=agent.home, native=native, cwd=str(agent.project))


def stop(agent: Agent, message: str, **told: Any) -> str:
    path = own(agent)
    said = agent.call("Stop", last_assistant_message=message, transcript_path=str(path), **told)
    assert said.get("decision", "block") == "block"
    return str(said.get("reason", ""))
