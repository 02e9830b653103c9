"""The three steps of agent-handover's configuration and adapters: note, state, publish.

Their payloads can be stored and include the date of the note, so that a resume on another day, by another
process, writes the intended note once, in its place.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from .backends import Backend, require
from .checkpoint import Checkpoint
from .engine import HandoverEngine, Task, Work
from .memory import MemoryStore

DEFAULT_CHECKPOINT = ".agent-handover/checkpoint.json"


def three_steps(
    *, note: str, state: str, memory_dir: Path | str, tag: str, backend: Backend, message: str,
    checkpoint: Path | str, pause_file: Path | str | None,
) -> HandoverEngine:  # fmt: skip
    """An engine with the steps session_note, current_state and publish."""
    store = MemoryStore(memory_dir)
    date = datetime.now().strftime("%Y-%m-%d")

    def write_note(work: Work) -> Any:
        payload = work.payload
        return str(store.write(1, payload["text"], payload["tag"], payload["date"], id=work.run))

    def write_state(work: Work) -> Any:
        return str(store.write(2, work.payload["text"], date_str=work.payload["date"]))

    tasks = [
        Task("session_note", write_note, {"text": note, "tag": tag, "date": date}, kind="note"),
        Task("current_state", write_state, {"text": state, "date": date}, kind="state"),
        Task(
            "publish",
            lambda work: require(backend, work.payload["message"]),
            {"message": message},
            kind="git",
        ),
    ]
    return HandoverEngine(tasks, Checkpoint(checkpoint), pause_file)
