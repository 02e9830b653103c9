"""The moments at which a model is asked without a command, if the user set one for that.

Whoever notices such a moment, a hook or the supervisor, does not wait: a detached process asks, for a minute
at most, as ``segue prepare --with-model`` does and within the same caps. Of one run it is asked again only
after a good deal of new steps. What is needed here to decide is read from one small file, since hooks are on
the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from ..._files import read_bytes
from ...core.base.canonical import sha256
from ...core.base.values import Value
from ...effects.files.atomic import write_whole
from ...effects.files.log import log
from ...errors import SegueError

if TYPE_CHECKING:
    from pathlib import Path

    from ..workspace.data_folder import DataFolder
    from ..workspace.workspace import Workspace

FILE = "models.json"
FULL, HANDOVER, LONG = "full", "handover", "long"
TRIGGERS: Mapping[str, str] = {
    FULL: "a context window is full up to the threshold, 80 % by default",
    HANDOVER: "a session is handed over",
    LONG: "a long run ends, or two hours of work have passed",
}
LONG_STEPS = 300
"""How many steps make a run a long one."""
SECONDS_MAX = 60
AGAIN_SHARE = 1.25
"""How much longer a run must have become before a model is asked about it again."""
ASKED_MAX = 200


class AskedAbout(Value):
    """A run, and where to read it."""

    run: str
    agent: str
    steps: int
    transcript: str = ""
    session: str = ""


class _Models(Value):
    """What matters here of the configured models."""

    rungs: tuple[msgspec.Raw, ...] = ()
    triggers: tuple[str, ...] = ()


def asks_at(workspace: Workspace, trigger: str) -> bool:
    """Whether the user wants a model to be asked at this moment."""
    try:
        found = msgspec.json.decode(read_bytes(workspace.home.path / FILE), type=_Models)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return trigger in found.triggers and bool(found.rungs) and bool(workspace.settings["models"])


def ask_later(
    workspace: Workspace, trigger: str, about: AskedAbout, environment: Mapping[str, str] | None = None
) -> bool:
    """Have a model asked about a run by a detached process, if the user wants that at this moment; return
    whether it was started. Never raises for what a disk or a store does."""
    if not about.run or not asks_at(workspace, trigger) or workspace.pause_file.in_force():
        return False
    asked = _asked_file(workspace.home, about.run)
    if about.steps < AGAIN_SHARE * _asked_steps(asked):
        return False
    with suppress(SegueError, OSError):
        write_whole(asked, b"%d" % about.steps)
        _drop_oldest(asked.parent)
        return _start(workspace, trigger, about, environment)
    return False


def _start(
    workspace: Workspace, trigger: str, about: AskedAbout, environment: Mapping[str, str] | None
) -> bool:
    from ...effects.processes.launch import start_detached

    words = ["--json", "prepare", "--with-model", "--within", str(SECONDS_MAX), "--reason", trigger]
    words += ["--agent", about.agent, "--run", about.run]
    words += ["--transcript", about.transcript] if about.transcript else []
    words += [about.session] if about.session else []
    started = start_detached(words, workspace.folder, environment or workspace.environment)
    log(
        workspace.home.path,
        f"model: {'asked' if started else 'could not be asked'} about {about.run}, {trigger}",
    )
    return started


def _asked_file(home: DataFolder, run: str) -> Path:
    return home.manifests / ".asked" / sha256(run.encode(errors="replace")).hexdigest()[:24]


def _asked_steps(path: Path) -> int:
    """How many steps a run had when a model was last asked about it."""
    with suppress(OSError, ValueError):
        return int(read_bytes(path))
    return 0


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[ASKED_MAX:]:
        path.unlink(missing_ok=True)
