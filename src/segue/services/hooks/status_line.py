"""What a status line says of a session: the item under way, and how far the checks are.

It is kept in a small file that ``surfaces/hook`` reads without loading Segue. The checks are looked at after
the rest was kept: in a large working tree that may take longer than a status line has."""

from __future__ import annotations

from contextlib import suppress

from ...core.base.text import harmless_text
from ...core.features.verdict import Verdict
from ...core.sessions.state import SessionState
from ..features.features import Features
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .kept_line import keep_line

KEPT_SECONDS = 60.0
KEPT_SECONDS_SHARED = 10.0
"""What changes in a shared store is not seen in a file."""
KEPT_SECONDS_CHECKED = 15.0
"""An edit of a covered file is in no store either."""
ITEM_CHARS_MAX = 200


def status_parts(
    workspace: Workspace, session: SessionHandle | None, native: str, *, keeps: bool
) -> list[str]:
    """The parts of the line; with ``keeps`` they are also kept for the next one of this run."""
    state = session.state if session is not None else None
    item = _clean(item_words(state), workspace) if state is not None else ""
    shared = bool(workspace.home.shared_store)
    seconds = KEPT_SECONDS_SHARED if shared else KEPT_SECONDS
    database = "" if shared else str(workspace.home.database)

    def keep(parts: tuple[str, ...], seconds: float) -> None:
        with suppress(OSError):
            if keeps:
                keep_line(str(workspace.home.path), native, database, parts, seconds)

    keep((item, ""), seconds)
    if session is None or state is None or not state.features:
        return [item, ""]
    checks = checks_words(Features(session).verdicts(state))
    keep((item, checks), min(seconds, KEPT_SECONDS_CHECKED))
    return [item, checks]


def item_words(state: SessionState) -> str:
    """The item under way, else the next one, else that all is done; empty without a plan."""
    if state.active:
        more = f" (+{len(state.active) - 1})" if len(state.active) > 1 else ""
        return f"▶ {state.items[state.active[0]].text}{more}"
    if state.next:
        return f"○ next: {state.items[state.next[0]].text}"
    if state.blocked:
        return f"■ {len(state.blocked)} blocked"
    return f"✓ all {len(state.done)} done" if state.done else ""


def checks_words(verdicts: list[Verdict]) -> str:
    """How many features are proven, and how many fail or are stale."""
    passing = sum(one.passes for one in verdicts)
    worse = [
        f"{number} {status}"
        for status in ("failing", "stale")
        if (number := sum(one.status == status for one in verdicts))
    ]
    return ", ".join([f"checks {passing}/{len(verdicts)}", *worse])


def _clean(text: str, workspace: Workspace) -> str:
    mask = workspace.repository.mask
    line = " ".join(harmless_text(mask(text) if mask is not None else text).split())
    return line if len(line) <= ITEM_CHARS_MAX else f"{line[:ITEM_CHARS_MAX].rstrip()}…"
