"""Which run an id names, where it could name a session as well."""

from __future__ import annotations

from contextlib import suppress

from ...errors import BadName, UnknownRun
from ..workspace.workspace import Workspace
from .listing import one_run
from .observed import runs_of
from .run import Run
from .select import newest_other_run


def run_named(workspace: Workspace, id: str) -> Run | None:
    """The run of this id, or the newest one here if none is given; None if it is a session that is meant."""
    if not id:
        with suppress(UnknownRun):
            return one_run(workspace, newest_other_run(runs_of(workspace).finder()).native)
        return None
    with suppress(BadName):  # an id that no session could have
        if workspace.repository.exists(id):
            return None
    with suppress(UnknownRun):
        return one_run(workspace, id)
    return None
