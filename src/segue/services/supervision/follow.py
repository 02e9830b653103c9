"""Following a run while it works: which transcript it writes, what that says by now, and whether anything is
wrong.

The transcript is read on from where the last look ended. Which one it is comes from the id that was given
to the agent, from what it printed, or from what is new in the project since it began.
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec.structs import replace

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.base.page import quote
from ...core.base.values import Value
from ...core.brief.trail_words import NO_RESULT, folder_of, step_line
from ...core.runs.model import RunDigest
from ...core.runs.steps import Compact, Fault, Say, Step, Usage
from ...core.runs.window_pressure import window_of, windows_set
from ...core.supervision.decide import Trouble, trouble_of
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..runs.observed import runs_of
from ..runs.read_transcript import Reading, final, read_on
from ..workspace.workspace import Workspace

_LOOK_SECONDS = 0.5
LINE_BYTES = 160
"""How long the line of a step may be."""


class Look(Value):
    """What is known of a run at this moment."""

    native: str = ""
    path: str = ""
    steps: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    share: float = 0.0
    filled: float = 0.0
    """The largest share since the last compaction, including peaks between two looks."""
    in_call: bool = False
    ended: bool = False
    """Whether its turn ended normally."""
    last_said: str = ""
    doing: str = ""
    """The call that is under way, in words; empty if none is."""
    asks: str = ""
    """What it asks the user, in a call that waits for the answer; empty if it does not."""
    ticked: tuple[str, ...] = ()
    """What is done in the agent's own list."""
    unticked: tuple[str, ...] = ()
    """What is open in it."""
    trouble: Trouble = ""
    fault: str = ""
    retrying: str = ""
    """What the model or the way to it did to its last request, if it tries again; empty if all is well."""


class Following:
    """Follows one run from its launch on."""

    def __init__(
        self, workspace: Workspace, agent: str, native: str, *, began: float, known: frozenset[str],
        fresh: bool = True,
    ) -> None:  # fmt: skip
        """``fresh`` is whether the conversation began with this launch: what an earlier one did is not told
        again."""
        self._workspace, self._agent = workspace, agent_of(agent)
        self.native = native
        self._began, self._known = began, known
        self._reading: Reading | None = None
        self._stamp = (0.0, 0)
        self._searched = 0.0
        self._trouble: Trouble = ""
        self._fault = ""
        self._heard = ""
        self._filled = 0
        self._told: set[str] | None = set() if fresh else None
        self._lines: list[str] = []
        self._folder = folder_of(str(workspace.working_tree.root))
        self.troubled = 0.0
        """Since when (monotonic) it has been retrying in vain; 0 if it has not."""
        self.changed = time.monotonic()
        """When it last did something, as far as its transcript says."""
        self._look = Look(native)

    def look(self, *, now: bool = False) -> Look:
        """Read what is new; with ``now``, search for the transcript even if that was done a moment ago."""
        self._searched = 0.0 if now else self._searched
        if self._reading is None and not self._find():
            return self._look
        assert self._reading is not None
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            since, fault = self.troubled, self._fault
            try:
                read_on(self._reading, self._agent, also=self._step)
            except SegueError:
                return self._look
            if self._fault and self._fault == fault:
                self.troubled = since  # a document is read as a whole each time
            self.changed = time.monotonic()
            digest = final(self._reading, self._agent)
            self._look = self._seen(digest)
            self._tell(digest)
        return self._look

    def lines(self) -> list[str]:
        """What it did since this was last asked: a line for each step, masked."""
        lines, self._lines = self._lines, []
        return lines

    def hear(self, retrying: str) -> None:
        """Note why an agent retries, as it prints it; empty if it does not retry. Some agents do not write
        it to their transcripts."""
        if retrying and (not self.troubled or self._heard):
            self._fault, self._trouble = retrying, trouble_of(retrying)
            self.troubled = self.troubled or time.monotonic()
        elif self._heard and not retrying:
            self._fault, self._trouble, self.troubled = "", "", 0.0
        else:
            return
        self._heard = retrying
        self._look = replace(
            self._look, trouble=self._trouble, fault=self._fault, retrying=redact(self._fault)
        )

    def _tell(self, digest: RunDigest) -> None:
        """Keep a line for each step that has ended since the last look."""
        ended = [step for step in digest.trail if step.kind == "say" or step.done]
        keys = {step.id or f"{step.kind} {step.at}": step for step in ended}
        if self._told is None:
            self._told = set(keys)
        for key, step in keys.items():
            if key not in self._told and step.kind != "plan":
                line = f"says {quote(step.text, LINE_BYTES)}" if step.kind == "say" else ""
                self._lines.append(redact(line or step_line([step], self._folder, LINE_BYTES)))
        self._told |= keys.keys()

    def _under_way(self, digest: RunDigest) -> str:
        call = next((step for step in reversed(digest.trail) if step.id in digest.pending), None)
        if call is None:
            return ""
        return redact(step_line([call], self._folder, LINE_BYTES).removesuffix(f" → {NO_RESULT}"))

    def _question(self, digest: RunDigest) -> str:
        asked = (call for call in digest.pending.values() if call.act == "ask")
        return next((redact(call.what or call.line or call.tool) for call in asked), "")

    def _find(self) -> bool:
        if time.monotonic() < self._searched:
            return False
        self._searched = time.monotonic() + _LOOK_SECONDS
        runs = runs_of(self._workspace).finder().found(self._agent.name)
        found = next(filter(self._is, runs), None)
        if found is None:
            return False
        self.native = found.native
        self._reading = Reading(self._agent.name, found.path, found.native)
        return True

    def _is(self, found: Found) -> bool:
        if self.native:
            return found.native == self.native and not found.parent
        return not found.parent and found.native not in self._known and found.changed >= self._began - 2

    def _stamp_now(self) -> tuple[float, int]:
        assert self._reading is not None
        stamps = []
        for end in ("", "-wal"):
            try:
                stat = Path(self._reading.path + end).stat()
                stamps.append((stat.st_mtime, stat.st_size))
            except OSError:
                continue
        return (max((at for at, _ in stamps), default=0.0), sum(size for _, size in stamps))

    def _step(self, step: Step) -> None:
        if isinstance(step, Usage):
            self._filled = max(self._filled, step.context)
        elif isinstance(step, Compact):
            self._filled = 0
        if isinstance(step, Fault):
            self._fault = step.text
            self._trouble = trouble_of(step.text, step.status)
            self.troubled = self.troubled or time.monotonic()
        elif isinstance(step, Say) or (isinstance(step, Usage) and step.output):
            self._trouble, self._fault, self._heard, self.troubled = "", "", "", 0.0

    def _seen(self, digest: RunDigest) -> Look:
        assert self._reading is not None
        set_to = windows_set(self._workspace.settings.text("windows"))
        window = window_of(digest.model, said=digest.window, set_to=set_to, seen=digest.context)
        return Look(
            native=self.native,
            path=self._reading.path,
            steps=digest.steps,
            calls=digest.calls,
            tokens=digest.context_max + digest.output,
            cost=digest.cost,
            share=digest.context / window.tokens if window.tokens else 0.0,
            filled=self._filled / window.tokens if window.tokens else 0.0,
            in_call=bool(digest.pending),
            ended=digest.ended is not None and digest.ended.text in ("turn", "exit", "complete"),
            last_said=digest.says[-1].text if digest.says else "",
            doing=self._under_way(digest),
            asks=self._question(digest),
            ticked=tuple(str(row[0]) for row in digest.plan if row[1] == "done"),
            unticked=tuple(str(row[0]) for row in digest.plan if row[1] in ("active", "pending")),
            trouble=self._trouble,
            fault=self._fault or (digest.fault.text if digest.fault else ""),
            retrying=redact(self._fault),
        )


def known_runs(workspace: Workspace, agent: str) -> frozenset[str]:
    """The runs that an agent has in this project before a launch."""
    return frozenset(one.native for one in runs_of(workspace).finder().found(agent))
