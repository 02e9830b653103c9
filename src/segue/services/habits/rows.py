"""The rows of habits in the store, which hooks read: the table that was learnt, what people said about it."""

from __future__ import annotations

import time

from ...core.habits.model import HabitTable, HabitWords, encode, table_in, words_in
from ...stores.base import ProjectFact
from ..workspace.workspace import Workspace

TRACE, HABITS, WORDS, HITS = "habit-trace", "habits", "habit-words", "habit-hits"


def project_of(workspace: Workspace) -> str:
    """The project whose habits are meant; on a server, the one that was learnt from last."""
    if workspace.sees_tree:
        return workspace.working_tree.project_key(workspace.settings)[0]
    newest = workspace.store.project_facts.rows(HABITS, limit=1, bodies=False)
    return newest[0].project if newest else ""


def is_on(workspace: Workspace) -> bool:
    """Whether habits may be learnt and told here."""
    return bool(workspace.settings["habits"])


def table_of(workspace: Workspace, project: str = "") -> HabitTable | None:
    """The habits as they were learnt last; None if there are none."""
    fact = workspace.store.project_facts.get(project or project_of(workspace), HABITS)
    return table_in(fact.body) if fact is not None else None


def words_of(workspace: Workspace, project: str = "") -> HabitWords:
    """What people said about habits."""
    fact = workspace.store.project_facts.get(project or project_of(workspace), WORDS)
    return words_in(fact.body) if fact is not None else HabitWords()


def keep_words(workspace: Workspace, words: HabitWords) -> None:
    """Keep what people said about habits."""
    workspace.pause_file.check()
    fact = ProjectFact(project_of(workspace), WORDS, "", time.time(), encode(words))
    workspace.store.project_facts.put([fact])
