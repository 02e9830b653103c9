"""The port of runs on a server: rows replaced whole, so that a request sent twice changes nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base import RunRow
from . import wire
from .calls import Calls


class RemoteRuns:
    """Runs of a project on a server."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def put(self, rows: Sequence[RunRow]) -> None:
        self._calls.ask("runs/put", wire.PutAsk(list(rows)), None)

    def get(self, key: str) -> RunRow | None:
        found: RunRow | None = self._calls.ask("runs/get", wire.NameAsk(key), RunRow | None)
        return found

    def rows(self, *, projects: Iterable[str] = (), session: str = "") -> list[RunRow]:
        asked = wire.RowsAsk(list(projects), session)
        found: list[RunRow] = self._calls.ask("runs/rows", asked, list[RunRow])
        return found

    def known(self) -> dict[str, str]:
        found: dict[str, str] = self._calls.ask("runs/known", wire.NameAsk(), dict[str, str])
        return found

    def drop(self, keys: Iterable[str]) -> None:
        self._calls.ask("runs/drop", wire.NamesAsk(list(keys)), None)
