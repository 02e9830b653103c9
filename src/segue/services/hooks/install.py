"""`segue init` and `segue uninit`: writing to the files of agents, and restoring them byte for byte.

Everything that will be written is known, and can be shown, before anything is written. An agent with a file
that cannot be read, parsed or written is left out before the first write. Before a file is first changed,
its bytes are kept; if nobody has changed it since, `uninit` puts those bytes back, otherwise it removes only
what is ours. What is about to be done is recorded first (``installed.json``), so that the next `uninit` can
revert an installation that was killed. Symbolic links are followed, and
the file behind them is changed, unless one that may have come with a clone leads out of its project.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ..._failpoints import trip
from ..._files import read_bytes
from ...agents import agent_name, install as texts
from ...agents.install import CannotEdit, Edit, Installer, InstallTarget as InstallTarget, Scope as Scope
from ...agents.own_entries import is_own_member
from ...core.base.values import Value
from ...effects.files.atomic import private_folder, set_mode, write_whole
from ...effects.files.project_links import leads_out, way_out
from ...errors import NotWritable, UsageError
from ..workspace.data_folder import DataFolder
from ..workspace.own_files import NAME, Installed, InstalledFile, read as read
from . import hook_file

KEPT = "before-init"
Names = Sequence[str]


class PlannedWrite(Value):
    """A file before and after a change."""

    path: str
    agent: str
    about: str
    before: bytes | None
    """None if there is no such file."""
    after: bytes | None
    """None if the file is removed."""
    mode: int = 0o644

    @property
    def is_one(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        old = (self.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
        new = (self.after or b"").decode("utf-8", "replace").splitlines(keepends=True)
        begins = "/dev/null" if self.before is None else self.path
        ends = "/dev/null" if self.after is None else self.path
        lines = difflib.unified_diff(old, new, begins, ends)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class Refusal(Value):
    """An agent in which Segue could not be installed."""

    agent: str
    reason: str


class InstallReport(Value):
    """What was written, or would be."""

    agents: list[str]
    scope: str
    changes: list[PlannedWrite]
    notes: list[str]
    """What is left for the user to do, or of a removal what is left elsewhere, and how to remove it."""
    dry: bool = False
    refused: list[Refusal] = []
    """The agents in which nothing could be installed."""


def found_agents(where: InstallTarget) -> list[Installer]:
    """The agents that are on this machine."""
    path = where.env.get("PATH")
    known = (texts.installer(name) for name in texts.installers())
    return [one for one in known if one.is_here(where, lambda name: shutil.which(name, path=path))]


def known_agents() -> list[str]:
    """The names of all agents that Segue can be installed in."""
    return list(texts.installers())


def chosen(names: Names, where: InstallTarget, *, without: Names = ()) -> list[Installer]:
    """The agents that were named, else all that are on this machine, without some. Raises UsageError."""
    names, without = [agent_name(name) for name in names], [agent_name(name) for name in without]
    unknown = [name for name in (*names, *without) if name not in texts.installers()]
    if unknown:
        raise UsageError(
            f"Segue cannot be installed in {unknown[0]!r}", hint=f"known: {', '.join(texts.installers())}"
        )
    wanted = [texts.installer(name) for name in dict.fromkeys(names)] if names else found_agents(where)
    return [one for one in wanted if one.name not in without]


def can_serve() -> bool:
    """Whether the MCP server can run here: the SDK is an optional dependency."""
    return find_spec("mcp") is not None


def has_server(entries: Iterable[InstalledFile]) -> bool:
    """Whether an agent has our MCP server in one of these files."""
    for entry in entries:
        with suppress(OSError):
            if b'"segue","mcp"' in b"".join(read_bytes(Path(entry.path)).split()):
                return True
    return False


def has_status_line(entries: Iterable[InstalledFile]) -> bool:
    """Whether an agent shows our status line, by one of these files."""
    for entry in entries:
        with suppress(CannotEdit):
            line = texts.value_in(Path(entry.path), "statusLine") if entry.path.endswith(".json") else None
            if line is not None and is_own_member(line, line):
                return True
    return False


def where_of(
    home: DataFolder, root: Path, environment: Mapping[str, str], scope: Scope, *, mcp: bool,
    live: bool = False, status_line: bool = False, offers_status_line: bool = False,
) -> InstallTarget:  # fmt: skip
    """The target of an installation on this machine."""
    python, hook = sys.executable, hook_file.file_of(home)
    server = (python, "-m", "segue", "mcp") if mcp else ()
    user = Path(environment.get("HOME") or Path.home())
    return InstallTarget(
        scope, user, root, environment, python, hook, server, live, status_line, offers_status_line
    )


def planned(installers: Iterable[Installer], where: InstallTarget) -> list[PlannedWrite]:
    """What would be written; nothing is changed. Raises NotWritable if a file cannot be parsed or written."""
    changes = []
    for one in installers:
        for edit in _edits(one, where):
            change = _change(one.name, edit, texts.written)
            if change.is_one:
                _check_writable(Path(change.path))
                changes.append(change)
    return changes


def planned_for_each(
    installers: Sequence[Installer], where: InstallTarget
) -> tuple[list[Installer], list[PlannedWrite], list[Refusal]]:
    """What would be written for the agents that can take it, and why the others cannot. Raises NotWritable
    if none can."""
    able: list[Installer] = []
    changes: list[PlannedWrite] = []
    faults: list[tuple[str, NotWritable]] = []
    for one in installers:
        try:
            changes += planned([one], where)
            able.append(one)
        except NotWritable as fault:
            faults.append((one.name, fault))
    if faults and not able:
        raise faults[0][1]
    return able, changes, [Refusal(name, fault.message) for name, fault in faults]


def _edits(one: Installer, where: InstallTarget) -> list[Edit]:
    """The changes that an agent's installer asks for, which know our hook file and whose file it is."""
    return [replace(edit, hook=where.hook, within=_project_of(edit, where)) for edit in one.edits(where)]


def _project_of(edit: Edit, where: InstallTarget) -> Path | None:
    """The project if a file belongs to it; None for a file of the user's, who may link it as he likes."""
    of_user = where.home.is_relative_to(where.root) and edit.path.is_relative_to(where.home)
    return where.root if edit.path.is_relative_to(where.root) and not of_user else None


def _full(where: InstallTarget, **more: Any) -> InstallTarget:
    """The same target with everything that is optional."""
    server = where.mcp or (where.python, "-m", "segue", "mcp")
    return replace(where, live=True, status_line=True, mcp=server, **more)


def _mark(home: DataFolder, agent: str, where: InstallTarget) -> Path:
    """The marker file that says that an agent's hooks are meant for this project, or for all of the
    user's."""
    top = roots_folder(home, agent)
    return top / ".on" if where.scope == "user" else top / str(where.root).lstrip("/") / ".on"


def _change(agent: str, edit: Edit, turn: Callable[[Edit, str], str]) -> PlannedWrite:
    path = Path(os.path.realpath(edit.path))
    if edit.within is not None and leads_out(edit.path, edit.within):
        raise _cannot(edit.path, way_out(str(path)))
    try:
        before: bytes | None = read_bytes(path)
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        before, mode = None, edit.mode
    except OSError as fault:
        raise _cannot(path, fault.strerror or "it cannot be read") from fault
    try:
        old = (before or b"").decode("utf-8")
        new = turn(edit, old)
    except (UnicodeDecodeError, CannotEdit) as fault:
        raise _cannot(path, str(fault)) from fault
    after: bytes | None = new.encode("utf-8")
    if before is None and not new:
        after = None
    return PlannedWrite(str(path), agent, edit.about, before, after, mode)


def _cannot(path: Path, why: str) -> NotWritable:
    return NotWritable(
        f"{path} was left alone: {why}", hint="correct the file, or leave this agent out with --except"
    )


def _check_writable(path: Path) -> None:
    place = path if path.exists() else next(one for one in path.parents if one.exists())
    folder = path.parent if path.exists() else place
    if not os.access(place, os.W_OK) or not os.access(folder, os.W_OK):
        raise _cannot(path, "it cannot be written")


def install(
    home: DataFolder, installers: Sequence[Installer], where: InstallTarget,
    changes: Sequence[PlannedWrite] | None = None,
) -> InstallReport:  # fmt: skip
    """Write what is planned."""
    changes = planned(installers, where) if changes is None else changes
    if where.scope != "shared" and any(one.name != "agents-md" for one in installers):
        home.make()
        hook_file.put(home)
    known = {entry.path: entry for entry in read(home).entries}
    roots = () if where.scope == "user" else (str(where.root),)
    for change in changes:
        known[change.path] = _entry(home, change, where.scope, roots, known.get(change.path))
    for one in installers:  # files that need no change may be needed by one more working tree
        for edit in one.edits(where):
            path = os.path.realpath(edit.path)
            if path in known:
                known[path] = _meant_for(known[path], where.scope, roots)
    if known:
        _keep(home, known.values())
    for change in changes:
        trip("install.before_write")
        _put(change)
        trip("install.after_write")
    for one in installers:
        if one.rooted(where):
            mark = _mark(home, one.name, where)
            private_folder(mark.parent)
            mark.touch(mode=0o600)
    notes = [note for one in installers for note in one.after(replace(where, live=_is_live(one, where)))]
    return InstallReport([one.name for one in installers], where.scope, list(changes), notes)


def _is_live(one: Installer, where: InstallTarget) -> bool:
    """Whether an agent has our hooks of tool calls, from this init or from one before."""
    return where.live or (bool(one.live_events) and not planned([one], replace(where, live=True)))


def _entry(
    home: DataFolder, change: PlannedWrite, scope: str, roots: tuple[str, ...], old: InstalledFile | None
) -> InstalledFile:
    assert change.after is not None
    after = hashlib.sha256(change.after).hexdigest()
    if old is not None:
        after = after if _is_as_we_left_it(home, old, change.before) else ""
        return replace(_meant_for(old, scope, roots), after=after)
    kept = ""
    if change.before is not None:
        kept = hashlib.sha256(os.fsencode(change.path)).hexdigest()[:24]
        write_whole(home.path / KEPT / kept, change.before)
    made = [str(one) for one in Path(change.path).parents if not one.exists()]
    return InstalledFile(change.path, change.agent, scope, roots, kept, after, tuple(made))


def _is_as_we_left_it(home: DataFolder, entry: InstalledFile, now: bytes | None) -> bool:
    """Whether the file is as we wrote it or as it was before, so that nobody else has changed it."""
    if now is None:
        return not entry.before
    return hashlib.sha256(now).hexdigest() == entry.after or now == _kept(home, entry)


def _kept(home: DataFolder, entry: InstalledFile) -> bytes | None:
    """The bytes that the file had before the first init; None if there was no file, or they are lost."""
    with suppress(OSError):
        return read_bytes(home.path / KEPT / entry.before) if entry.before else None
    return None


def _meant_for(entry: InstalledFile, scope: str, roots: tuple[str, ...]) -> InstalledFile:
    wide = scope == "user" or (entry.scope == "user" and not entry.roots)
    both = () if wide else tuple(dict.fromkeys((*entry.roots, *roots)))
    return replace(entry, scope="user" if wide else entry.scope, roots=both)


def _keep(home: DataFolder, entries: Iterable[InstalledFile]) -> None:
    home.make()
    write_whole(home.path / NAME, msgspec.json.format(msgspec.json.encode(Installed(tuple(entries)))))


def _put(change: PlannedWrite) -> None:
    """Write a file atomically with its present mode; new folders get the user's default mode."""
    path = Path(change.path)
    if change.after is None:
        path.unlink(missing_ok=True)
    elif change.is_one:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, change.after, mode=change.mode)
        set_mode(path, change.mode)


def adopt(home: DataFolder, path: Path, agent: str, where: InstallTarget, write: Callable[[], int]) -> int:
    """Let an agent change its own file for us, recorded so that `uninit` reverts that as well."""
    real = Path(os.path.realpath(path))
    known = {entry.path: entry for entry in read(home).entries}
    before = read_bytes(real) if real.exists() else None
    roots = () if where.scope == "user" else (str(where.root),)
    change = PlannedWrite(str(real), agent, "trust", before, before or b"")
    known[str(real)] = _entry(home, change, where.scope, roots, known.get(str(real)))
    _keep(home, known.values())
    result = write()
    after = hashlib.sha256(read_bytes(real) if real.exists() else b"").hexdigest()
    after = after if known[str(real)].after else ""
    known[str(real)] = replace(known[str(real)], after=after)
    _keep(home, known.values())
    return result


def roots_folder(home: DataFolder, agent: str) -> Path:
    """The folder of the markers that say for which projects an agent's hooks are meant."""
    return home.path / "hook" / "roots" / agent


def take_out(
    home: DataFolder, where: InstallTarget, names: Names = (), *, everywhere: bool = False, dry: bool = False
) -> InstallReport:
    """Remove what was written: for this project, for the user, or everything."""
    names = [agent_name(name) for name in names]
    left: list[InstalledFile] = []
    changes: list[PlannedWrite] = []
    made: list[str] = []
    root = str(where.root)
    for entry in read(home).entries:
        mine = everywhere or (not entry.roots if where.scope == "user" else root in entry.roots)
        if (names and entry.agent not in names) or not (mine or where.scope == "project"):
            left.append(entry)
            continue
        others = () if everywhere or where.scope == "user" else tuple(r for r in entry.roots if r != root)
        if others or not mine:
            change, entry = _lessened(home, entry, where, others)
            left.append(entry)
            changes += [change] if change is not None else []
            continue
        changes.append(_reverted(home, entry, where))
        made += entry.made
    changes += _strays(where, names, {one.path for one in changes} | {one.path for one in left})
    agents = sorted({one.agent for one in changes})
    done = InstallReport(agents, where.scope, changes, _remaining(left, where, names), dry)
    if dry:
        return done
    for change in changes:
        if change.is_one:
            _check_writable(Path(change.path))
    for change in reversed(changes):  # what rests on another file goes before it
        trip("uninstall.before_write")
        _put(change)
        trip("uninstall.after_write")
    for folder in sorted(made, key=len, reverse=True):
        with suppress(OSError):
            Path(folder).rmdir()
    _tidy(home, left, where, names, everywhere=everywhere)
    return done


def _remaining(left: Iterable[InstalledFile], where: InstallTarget, names: Names) -> list[str]:
    """What is still installed, a sentence for each place, with the command that removes it."""
    groups: dict[tuple[str, str], set[str]] = {}
    there = "`segue uninit` there removes it"
    for entry in left:
        if not entry.roots:
            groups.setdefault(("for the user", "`segue uninit --user` removes it"), set()).add(entry.agent)
        elif str(where.root) in entry.roots and (not names or entry.agent in names):
            groups.setdefault(("for this project", "`segue uninit` removes it"), set()).add(entry.agent)
        elif str(where.root) in entry.roots:
            how = f"`segue uninit --agent {entry.agent}` removes it"
            groups.setdefault(("for this project", how), set()).add(entry.agent)
        else:
            for root in entry.roots:
                groups.setdefault((f"for {root}", there), set()).add(entry.agent)
    return [
        f"still installed {place}, in {', '.join(sorted(agents))}: {how}"
        for (place, how), agents in sorted(groups.items())
    ]


def _lessened(
    home: DataFolder, entry: InstalledFile, where: InstallTarget, others: tuple[str, ...]
) -> tuple[PlannedWrite | None, InstalledFile]:
    """The change that removes what only this working tree needs from a shared file, and the new entry for the
    file."""
    entry = replace(entry, roots=others)
    if where.scope != "project":
        return None, entry
    theirs = _all_edits(where, [entry.agent], others, ["project"])
    theirs += [] if others else _all_edits(where, [entry.agent], [str(where.root)], ["user"])
    needed = {one.path for edit in theirs for one in edit.entries}
    old = (_kept(home, entry) or b"").decode("utf-8", "surrogateescape")
    for edit in _all_edits(where, [entry.agent], [str(where.root)], ["project"]):
        alone = tuple(one for one in edit.entries if one.path not in needed)
        if not alone or os.path.realpath(edit.path) != entry.path or not os.path.exists(entry.path):
            continue
        change = _change(
            entry.agent, replace(edit, entries=alone, within=None), partial(texts.taken_out, before=old)
        )
        if change.is_one:
            ours = _is_as_we_left_it(home, entry, change.before)
            after = hashlib.sha256(change.after or b"").hexdigest() if ours else ""
            change = replace(change, about="without the parts for this project")
            return change, replace(entry, after=after)
    return None, entry


def _reverted(home: DataFolder, entry: InstalledFile, where: InstallTarget) -> PlannedWrite:
    """The change back to the old content if nobody else changed the file, else the removal of what is
    ours."""
    path = Path(entry.path)
    try:
        now: bytes | None = read_bytes(path)
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return PlannedWrite(entry.path, entry.agent, "already gone", None, None)
    kept = _kept(home, entry)
    assert now is not None
    if hashlib.sha256(now).hexdigest() == entry.after and (kept is not None or not entry.before):
        return PlannedWrite(entry.path, entry.agent, "as it was before", now, kept, mode)
    bare = _bare(entry, where, now, kept or b"")
    if not entry.before and bare.strip() in (b"", b"{}"):
        return PlannedWrite(entry.path, entry.agent, "init created it", now, None, mode)
    if kept is not None and _same_json(bare, kept):
        bare = kept
    return PlannedWrite(entry.path, entry.agent, "without Segue's parts", now, bare, mode)


def _same_json(one: bytes, other: bytes) -> bool:
    """Whether both are the same JSON; the older text, with its layout, is then preferred."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return bool(msgspec.json.decode(one) == msgspec.json.decode(other))
    return False


def _bare(entry: InstalledFile, where: InstallTarget, now: bytes, kept: bytes) -> bytes:
    """A file without Segue's parts, by the edits of every scope that could have written it."""
    text, old = (body.decode("utf-8", "surrogateescape") for body in (now, kept))
    for edit in _all_edits(where, [entry.agent], [*entry.roots, str(where.root)]):
        if os.path.realpath(edit.path) == entry.path:
            with suppress(CannotEdit):
                text = texts.taken_out(edit, text, before=old)
    return text.encode("utf-8", "surrogateescape")


def _all_edits(
    where: InstallTarget, names: Names, roots: Iterable[str],
    scopes: Sequence[Scope] = ("project", "user", "shared"),
) -> list[Edit]:  # fmt: skip
    """Every edit that any init could have made, with everything in it that is optional."""
    found = []
    for name in names or texts.installers():
        for scope in scopes:
            for root in dict.fromkeys(roots):
                found += _edits(texts.installer(name), _full(where, scope=scope, root=Path(root)))
    return found


def _strays(where: InstallTarget, names: Names, known: set[str]) -> list[PlannedWrite]:
    """Removals of what is ours in files of this scope without a record, as after the data folder was lost."""
    changes = []
    for name in names or texts.installers():
        for edit in _edits(texts.installer(name), _full(where)):
            path = os.path.realpath(edit.path)
            if path in known or not os.path.exists(path):
                continue
            with suppress(NotWritable):
                change = _change(name, edit, texts.taken_out)
                if change.is_one:
                    empty = (change.after or b"").strip() in (b"", b"{}")
                    changes.append(replace(change, after=None if empty else change.after))
                    known.add(path)
    return changes


def _tidy(
    home: DataFolder, left: list[InstalledFile], where: InstallTarget, names: Names, *, everywhere: bool
) -> None:
    """Remove what init put into the data folder once nothing needs it any more."""
    for name in names or texts.installers():
        with suppress(OSError):
            _mark(home, name, where).unlink()
        if everywhere or not any(entry.agent == name for entry in left):
            _remove_folder(roots_folder(home, name))
    used = {entry.before for entry in left}
    with suppress(OSError):
        for name in os.listdir(home.path / KEPT):
            if name not in used:
                os.unlink(home.path / KEPT / name)
    if left:
        _keep(home, left)
        return
    with suppress(OSError):
        (home.path / NAME).unlink()
    _remove_folder(home.path / "hook")
    for folder in (home.path / KEPT, home.path / "spool", home.path):
        with suppress(OSError):
            folder.rmdir()


def _remove_folder(path: Path) -> None:
    if path.is_dir():  # ``rmtree`` would wait for a pipe
        shutil.rmtree(path, ignore_errors=True)
