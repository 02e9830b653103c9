"""Finds Claude Code's transcripts, the project of each, and whether its process is alive.

A folder under ``projects`` is named after the working folder, with a dash for every character that is not a
letter or a digit. ``sessions/<pid>.json`` exists while a process runs and stays when it is killed, which is
the sign of a crash. A member of a team writes a transcript like any other, but its records name the team; the
team's file names the lead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..._files import read_bytes
from ...core.base.lazy import regex
from ...core.base.values import Value
from ..base import DECODE_ERRORS, UNKNOWN_LEAD, Found, SearchScope, Sign, Traits
from ..transcript_files import FileAgent, bytes_of, json_object, json_text, listed, stated

if TYPE_CHECKING:
    from .launch import Launcher

_SURE = (b'"isSidechain":', b'"leafUuid":', b'"toolUseResult":', b'"type":"file-history-snapshot"')
_LIKELY = (b'"sessionId":', b'"parentUuid":', b'"type":"assistant"', b'"type":"queue-operation"')
_CWD = regex(rb'"cwd":("(?:[^"\\]|\\.)*")')
_SESSION = regex(rb'"sessionId":\s?("(?:[^"\\]|\\.)*")')
_TEAM = regex(rb'"teamName":\s?("(?:[^"\\]|\\.)*")')
_MEMBER = regex(rb'"agentName":\s?("(?:[^"\\]|\\.)*")')
_LEAD = "team-lead"
_UUID = regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEAD_BYTES = 16_384
_CLEANUP_DAYS = 30  # the agent's default


class _Live(Value, rename="camel"):
    """The content of ``sessions/<pid>.json``."""

    pid: int = 0
    session_id: str = ""
    cwd: str = ""
    proc_start: str | int | None = None


class _Member(Value, rename="camel"):
    """What a record says of the team and of its member that wrote it."""

    team_name: str = ""
    agent_name: str = ""


class _Registry(Value):
    """The processes that run or were killed."""

    conversations: dict[str, tuple[int, Sign]]
    """The pid and the sign of each, by the id of its conversation."""
    folders: set[str]
    """Where processes run: a conversation there may have been begun in one of them since it registered."""


class ClaudeCode(FileAgent):
    name = "claude-code"
    title = "Claude Code"
    traits = Traits(
        takes_context_at_prompts=True,
        takes_context_at_compactions=True,
        aliases=("claude",),
        conversation_variables=("CLAUDE_CODE_SESSION_ID",),
        variables=("CLAUDECODE",),
        pid_variable="CLAUDE_PID",
        member_options=("--agent-id", "--parent-session-id"),
        start="claude",
        rules_file="CLAUDE.md",
        hooks="segue.agents.claude_code.hooks:HOOKS",
        installer="segue.agents.claude_code.install:INSTALLER",
        id_can_be_chosen=True,
        shows_its_process=True,
    )
    form = "lines"

    @property
    def launcher(self) -> Launcher:
        """How it is started; only who starts it loads that."""
        from .launch import Launcher

        return Launcher()

    def recognises(self, head: bytes, name: str) -> bool:
        if b'"type":"session_meta"' in head or b'"type":"response_item"' in head:
            return False
        if any(mark in head for mark in _SURE):
            return True
        compact = head.replace(b'": ', b'":')
        return any(mark in compact for mark in _SURE) or sum(mark in compact for mark in _LIKELY) >= 2

    def retention(self, where: SearchScope) -> int | None:
        days = json_object(_folder(where) / "settings.json").get("cleanupPeriodDays")
        if not isinstance(days, int) or isinstance(days, bool):
            return _CLEANUP_DAYS
        return days if days < 10_000 else None

    def find(self, where: SearchScope) -> Iterator[Found]:
        root = _folder(where)
        live = _registry(root, where)
        files = sorted(_files(root / "projects", where), key=lambda file: -file[1].st_mtime)
        heads = 0
        for path, stat, project in files:
            cwd = where.known.get(str(path), "") or project
            head = b""
            if not cwd:
                heads += 1
                if where.heads_max and heads > where.heads_max:
                    continue
                head = beginning_of(path)
                cwd = json_text(head, _CWD)
            if where.holds(cwd):
                parent = _lead(root, path, path.stem, head)
                yield _found(path, stat, path.stem, cwd, parent, live)

    def transcripts_at(self, path: Path, where: SearchScope) -> Iterator[Found]:
        root = _folder(where)
        for _, stat in stated((path,)):
            is_named = root in path.parents or path.parent.name == "subagents" or _UUID.fullmatch(path.stem)
            head = beginning_of(path)
            native = ("" if is_named else json_text(head, _SESSION)) or path.stem
            parent = _lead(root, path, native, head)
            yield _found(path, stat, native, json_text(head, _CWD), parent, _registry(root, where))


def _found(
    path: Path, stat: os.stat_result, native: str, cwd: str, parent: str, live: _Registry | None
) -> Found:
    """A transcript. Claude Code names a file by the id of its conversation: the ids inside may be those of
    conversations that it goes on from. Where processes register, a conversation that none has is over."""
    pid, sign = live.conversations.get(native, (0, "")) if live is not None else (0, "")
    if live is not None and not sign and not parent and cwd not in live.folders:
        sign = "ended"
    return Found("claude-code", str(path), native, stat.st_mtime, stat.st_size, cwd, parent, sign, pid)


def _lead(root: Path, path: Path, native: str, head: bytes) -> str:
    """The conversation that a sub-agent or a member of a team works for; empty for any other transcript. In
    the transcript of a sub-agent that lies beside its lead's, records have the id of the lead."""
    if path.parent.name == "subagents":
        return path.parents[1].name
    head = head or beginning_of(path)
    if native.startswith("agent-"):
        return json_text(head, _SESSION) or UNKNOWN_LEAD
    team = team_of(head)
    return (_team_lead(root / "teams", team) or UNKNOWN_LEAD) if team else ""


def team_of(head: bytes) -> str:
    """The team of whose members this is the beginning of a transcript; empty for that of a lead, and of one
    who is in no team."""
    if b'"teamName"' not in head:
        return ""
    for line in head.split(b"\n"):
        if b'"teamName"' in line:
            member = _member(line)
            if member.team_name and member.agent_name:
                return "" if member.agent_name == _LEAD else member.team_name
    return ""


def _member(line: bytes) -> _Member:
    """The team and the member of a record; one that is cut off or damaged is searched."""
    try:
        return msgspec.json.decode(line, type=_Member)
    except DECODE_ERRORS:
        return _Member(json_text(line, _TEAM), json_text(line, _MEMBER))


def _team_lead(teams: Path, team: str) -> str:
    """The conversation of a team's lead; empty if the team is no more, as when its lead has left."""
    for name in listed(teams):
        if _slug(name).lower() == _slug(team).lower():
            lead = json_object(teams / name / "config.json").get("leadSessionId")
            return lead if isinstance(lead, str) else ""
    return ""


def _folder(where: SearchScope) -> Path:
    return where.folder("CLAUDE_CONFIG_DIR", ".claude")


def _files(projects: Path, where: SearchScope) -> Iterator[tuple[Path, os.stat_result, str]]:
    """Each file with its stat, and the project's folder if the name of the file's folder alone tells it."""
    slugs = {_slug(str(root)): str(root) for root in reversed(where.roots)}
    for name in listed(projects):
        project = slugs.get(name, "")
        if slugs and not project and not name.startswith(tuple(f"{slug}-" for slug in slugs)):
            continue
        for path, stat in stated(_transcripts(projects / name)):
            yield path, stat, project


def _transcripts(folder: Path) -> Iterator[Path]:
    for path in (folder / name for name in listed(folder)):
        if path.suffix == ".jsonl":
            yield path
        else:
            sides = path / "subagents"
            yield from (sides / name for name in listed(sides) if name.endswith(".jsonl"))


def _slug(name: str) -> str:
    """A name or path as Claude Code writes it in names of folders."""
    return re.sub(r"[^A-Za-z0-9]", "-", name)


def beginning_of(path: str | Path) -> bytes:
    """The first records of a transcript, which say where and for whom it was written; empty if it cannot be
    read."""
    return bytes_of(path, _HEAD_BYTES)


def _registry(root: Path, where: SearchScope) -> _Registry | None:
    """The processes that registered; None if no version was here that registers them."""
    if not (root / "sessions").is_dir():
        return None
    processes: dict[str, tuple[int, Sign]] = {}
    folders: set[str] = set()
    for name in listed(root / "sessions"):
        try:
            process = msgspec.json.decode(read_bytes(root / "sessions" / name), type=_Live)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue
        alive = where.is_alive(process.pid, str(process.proc_start or ""))
        if alive:
            folders.add(process.cwd)
        if alive or process.session_id not in processes:
            processes[process.session_id] = (process.pid, "alive" if alive else "crashed")
    return _Registry(processes, folders)
