"""`segue handover check` without a store: 0 clean, 1 resume needed, 2 completed, None if in doubt.

Nothing heavy is imported: an agent runs this first thing in every session. In doubt (a damaged file, an
option that is not known here) the slow way decides, which asks the journal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from .._folders import data_path
from .record import Record, code_of, is_whole

THEIRS = os.path.join(".agent-handover", "checkpoint.json")
_VALUED = {
    "-C": "folder",
    "--folder": "folder",
    "--home": "home",
    "--checkpoint": "checkpoint",
    "--actor": "actor",
}


def check(words: Sequence[str], environment: Mapping[str, str]) -> tuple[int, Record] | None:
    """(exit code, the checkpoint) for these arguments; None if the slow way must decide."""
    given: dict[str, str] = {}
    left = iter(words)
    for word in left:
        if word in _VALUED:
            given[_VALUED[word]] = next(left, "")
        elif word not in ("--json", "--no-color"):
            return None
    if any(not value or value.startswith("-") for value in given.values()):
        return None
    folder = os.path.realpath(os.path.expanduser(given.get("folder", ".")))
    home = data_path({**environment, "SEGUE_HOME": given["home"]} if "home" in given else environment)
    if "checkpoint" in given:
        return _read(os.path.join(folder, given["checkpoint"])) if os.path.isdir(folder) else None
    return _read(_place(folder, home)) if os.path.isdir(folder) else None


def _place(folder: str, home: str) -> str:
    """The checkpoint of the working tree that holds a folder; agent-handover's if there is no other."""
    tops = [folder]
    while os.path.dirname(tops[-1]) != tops[-1]:
        tops.append(os.path.dirname(tops[-1]))
    marks = (".git", "segue.toml")
    root = next((top for mark in marks for top in tops if os.path.exists(os.path.join(top, mark))), "")
    for top in [root] if root else tops:
        own = os.path.join(home, "handover", f"{_hash(top)}.json")
        if os.path.exists(own):
            return own
    return os.path.join(root or folder, THEIRS)


def _hash(path: str) -> str:
    """As `services.place.tree_stream` names a working tree; hashlib itself would cost as much as all else."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            from hashlib import sha256
    return str(sha256(path.encode(errors="surrogateescape")).hexdigest())[:24]


def _read(path: str) -> tuple[int, Record] | None:
    try:
        with open(path, "rb") as file:
            body = file.read()
    except FileNotFoundError:
        return 0, {"status": "none", "steps": {}}
    except OSError:
        return None
    import json

    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return (code_of(found), found) if is_whole(found) else None


def as_json(code: int, found: Record) -> str:
    """What `--json` gives."""
    import json

    told = {"code": code, "status": found["status"], "steps": found["steps"]}
    return json.dumps(told, ensure_ascii=not _speaks_unicode())


def _speaks_unicode() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or ""
    return encoding.lower().replace("-", "") == "utf8"
