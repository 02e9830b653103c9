"""What the editing tools of Cline and Roo change, from their arguments.

Most take SEARCH/REPLACE blocks: the lines to find, and the lines to put in their place.
"""

from __future__ import annotations

import re
from typing import Any

from ...core.base.lazy import regex
from ...core.runs.steps import Act, Change
from ..base import decode_any
from ..common import hunks_change, patch_changes, plain_text, replacement

_MARK = regex(r"\\?(?:(<{3,}|-{3,}) SEARCH>?|(={3,})|((?:>{3,}|\+{3,}) REPLACE)>?)\s*")
_BEGINNINGS = ("<<<", "---", "===", ">>>", "+++")
_LINE_NUMBER = (":start_line:", ":end_line:")
_FILE = regex(r"<file>\s*<path>(.*?)</path>(.*?)(?:</file>|\Z)", re.S)
_CONTENT = regex(r"<content>\s*(?:<!\[CDATA\[)?(.*?)(?:\]\]>\s*)?</content>", re.S)


def changes_of(tool: str, arguments: dict[str, Any], paths: tuple[str, ...]) -> tuple[Change, ...]:
    """What a call changes; nothing if its tool edits no file, or its arguments do not say what."""
    if tool == "apply_patch":
        return patch_changes(plain_text(arguments))
    if not paths:
        return ()
    path = paths[0]
    match tool:
        case "write_to_file" | "new_rule":
            return _with_text(path, "create", arguments.get("content"))
        case "insert_content":
            return _with_text(path, "edit", arguments.get("content"))
        case "replace_in_file" | "apply_diff":
            diff, files = arguments.get("diff"), arguments.get("args")
            if isinstance(diff, str):
                return diff_changes(path, diff)
            return _in_files(files) if isinstance(files, str) else ()
        case "search_and_replace" if "old_string" not in arguments:
            operations = arguments.get("operations", [arguments])
            operations = decode_any(operations) if isinstance(operations, str) else operations
            return replacement(path, operations if isinstance(operations, list) else [], "search", "replace")
        case "search_and_replace" | "search_replace" | "edit_file" | "edit":
            return replacement(path, [arguments], "old_string", "new_string")
        case "delete_file":
            return (Change(path, "delete"),)
        case _:
            return ()


def shown_changes(act: Act, path: str | None, diff: str | None, content: Any) -> tuple[Change, ...]:
    """What a call in a UI message changes."""
    if not path:
        return ()
    match act:
        case "create":
            return _with_text(path, "create", content)
        case "delete":
            return (Change(path, "delete"),)
        case "edit":
            text = diff or content
            return diff_changes(path, text) if isinstance(text, str) else ()
        case _:
            return ()


def _with_text(path: str, how: Act, text: Any) -> tuple[Change, ...]:
    if not isinstance(text, str):
        return ()
    return (Change(path, "create" if how == "create" else "edit", "", text),)


def _in_files(files: str) -> tuple[Change, ...]:
    """The changes of several files, each with blocks of its own."""
    return tuple(
        change
        for path, diffs in _FILE.findall(files)
        for change in diff_changes(path.strip(), "\n".join(_CONTENT.findall(diffs)))
    )


def diff_changes(path: str, diff: str) -> tuple[Change, ...]:
    """What SEARCH/REPLACE blocks change in a file, or the hunks of a unified diff."""
    old, new = search_replace(diff)
    if old or new:
        return (Change(path, "edit", "\n".join(old), "\n".join(new)),)
    start = diff.find("@@ ") if diff.startswith("@@ ") else diff.find("\n@@ ") + 1
    return (hunks_change(path, diff[start:]),) if start > 0 or diff.startswith("@@ ") else ()


def search_replace(diff: str) -> tuple[list[str], list[str]]:
    """The lines that the SEARCH parts of a diff contain, and those of its REPLACE parts. A torn block counts
    as far as it goes; a backslash before a mark makes it a line like any other."""
    old: list[str] = []
    new: list[str] = []
    part: list[str] | None = None
    is_heading = False  # line numbers may stand between the mark and the first line
    for line in diff.split("\n"):
        if line.startswith(_BEGINNINGS) and (mark := _MARK.fullmatch(line)):
            if mark[1] and part is None:
                part, is_heading = old, True
                continue
            if mark[2] and part is old:
                part = new
                continue
            if mark[3] and part is not None:
                part = None
                continue
        if part is None:
            continue
        if is_heading and part is old:
            if line.startswith(_LINE_NUMBER):
                continue
            is_heading = False
            if line.rstrip() == "-------":
                continue
        part.append(line[1:] if line.startswith("\\") and _MARK.fullmatch(line) else line)
    return old, new
