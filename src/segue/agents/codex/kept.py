"""The state of a reader between records: small, of bounded size, and encodable as JSON.

All of it only prevents reporting something twice, or joins two halves of it. A reader without it would still
report every step, some of them twice.
"""

from __future__ import annotations

from typing import Any, TypeVar
from zlib import crc32

import msgspec

T = TypeVar("T")

_PAIRS_MAX = 24
_REPORTS_MAX = 24
_DONE_MAX = 64
_OPEN_MAX = 128
_SMALL_MAX = 32
_KEY_CHARS = 96  # of either end


class RolloutMemory(msgspec.Struct):
    """The reader's state for one transcript."""

    form: str = ""  # "envelope" or "bare", decided by the first record
    native: str = ""
    began: float = 0.0
    cwd: str = ""
    model: str = ""
    window: int = 0
    context: int = 0
    usage: str = ""  # key of the last usage that was reported
    is_sub: bool = False  # a sub-agent's rollout: its "user" is another agent
    has_title: bool = False
    copying: bool = False  # inside a history that a fork copied
    own_from: int = 0  # the ordinal at which a sub-agent's own history starts
    searches: int = 0
    in_turn: bool = False  # between the events that begin and end a turn
    at_work: bool = False  # the agent has called a tool in this turn
    has_items: bool = False  # what the agent says to the user is written as an item first
    pairs: list[str] = []  # seen in one channel, and expected in the other
    reports: list[str] = []
    open: dict[str, list[str]] = {}  # call id -> tool, command, process that it asks
    done: dict[str, bool] = {}
    cells: dict[str, list[list[str]]] = {}  # script's call id -> (call id, tool, command) of its calls
    scripts: dict[str, str] = {}  # number of a script that runs on -> its call id
    printed: dict[str, list[str]] = {}  # script's call id -> its words before a process and an exit
    running: dict[str, list[str]] = {}  # process -> call id, command
    agents: dict[str, list[str]] = {}  # sub-agent -> call id, name

    def is_twin(self, channel: str, kind: str, text: str) -> bool:
        """Whether this was already seen in the other channel; Codex writes most things to both."""
        ends = text if len(text) <= 2 * _KEY_CHARS else text[:_KEY_CHARS] + text[-_KEY_CHARS:]
        without_space = "".join(ends.split())
        key = f"{kind}:{crc32(without_space.encode('utf-8', 'replace')):x}"
        other = f"{'r' if channel == 'e' else 'e'}:{key}"
        if other in self.pairs:
            self.pairs.remove(other)
            return True
        _push(self.pairs, f"{channel}:{key}", _PAIRS_MAX)
        return False

    def is_new_report(self, name: str, report: str) -> bool:
        key = f"{crc32(f'{name} {report}'.encode('utf-8', 'replace')):x}"
        if key in self.reports:
            return False
        _push(self.reports, key, _REPORTS_MAX)
        return True

    def opened(self, id: str, tool: str, command: str = "", process: str = "") -> None:
        _put(self.open, id, [tool, command, process], _OPEN_MAX)

    def turned(self, begins: bool) -> None:
        """A turn begins or ends."""
        self.in_turn, self.at_work = begins, False

    def closed(self, id: str) -> None:
        self.open.pop(id, None)
        _put(self.done, id, True, _DONE_MAX)

    def runs_on(self, process: str, id: str, command: str) -> None:
        self.open.pop(id, None)
        _put(self.running, process, [id, command], _SMALL_MAX)

    def celled(self, id: str, calls: list[list[str]], printed: list[str]) -> None:
        _put(self.cells, id, calls, _SMALL_MAX)
        if any(printed):
            _put(self.printed, id, printed, _SMALL_MAX)

    def waits_for(self, number: str, id: str) -> None:
        """A script runs on under a number, with which it is waited for."""
        _put(self.scripts, number, id, _SMALL_MAX)

    def waited_for(self, number: str) -> tuple[str, ...]:
        """The call ids of the scripts that have ended when the one with this number was waited for."""
        id = self.scripts.pop(number, "")
        return (id,) if id in self.cells else () if id else tuple(self.cells)

    def knows_agent(self, agent: str, id: str, name: str) -> None:
        _put(self.agents, agent, [id, name], _SMALL_MAX)


def restored(kept: Any) -> RolloutMemory:
    """The state that an earlier reader left; a new one if it cannot be used."""
    if kept is not None:
        try:
            return msgspec.convert(kept, RolloutMemory)
        except (msgspec.ValidationError, RecursionError):
            pass
    return RolloutMemory()


def _push(items: list[T], item: T, most: int) -> None:
    items.append(item)
    if len(items) > most:
        del items[:-most]


def _put(items: dict[str, T], key: str, item: T, most: int) -> None:
    items.pop(key, None)
    items[key] = item
    while len(items) > most:
        del items[next(iter(items))]
