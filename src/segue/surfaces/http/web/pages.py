"""Every page."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import cache
from mimetypes import guess_type
from pathlib import Path

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ...._files import read_bytes
from ....core.event_words import event_words
from ....core.ledger.groups import TITLES, entries_in
from ....core.ledger.model import SETTLED
from ....core.memories.model import TOP_K_MAX, TYPES
from ....core.search.kinds import GROUPS, KINDS
from ....core.search.query import parsed
from ....core.sessions.ledger_commands import FINISHED
from ....errors import UsageError
from ....services.features.features import Features
from ....services.handoff.readable import run_document, written
from ....services.memories.curation import deprecated
from ....services.overview.now import agent_title, agent_titles, now
from ....services.overview.run_view import PageWanted, folder_of_run, run_named_by_key, run_view
from ....services.overview.session_view import session_brief, session_view
from ....services.runs.listing import newest_runs, project_name_of
from ....services.runs.sessions_shown import list_sessions
from .actions import checks_of
from .figures_page import cost_words
from .page import (
    DECLARED,
    Declared,
    Download,
    Fields,
    Page,
    PageEndpoint,
    not_supported,
    number,
    one_of,
    page,
)
from .render import HEADERS, PREFIX, environment, unmarked
from .visitor import Door, Visitor

STATIC = Path(__file__).parent / "static"
SESSIONS_PAGE = 50
RUNS_PAGE, RUNS_PAGES_MAX = 50, 2_000
HITS_MAX = 20
MEMORIES_PAGE = 50
MEMORIES_PAGES_MAX = TOP_K_MAX // MEMORIES_PAGE
EVIDENCE_MAX = 12
SETTLED_MAX = 100
READABLE = {
    "html": ("HTML, to read", "html", "text/html"), "markdown": ("Markdown, to read", "md", "text/markdown"),
}  # fmt: skip
EXPORTS = {
    **READABLE, "json": ("JSON, all of it", "json", "application/json"),
    "yaml": ("YAML", "yaml", "application/yaml"),
}  # fmt: skip
"""The formats of a session as a file: in words, the ending of the file's name, and the content type."""
MENU = (
    ("", "Now"), ("/runs", "Runs"), ("/sessions", "Sessions"), ("/search", "Search"), ("/memory", "Memory"),
    ("/figures", "Figures"), ("/health", "Health"),
)  # fmt: skip
"""What every page links to, as far as it is declared."""
KIND_WORDS: dict[str, str] = {
    "prompt": "The user asked {}", "answer": "{} said", "thought": "{} thought", "command": "{} ran",
    "output": "What {} saw", "file": "{} wrote", "goal": "A goal", "item": "A plan", "note": "A note",
    "decision": "A decision", "memory": "A lesson", "handover": "A handover",
}  # fmt: skip
"""What a kind of text is, in words; the agent stands in the braces."""
STATUSES = ("active", "paused", "created", "completed", "abandoned")


@page("")
def show_now(visitor: Visitor, fields: Fields) -> Page:
    """What happens now."""
    stamp = visitor.stamp()
    with visitor.segue() as segue:
        found = now(segue.workspace)
    return Page("now.html", "Now", {"now": found, "agent_title": agent_title, "stamp": stamp})


@page("/sessions")
def show_sessions(visitor: Visitor, fields: Fields) -> Page:
    """All sessions, a page at a time."""
    status, project = one_of(fields, "status", STATUSES), fields.get("project", "")
    with visitor.segue() as segue:
        cards = list_sessions(segue.workspace, everywhere=True, status=status)
    projects = sorted({card.project_name or card.project for card in cards})
    shown = [card for card in cards if not project or project in (card.project_name, card.project)]
    pages = max(1, -(-len(shown) // SESSIONS_PAGE))
    at = min(max(1, number(fields, "page", 1)), pages)
    first = (at - 1) * SESSIONS_PAGE
    return Page("sessions.html", "Sessions", {
        "sessions": shown[first : first + SESSIONS_PAGE], "total": len(shown), "at": at, "pages": pages,
        "status": status, "project": project, "projects": projects, "statuses": STATUSES,
    })  # fmt: skip


@page("/runs")
def show_runs(visitor: Visitor, fields: Fields) -> Page:
    """The runs of all agents in all projects, a page at a time."""
    agent, sides = one_of(fields, "agent", [name for name, _ in agent_titles()]), bool(fields.get("sides"))
    at = min(max(1, number(fields, "page", 1)), RUNS_PAGES_MAX)
    with visitor.segue() as segue:
        listed = newest_runs(
            segue.workspace, agent=agent, everywhere=True, limit=RUNS_PAGE, first=(at - 1) * RUNS_PAGE,
            sides=sides,
        )  # fmt: skip
        shown = [(run, project_name_of(segue.workspace, run)) for run in listed.runs]
    return Page("runs.html", "Runs", {
        "runs": shown, "total": listed.total, "at": at, "pages": max(1, -(-listed.total // RUNS_PAGE)),
        "agent": agent, "agents": agent_titles(), "agent_title": agent_title, "sides": sides,
    })  # fmt: skip


@page("/session/{id}")
def show_session(visitor: Visitor, fields: Fields, id: str) -> Page:
    """One session."""
    stamp = visitor.stamp(id)
    with visitor.segue() as segue:
        view = session_view(
            segue.workspace, id, before=number(fields, "before"), first=number(fields, "first")
        )
    with visitor.segue(view.folder) as segue:
        told = session_brief(segue.workspace, id)
        kept = segue.attach(id).features
        features = [(one, _evidence(kept, one.id)) for one in view.status.features]
        ledger = segue.ledger(id)
    groups = ledger.groups()
    shown = entries_in(groups)
    settled = [one for one in reversed(ledger.entries) if one.state in SETTLED and one.id not in shown]
    return Page("session.html", view.status.goal, {
        "view": view, "told": told, "features": features, "groups": groups, "titles": TITLES,
        "settled": settled[:SETTLED_MAX], "finished": FINISHED,
        "run_keys": {f"{run.agent}/{run.id}": run.key for run in view.runs},
        "agent_title": agent_title, "exports": EXPORTS, "checks": checks_of(id), "stamp": stamp,
    })  # fmt: skip


def _evidence(features: Features, id: str) -> list[tuple[str, str, str]]:
    """What speaks for or against a feature: when, who, and in words; the newest first."""
    told = [(event.at, event.actor, event_words(event)) for event, _ in features.history(id)]
    return told[: -1 - EVIDENCE_MAX : -1]


@page("/session/{id}/export")
def export_session(visitor: Visitor, fields: Fields, id: str) -> Download:
    """A session as a file."""
    form = one_of(fields, "format", EXPORTS) or "json"
    with visitor.segue() as segue:
        folder = session_view(segue.workspace, id).folder
    with visitor.segue(folder) as segue:
        content = segue.export(id, form)
    _, ending, media_type = EXPORTS[form]
    return Download(f"{id}.{ending}", content, media_type)


@page("/run/{key}")
def show_run(visitor: Visitor, fields: Fields, key: str) -> Page:
    """A page of a run."""
    wanted = PageWanted(
        number(fields, "after"), number(fields, "before"), number(fields, "step"),
        one_of(fields, "only", ("failed", *KINDS)),
    )  # fmt: skip
    stamp = visitor.stamp()
    with visitor.segue() as segue:
        folder = folder_of_run(segue.workspace, key)
    with visitor.segue(folder) as segue:
        view = run_view(segue.workspace, key, wanted)
    goal = view.run.goal if view.run is not None else ""
    title = unmarked(goal) or f"A run of {agent_title(view.source.agent)} without a prompt"
    return Page("run.html", title, {
        "view": view, "cost_words": cost_words, "wanted": wanted, "agent_title": agent_title,
        "session": view.run.session if view.run is not None else "", "exports": READABLE, "stamp": stamp,
        "follows": view.is_going and not (wanted.after or wanted.before or wanted.around),
    })  # fmt: skip


@page("/run/{key}/export")
def export_run(visitor: Visitor, fields: Fields, key: str) -> Download:
    """A run as a file to read."""
    form = one_of(fields, "format", READABLE) or "html"
    if not visitor.is_local:
        raise UsageError(
            "the transcript is on the machine where the agent ran", hint="`segue export RUN` there writes it"
        )
    with visitor.segue() as segue:
        run = run_named_by_key(segue.workspace, key)
        content = written(run_document(segue.workspace, run), form)
    _, ending, media_type = READABLE[form]
    return Download(f"{run.id}.{ending}", content, media_type)


def _has_words(question: str) -> bool:
    """Whether there is something to search for: whoever types begins with a quotation mark, or a sign."""
    try:
        return bool(parsed(question))
    except UsageError:
        return False


@page("/search")
def show_search(visitor: Visitor, fields: Fields) -> Page:
    """What a question finds."""
    question, within = fields.get("q", "").strip(), one_of(fields, "in", GROUPS)
    asked = {name: fields.get(name, "").strip() for name in ("agent", "project", "since", "failed")}
    result, fault, goals = None, None, dict[str, str]()
    if _has_words(question):
        try:
            with visitor.segue() as segue:
                result = segue.search(
                    question, agent=asked["agent"], project=asked["project"], since=asked["since"],
                    within=[within] if within else [], failed=bool(asked["failed"]), limit=HITS_MAX,
                )  # fmt: skip
                wanted = {hit.session for hit in result.hits if hit.session}
                cards = segue.workspace.repository.cards() if wanted else []
                goals = {card.id: card.goal for card in cards if card.id in wanted}
        except UsageError as wrong:
            fault = wrong
    return Page("search.html", question or "Search", {
        "question": question, "within": within, "asked": asked, "groups": list(GROUPS), "result": result,
        "fault": fault, "agents": agent_titles(), "agent_title": agent_title, "goals": goals,
        "kinds": KIND_WORDS,
    }, fault.http_status if fault is not None else 200)  # fmt: skip


@page("/memory")
def show_memory(visitor: Visitor, fields: Fields) -> Page:
    """What was learnt."""
    question, kind = fields.get("q", "").strip(), one_of(fields, "type", TYPES)
    types = [kind] if kind else []
    shows_gone, at = bool(fields.get("gone")), min(max(1, number(fields, "page", 1)), MEMORIES_PAGES_MAX)
    wanted = at * MEMORIES_PAGE + 1  # one more says whether there is a next page
    with visitor.segue() as segue:
        if shows_gone:
            found = deprecated(segue.memories, types=types, limit=wanted)
        else:
            hits = segue.memories.search(question or "*", top_k=min(wanted, TOP_K_MAX), types=types or None)
            found = [hit.memory for hit in hits]
    shown = found[wanted - 1 - MEMORIES_PAGE : wanted - 1]
    return Page("memory.html", "Memory", {
        "found": shown, "question": question, "kind": kind, "types": list(TYPES), "shows_gone": shows_gone,
        "at": at, "has_more": len(found) == wanted and at < MEMORIES_PAGES_MAX,
    })  # fmt: skip


@page("/health")
def show_health(visitor: Visitor, fields: Fields) -> Page:
    """What the doctor finds."""
    return Page("health.html", "Health", {"findings": visitor.health()})


# -- files -------------------------------------------------------------------------------------


@cache
def _static(name: str) -> tuple[bytes, str] | None:
    if name not in os.listdir(STATIC):
        return None
    return read_bytes(STATIC / name), guess_type(name)[0] or "text/plain"


async def static_file(scope: Scope, receive: Receive, send: Send) -> None:
    """A file that is part of the program: styles, scripts, licences."""
    if scope["method"] not in ("GET", "HEAD"):
        await not_supported(("GET",))(scope, receive, send)
        return
    found = _static(scope["path"].rpartition("/")[2])
    if found is None:
        response = Response("there is no such file", 404, HEADERS, "text/plain")
    else:
        headers = {**HEADERS, "cache-control": "public, max-age=3600"}
        response = Response(found[0], 200, headers, found[1])
    await response(scope, receive, send)


def endpoints(door: Door) -> dict[str, ASGIApp]:
    """Every page and action by its path, behind a door."""
    there = {one.path for one in DECLARED}
    environment().globals["menu"] = [
        (f"{PREFIX}{at}", words) for at, words in MENU if f"{PREFIX}{at}" in there
    ]
    paths: dict[str, list[Declared]] = defaultdict(list)
    for one in DECLARED:
        paths[one.path].append(one)
    made: dict[str, ASGIApp] = {path: PageEndpoint(door, some) for path, some in paths.items()}
    return {**made, f"{PREFIX}/static/{{name}}": static_file}
