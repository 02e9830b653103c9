"""Claims that a model made about a run, stored so that later briefs have them without asking a model again.

Each run has a file next to the manifests. Claims that are read back are checked against what was observed
since, and left out if new steps contradict them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..._failpoints import trip
from ..._files import read_bytes
from ...core.base.canonical import sha256
from ...core.base.values import Value
from ...core.brief.facts import BriefFacts, Claim
from ...effects.files.atomic import write_whole

if TYPE_CHECKING:
    from ..workspace.data_folder import DataFolder
    from ..workspace.workspace import Workspace

FOLDER = ".claims"
FILES_MAX = 200


class StoredClaims(Value):
    """The claims about a run that were stored."""

    run: str
    model: str
    at: str
    steps: int
    """How many steps the run had when they were made."""
    claims: tuple[Claim, ...]
    version: int = 1


def path_of(home: DataFolder, run: str) -> Path:
    """The file of the claims about a run."""

    return home.manifests / FOLDER / (sha256(run.encode(errors="replace")).hexdigest()[:24] + ".json")


def claims_of(home: DataFolder, run: str, known: BriefFacts) -> list[Claim]:
    """The stored claims about a run that still hold; empty if there are none or they cannot be read."""
    if not run:
        return []
    try:
        body = read_bytes(path_of(home, run))
    except OSError:
        return []
    from ...core.models.grounding import gives_orders, holds, observed

    try:
        stored = msgspec.json.decode(body, type=StoredClaims)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
    facts = observed(known)
    return [claim for claim in stored.claims if holds(claim, facts) and not gives_orders(claim.text)]


def store_claims(workspace: Workspace, stored: StoredClaims) -> Path:
    """Replace the stored claims about a run; without claims, its file is deleted."""
    workspace.pause_file.check()
    path = path_of(workspace.home, stored.run)
    if not stored.claims:
        path.unlink(missing_ok=True)
        return path
    trip("claims.before_keep")
    write_whole(path, msgspec.json.encode(stored))
    trip("claims.after_keep")
    _drop_oldest(path.parent)
    return path


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[FILES_MAX:]:
        path.unlink(missing_ok=True)
