"""Asking the map of a working tree, after it was brought up to date.

Without a name or a task the questions are about the work at hand: what the newest run touched, what its task
names, what is changed and not committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from ..._checked_calls import checked
from ...core.base.values import Progress, Value
from ...core.codemap.central import CentralFiles, MapFile, central
from ...core.codemap.drawing import MapLink
from ...core.codemap.graph import CodeGraph
from ...core.codemap.questions import (
    Place,
    Reached,
    Use,
    changed_nodes,
    meant,
    only_tests,
    place_of,
    reached_from,
    users_of,
    uses_of,
)
from ...core.codemap.work import task_text, touched_files
from ...errors import BudgetTooSmall, SegueError, UsageError
from ..brief.gather import summary_of_session
from ..workspace.workspace import Workspace
from .index import CodeMap, MapUpdate, code_map

Question = Literal["central", "users", "uses", "affected", "tests"]
QUESTIONS: tuple[Question, ...] = get_args(Question)
TOKENS, TOKENS_MIN = 1_000, 50
LINKS_MAX = 300
NEAR_NAMES_MAX = 5


class MapAnswer(Value):
    """What the map says to a question."""

    question: Question
    about: tuple[Place, ...] = ()
    """What was asked about: the symbols or files of a name, or what is changed and not committed."""
    uses: tuple[Use, ...] = ()
    """For users and uses: who, or what."""
    reached: tuple[Reached, ...] = ()
    """For affected and tests: what a change may reach."""
    files: tuple[MapFile, ...] = ()
    """For central: the files that matter most."""
    tokens: int = 0
    left_out: int = 0
    """How many files are not named for lack of tokens."""
    links: tuple[MapLink, ...] = ()
    """Who uses what among what is named here."""
    files_mapped: int = 0
    not_mapped: int = 0
    """How many files there was no time for; the next question goes on with them."""


@checked
def ask(
    workspace: Workspace, question: str = "central", name: str = "", *, task: str = "", tokens: int = TOKENS,
    session: str = "", seconds: float = 0.0, progress: Progress | None = None,
) -> MapAnswer:  # fmt: skip
    """Bring the map up to date, for at most so many seconds (0: until it is done), and ask it.

    ``central`` takes a ``task`` in words and a budget in ``tokens``; without a task it is about the newest
    run of a session, or of this working tree. The others take the ``name`` of a symbol or a file;
    ``affected`` and ``tests`` without one are about what is changed and not committed."""
    if question not in QUESTIONS:
        raise UsageError(f"the map cannot answer {question}", hint=f"ask for one of {', '.join(QUESTIONS)}")
    code = code_map(workspace)
    update = code.update(seconds=seconds, progress=progress)
    graph = CodeGraph(code.files())
    if question == "central":
        if tokens < TOKENS_MIN:
            raise BudgetTooSmall(f"a map needs at least {TOKENS_MIN} tokens", hint="segue map --tokens 1000")
        return _central(graph, central_files(workspace, graph, task, tokens, session), update)
    if question in ("users", "uses") and not name:
        raise UsageError("which symbol or file?", hint=f"segue map {question} NAME")
    asked = _named(graph, name) if name else _changed(code, graph)
    about = tuple(place_of(graph, one) for one in asked)
    answer = MapAnswer(question, about, files_mapped=update.files, not_mapped=update.left)
    if question in ("users", "uses"):
        found = users_of(graph, asked) if question == "users" else uses_of(graph, asked)
        links = _links_of_uses(about, found, question)
        return _with(answer, uses=tuple(found), links=links)
    reached = reached_from(graph, asked)
    if question == "tests":
        reached = only_tests(reached)
    links = tuple(MapLink(label(one.place), one.through, one.sure) for one in reached[:LINKS_MAX])
    return _with(answer, reached=tuple(reached), links=links)


def central_files(
    workspace: Workspace, graph: CodeGraph, task: str, tokens: int, session: str = ""
) -> CentralFiles:
    """The files that matter most for a task, or without one for the newest run."""
    touched: dict[str, float] = {}
    if not task:
        state = workspace.repository.state(session) if session else None
        runs = summary_of_session(workspace, state)
        root = os.fspath(workspace.working_tree.root)
        for digest in runs.digests[:1]:
            touched = touched_files(digest, root, graph.files.keys())
        task = task_text(state, runs.digests)
    return central(graph, touched, task, tokens)


def _central(graph: CodeGraph, found: CentralFiles, update: MapUpdate) -> MapAnswer:
    shown = {file.path for file in found.files}
    pairs: dict[tuple[str, str], bool] = {}
    for edge in graph.edges:
        pair = graph.nodes[edge.user].path, graph.nodes[edge.used].path
        if pair[0] != pair[1] and pair[0] in shown and pair[1] in shown:
            pairs[pair] = pairs.get(pair, False) or edge.sure
    links = tuple(MapLink(user, used, sure) for (user, used), sure in list(pairs.items())[:LINKS_MAX])
    return MapAnswer(
        "central", files=found.files, tokens=found.tokens, left_out=found.left_out, links=links,
        files_mapped=update.files, not_mapped=update.left,
    )  # fmt: skip


def _with(answer: MapAnswer, **values: object) -> MapAnswer:
    from msgspec.structs import replace

    return replace(answer, **values)


def _named(graph: CodeGraph, name: str) -> list[int]:
    found = meant(graph, name)
    if found:
        return found
    last = name.rpartition(".")[2].rpartition(":")[2].lower()
    near = [known for known in graph.by_name if last and last in known.lower()][:NEAR_NAMES_MAX]
    hint = f"similar names: {', '.join(near)}" if near else "`segue map` shows what matters here"
    raise UsageError(f"nothing here is called {name}", hint=hint)


def _changed(code: CodeMap, graph: CodeGraph) -> list[int]:
    """What is changed and not committed."""
    return changed_nodes(graph, {path: one.places for path, one in code.edited().items()})


def label(place: Place) -> str:
    """A place in a word."""
    return place.name or place.path


def _links_of_uses(about: Sequence[Place], found: Iterable[Use], question: str) -> tuple[MapLink, ...]:
    here = label(about[0]) if about else ""
    ends = [(label(use.place), here, use.sure) for use in found]
    if question == "uses":
        ends = [(used, user, sure) for user, used, sure in ends]
    return tuple(dict.fromkeys(MapLink(*end) for end in ends if end[0] != end[1]))[:LINKS_MAX]


def nodes_of(answer: MapAnswer) -> list[str]:
    """What a picture of an answer shows even where nothing is linked."""
    return [*(file.path for file in answer.files), *map(label, answer.about)]


def map_for_restoration(
    workspace: Workspace, session: str, tokens: int, seconds: float, lines_max: int
) -> CentralFiles | None:
    """The map for whoever resumes, if it was computed before and is up to date soon; else None."""
    if not workspace.home.map_of(workspace.working_tree.root).exists():
        return None
    try:
        code = code_map(workspace)
        if code.update(seconds=seconds).left:
            return None
        files = code.files()
        if sum(one.lines for one in files.values()) > lines_max:
            return None
        return central_files(workspace, CodeGraph(files), "", tokens, session)
    except (SegueError, OSError):
        return None
