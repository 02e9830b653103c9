"""Beginning and finding sessions, and choosing which one is current in a working tree."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.base.text import clean_name, clean_text, one_line
from ...core.ledger.model import Entry
from ...core.ledger.standing import rules_alone
from ...core.sessions.state import OPEN, TYPES
from ...effects.clock import now
from ...errors import (
    ConflictError,
    SegueError,
    SessionOver,
    StaleVersion,
    StoreUnavailable,
    UnknownSession,
    UsageError,
)
from ...stores.base import Append
from ..sessions.repository import stream_of
from .session_handle import SessionHandle
from .workspace import Workspace

if TYPE_CHECKING:
    from ...core.sessions.commands import Create

_ATTEMPTS_MAX = 100_000


def start_session(
    workspace: Workspace, goal: str, *, items: Iterable[str] = (), id: str = "", type: str = "",
    organization: str = "", project: str = "",
) -> SessionHandle:  # fmt: skip
    """Begin a session and make it the current one of the working tree. If ``id`` names an existing session of
    this project, that one becomes current instead. While the server cannot be reached, the session is begun
    as pending. Raises ConflictError for a session of another project, and SessionOver for one that is over
    and had another goal."""
    from ...core.sessions.commands import Create  # hooks only find sessions
    from ...core.sessions.ledger_commands import JoinLedger

    workspace.pause_file.check()
    if id and _exists(workspace, id):
        check_is_ours(workspace, id, project)
        if goal and one_line(goal) != one_line(workspace.repository.state(id).goal):
            check_is_open(workspace, id)
        return make_current(workspace, id)
    if id and is_archived(workspace, id):
        raise ConflictError(f"session {id} is archived", hint=_where_else(workspace, id))
    kind = type or workspace.settings.text("type")
    if kind not in TYPES:
        raise UsageError(f"unknown type of session: {kind}", hint="one of " + ", ".join(TYPES))
    mask, tree = workspace.repository.mask, workspace.working_tree
    text = clean_text(goal, what="goal", mask=mask).strip()
    if not text:
        missing = f"there is no session {id}, and a new one needs a goal" if id else "a session needs a goal"
        raise UsageError(missing, hint='for example: segue start "Refactor auth to JWT"')
    plan = tuple(t for t in (clean_text(i, what="item", mask=mask).strip() for i in items) if t)
    key, root_commit = (project, "") if project else tree.project_key(workspace.settings)
    create = Create(
        id=clean_name(id) if id else "", goal=text,
        organization=organization or workspace.settings.text("organization"), project=key, type=kind,
        project_name=tree.project_name(key), items=plan,
    )  # fmt: skip
    base = f"{time.strftime('%Y-%m-%d')}-{create.type}-{create.project_name}"
    before, rules = ("", []) if project else _rules_here(workspace)
    try:
        started = _create(workspace, create, base, root_commit)
        if rules:
            workspace.repository.commit(started.id, [JoinLedger(before, tuple(rules))])
        return started
    except StoreUnavailable as fault:
        waiting = workspace.start_offline(create, base, root_commit, fault)
        return SessionHandle(workspace, waiting, pending=True)


def _rules_here(workspace: Workspace) -> tuple[str, list[Entry]]:
    """The rules of the work before in this working tree, which hold for any work in it, with its session."""
    with suppress(SegueError):
        current = workspace.current_session()
        return current, rules_alone(workspace.repository.state(current).said) if current else []
    return "", []


def check_is_ours(workspace: Workspace, id: str, project: str = "") -> None:
    """Raise ConflictError if a session belongs to another project than this one, or than the one named."""
    state = workspace.repository.state(id)
    ours = {project} if project else set(workspace.working_tree.project_keys(workspace.settings))
    if workspace.sees_tree and state.project not in ours:
        raise ConflictError(
            f"session {id} belongs to another project: {state.project_name or state.project}",
            hint=f"ids are shared by all projects: choose another; `segue switch {id}` continues that one",
        )


def check_is_open(workspace: Workspace, id: str) -> None:
    """Raise SessionOver if a session is completed or abandoned."""
    status = workspace.repository.state(id).status
    if status not in OPEN:
        raise SessionOver(
            f"session {id} is {status}",
            hint=f"choose another id for new work; `segue undo --session {id}` reopens that one",
        )


def _exists(workspace: Workspace, id: str) -> bool:
    """Whether there is such a session. While the server cannot be reached the answer is no: the session is
    then begun as pending, and the conflict shows when it is sent."""
    try:
        return workspace.repository.exists(id)
    except StoreUnavailable:
        if not workspace.works_offline:
            raise
        return False


def _create(workspace: Workspace, create: Create, base: str, root_commit: str) -> SessionHandle:
    number = 0 if create.id else _last_number(workspace, base)
    for _ in range(_ATTEMPTS_MAX):
        number += 1
        session = create.id or f"{base}-{number:03d}"
        try:
            bind = partial(_binding, workspace, session, create.project, root_commit)
            saved = workspace.repository.commit(session, [replace(create, id=session)], guards=bind)
        except StaleVersion as stale:
            number -= stale.stream != stream_of(session)
            continue
        if saved.events or create.id:
            workspace.working_tree.tree(fresh=True)
            return SessionHandle(workspace, session) if saved.events else make_current(workspace, session)
    raise UsageError(f"there is no free number for a session {base}-…", hint="choose an id with --id")


def is_archived(workspace: Workspace, id: str) -> bool:
    """Whether a session is in an archive: of this machine or, where machines share the store and it can be
    reached, in that."""
    if workspace.home.archived(id).is_file():
        return True
    with suppress(StoreUnavailable):
        return bool(workspace.home.shared_store) and workspace.store.head(f"archive/{id}").version > 0
    return False


def _last_number(workspace: Workspace, base: str) -> int:
    prefix = f"session/{base}-"
    numbers = [name.removeprefix(prefix) for name, _ in workspace.store.streams(prefix)]
    archived = workspace.home.archive.glob(f"{base}-*.jsonl.gz")
    numbers += [path.name[len(base) + 1 : -len(".jsonl.gz")] for path in archived]
    prefix = f"archive/{base}-"
    numbers += [name.removeprefix(prefix) for name, _ in workspace.store.streams(prefix)]
    return max((int(n) for n in numbers if n.isdecimal()), default=0)


def _binding(workspace: Workspace, session: str, project: str, root_commit: str) -> list[Append]:
    actor = workspace.repository.actor
    append = workspace.working_tree.bind(project, root_commit, session, at=now(), actor=actor)
    return [append] if append else []


def make_current(workspace: Workspace, id: str) -> SessionHandle:
    """Make a session the one that commands in this working tree mean. Raises UnknownSession."""
    workspace.pause_file.check()
    workspace.repository.state(id)
    tree = workspace.working_tree
    while True:
        key, root_commit = tree.project_key(workspace.settings)
        append = tree.bind(key, root_commit, id, at=now(), actor=workspace.repository.actor)
        try:
            if append is not None:
                workspace.store.append(append)
        except StaleVersion:
            continue
        tree.tree(fresh=True)
        return SessionHandle(workspace, id)


def find_session(workspace: Workspace, id: str = "") -> SessionHandle:
    """The session with this id, or without one the current session. Raises UnknownSession."""
    wanted = id or workspace.current_session()
    if not wanted:
        raise UnknownSession(
            "no session is current in this working tree",
            hint='start one with `segue start "…"`, or give an id from `segue list`',
            nothing_yet=True,
        )
    try:
        exists = workspace.repository.exists(wanted)
    except StoreUnavailable:
        if workspace.last_seen(wanted) is None:
            raise
        return SessionHandle(workspace, wanted)
    if not exists:
        raise UnknownSession(f"there is no session {wanted!r}", hint=_where_else(workspace, wanted))
    return SessionHandle(workspace, wanted)


def _where_else(workspace: Workspace, id: str) -> str:
    if is_archived(workspace, id):
        return f"it is archived: `segue cleanup --restore {id}` brings it back"
    return "`segue list --all` shows all sessions, `segue runs --all` all runs"
