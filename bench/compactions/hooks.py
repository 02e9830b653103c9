"""A run whose agent calls Segue's hooks at a compaction: what they say is what the agent would be told.

The hooks are the real ones, in a home of their own in which nothing else ever ran. Whatever goes wrong in a
hook, it says nothing; so a line in its log is an error here, or silence would count as "nothing was lacking".
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from bench.blind.transcript import mapping, text_of

from segue.services.brief.runs_summary import summary_of_transcript
from segue.services.hooks.handler import answered
from segue.services.workspace.data_folder import DataFolder

PLACES = {"claude-code": ".claude/projects/-shop", "codex": ".codex/sessions/2026/01/01"}
"""The agents that are told something after a compaction, and where they keep transcripts."""


class HookFailed(Exception):
    """A hook could not do what it is for."""


class PlayedRun:
    """One run of an agent, in a home and a project of its own."""

    def __init__(self, folder: Path, agent: str, native: str) -> None:
        self.agent, self.native = agent, native
        self.home, self.project = folder / "home", folder / "shop"
        self.project.mkdir(parents=True)
        self.data = self.home / "segue"
        DataFolder(self.data).make()
        self.path = self.home / PLACES[agent] / f"{native}.jsonl"
        self.path.parent.mkdir(parents=True)

    def before(self, transcript: bytes) -> str:
        """What the hook before a compaction gives to the one who writes the summary."""
        return self._call("PreCompact", transcript, trigger="auto")

    def after(self, transcript: bytes) -> str:
        """What the hook after it tells the run; the transcript ends with the summary."""
        said = self._call("SessionStart", transcript, source="compact")
        told = mapping(mapping(json.loads(said)).get("hookSpecificOutput")) if said else {}
        return text_of(told.get("additionalContext"))

    def _call(self, event: str, transcript: bytes, **more: str) -> str:
        self.path.write_bytes(transcript)
        payload = {
            "session_id": self.native, "transcript_path": str(self.path), "cwd": str(self.project),
            "hook_event_name": event, **more,
        }  # fmt: skip
        environment = {
            "HOME": str(self.home), "SEGUE_HOME": str(self.data), "PATH": os.environ.get("PATH", ""),
        }  # fmt: skip
        said = answered(str(self.data), self.agent, event, json.dumps(payload).encode(), environment)
        log = self.data / "segue.log"
        if log.exists():
            raise HookFailed(f"{event} of {self.native}: {log.read_text(encoding='utf-8').strip()[-600:]}")
        return said.decode("utf-8")


def native_of(path: Path, agent: str) -> str:
    """The agent's own id of a conversation, which it names to its hooks."""
    return summary_of_transcript(path, agent).run
