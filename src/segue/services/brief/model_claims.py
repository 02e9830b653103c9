"""Claims that were kept of a run, so that later briefs have them without asking again.

A file for each run, next to the manifests, written whole. What is read back is held once more to what was
observed since: a claim that new steps contradict is left out. Most projects have no such file, and pay for
one look whether it is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..._failpoints import trip
from ...core.base.values import Value
from ...core.brief.facts import BriefFacts, Claim
from ...effects.files.atomic import write_whole

if TYPE_CHECKING:
    from ..workspace.data_folder import DataFolder
    from ..workspace.workspace import Workspace

FOLDER = ".claims"
FILES_MAX = 200


class KeptClaims(Value):
    """The claims of a run."""

    run: str
    model: str
    at: str
    steps: int
    """How many steps the run had then."""
    claims: tuple[Claim, ...]
    version: int = 1


def path_of(home: DataFolder, run: str) -> Path:
    """Where the claims of a run stand."""
    import hashlib

    return home.manifests / FOLDER / (hashlib.sha256(run.encode(errors="replace")).hexdigest()[:24] + ".json")


def claims_of(home: DataFolder, run: str, shown: BriefFacts) -> list[Claim]:
    """The claims of a run that still hold; none where there are none or they cannot be read."""
    if not run:
        return []
    try:
        body = path_of(home, run).read_bytes()
    except OSError:
        return []
    from ...core.models.grounding import gives_orders, holds, observed

    try:
        found = msgspec.json.decode(body, type=KeptClaims)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
    facts = observed(shown)
    return [one for one in found.claims if holds(one, facts) and not gives_orders(one.text)]


def keep(workspace: Workspace, kept: KeptClaims) -> Path:
    """Put these in the place of what was kept of the run; without claims, nothing is kept."""
    workspace.pause_file.check()
    path = path_of(workspace.home, kept.run)
    if not kept.claims:
        path.unlink(missing_ok=True)
        return path
    trip("claims.before_keep")
    write_whole(path, msgspec.json.encode(kept))
    trip("claims.after_keep")
    _forget_oldest(path.parent)
    return path


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[FILES_MAX:]:
        path.unlink(missing_ok=True)
