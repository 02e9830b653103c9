"""The contract of ``segue.stores.base.Runs`` as tests that any store can run.

Subclass ``RunsSuite`` as you would ``JournalSuite``: override ``make``; a store that outlives its
process sets ``durable`` and overrides ``reopen``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from msgspec.structs import replace

from ..stores.base import RunRow, Runs
from .stores import in_threads


def row(key: str = "k1", *, last: float = 1.0, project: str = "p", session: str = "s") -> RunRow:
    """A row of a run, with a reading."""
    return RunRow(
        key, "codex", f"native-{key}", project, session, f"/logs/{key}", "/src/shop", last, b"facts", b"read"
    )


class RunsSuite(ABC):
    """The contract of a store of runs."""

    durable = False

    @abstractmethod
    def make(self, tmp_path: Path) -> Runs:
        """A new, empty store that keeps its files, if any, in this folder."""

    def reopen(self, runs: Runs, tmp_path: Path) -> Runs:
        """The same store, opened again as another process would."""
        return self.make(tmp_path)

    def test_a_run_comes_back_as_it_was_put(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([row()])
        assert runs.get("k1") == row()
        assert runs.get("k2") is None

    def test_a_list_has_no_readings_and_begins_with_the_newest(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([row("a", last=1.0), row("c", last=3.0), row("b", last=2.0)])
        listed = runs.rows()
        assert [run.key for run in listed] == ["c", "b", "a"]
        assert all(run.reading is None and run.facts == b"facts" for run in listed)

    def test_a_list_is_of_the_projects_and_the_session_that_were_asked_for(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([row("a", project="p"), row("b", project="q"), row("c", project="q", session="t")])
        assert {run.key for run in runs.rows(projects=["q"])} == {"b", "c"}
        assert {run.key for run in runs.rows(projects=["p", "q"])} == {"a", "b", "c"}
        assert {run.key for run in runs.rows(session="t")} == {"c"}
        assert runs.rows(projects=["p"], session="t") == []

    def test_a_second_put_takes_the_place_of_the_first(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([row()])
        later = replace(row(), session="other", last=9.0, facts=b"new", reading=b"further")
        runs.put([later])
        assert runs.get("k1") == later and len(runs.rows()) == 1

    def test_a_put_without_a_reading_leaves_the_one_that_is_there(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([row()])
        runs.put([replace(row(), session="other", reading=None)])
        assert runs.get("k1") == replace(row(), session="other")
        runs.put([replace(row("k2"), reading=None)])
        assert runs.get("k2") == replace(row("k2"), reading=b"")

    def test_known_gives_the_folder_of_each_transcript(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([row("a"), row("b")])
        assert runs.known() == {"/logs/a": "/src/shop", "/logs/b": "/src/shop"}

    def test_what_is_dropped_is_gone_and_what_is_not_there_is_no_fault(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([row("a"), row("b")])
        runs.drop(["a", "never"])
        assert [run.key for run in runs.rows()] == ["b"]

    def test_texts_and_bytes_of_any_kind_come_back(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        odd = replace(row(), path="/log s/é'\"-日本", facts=bytes(range(256)), reading=b"\x00" * 100_000)
        runs.put([odd])
        assert runs.get("k1") == odd

    def test_writers_beside_each_other_lose_nothing(self, tmp_path: Path) -> None:
        runs = self.make(tmp_path)
        runs.put([])

        def write(name: int) -> None:
            for place in range(10):
                runs.put([row(f"{name}-{place}")])

        in_threads(4, write)
        assert len(runs.rows()) == 40

    def test_what_was_put_is_there_when_the_store_is_opened_anew(self, tmp_path: Path) -> None:
        if not self.durable:
            return
        runs = self.make(tmp_path)
        runs.put([row("a"), row("b")])
        assert {run.key for run in self.reopen(runs, tmp_path).rows()} == {"a", "b"}
