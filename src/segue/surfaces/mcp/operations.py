"""What each tool does: it reads the arguments, calls a service, and returns the result as an object.

An object is what the command of the same operation prints with ``--json``. Texts are taken as they are,
except ``-``: on a command line it stands for standard input, and a model has none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.base.values import Value
from ...core.sessions import commands as do
from ...core.sessions.checkpoint import Checkpoint, commands
from ...core.sessions.ledger_commands import ADDED, added_kind
from ...errors import UsageError
from .. import render
from .tools import Arguments, Tool

if TYPE_CHECKING:
    from ...api.segue import Segue

TYPE, LIMIT = "standard", 10
"""The default type of a memory, and how many memories are found by default."""
AROUND, STEP_CHARS = 2, 2_000
"""How many steps are shown before and after one that was found, and how much of each text."""
MAP_TOKENS, MAP_SECONDS = 1_000, 20.0
"""The budget of a map if none is given, and how long a model waits for it to be brought up to date."""


READING = ("list", "show", "bootstrap", "pressure", "check", "habits", "stats")
"""Actions that only read."""
TEXTS = ("done", "begin", "add", "unblock", "ask", "learn", "error")
PAIRS = ("block", "drop", "decide", "answer", "thread", "solved")


class ToolCall(Value):
    """A call of a tool: where it works, on which session, with which arguments."""

    segue: Segue
    session: str
    """Its id; empty for the one that is current."""
    given: Arguments

    def text(self, name: str) -> str:
        """An argument as text; empty if it was not given."""
        found = str(self.given.get(name) or "")
        return "" if found == "-" else found

    def texts(self, name: str) -> list[str]:
        return list(self.given.get(name) or ())


def stores_nothing(tool: Tool, given: Arguments) -> bool:
    """Whether a call only reads."""
    if tool.name == "plan":
        return not _changes_plan(given)
    return tool.name in ("recall", "search", "since", "map") or given.get("action") in READING


def _changes_plan(given: Arguments) -> bool:
    return any(value not in ([], {}) for value in given.values())


def perform(tool: Tool, call: ToolCall) -> Any:
    """Carry out a call and return its result."""
    return _OPERATIONS[tool.name](call)


def begin(call: ToolCall, id: str = "") -> Any:
    """Begin a session with the goal and the items of a plan."""
    from ...services.workspace.begin_session import begin_session

    done = begin_session(call.segue.workspace, call.text("goal"), items=call.texts("add"), id=id)
    return render.started_object(done)


def _resume(call: ToolCall) -> Any:
    from ...services.resume.resume import resume

    return render.resumed_object(resume(call.segue.session(call.session), budget=call.given.get("budget")))


def _checkpoint(call: ToolCall) -> Any:
    commands = checkpoint_commands(call)
    saved = call.segue.session(call.session).apply(*commands)
    return render.saved_object(saved, **_known_pitfalls(call))


def _known_pitfalls(call: ToolCall) -> dict[str, Any]:
    """What mended the errors before that are told, if anything did."""
    if not call.texts("error"):
        return {}
    found = list(call.segue.pitfalls(call.texts("error")))
    return {"pitfalls": found} if found else {}


def _plan(call: ToolCall) -> Any:
    from ...services.resume.watched_status import notices_of_session
    from ...services.runs.sessions_shown import known_status

    if _changes_plan(call.given):
        return _checkpoint(call)
    found = known_status(call.segue.session(call.session))
    return render.status_object(found, notices_of_session(call.segue.workspace, found.status.id))


def checkpoint_commands(call: ToolCall) -> list[do.Command]:
    """The commands for the arguments of a checkpoint or of a plan."""
    fields: dict[str, Any] = {name: call.given.get(name) for name in ("focus", "summary", "goal", "name")}
    fields["note"] = call.text("note") if "note" in call.given else None
    fields |= {name: tuple(call.texts(name)) for name in TEXTS}
    fields |= {name: tuple((call.given.get(name) or {}).items()) for name in PAIRS}
    fields |= {name: bool(call.given.get(name)) for name in ("stay", "new")}
    return commands(Checkpoint(**fields))


def _feature(call: ToolCall) -> Any:
    features, action = call.segue.session(call.session).features, call.given["action"]
    name = str(call.given.get("name") or "")
    if action == "list":
        return features.list("")
    if action == "verify":
        return render.verified_object(features.verify([name] if name else []))
    if not name:
        raise UsageError("which feature?", hint=f"segue feature {action} NAME")
    match action:
        case "show":
            return render.feature_object(features, name)
        case "begin":
            return render.saved_object(features.begin(name))
        case "block":
            return render.saved_object(features.block(name, call.text("text")))
        case "fail":
            return render.saved_object(features.mark_failed(name, call.text("text")))
    text = call.text("text")
    if not text.strip():
        raise UsageError("a feature needs a description", hint='segue feature add NAME "what must work"')
    saved = features.add(
        name, text, steps=call.texts("steps"), checks=call.texts("checks"), covers=call.texts("covers")
    )
    return render.saved_object(saved, feature=features.get(name))


def _ledger(call: ToolCall) -> Any:
    given, action = call.given, call.given["action"]
    if action == "list":
        return call.segue.ledger(call.session).shown(all=bool(given.get("all")), kind=call.text("kind"))
    ledger, ids = call.segue.session(call.session).ledger, call.texts("ids")
    match action:
        case "add":
            kind = added_kind(call.text("kind"))
            if kind is None:
                raise UsageError("what should be added?", hint=f"segue ledger add {'|'.join(ADDED)} TEXT")
            saved = ledger.add(kind, call.text("text"))
        case "edit":
            if len(ids) != 1:
                raise UsageError("which entry, and what should it say?", hint="segue ledger edit ID TEXT")
            saved = ledger.edit(ids[0], call.text("text"))
        case "drop":
            saved = ledger.drop(*ids, why=call.text("text"))
        case _:
            saved = ledger.done(*ids) if action == "done" else ledger.reopen(*ids)
    pending = getattr(saved, "pending", False)
    return render.saved_object(saved, entries=[] if pending else ledger.changed(saved))


def _remember(call: ToolCall) -> Any:
    return call.segue.remember(
        call.text("text"), type=call.given.get("type", TYPE), scope=call.given.get("scope", ""),
        session=call.session,
    )  # fmt: skip


def _recall(call: ToolCall) -> Any:
    query = str(call.given["query"])
    if not query.strip():
        raise UsageError("the query is empty", hint="`segue recall '*'` lists memories of all kinds")
    kind = call.given.get("type")
    found = call.segue.recall(
        query, top_k=call.given.get("limit", LIMIT), types=None if kind is None else [kind]
    )
    from ...services.memories.reader import count_search

    count_search(call.segue.workspace)
    return [render.recalled_object(one) for one in found]


def _search(call: ToolCall) -> Any:
    step = call.text("step")
    if step:
        from ...services.search.found_step import found_step

        return render.steps_object(found_step(call.segue.workspace, step, AROUND).steps, STEP_CHARS)
    if not call.text("query").strip():
        raise UsageError("the query is empty", hint='segue search "expired token"')
    within = call.text("in")
    return call.segue.search(
        call.text("query"), project=".", within=[within] if within else (),
        failed=bool(call.given.get("failed")),
    )  # fmt: skip


def _map(call: ToolCall) -> Any:
    given = call.given
    return render.plain(
        call.segue.map(
            given.get("question", "central"), call.text("name"), task=call.text("task"),
            tokens=given.get("tokens", MAP_TOKENS), session=call.session, seconds=MAP_SECONDS,
        )
    )  # fmt: skip


def _since(call: ToolCall) -> Any:
    return render.delta_object(call.segue.since(call.session, start=call.given.get("from", "")))


def _handoff(call: ToolCall) -> Any:
    session = call.segue.session(call.session)
    return render.handed_object(session.hand_off(call.given["to"], call.text("note")))


def _recovery(call: ToolCall) -> Any:
    given, segue = call.given, call.segue
    match given["action"]:
        case "prepare":
            reason = call.text("reason") or "user request"
            done = segue.prepare(
                call.session, reason=reason, transcript=_path(call, "transcript"), agent=call.text("agent")
            )
            return render.prepared_object(done)
        case "bootstrap":
            return segue.bootstrap(path=_path(call, "manifest"), checks=given.get("checks", True))
        case "pressure":
            return segue.pressure(tokens_used=given.get("tokens"))
        case "habits":
            return segue.habits()
        case "stats":
            return segue.stats()
    return _handover_check(segue, call.session)


def _path(call: ToolCall, name: str) -> Path | None:
    """A file that the model named, from the folder of the work."""
    named = call.text(name)
    return call.segue.workspace.folder / Path(named).expanduser() if named else None


def _handover_check(segue: Segue, session: str) -> Any:
    from ...core.handover.record import steps_of
    from ...handover import quick
    from ...handover.flow import Handover

    workspace = segue.workspace
    found = quick.check(["--folder", str(workspace.folder)], workspace.environment)
    if found is None:
        return render.handover_check_object(Handover(segue, session).standing())
    code, record = found
    return {"code": code, "status": record["status"], "steps": steps_of(record)}


_OPERATIONS: dict[str, Callable[[ToolCall], Any]] = {
    "resume": _resume, "checkpoint": _checkpoint, "plan": _plan, "feature": _feature, "remember": _remember,
    "recall": _recall, "search": _search, "map": _map, "since": _since, "handoff": _handoff,
    "recovery": _recovery, "ledger": _ledger,
}  # fmt: skip
