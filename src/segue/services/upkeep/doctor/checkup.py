"""The doctor: is everything as it should be, and if not, what to do.

``examine`` only looks. ``prove`` copies the store, breaks the copy in front of the user in
several ways, recovers it each time, and says what came back.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

import apsw

from ...._files import copy_file, read_bytes
from ....agents import agent as agent_of
from ....agents.base import SearchScope
from ....core.base.values import Progress, count, counted
from ....effects.files.archive import Archive
from ....effects.files.atomic import is_open_to_others, private_folder
from ....effects.files.spool import SPOOL_BYTES_MAX, Spool
from ....effects.pause_file import pause_paths
from ....effects.vectors.embedder import choose
from ....effects.vectors.weights_file import shipped
from ....errors import BadSettings, DamagedError, RefusedError, SegueError, extra
from ....settings import Settings, resolve
from ....stores.base import RunRow
from ....stores.sqlite import SqliteStore
from ....stores.sqlite.file_system import wal_is_safe
from ....stores.sqlite.schema import SCHEMA
from ....stores.sqlite.upkeep import back_up
from ...hooks import hook_file
from ...hooks.codex_trust import trusted_hooks
from ...hooks.install import can_serve, found_agents, has_server, has_status_line, read as installed, where_of
from ...runs.sync import retention_notice
from ...workspace.data_folder import DataFolder, is_remote
from ...workspace.open_workspace import open_workspace
from ..recover.ladder import recover
from . import embedded
from .finding import Diagnosis

FREE_BYTES_MIN = 100 << 20
_Found = tuple[str, str] | tuple[str, str, str]
"""Status, detail and, if there is one, a hint."""


def examine(
    home: DataFolder, settings: Settings, environment: Mapping[str, str], folder: Path | None = None
) -> list[Diagnosis]:
    """Everything worth a look; opens the store only to read. ``folder``: of the project."""
    home = home.for_store(settings.text("store"))
    data_folder = list(embedded.folder(home))  # first: SQLite removes some of what does not belong there
    own = (*embedded.store(home), *embedded.backups(home)) if not home.shared_store else ()
    there = own or tuple(_server(home, settings))
    if own and folder is not None and all(found.status != "bad" for found in own):
        there = (*own, *embedded.commands(home, environment, folder))
    return [
        Diagnosis("versions", *_versions()),
        *_git(),
        *data_folder,
        *there,
        *_archive(home, settings),
        *_transcripts(home, settings, environment),
        embedded.emergency_files(home),
        Diagnosis("spool", *_spool(home)),
        Diagnosis("hooks", *_hooks(home, environment)),
        *_embedding(settings),
        Diagnosis("PAUSE", *_pause_file(home, settings, folder)),
        Diagnosis("disk", *_space(home)),
        Diagnosis("environment", *_variables(environment)),
        *_first_step(home, environment, folder),
    ]


def _versions() -> _Found:
    detail = f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, schema {SCHEMA}"
    if not wal_is_safe(apsw.sqlite_lib_version()):
        return ("warn", f"{detail}: this SQLite may lose commits in WAL mode", "upgrade apsw")
    return ("ok", detail)


def _embedding(settings: Settings) -> Iterator[Diagnosis]:
    """What is wrong with the weights that come with Segue, or with the choice of an embedder."""
    try:
        shipped().check()
        choose(settings.text("embedder"), url=settings.text("embedder_url"))
    except DamagedError as fault:
        yield Diagnosis("embedding", "bad", str(fault), "reinstall Segue; until then only words are searched")
    except BadSettings as fault:
        yield Diagnosis("embedding", "bad", str(fault), fault.hint)


def _git() -> Iterator[Diagnosis]:
    if shutil.which("git") is None:
        hint = "install git; without it Segue cannot tell what changed in a repository"
        yield Diagnosis("git", "warn", "it is not on PATH", hint)


def _server(home: DataFolder, settings: Settings) -> Iterator[Diagnosis]:
    if is_remote(home.shared_store):
        from .server import look as look_remote

        return look_remote(home, settings)
    from .postgres import look

    return look(home, settings)


def _archive(home: DataFolder, settings: Settings) -> Iterator[Diagnosis]:
    """The copies of transcripts: how many, how large, whole or not."""
    archive = Archive(home.transcripts)
    if not home.transcripts.is_file():
        yield Diagnosis("archive", "ok", "no transcripts are kept yet")
        return
    trouble = archive.unreadable()
    if trouble:
        hint = "move the file away; `segue sync` makes a new one from the transcripts that still exist"
        yield Diagnosis("archive", "bad", trouble, hint)
        return
    copies = archive.copies()
    most = settings.number("archive_bytes_max")
    size = f"{archive.size() / 1e6:.1f} MB, of at most {most / 1e6:,.0f} MB"
    yield Diagnosis("archive", "ok", f"{count(len(copies), 'transcript')} in {size}")
    broken = archive.broken()
    keys = {copy.about.key for copy in copies}
    gone = [row for row in _runs(home) if row.key not in keys and not Path(row.path).exists()]
    if broken:
        hint = "`segue sync` makes new copies while the transcripts exist"
        yield Diagnosis(
            "runs", "bad", f"the copy of {broken[0]} is incomplete{embedded.more(len(broken) - 1)}", hint
        )
    elif gone:
        told = f"only the digest is left of {count(len(gone), 'run')}"
        yield Diagnosis("runs", "ok", f"{told}: neither transcript nor copy is readable")


def _runs(home: DataFolder) -> Sequence[RunRow]:
    if not home.database.is_file():
        return []
    with closing(SqliteStore(home.database, read_only=True)) as journal, suppress(SegueError):
        return journal.runs.rows()
    return []


def _transcripts(home: DataFolder, settings: Settings, environment: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Agents that delete what they wrote, of those whose runs were taken in."""
    names, kept = {row.agent for row in _runs(home)}, settings.number("archive_bytes_max") > 0
    where = SearchScope(env=environment, home=Path(environment.get("HOME") or Path.home()), roots=())
    for name in sorted(names):
        with suppress(SegueError):
            days = agent_of(name).retention(where)
            if days is not None:
                hint = "" if kept else "`archive_bytes_max` sets how much is kept"
                told = retention_notice(name, days, kept=kept)
                yield Diagnosis("transcripts", "ok" if kept else "warn", told, hint)


def _spool(home: DataFolder) -> _Found:
    """What hooks left: read without draining, so that looking changes nothing."""
    spool = Spool(home.path / "spool")
    records, size = spool.count()
    if not size:
        return ("ok", "empty (what agents' hooks saw waits here until Segue reads it)")
    if size >= SPOOL_BYTES_MAX:
        return (
            "bad",
            f"it is full: {size:,} bytes, and takes no more",
            "`segue status` empties it",
        )
    waiting = f"{count(records, 'record')} from agents' hooks not read yet, {size:,} bytes"
    if is_open_to_others(spool.folder):
        return ("bad", f"{waiting}; others may read them", f"chmod 700 {spool.folder}")
    return ("ok", f"{waiting}; the next command that opens the store reads them")


def _hooks(home: DataFolder, environment: Mapping[str, str]) -> _Found:
    """Whether what agents run is there, and can load Segue."""
    entries = installed(home).entries
    if not entries:
        return ("ok", "none are installed")
    agents = ", ".join(sorted({entry.agent for entry in entries}))
    again = "`segue init` writes it again"
    file, paths = hook_file.file_of(home), home.path / "hook" / "paths"
    needed = any(entry.scope != "shared" and entry.agent != "agents-md" for entry in entries)
    if needed and not file.is_file():
        return ("bad", f"{file} is gone, so {agents} are told nothing", again)
    if needed and (not paths.is_file() or read_bytes(paths) != hook_file.paths()):
        return ("warn", "hooks load Segue from a different place than this command", again)
    if needed and read_bytes(file) != hook_file.built():
        return ("warn", "the installed hook is from another version", again)
    gone = [entry.path for entry in entries if not Path(entry.path).exists()]
    if gone:
        return ("warn", f"{gone[0]} is gone{embedded.more(len(gone) - 1)}", again)
    if not can_serve() and has_server(entries):
        told = f"in {agents}; their MCP server cannot run: the MCP SDK is not installed"
        return ("warn", told, extra("mcp"))
    if any(entry.agent == "codex" and entry.scope != "shared" for entry in entries):
        trusted, written = trusted_hooks(home, environment)
        if trusted < written:
            few = f"only {trusted} of {count(written, 'hook')}" if trusted else "none of the hooks"
            hint = "`/hooks` in Codex shows them; `segue init --agent codex --trust-hooks` trusts them"
            return ("warn", f"in {agents}; Codex trusts {few} and runs no others", hint)
    return ("ok", f"in {agents}{', with a status line' if has_status_line(entries) else ''}")


def _first_step(home: DataFolder, environment: Mapping[str, str], folder: Path | None) -> Iterator[Diagnosis]:
    """What to do first, right after the installation."""
    if folder is None or home.shared_store or home.path.exists():
        return
    here = [
        one.name
        for one in found_agents(where_of(home, folder, environment, "user", mcp=False))
        if one.name != "agents-md"
    ]
    if here:
        told = f"{', '.join(here)} found; run `segue init` in a project, then start your agent as always"
    else:
        told = (
            "no agent that Segue knows was found; once there is one, run `segue init` in a project "
            "(`segue brief FILE` reads any transcript already)"
        )
    yield Diagnosis("next", "ok", told)


def _pause_file(home: DataFolder, settings: Settings, folder: Path | None) -> _Found:
    paths = [home.path / "PAUSE"]
    if folder is not None:
        paths = pause_paths(folder, home.path, settings.text("pause_file"))
    there = " and ".join(str(path) for path in paths if os.path.lexists(path))
    if there:
        what = "exist" if " and " in there else "exists"
        return ("warn", f"{there} {what}: nothing is written", "ask whoever created it")
    where = "the data folder" if folder is None else "the data folder or in this project"
    return ("ok", f"no such file in {where} (while there is one, Segue writes nothing)")


def _space(home: DataFolder) -> _Found:
    place = next(path for path in (home.path, *home.path.parents) if path.exists())
    free = shutil.disk_usage(place).free
    if free < FREE_BYTES_MIN:
        return ("bad", f"{free / 1e6:.0f} MB free", "free some space: a full disk refuses writes")
    return ("ok", f"{free / 1e9:.1f} GB free")


def _variables(environment: Mapping[str, str]) -> _Found:
    ours = sorted(name for name in environment if name.startswith("SEGUE_") and name != "SEGUE_API_KEY")
    told = ", ".join(f"{name} is set" for name in ours)
    return ("ok", told or "no SEGUE_ variables")


_HEADER = "a broken header"
_DAMAGES = ("a flipped byte", _HEADER, "a truncated file", "a lost file")
"""What is lost is in the file nowhere else, and needs a backup; only a broken header costs nothing."""


def _damage(path: Path, name: str) -> str:
    body = bytearray(read_bytes(path))
    size, keep = len(body), len(body) * 2 // 3
    if name == "a lost file":
        path.unlink()
        return "removed the store"
    if name == "a truncated file":
        del body[keep:]
        done = f"cut the file off after {keep:,} of {size:,} bytes"
    elif name == _HEADER:
        body[:64] = bytes(64)
        done = "overwrote the first 64 bytes with zeros"
    else:
        place = body.rfind(b'"text":"') + 9
        body[place] ^= 0xFF
        done = f"flipped a byte in an event's body, at offset {place:,}"
    path.write_bytes(bytes(body))
    return done


def prove(
    home: DataFolder, progress: Progress | None = None, settings: Settings | None = None
) -> list[Diagnosis]:
    """Break copies of the store, recover them, and say what came back."""
    home = home.for_store(settings.text("store")) if settings else home
    if home.shared_store:
        hint = "`segue doctor` without --prove checks that it is intact"
        raise RefusedError(f"{home.shared_store} is not a file that could be copied and damaged", hint=hint)
    with tempfile.TemporaryDirectory(prefix="segue-prove-") as folder:
        return [_prove_one(home, Path(folder) / name, name) for name in counted(_DAMAGES, progress)]


def _prove_one(home: DataFolder, folder: Path, name: str) -> Diagnosis:
    copy = DataFolder(folder)
    nothing = Diagnosis(name, "warn", "there is no session to try it on", 'segue start "…"')
    if not home.database.exists():
        return nothing
    with open_workspace(home=home.path, folder=home.path, store=f"sqlite://{home.database}") as workspace:
        if not workspace.store.streams("session/"):
            return nothing
        before = dict(workspace.store.streams())
        assert isinstance(workspace.store, SqliteStore)
        private_folder(copy.path)
        back_up(workspace.store.database, copy.database)
        if name != _HEADER:
            private_folder(copy.backups)
            file = f"segue-20000101T000000Z-{sum(before.values()):09d}.db"
            copy_file(copy.database, copy.backups / file)
    what = _damage(copy.database, name)
    started = time.perf_counter()
    outcome = recover(copy, resolve(flags={}))
    took_ms = (time.perf_counter() - started) * 1000
    with closing(SqliteStore(copy.database)) as journal:
        after = dict(journal.streams())
    lost = {stream for stream, version in before.items() if after.get(stream, 0) < version}
    events = sum(before.values())
    if lost or outcome.missing:
        detail = f"{what}: {len(lost)} of {len(before)} streams came back incomplete"
        return Diagnosis(name, "bad", detail, "report this as a bug")
    return Diagnosis(name, "ok", f"{what}: all {events} events back, in {took_ms:.0f} ms")
