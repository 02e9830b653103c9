"""What stands around something that a search found: the steps of its run, in whichever project that is."""

from __future__ import annotations

from ...agents.base import Found
from ...core.base.values import Value
from ...core.runs.steps import Model, Start, Step, Title, Usage
from ...core.search.index import SearchSource
from ...effects.redaction.redact import redact_bytes
from ...errors import UnknownRun, UsageError
from ..runs.listing import run_named
from ..runs.observed import runs_of
from ..workspace.workspace import Workspace

ASIDE = (Usage, Model, Title, Start)
"""Steps that say nothing to somebody who reads what happened."""


class FoundStep(Value):
    """A step with those around it."""

    run: str
    path: str
    cwd: str
    is_here: bool
    """Whether its run belongs to this project."""
    step: int
    steps: list[tuple[int, Step]]
    """The steps with their numbers in the run."""


def found_step(workspace: Workspace, handle: str, around: int = 0) -> FoundStep:
    """The step that a handle ``RUN#STEP`` stands for. Raises UnknownRun, or UsageError for a number that the
    run has not."""
    id, _, number = handle.partition("#")
    found, is_here = _found(workspace, id)
    mask = redact_bytes if workspace.settings["redact"] else None
    steps = list(runs_of(workspace).finder(everywhere=not is_here).steps(found, mask))
    wanted = int(number) if number.isdecimal() and len(number) < 10 else 0
    if not 1 <= wanted <= len(steps):
        raise UsageError(f"the run has steps 1 to {len(steps)}, not {number!r}", hint=f"segue show {id}#1")
    told = [(at, step) for at, step in enumerate(steps, 1) if at == wanted or not isinstance(step, ASIDE)]
    middle = next(place for place, (at, _) in enumerate(told) if at == wanted)
    around = max(0, around)
    chosen = told[max(0, middle - around) : middle + around + 1]
    return FoundStep(found.native, found.path, found.cwd, is_here, wanted, chosen)


def _found(workspace: Workspace, id: str) -> tuple[Found, bool]:
    """The run with this key, id or beginning of one, and whether it is one of this project."""
    known = {key: one for key, one in runs_of(workspace).search_index.sources().items() if one.agent}
    same = [one for key, one in known.items() if id and key.startswith(id)]
    if len(same) == 1:
        return _found_source(same[0]), False
    run = run_named(workspace, id) if id else None
    if run is not None:
        is_here = not run.cwd or runs_of(workspace).finder().scope.holds(run.cwd)
        return Found(run.agent, run.path, run.id, 0.0, 0, run.cwd), is_here
    named = [one for one in known.values() if id and one.native.startswith(id)]
    named = [one for one in named if one.native == id] or named
    if len(named) != 1:
        what = f"{len(named)} runs begin with" if named else "there is no run"
        raise UnknownRun(f"{what} {id!r}", hint="`segue runs --all` lists runs")
    return _found_source(named[0]), False


def _found_source(source: SearchSource) -> Found:
    return Found(source.agent, source.path, source.native, 0.0, 0, source.cwd)
