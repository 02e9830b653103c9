"""The rows of habits in the store, which hooks read: the table that was learnt, what people said about it."""

from __future__ import annotations

import time

from msgspec.structs import replace

from ...core.habits.model import HabitTable, HabitWords, encode, table_in, words_in
from ...stores.base import ProjectFact
from ..workspace.workspace import Workspace

TRACE, HABITS, WORDS, HITS = "habit-trace", "habits", "habit-words", "habit-hits"
TRAIL = "habit-trail"
"""The trace of the last steps of a run, until a command makes that of the whole."""
FILES = "files"


def project_of(workspace: Workspace) -> str:
    """The project whose habits are meant; on a server, the one that was learnt from last."""
    if workspace.sees_tree:
        return workspace.working_tree.project_key(workspace.settings)[0]
    newest = workspace.store.project_facts.rows(HABITS, limit=1, bodies=False)
    return newest[0].project if newest else ""


def is_on(workspace: Workspace) -> bool:
    """Whether habits may be learnt and told here."""
    return bool(workspace.settings["habits"])


def table_of(workspace: Workspace, project: str = "", *, files: bool = False) -> HabitTable | None:
    """The habits as they were learnt last; None if there are none. What was edited with what, which a brief
    does not tell, stands in a row of its own, and is read only with ``files``."""
    project = project or project_of(workspace)
    fact = workspace.store.project_facts.get(project, HABITS)
    table = table_in(fact.body) if fact is not None else None
    if table is None or not files:
        return table
    more = workspace.store.project_facts.get(project, HABITS, FILES)
    edited = table_in(more.body) if more is not None else None
    return replace(table, files=edited.files, edited=edited.edited) if edited is not None else table


def keep_table(workspace: Workspace, project: str, table: HabitTable) -> None:
    """Keep habits that were learnt."""
    files = HabitTable(files=table.files, edited=table.edited)
    told = replace(table, files={}, edited={})
    workspace.store.project_facts.put([
        ProjectFact(project, HABITS, "", time.time(), encode(told)),
        ProjectFact(project, HABITS, FILES, time.time(), encode(files)),
    ])  # fmt: skip


def words_of(workspace: Workspace, project: str = "") -> HabitWords:
    """What people said about habits."""
    fact = workspace.store.project_facts.get(project or project_of(workspace), WORDS)
    return words_in(fact.body) if fact is not None else HabitWords()


def keep_words(workspace: Workspace, words: HabitWords) -> None:
    """Keep what people said about habits."""
    workspace.pause_file.check()
    fact = ProjectFact(project_of(workspace), WORDS, "", time.time(), encode(words))
    workspace.store.project_facts.put([fact])
