"""What the children of the crash tests of hooks do; run as a script: ``hook_work.py TASK HOME NAME``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from segue.api.segue import Segue
from segue.effects.deadline import Deadline
from segue.effects.files.spool import SpoolRecord
from segue.services.hooks import install as service, spool_drain
from segue.services.hooks.spool_drain import drain, spool_of
from segue.services.workspace.data_folder import DataFolder

FOREIGN = '{\n  // mine\n  "theme": "dark",\n  "hooks": {"Stop": [{"hooks": []}]}\n}\n'


def spooling(home: str, name: str) -> None:
    """Spool what hooks see of two runs and drain it, three times a part and then the rest; a record that is
    safe is acknowledged."""
    spool_drain.BATCH = 2
    acknowledged = os.open(Path(home) / "acknowledged", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    with Segue(home=home, folder=home) as seg:
        spool = spool_of(seg.workspace.home.path)
        for number in range(15):
            id = f"{number:016x}"
            payload = b'{"session_id":"run-%d","prompt":"do %d"}' % (number % 2, number)
            assert spool.append(SpoolRecord("claude-code", "UserPromptSubmit", payload, id))
            os.write(acknowledged, f"{id}\n".encode())
            if number % 5 == 3:
                drain(seg.workspace, until=Deadline(0.0))  # a hook has no time for all of it
            if number % 5 == 4:
                drain(seg.workspace)


def read_files(home: Path) -> dict[str, str]:
    """The files of agents in a home folder: everything but Segue's own."""
    own = home / "segue"
    files = (path for path in home.rglob("*") if path.is_file() and own not in path.parents)
    return {str(path.relative_to(home)): path.read_text() for path in files}


def agents_files(home: Path) -> dict[str, str]:
    """Settings of an agent that a user has written."""
    home.mkdir(exist_ok=True, mode=0o700)
    (home / ".gemini").mkdir(exist_ok=True)
    (home / ".gemini" / "settings.json").write_text(FOREIGN)
    (home / ".codex").mkdir(exist_ok=True)
    return read_files(home)


def _where(home: str) -> tuple[DataFolder, service.InstallTarget]:
    own = DataFolder(Path(home) / "segue")
    return own, service.where_of(own, Path(home) / "shop", {"HOME": home, "PATH": ""}, "user", mcp=False)


def installing(home: str, name: str) -> None:
    """Install into the files of two agents."""
    own, where = _where(home)
    service.install(own, service.chosen(["gemini-cli", "codex"], where), where)


def uninstalling(home: str, name: str) -> None:
    """Install into the files of two agents, and uninstall again."""
    if name == "child":
        installing(home, name)
    own, where = _where(home)
    service.take_out(own, where)


TASKS = {"spooling": spooling, "installing": installing, "uninstalling": uninstalling}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
