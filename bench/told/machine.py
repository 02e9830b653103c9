"""A machine on which the earlier runs of a case were, and what its hooks tell the run that begins.

The project is a repository of git with one commit, which is older than all runs: its tree is not the one of
that moment, so nothing in it is uncommitted. After each earlier run, in the order in which they were last
active, what `segue sync` does is done. Runs that were open when the later one began are registered as agents
register their processes. Then the hooks are called as the agent calls them: at the start, and with the
prompt.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.told.cases import Case
from bench.told.placed import KnownRun, Relocation, known_before, place, transcript_name
from bench.told.runs import PublicRun

from segue import Segue
from segue._locks import try_lock
from segue.services.hooks.handler import answered
from segue.services.workspace.data_folder import DataFolder

Kind = Literal["nothing", "full", "referred", "plan", "other", "notice"]

COMMITTED = "2020-01-01T00:00:00Z"
_BEGINNINGS: tuple[tuple[str, Kind], ...] = (
    ("was worked on in this run of", "referred"),
    ("[segue] Said while this plan was made", "plan"),
    ("[segue] For any work in this project:", "other"),
    ("[segue] Where the ", "full"),
)


@dataclass(slots=True, frozen=True)
class Told:
    """What a run was told before its model saw the first prompt."""

    text: str
    shown: str
    """The line that its user was shown."""
    faults: str = ""
    """What Segue wrote into its log."""

    @property
    def kind(self) -> Kind:
        """What kind of brief it is, by its words; a notice says nothing of the work itself."""
        if not self.text:
            return "nothing"
        lines = [
            line for line in self.text.splitlines() if not line.startswith(("[segue] Where", "[/segue]"))
        ]
        if all(line.removeprefix("[segue] ").startswith(("NOTICE:", "TREE:")) for line in lines):
            return "notice"
        return next((kind for mark, kind in _BEGINNINGS if mark in self.text), "notice")


class Machine:
    """A home with a project, for one case. A context manager."""

    def __init__(self, folder: Path, case: Case) -> None:
        self.home = folder / "home"
        self.relocation = Relocation(case.later.root, self.home / "work")
        self.project = Path(self.relocation.project)
        self.environment = {
            "HOME": str(self.home), "SEGUE_HOME": str(self.home / "segue"), "CLAUDE_PID": str(os.getpid()),
        }  # fmt: skip
        self._case = case
        self._locks = ExitStack()
        self._begin_project(case.later.branch)
        self.folder = Path(self.relocation.in_text(case.later.folder))
        self.folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *fault: object) -> None:
        self._locks.close()

    def _begin_project(self, branch: str) -> None:
        self.project.mkdir(parents=True)
        (self.project / "README.md").write_text("A project.\n", encoding="utf-8")
        named = branch if re.fullmatch(r"\w[\w./-]*", branch) else "main"
        for words in (["init", "-q", "-b", named], ["add", "."], ["commit", "-qm", "Begin"]):
            self._git(*words)

    def _git(self, *words: str) -> None:
        who = ("-c", "user.name=b", "-c", "user.email=b@example.org")
        dated = {"GIT_AUTHOR_DATE": COMMITTED, "GIT_COMMITTER_DATE": COMMITTED}
        environment = {
            **os.environ, **dated, "HOME": str(self.home), "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }  # fmt: skip
        subprocess.run(["git", *who, *words], cwd=self.project, env=environment, check=True)

    # -- the earlier runs

    def take_in(self, known: KnownRun, seconds: float) -> None:
        """Put a run where its agent would have written it, and sync."""
        place(known, self.home, self.relocation, seconds)
        with Segue(folder=self.project, environment=self.environment) as segue:
            segue.sync()

    def register(self, runs: list[PublicRun]) -> None:
        """Let these runs, and the one that begins, count as open; all others are known not to be."""
        processes, locks = self.home / ".claude" / "sessions", self.home / ".codex" / "thread-writer-locks"
        processes.mkdir(parents=True, exist_ok=True)
        locks.mkdir(parents=True, exist_ok=True)
        for number, run in enumerate([*runs, self._case.later]):
            if run.agent == "claude-code":
                said = {
                    "pid": os.getpid(),
                    "sessionId": run.native,
                    "cwd": self.relocation.in_text(run.folder),
                }
                (processes / f"{number}.json").write_text(json.dumps(said), encoding="utf-8")
            elif run is not self._case.later:
                lock = self._locks.enter_context((locks / f"{run.native}.lock").open("w"))
                try_lock(lock.fileno())

    # -- the run that begins

    def told(self) -> Told:
        """What the hooks inject when the later run starts and is given its first prompt."""
        prompt = self.relocation.in_text(self._case.later.prompt)
        start = self._call("SessionStart", source="startup")
        asked = self._call("UserPromptSubmit", prompt=prompt)
        texts = [
            str(one.get("hookSpecificOutput", {}).get("additionalContext", "")) for one in (start, asked)
        ]
        lines = [str(one.get("systemMessage", "")) for one in (start, asked)]
        log = self.home / "segue" / "segue.log"
        return Told(
            self.relocation.back("\n".join(filter(None, texts))),
            self.relocation.back("\n".join(filter(None, lines))),
            self.relocation.back(log.read_text(encoding="utf-8")) if log.exists() else "",
        )

    def _call(self, event: str, **more: str) -> dict[str, Any]:
        later = self._case.later
        name = transcript_name(later.agent, later.native, time.time(), str(self.folder))
        payload = {
            "session_id": later.native, "transcript_path": str(self.home / name), "cwd": str(self.folder),
            "hook_event_name": event, **more,
        }  # fmt: skip
        data = json.dumps(payload).encode()
        said = answered(self.environment["SEGUE_HOME"], later.agent, event, data, self.environment)
        return dict(json.loads(said)) if said.startswith(b"{") else {}


@dataclass(slots=True)
class PlayedCase:
    """A case with what was known when it began, and what the run was told."""

    case: Case
    earlier: list[KnownRun]
    told: Told
    now: float
    """The moment at which the case began, moved."""
    seconds: float
    """How long it took."""


def played(case: Case, folder: Path) -> PlayedCase:
    """Play a case in an empty folder."""
    began = time.perf_counter()
    now = time.time()
    earlier = [known_before(run, case.moment) for run in case.earlier]
    with Machine(folder, case) as machine:
        DataFolder(Path(machine.environment["SEGUE_HOME"])).make()
        for known in sorted(earlier, key=lambda one: one.last):
            machine.take_in(known, now - case.moment)
        machine.register([run for run in case.earlier if case.is_open(run)])
        told = machine.told()
    return PlayedCase(case, earlier, told, now, time.perf_counter() - began)
