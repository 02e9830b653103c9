"""`segue` alone: where you are, and what fits next."""

from __future__ import annotations

from ....core.runs.identifiers import short_run
from ....services.brief.overview import LastRun, LocatedWork, Overview, overview_of
from ...render import Style, ago, count, one_line, pad, plain, shown
from ..context import CommandContext
from ..views.session import View, feature_rows, header, numbered, plan_rows

ABOUT = "Segue: the next run of your coding agent knows where the last one stopped"


def overview(context: CommandContext) -> int:
    """Say where the work in this folder stands and which commands fit; exit 0 whatever it is."""
    found = context.looked(lambda segue: overview_of(segue.workspace), "the agents' files")
    known = found.overview
    if known.as_of:
        waits = f", with {count(known.pending, 'pending change')}" if known.pending else ""
        context.warn(f"the server cannot be reached; it was last seen {ago(known.as_of)}{waits}")
    return context.report(plain(known), *overview_lines(found, context.style))


def overview_lines(found: LocatedWork, style: Style) -> list[str]:
    """The project, its current session, the last run, what waits, and commands that fit."""
    known = found.overview
    where = f"{style.paint(one_line(known.project), 'bold')}  {style.paint(one_line(known.folder), 'dim')}"
    if known.is_empty:
        nothing = f"nothing is known about {one_line(known.folder)} yet"
        hint = ["start your agent as always: Segue takes in what it does"] if known.is_set_up else []
        return [ABOUT, nothing, *hint, *_elsewhere(known), "", *_suggested(known, style)]
    view = View(style)
    if known.session is not None:
        plan_rows(view, known.session, numbered(found.state), only_open=True)
        feature_rows(view, known.session, most=3)
    elif known.sessions:
        dot = f" {style.mark('dot')} "
        rows = [
            ("", dot.join((one_line(card.id), card.status, ago(card.last_active), shown(card.goal))))
            for card in known.sessions
        ]
        view.rows("Open", rows)
    if known.run is not None:
        view.fact("Last run", run_words(known.run))
    view.rows("For you", [("!", one_line(text)) for text in known.waits], colour="yellow")
    head = [*header(known.session, style), ""] if known.session is not None else []
    return [where, "", *head, *view.lines, *([""] if view.lines else []), *_suggested(known, style)]


def _elsewhere(known: Overview) -> list[str]:
    if known.elsewhere is None:
        return []
    runs, agents = count(known.elsewhere.runs, "run"), count(known.elsewhere.agents, "agent")
    return [f"{runs} of {agents} on this machine: `segue runs --all`"]


def run_words(run: LastRun) -> str:
    """An agent's run in a line: which, when, and how it ended."""
    ended = {"waiting": "waiting for you", "alive": "at work", "recent": ""}.get(run.ended, run.ended)
    facts = [f"{run.agent} {one_line(short_run(run.id))}", ago(run.last), ended]
    goal = f": {shown(run.goal)}" if run.goal else ""
    return ", ".join(filter(None, facts)) + goal


def _suggested(known: Overview, style: Style) -> list[str]:
    width = max((len(one.command) for one in known.suggestions), default=0)
    return [
        f"  {style.paint(pad(one.command, width), 'cyan')}   {style.paint(one_line(one.about), 'dim')}"
        for one in known.suggestions
    ]
