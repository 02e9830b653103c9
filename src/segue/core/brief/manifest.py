"""The brief as JSON, called the recovery manifest, within the same budget.

It has every key, unless the budget is too small for empty ones besides goal, work, next step and blockers.
Facts are added in the order of importance, each shortened to a line, until the next one does not fit. The
bootstrap instructions name the command that shows what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from ...errors import BudgetTooSmall
from ..base.page import cut, plain, size
from ..runs.brief_text import ASKED_BY_USER
from ..runs.model import Failure
from ..runs.window_pressure import window_of
from .compose import BYTES_DEFAULT, BYTES_MIN
from .facts import BriefFacts
from .manifest_words import (
    LINE_BYTES,
    Workplace,
    current_work,
    environment_status,
    files_of_run,
    instructions,
    last_command,
    modified_files,
    pending_calls,
)

FILES_MAX = 8
TOKEN_BYTES = 4  # a low estimate of the bytes of a token in English and code


class Metadata(msgspec.Struct, kw_only=True):
    """What the manifest is about."""

    project: str = ""
    goal: str = ""
    phase: str = ""
    timestamp: str = ""
    context_usage_before: float = 0.0  # the fraction of the context window that was used


class Pending(msgspec.Struct, kw_only=True):
    """Work that is open."""

    task: str
    priority: Literal["HIGH", "MEDIUM", "LOW"] = "MEDIUM"
    status: Literal["in_progress", "pending", "blocked"] = "pending"
    context: str = ""


class Active(msgspec.Struct, kw_only=True):
    """What the run was doing when it stopped."""

    current_work: str = ""
    last_file_modified: str = ""
    last_command_run: str = ""
    environment_status: str = ""


class Critical(msgspec.Struct, kw_only=True):
    """What must not be forgotten."""

    key_decisions: list[str] = []
    important_findings: list[str] = []
    blockers: list[str] = []
    next_steps: list[str] = []
    standing_instructions: list[str] = []


class Pointers(msgspec.Struct, kw_only=True):
    """Where to find more."""

    project_state_file: str = ""
    session_logs: list[str] = []
    modified_files: list[str] = []
    git_branch: str = ""


class Compression(msgspec.Struct, kw_only=True):
    """How much was condensed, in estimated tokens before and after."""

    original_tokens: int = 0
    compressed_tokens: int = 0
    compression_ratio: float = 0.0  # the fraction that was saved


class Preparation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why the manifest was prepared, and in which environment, so that a bootstrap can compare."""

    reason: str = ""
    session: str = ""
    key: str = ""  # the key of the project
    host: str = ""
    folder: str = ""
    head: str = ""
    tools: list[str] = []
    interpreter: str = ""
    locks: dict[str, str] = {}  # the hash of each lock file
    checks: list[str] = []  # features whose checks had passed
    done: int = 0  # how many items were done and not done, also those that had no room
    pending: int = 0


class Manifest(msgspec.Struct, kw_only=True):
    """The recovery manifest."""

    session_metadata: Metadata = msgspec.field(default_factory=Metadata)
    completed_tasks: list[str] = []
    pending_tasks: list[Pending] = []
    active_state: Active = msgspec.field(default_factory=Active)
    critical_context: Critical = msgspec.field(default_factory=Critical)
    memory_pointers: Pointers = msgspec.field(default_factory=Pointers)
    bootstrap_instructions: list[str] = []
    context_compression_metrics: Compression = msgspec.field(default_factory=Compression)
    prepared: Preparation | msgspec.UnsetType = msgspec.UNSET


def schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    result: dict[str, Any] = msgspec.json.schema(Manifest)
    return result


USUAL_BYTES = 1_980
"""What a manifest takes at most of the usual budget, so that it has fewer than 500 tokens."""
METRICS = Compression(original_tokens=99_999_999, compressed_tokens=9_999, compression_ratio=0.9999)
TASKS_MAX, JOINED_BYTES = 24, 300
REQUEST_BYTES_MIN = 100  # of a request besides the goal
CHOICES_FIRST = 2  # of the user and of agents, told before tasks and files
TIGHT_BYTES = 1_200  # below this, empty keys would take most of the budget


class _Sheet:
    """A manifest that is being filled within a budget."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.sheet: dict[str, Any] = {}
        if budget >= TIGHT_BYTES:
            self.sheet = msgspec.to_builtins(Manifest(context_compression_metrics=METRICS))

    def bytes(self) -> int:
        return len(msgspec.json.encode(self.sheet))

    def set(self, part: str, key: str, text: str, most: int = LINE_BYTES) -> None:
        """Set a field, shortened as far as necessary, if it fits."""
        before = self.sheet.get(part)
        for length in (most, most // 2, 40):
            short = cut(text, length)
            if short:
                self.sheet[part] = {**(before or {}), key: short}
                if self.bytes() <= self.budget:
                    return
        if before is None:
            self.sheet.pop(part, None)
        else:
            self.sheet[part] = before

    def put(self, part: str, key: str, value: float) -> None:
        """Set a number, if it fits."""
        before = self.sheet.get(part)
        self.sheet[part] = {**(before or {}), key: value}
        if self.bytes() <= self.budget:
            return
        if before is None:
            del self.sheet[part]
        else:
            self.sheet[part] = before

    def add(self, path: tuple[str, ...], value: Any) -> bool:
        """Append to a list, and return whether it fits."""
        part, key = path[0], path[-1]
        if isinstance(value, str):
            value = plain(value)
        before = self.sheet.get(part)
        if len(path) == 1:
            self.sheet[part] = [*(before or []), value]
        else:
            self.sheet[part] = {**(before or {}), key: [*(before or {}).get(key, []), value]}
        if self.bytes() <= self.budget:
            return True
        if before is None:
            del self.sheet[part]
        else:
            self.sheet[part] = before
        return False


def manifest(
    facts: BriefFacts, budget: int = BYTES_DEFAULT, more: str = "", place: Workplace | None = None
) -> bytes:
    """The manifest as JSON in at most ``budget`` bytes. ``more`` is the command that shows what was left out,
    ``place`` what is known of the place of work. Raises BudgetTooSmall below ``BYTES_MIN``."""
    if budget < BYTES_MIN:
        raise BudgetTooSmall(
            f"a manifest needs at least {BYTES_MIN} bytes, not {budget}",
            hint=f"use --max-bytes {BYTES_MIN} or more",
        )
    sheet = _Sheet(min(budget, USUAL_BYTES) if budget <= BYTES_DEFAULT else budget)
    place = place or Workplace()
    fills = (
        _essential, _heading, _said, _tasks, _bootstrap(more), _state, _context, _pointers, _completed,
        _findings,
    )  # fmt: skip
    for fill in fills:
        fill(sheet, facts, place)
    _inferred(sheet, facts)
    return _measured(sheet, facts)


def prepared(
    facts: BriefFacts, about: Preparation, budget: int = BYTES_DEFAULT, more: str = "",
    place: Workplace | None = None,
) -> bytes:  # fmt: skip
    """The manifest with the facts of its preparation, which are shortened first if there is little room."""
    budget = min(budget, USUAL_BYTES) if budget <= BYTES_DEFAULT else budget
    more_asked = sum(one.entry.relation != "asks" for one in facts.standing.requests[1:])
    about = msgspec.structs.replace(about, done=len(facts.plan_done), pending=len(facts.plan) + more_asked)
    for kept in _shorter(msgspec.convert(_cleaned(msgspec.to_builtins(about)), Preparation)):
        tail = b',"prepared":' + msgspec.json.encode(kept) + b"}"
        if budget - len(tail) >= max(BYTES_MIN, budget * 2 // 3):
            return manifest(facts, budget - len(tail), more, place)[:-1] + tail
    return manifest(facts, budget, more, place)


def _shorter(about: Preparation) -> Iterable[Preparation]:
    yield about
    yield msgspec.structs.replace(about, locks={}, tools=about.tools[:3], checks=about.checks[:2])
    yield Preparation(
        reason=cut(about.reason, 40), session=about.session, folder=about.folder, done=about.done,
        pending=about.pending,
    )  # fmt: skip


def read(body: bytes) -> Manifest | None:
    """A manifest, written by Segue or by somebody else; None if it is not one.

    Values of the wrong type are ignored, because people write these files by hand, too.
    """
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    raw = _cleaned(raw)
    if not isinstance(raw, dict) or not raw.keys() & set(Manifest.__struct_fields__):
        return None
    result = Manifest()
    for field in msgspec.structs.fields(Manifest):
        if field.name in raw:
            value = _lenient(raw[field.name], field.name, field.type)
            setattr(result, field.name, value if value is not None else getattr(result, field.name))
    return result


def _cleaned(value: Any) -> Any:
    """The value without control characters in any of its texts."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(str(key)): _cleaned(one) for key, one in value.items()}
    return [_cleaned(one) for one in value] if isinstance(value, list) else value


def _lenient(value: Any, name: str, kind: Any) -> Any:
    if name in ("completed_tasks", "bootstrap_instructions"):
        return [_text(one) for one in value if _text(one)] if isinstance(value, list) else None
    if name == "pending_tasks":
        return [one for one in map(_pending, value) if one.task] if isinstance(value, list) else None
    struct = {"prepared": Preparation}.get(name, kind)
    if not isinstance(value, dict):
        return None
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        raw = value.get(field.name)
        try:
            fields[field.name] = msgspec.convert(raw, field.type, strict=False)
        except msgspec.MsgspecError:
            if field.type == list[str] and isinstance(raw, list):
                fields[field.name] = [_text(one) for one in raw if _text(one)]
    return struct(**fields)


def _pending(value: Any) -> Pending:
    if not isinstance(value, dict):
        return Pending(task=_text(value))
    result = Pending(
        task=_text(value.get("task") or value.get("description") or ""),
        context=_text(value.get("context") or ""),
    )
    for key, case in (("priority", "upper"), ("status", "lower")):
        word = getattr(str(value.get(key, "")), case)()
        if word in _WORDS[key]:
            setattr(result, key, word)
    return result


_WORDS = {"priority": ("HIGH", "MEDIUM", "LOW"), "status": ("in_progress", "pending", "blocked")}


def _text(value: Any) -> str:
    """An element of a list as text: a text, a number, or the first text of an object."""
    if isinstance(value, dict):
        value = next((one for one in value.values() if isinstance(one, str)), "")
    return plain(value) if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _measured(sheet: _Sheet, facts: BriefFacts) -> bytes:
    """The JSON of the manifest with its keys in order, and with its metrics if they fit."""
    values = {key: sheet.sheet[key] for key in Manifest.__struct_fields__ if key in sheet.sheet}
    original = max(1, facts.chars // TOKEN_BYTES)
    after = -(-sheet.bytes() // TOKEN_BYTES)
    saved = round(max(0.0, 1 - after / original), 4)
    values["context_compression_metrics"] = msgspec.to_builtins(
        Compression(original_tokens=original, compressed_tokens=after, compression_ratio=saved)
    )
    body = msgspec.json.encode(values)
    if len(body) > sheet.budget:
        del values["context_compression_metrics"]
        body = msgspec.json.encode(values)
    return body


def level(costs: list[int], room: float) -> float:
    """The most that each may take so that all fit; those that need less leave the rest to the others."""
    left = room
    for taken, cost in enumerate(sorted(costs)):
        if cost * (len(costs) - taken) >= left:
            return left / (len(costs) - taken)
        left -= cost
    return max([*costs, room])


Fill = Callable[[_Sheet, BriefFacts, Workplace], None]


def _essential(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    """Goal, work, next step and what is failing. If not all of it fits, each gets a fair share."""
    todo = [task.text for task in facts.plan if task.state == "next"][:1]
    checks = [f"check whether {one} completed" for one in pending_calls(facts)]
    todo = [*checks, *todo] if sheet.budget >= TIGHT_BYTES else (todo or checks)[:1]
    work = current_work(facts) or next(iter(todo), "") or facts.goal
    failing = [_failing(failure) for failure in facts.failing[:2]]
    texts = [facts.goal, work, *todo, *failing[:1]]
    keys = 126 if sheet.budget < TIGHT_BYTES else 8
    room = int(level([_cost(text) for text in texts], sheet.budget - sheet.bytes() - keys))
    sheet.set("session_metadata", "goal", facts.goal, min(room, max(LINE_BYTES, sheet.budget // 6)))
    sheet.set("active_state", "current_work", work, min(room, LINE_BYTES))
    for text in todo:
        sheet.add(("critical_context", "next_steps"), cut(text, min(room, LINE_BYTES)))
    for text in failing:
        sheet.add(("critical_context", "blockers"), cut(text, min(room, LINE_BYTES + 40)))


def _failing(failure: Failure) -> str:
    """What failed, and why, as a quotation whose text cannot close it."""
    if failure.what == failure.why:
        return failure.what
    why = cut(failure.why.replace("\n", " / ").replace("'", "`"), LINE_BYTES)
    return f"{failure.what} failed: '{why}'"


def _cost(text: str) -> int:
    """The length of a text in JSON, in bytes."""
    return len(msgspec.json.encode(" ".join(text.split())))


def _heading(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    meta = "session_metadata"
    if facts.when:
        stamp = datetime.fromtimestamp(facts.when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        sheet.set(meta, "timestamp", stamp, 24)
    sheet.set(meta, "project", facts.project, 60)
    total = f", {len(facts.plan_done)} of {facts.plan_total} done" if facts.plan_total else ""
    phase = f"{facts.status or 'stopped'}{total}"
    sheet.set(meta, "phase", f"{place.phase} ({phase})" if place.phase else phase, 100)
    if facts.context:
        known = place.window or window_of(facts.model, said=facts.window, seen=facts.context).tokens
        sheet.put(meta, "context_usage_before", round(facts.context / known, 3))


def _said(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    """What was said and holds: the requests besides the goal, rules, and the newest choices."""
    asked = [
        {"task": text, "priority": "HIGH", "status": "pending", "context": ASKED_BY_USER}
        for text in _more_requests(sheet, facts)
    ]
    room = (sheet.budget - sheet.bytes()) // (2 if len(facts.plan) < 3 else 3)
    for row in _fitting_rows(asked, room):
        sheet.add(("pending_tasks",), row)
    goal = sheet.sheet.get("session_metadata", {}).get("goal", "")
    _fill(sheet, "standing_instructions", [rule for rule in facts.rules if rule not in goal], 8)
    _fill(sheet, "key_decisions", [*facts.decided[:CHOICES_FIRST], *facts.chosen[:CHOICES_FIRST]], 4)


def _tasks(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    states: dict[str, Any] = {
        "active": ("HIGH", "in_progress"),
        "next": ("MEDIUM", "pending"),
        "blocked": ("LOW", "blocked"),
    }
    rows: list[dict[str, str]] = []
    for at, task in enumerate(facts.plan[:TASKS_MAX]):
        priority, status = states[task.state]
        if task.state == "next" and at > 5:
            priority = "LOW"
        text, context = cut(task.text, LINE_BYTES), cut(task.reason, 80)
        rows.append({"task": text, "priority": priority, "status": status, "context": context})
    for row in _fitting_rows(rows, sheet.budget - sheet.bytes()):
        sheet.add(("pending_tasks",), row)
    for task in facts.plan:
        if task.state == "blocked":
            sheet.add(("critical_context", "blockers"), cut(f"{task.text}: {task.reason}", LINE_BYTES))


def _fitting_rows(rows: list[dict[str, str]], room: int) -> list[dict[str, str]]:
    """The rows; where there is no room for all, the last ones are named together in one."""
    for joined in range(len(rows)):
        last = rows[len(rows) - joined - 1 :]
        text = cut("; ".join(row["task"] for row in last), JOINED_BYTES) if joined else last[0]["task"]
        shown = [*rows[: len(rows) - joined - 1], {**last[0], "task": text}]
        if sum(len(msgspec.json.encode(row)) + 1 for row in shown) <= room:
            return shown
    return rows[:1]


def _more_requests(sheet: _Sheet, facts: BriefFacts) -> list[str]:
    """The open requests besides the goal, the oldest first, each cut so that all of them have room."""
    goal = sheet.sheet.get("session_metadata", {}).get("goal", "")
    held = [one.text for one in facts.standing.requests if one.entry.relation != "asks"]
    texts = [text for text in held if not goal or not text.startswith(goal.rstrip("…")[:80])]
    most = max(REQUEST_BYTES_MIN, (sheet.budget - sheet.bytes()) // (4 * max(1, len(texts))))
    return [cut(text, most) for text in texts]


def _fill(sheet: _Sheet, key: str, texts: Iterable[str], most: int) -> None:
    """Add up to ``most`` lines to the critical context, unless they are in it already."""
    present = sheet.sheet.get("critical_context", {}).get(key, [])
    for text in [text for text in dict.fromkeys(texts) if cut(text, LINE_BYTES) not in present][:most]:
        if text and not sheet.add(("critical_context", key), cut(text, LINE_BYTES)):
            break


def _context(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    _fill(sheet, "key_decisions", [*facts.decided, *facts.chosen], 8)
    todo = [task.text for task in facts.plan if task.state == "next"]
    _fill(
        sheet, "next_steps", [f"check whether {one} completed" for one in pending_calls(facts)] + todo[:2], 2
    )
    if facts.latest:
        answers = facts.wanted.answers
        _fill(sheet, "next_steps", [f"the user said last: {facts.latest}"], 1)
        _fill(sheet, "next_steps", [f"which answers: {answers}"] if answers else [], 1)
    _fill(sheet, "blockers", [f"question: {one}" for one in facts.questions], 3)
    _fill(sheet, "blockers", [f"not proven: {one}" for one in facts.unproven], 3)
    _fill(sheet, "blockers", facts.notices, 2)
    for done in reversed(facts.plan_done[-2:]):
        sheet.add(("completed_tasks",), cut(done, 100))


def _findings(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    pitfalls = [f"pitfall: {one}" for one in facts.pitfalls]
    _fill(sheet, "important_findings", [*pitfalls, *facts.learnt, *facts.memories], 4)


def _inferred(sheet: _Sheet, facts: BriefFacts) -> None:
    """Claims of a model come last, in bytes that nothing observed needs, unless something says the same."""
    observed = [text for texts in sheet.sheet.get("critical_context", {}).values() for text in texts]
    known = " ".join(map(_letters, observed))
    for one in [claim for claim in facts.claims if _letters(claim.text) not in known][:4]:
        text = f"by a model ({one.trust}, {', '.join(one.evidence[:2])}): {one.text}"
        sheet.add(("critical_context", "important_findings"), cut(text, LINE_BYTES + 40))


def _letters(text: str) -> str:
    """A text without case, punctuation and the mark of a cut, to find the same said twice."""
    return "".join(char for char in text.lower() if char.isalnum())


def _state(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    sheet.set("active_state", "environment_status", environment_status(facts, place), 170)
    sheet.set("active_state", "last_command_run", last_command(facts), 160)
    sheet.set("active_state", "last_file_modified", next(iter(files_of_run(facts, place)), ""), 120)
    sheet.set("memory_pointers", "git_branch", facts.branch if place.has_git is not False else "", 60)
    for log in filter(None, (facts.run, place.transcript)):
        sheet.add(("memory_pointers", "session_logs"), log)


def _pointers(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    sheet.set("memory_pointers", "project_state_file", place.state_file, 200)
    for name in modified_files(facts, place)[:FILES_MAX]:
        if not sheet.add(("memory_pointers", "modified_files"), name):
            break


def _bootstrap(more: str) -> Fill:
    def fill(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
        number = 1
        for step in instructions(facts, place, more):
            number += sheet.add(("bootstrap_instructions",), f"{number}. {step}")

    return fill


def _completed(sheet: _Sheet, facts: BriefFacts, place: Workplace) -> None:
    commits = [commit.subject for commit in reversed(facts.tree.commits[-3:])]
    for done in [*reversed(facts.plan_done[-6:-2]), *commits]:
        short = cut(done, 100)
        if short not in sheet.sheet.get("completed_tasks", []) and not sheet.add(("completed_tasks",), short):
            break


def tokens(text: str) -> int:
    """A rough estimate of the tokens that a text takes."""
    return -(-size(text) // TOKEN_BYTES)
