"""What the children of the handover's crash tests do: ``handover_work.py TASK folder arguments…``."""

from __future__ import annotations

import json
import os
import sys
from datetime import date
from pathlib import Path

from segue import Segue
from segue.handover import MemoryStore
from segue.handover.adapters.codex import build_codex_handover_engine
from segue.handover.checkpoint import Checkpoint
from segue.handover.compaction import compact
from segue.handover.engine import HandoverEngine
from segue.handover.flow import Handover
from segue.services.handoff.bundle import pack, unpack

STATE_BYTES = 8192


def state_of(note: str) -> str:
    """A state that shows whether it is complete."""
    return f"begin {note}\n{'x' * STATE_BYTES}\nend {note}"


def engine_of(folder: Path, note: str, *, push: bool = False) -> HandoverEngine:
    return build_codex_handover_engine(
        session_note=f"note {note} is whole",
        current_state=state_of(note),
        memory_dir=folder / "memory",
        repo_dir=folder,
        push=push,
        checkpoint=folder / ".agent-handover" / "checkpoint.json",
    )


def say(folder: Path, name: str, **record: object) -> None:
    """Write a line, which is on disk when this returns."""
    lines = os.open(folder / f"lines-{name}", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    os.write(lines, json.dumps(record).encode() + b"\n")
    os.fsync(lines)
    os.close(lines)


def loop(folder: Path, name: str, count: str) -> None:
    """Hand over again and again, and report what is begun and what is done."""
    for number in range(int(count)):
        note = f"{name}-{number}"
        say(folder, name, tried=note)
        engine_of(folder, note).run()
        say(folder, name, done=note)


def marks(folder: Path, name: str, count: str) -> None:
    """Mark many steps of one checkpoint."""
    checkpoint = Checkpoint(folder / "checkpoint.json")
    for number in range(int(count)):
        checkpoint.mark_done(f"{name}-{number}")


def publish(folder: Path, name: str, count: str) -> None:
    """Hand over with a commit and a push."""
    for number in range(int(count)):
        engine_of(folder, f"{name}-{number}", push=True).run()


def journaled(folder: Path, name: str, count: str) -> None:
    """The same with Segue's own workflow, in a working tree and with a store."""
    with Segue(home=folder / "home", folder=folder / "project") as segue:
        for number in range(int(count)):
            note = f"{name}-{number}"
            say(folder, name, tried=note)
            Handover(segue).run(note=f"note {note} is whole", state=state_of(note))
            say(folder, name, done=note)


def compacting(folder: Path, name: str, count: str) -> None:
    """Compact what is old."""
    compact(MemoryStore(folder / "memory"), today=date(2026, 8, 3))


def offering(folder: Path, name: str, count: str) -> None:
    """Offer a session."""
    with Segue(home=folder / "home", folder=folder) as segue:
        segue.start("to be handed on", id="s")
        segue.handoff("s", "codex", "mind the gap")


def taking(folder: Path, name: str, count: str) -> None:
    """Offer a session, and take it."""
    offering(folder, name, count)
    with Segue(home=folder / "home", folder=folder) as segue:
        segue.handoffs.accept(by="codex")


def unpacking(folder: Path, name: str, count: str) -> None:
    """Pack a session, and unpack it elsewhere."""
    with Segue(home=folder / "home", folder=folder) as segue:
        segue.start("to be handed on", id="s")
        (folder / "work.segue").write_bytes(pack(segue.workspace, "s", to="codex").body)
    with Segue(home=folder / "other", folder=folder) as segue:
        unpack(segue.workspace, (folder / "work.segue").read_bytes())


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
