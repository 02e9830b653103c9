"""What a session has spent of its own limits or, where it has none, of those in the settings."""

from __future__ import annotations

from ...core.sessions.budget import Standing, standing
from ...core.sessions.state import SessionState
from .workspace import Workspace


def standing_in(workspace: Workspace, state: SessionState) -> Standing:
    """What was spent, and the limits that apply in this workspace."""
    settings = workspace.settings
    return standing(
        state, limit_cost=settings.number("budget_usd"), limit_tokens=int(settings.number("budget_tokens"))
    )
