"""What the hooks of a run cost the agent when a transcript is very long.

`make bench-long-transcripts`. For each size and kind a transcript is made that no hook and no sync has seen:
of Claude Code with different records and with one id for all, of Codex, and of Gemini CLI, whose file is read
as a whole. Then the installed hook is called as the agent calls it: at the end of two turns, at the start and
the first prompt of the next run in the same project, and these without anything kept (cold). Told are wall
times beside a bare Python, how much of the transcript is kept after two turns, and whether the next run is
told the last request. Limits: 1 s at the end of a turn, 1.5 s at a first prompt.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path

from bench.common import machine, median_ms, must_be_compiled, table, timed

from segue.services.hooks import hook_file
from segue.services.workspace.data_folder import DataFolder

WORDS = "word " * 400
PATIENCE_SECONDS = 60.0
BLOCK = 500
"""How many records are written at once."""
GOAL, LAST = "Make the login use tokens, and keep the old sessions working", "and write the last words down"


def claude_record(native: str, cwd: Path, number: int, kind: str, content: object, id: int) -> str:
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_795_000_000 + number // 100))
    record = {
        "type": kind, "sessionId": native, "uuid": f"u{id}", "parentUuid": f"u{id - 1}", "cwd": str(cwd),
        "timestamp": at, "version": "2.1.325", "message": {"role": kind, "content": content},
    }  # fmt: skip
    return json.dumps(record) + "\n"


def claude(native: str, cwd: Path, *, one_id: bool = False) -> Iterator[str]:
    """The records of a run without an end: the goal, words, and each time something else was done the last
    request."""
    number = 1
    yield claude_record(native, cwd, 0, "user", GOAL, 0)
    while True:
        content = [{"type": "text", "text": f"{number} {WORDS}"}]
        yield claude_record(native, cwd, number, "assistant", content, 0 if one_id else number)
        number += 1


def claude_end(native: str, cwd: Path) -> str:
    return claude_record(native, cwd, 10**8, "user", LAST, 10**8)


def codex_record(kind: str, number: int, payload: object) -> str:
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_795_000_000 + number // 100))
    return json.dumps({"timestamp": at, "ordinal": number, "type": kind, "payload": payload}) + "\n"


def codex_user(number: int, text: str) -> str:
    item = {"type": "UserMessage", "id": f"item-{number}", "content": [{"type": "text", "text": text}]}
    return codex_record("event_msg", number, {"type": "item_completed", "turn_id": "turn-1", "item": item})


def codex(native: str, cwd: Path) -> Iterator[str]:
    meta = {"id": native, "session_id": native, "cwd": str(cwd), "originator": "codex_exec", "source": "exec",
            "cli_version": "0.166.0", "history_mode": "paginated"}  # fmt: skip
    yield codex_record("session_meta", 0, meta)
    yield codex_user(1, GOAL)
    number = 2
    while True:
        item = {"type": "AgentMessage", "id": f"m{number}",
                "content": [{"type": "Text", "text": f"{number} {WORDS}"}]}  # fmt: skip
        payload = {"type": "item_completed", "turn_id": "turn-1", "item": item}
        yield codex_record("event_msg", number, payload)
        number += 1


def codex_end(native: str, cwd: Path) -> str:
    return codex_user(10**8, LAST)


def gemini_record(number: int, kind: str, content: object) -> str:
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_795_000_000 + number // 100))
    return json.dumps({"id": f"{number:08}", "timestamp": at, "type": kind, "content": content}) + "\n"


def gemini(native: str, cwd: Path) -> Iterator[str]:
    at = "2026-11-15T02:43:12.504Z"
    head = {"sessionId": native, "projectHash": "0" * 64, "startTime": at, "lastUpdated": at, "kind": "main"}
    yield json.dumps(head) + "\n"
    where = f"<session_context>\n- **Workspace Directories:**\n  - {cwd}\n</session_context>"
    yield gemini_record(1, "user", [{"text": where}])
    yield gemini_record(2, "user", [{"text": GOAL}])
    number = 3
    while True:
        yield gemini_record(number, "gemini", f"{number} {WORDS}")
        number += 1


def gemini_end(native: str, cwd: Path) -> str:
    return gemini_record(10**7, "user", [{"text": LAST}])


Records = Callable[[str, Path], Iterator[str]]
KINDS: dict[str, tuple[str, Records, Callable[[str, Path], str]]] = {
    "claude-code": ("claude-code", claude, claude_end),
    "claude-code, one id": ("claude-code", lambda n, c: claude(n, c, one_id=True), claude_end),
    "codex": ("codex", codex, codex_end),
    "gemini-cli": ("gemini-cli", gemini, gemini_end),
}
EVENTS = {"gemini-cli": ("AfterAgent", "SessionStart", "BeforeAgent")}


def place_of(agent: str, home: Path, cwd: Path, native: str) -> Path:
    """Where the agent keeps the transcript of a run in a folder."""
    if agent == "codex":
        return home / ".codex/sessions/2026/11/18" / f"rollout-2026-11-18T00-00-00-{native}.jsonl"
    if agent == "gemini-cli":
        folder = home / ".gemini" / "tmp" / cwd.name
        (folder / "chats").mkdir(parents=True, exist_ok=True)
        (folder / ".project_root").write_text(str(cwd))
        return folder / "chats" / f"session-2026-11-18T00-00-{native[:8]}.jsonl"
    slug = "".join(c if c.isalnum() else "-" for c in str(cwd))
    return home / ".claude" / "projects" / slug / f"{native}.jsonl"


class Run:
    """A long run of an agent in a project of its own."""

    def __init__(self, folder: Path, kind: str, size: int) -> None:
        self.agent, records, end = KINDS[kind]
        self.home, self.project = folder / "home", folder / "project"
        self.project.mkdir(parents=True)
        self.data = DataFolder(self.home / "segue")
        self.data.make()
        hook_file.put(self.data)
        self.native = "0198c0de-1111-4111-8111-000000000001"
        self.path = place_of(self.agent, self.home, self.project, self.native)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        written = records(self.native, self.project)
        with self.path.open("w") as file:
            while file.tell() < size:
                file.write("".join(next(written) for _ in range(BLOCK)))
            file.write(end(self.native, self.project))
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def hook(self, event: str, mode: str, native: str, path: Path | str, **more: object) -> tuple[float, str]:
        """Seconds, and what the agent is told."""
        file = str(hook_file.file_of(self.data))
        command = [sys.executable, "-I", "-S", file, self.agent, event, mode]
        about = {"session_id": native, "cwd": str(self.project), "hook_event_name": event}
        payload = json.dumps({**about, "transcript_path": str(path), **more}).encode()
        began = time.perf_counter()
        try:
            done = subprocess.run(
                command, input=payload, capture_output=True, env=self.environment, check=True,
                timeout=PATIENCE_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return inf, ""
        return time.perf_counter() - began, done.stdout.decode()

    def stop(self) -> float:
        event = EVENTS.get(self.agent, ("Stop",))[0]
        said = f"Looked at it {time.time_ns()}."
        return self.hook(event, "speak", self.native, self.path, last_assistant_message=said)[0]

    def next_run(self, native: str) -> tuple[float, float, str]:
        """Seconds of the start and of the first prompt of the next run, and what that is told."""
        _, start, prompt = EVENTS.get(self.agent, ("", "SessionStart", "UserPromptSubmit"))
        path = self.path.with_name(f"{native}.jsonl")
        began, _ = self.hook(start, "speak", native, path, source="startup")
        asked, told = self.hook(prompt, "look", native, path, prompt="go on")
        shutil.rmtree(self.data.path / "hook" / "unwritten", ignore_errors=True)
        return began, asked, told

    def bare(self) -> float:
        """Seconds of a Python that does nothing."""
        command = [sys.executable, "-c", "pass"]
        return timed(lambda: subprocess.run(command, env=self.environment, check=True))

    def kept(self) -> str:
        """How many megabytes of the transcript are in the digest that the store keeps."""
        import apsw

        from segue.services.runs.cursor import unpacked

        try:
            db = apsw.Connection(str(self.data.path / "segue.db"), flags=apsw.SQLITE_OPEN_READONLY)
            rows = list(db.execute("SELECT reading FROM runs WHERE native = ?", (self.native,)))
        except apsw.Error:
            return "-"
        reading = unpacked(rows[0][0]) if rows and rows[0][0] else None
        return f"{reading.offset / 1e6:.0f}" if reading is not None else "0"

    def forget(self) -> None:
        """As if no hook had run before."""
        for name in ("segue.db", "segue.db-wal", "segue.db-shm", "search.db", "transcripts.db"):
            (self.data.path / name).unlink(missing_ok=True)
        for name in ("archive", "hook/looks", "hook/once", "hook/unwritten", "search"):
            shutil.rmtree(self.data.path / name, ignore_errors=True)


def measured(folder: Path, kind: str, megabytes: int) -> list[str]:
    run = Run(folder, kind, megabytes << 20)
    stop, again = run.stop(), run.stop()
    kept = run.kept()
    start, prompt, told = run.next_run("0198c0de-2222-4111-8111-000000000001")
    run.forget()
    cold_start, cold, cold_told = run.next_run("0198c0de-3333-4111-8111-000000000001")
    bare = median_ms([run.bare() for _ in range(7)])
    knows = "".join("yes " if LAST in text else "no " for text in (told, cold_told))
    shutil.rmtree(folder)
    times = (stop, again, start, prompt, cold_start, cold)
    return [kind, f"{megabytes}", *(f"{one:.2f}" for one in times), f"{bare:.0f}", kept, knows.strip()]


def main() -> None:
    wish = argparse.ArgumentParser(description=__doc__)
    wish.add_argument("--megabytes", type=int, nargs="*", default=[4, 100, 400, 2048])
    wish.add_argument("--kinds", nargs="*", default=list(KINDS))
    args = wish.parse_args()
    must_be_compiled()
    print(machine())
    rows = []
    for megabytes in args.megabytes:
        for kind in args.kinds:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measured(Path(folder) / "run", kind, megabytes))
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ("transcript of", "MB", "stop s", "again s", "start s", "first prompt s", "cold start s",
            "cold prompt s", "bare Python ms", "MB kept after two", "the last request is told")  # fmt: skip
    table("Hooks beside a very long transcript", head, rows)


if __name__ == "__main__":
    main()
