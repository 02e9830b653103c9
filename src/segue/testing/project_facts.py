"""The contract of ``segue.stores.base.ProjectFacts`` as tests that any store can run.

Subclass ``ProjectFactsSuite`` as you would ``RunsSuite``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from msgspec.structs import replace

from ..stores.base import ProjectFact, ProjectFacts


def fact(key: str = "k1", *, project: str = "p", kind: str = "habits", at: float = 1.0) -> ProjectFact:
    """A fact of a project."""
    return ProjectFact(project, kind, key, at, f"body of {key}".encode())


class ProjectFactsSuite(ABC):
    """The contract of a store of what is counted of projects."""

    durable = False

    @abstractmethod
    def make(self, tmp_path: Path) -> ProjectFacts:
        """A new, empty store that keeps its files, if any, in this folder."""

    def reopen(self, facts: ProjectFacts, tmp_path: Path) -> ProjectFacts:
        """The same store, opened again as another process would."""
        return self.make(tmp_path)

    def test_a_fact_comes_back_as_it_was_put(self, tmp_path: Path) -> None:
        facts = self.make(tmp_path)
        facts.put([fact()])
        assert facts.get("p", "habits", "k1") == fact()
        assert (
            facts.get("p", "habits")
            is facts.get("p", "other", "k1")
            is facts.get("q", "habits", "k1")
            is None
        )
        again = self.reopen(facts, tmp_path) if self.durable else facts
        assert again.get("p", "habits", "k1") == fact()

    def test_a_second_put_takes_the_place_of_the_first(self, tmp_path: Path) -> None:
        facts = self.make(tmp_path)
        facts.put([fact()])
        facts.put([replace(fact(), at=2.0, body=b"new")])
        assert facts.rows("habits") == [replace(fact(), at=2.0, body=b"new")]

    def test_a_list_is_of_a_kind_a_project_and_a_time_and_begins_with_the_newest(
        self, tmp_path: Path
    ) -> None:
        facts = self.make(tmp_path)
        facts.put([fact("a"), fact("b", at=3.0), fact("c", at=2.0, project="q"), fact("d", kind="other")])
        assert [one.key for one in facts.rows("habits")] == ["b", "c", "a"]
        assert [one.key for one in facts.rows("habits", project="p")] == ["b", "a"]
        assert [one.key for one in facts.rows("habits", since=2.0)] == ["b", "c"]
        assert [one.key for one in facts.rows("habits", limit=1)] == ["b"]
        assert {one.body for one in facts.rows("habits", bodies=False)} == {b""}

    def test_what_is_dropped_is_gone_and_the_rest_stays(self, tmp_path: Path) -> None:
        facts = self.make(tmp_path)
        facts.put([fact("a"), fact("b"), fact("a", project="q")])
        facts.drop("p", "habits", ["a", "not there"])
        assert {(one.project, one.key) for one in facts.rows("habits")} == {("p", "b"), ("q", "a")}
