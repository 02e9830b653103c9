"""`segue handover check` without opening a store: 0 clean, 1 resume needed, 2 completed.

Nothing heavy is imported, because an agent runs this first in every session. In doubt (a damaged file, an
option that is not known here) the result is None, and the regular command decides by the journal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from .._files import open_file
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
    """The exit code and the checkpoint for these arguments; None if the regular command must decide."""
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word in _VALUED:
            options[_VALUED[word]] = next(rest, "")
        elif word not in ("--json", "--no-color"):
            return None
    if any(not value or value.startswith("-") for value in options.values()):
        return None
    folder = os.path.realpath(os.path.expanduser(options.get("folder", ".")))
    home = data_path({**environment, "SEGUE_HOME": options["home"]} if "home" in options else environment)
    if "checkpoint" in options:
        return _read(os.path.join(folder, options["checkpoint"])) if os.path.isdir(folder) else None
    return _read(_checkpoint_path(folder, home)) if os.path.isdir(folder) else None


def _checkpoint_path(folder: str, home: str) -> str:
    """The checkpoint of the working tree that contains a folder; agent-handover's if there is no other."""
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
    """The hash in the name of a working tree's stream, as ``services/workspace/working_tree.py`` makes it.
    Importing hashlib would take as long as everything else here."""
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
        with open_file(path) as file:
            body = file.read()
    except FileNotFoundError:
        return 0, {"status": "none", "steps": {}}
    except OSError:
        return None
    import json

    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return (code_of(record), record) if is_whole(record) else None


def as_json(code: int, record: Record) -> str:
    """The output for `--json`."""
    import json

    fields = {"code": code, "status": record["status"], "steps": record["steps"]}
    encoding = getattr(sys.stdout, "encoding", None) or ""
    return json.dumps(fields, ensure_ascii=encoding.lower().replace("-", "") != "utf8")
