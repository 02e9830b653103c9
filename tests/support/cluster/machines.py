"""Three etcd and three Postgres under Patroni: who is the primary, and what becomes of a machine.

A machine is Patroni and its Postgres with all of their processes. ``kill`` is a power cut; ``freeze`` stops
every process, as a host does that has no memory left, and ``thaw`` lets it go on as if nothing had been.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.cluster.programs import POSTGRES_FOLDER, Program, below, free_ports, own, send, until, user

_INIT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
begin = lambda: os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
again = []
signal.signal(signal.SIGUSR1, lambda *_: (again.append(1), os.kill(patroni, signal.SIGKILL)))
patroni = begin()
try:
    while True:
        if os.waitpid(-1, 0)[0] == patroni and again:
            again.clear()
            patroni = begin()
except ChildProcessError:
    pass
"""
"""The first process of a machine: it reaps the others, or Patroni would take dead ones for alive. At
SIGUSR1 it starts Patroni anew, and leaves Postgres alone."""
DISK_BYTES = 512 << 20
_BALLAST = "pgsql_tmp.ballast"
"""A name that base backups leave out."""
TTL_SECONDS, LOOP_SECONDS, RETRY_SECONDS = 8, 1, 3


class Etcd:
    """Three members; without two of them nobody may become the primary.

    Patroni speaks the second version of its interface, which compares before it sets. With the third one,
    Patroni 3.0 lets a primary that was frozen in the wrong moment take back a lock that another one has."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        ports = free_ports(2 * count)
        self.urls = [f"127.0.0.1:{port}" for port in ports[:count]]
        peers = {f"e{n}": f"http://127.0.0.1:{port}" for n, port in enumerate(ports[count:], 1)}
        all_of_them = ",".join(f"{name}={url}" for name, url in peers.items())
        self.members = []
        for name, client in zip(peers, self.urls, strict=True):
            own_url = f"http://{client}"
            words = [
                "etcd", "--name", name, "--data-dir", str(folder / name), "--listen-client-urls", own_url,
                "--advertise-client-urls", own_url, "--listen-peer-urls", peers[name],
                "--initial-advertise-peer-urls", peers[name], "--initial-cluster", all_of_them,
                "--heartbeat-interval", "100", "--election-timeout", "1000", "--enable-v2=true",
            ]  # fmt: skip
            self.members.append(Program(name, words, folder))

    def start(self) -> None:
        for member in self.members:
            member.start()

    def stop(self) -> None:
        for member in self.members:
            member.kill()


class Machine:
    """A Postgres under Patroni."""

    def __init__(self, name: str, folder: Path, etcd: Etcd, bootstrap: Mapping[str, Any]) -> None:
        self.name, self.folder = name, folder
        self.data = folder / f"data-{name}"
        self.port, self._api = free_ports(2)
        config = folder / f"{name}.json"  # JSON is YAML, too
        config.write_text(json.dumps(self._config(etcd, bootstrap), indent=1))
        command = ["/usr/bin/python3", "-c", _INIT, "patroni", str(own(config))]
        self.program = Program(name, command, folder)
        self._frozen: list[int] = []
        self._mounted = False

    def _config(self, etcd: Etcd, bootstrap: Mapping[str, Any]) -> dict[str, Any]:
        here, api = f"127.0.0.1:{self.port}", f"127.0.0.1:{self._api}"
        return {
            "scope": "segue", "name": self.name, "restapi": {"listen": api, "connect_address": api},
            "etcd": {"hosts": ",".join(etcd.urls)},
            "bootstrap": {
                "dcs": bootstrap, "initdb": [{"encoding": "UTF8"}, "data-checksums"],
                "pg_hba": [
                    "local all all trust", "host all all 127.0.0.1/32 trust", "host all all 10.0.0.0/8 trust",
                    "host replication all 127.0.0.1/32 trust",
                ],
            },
            "postgresql": {
                "listen": f"*:{self.port}", "connect_address": here, "data_dir": str(self.data),
                "bin_dir": str(POSTGRES_FOLDER), "pgpass": str(self.folder / f"pgpass-{self.name}"),
                "authentication": {
                    "superuser": {"username": "postgres", "password": "made-for-a-test"},
                    "replication": {"username": "replicator", "password": "made-for-a-test"},
                    "rewind": {"username": "rewinder", "password": "made-for-a-test"},
                },
                "parameters": {"unix_socket_directories": str(self.folder)},
                "basebackup": {"checkpoint": "fast"},
                "remove_data_directory_on_diverged_timelines": True,
                "remove_data_directory_on_rewind_failure": True,
            },
        }  # fmt: skip

    @property
    def api(self) -> int:
        """The port that says whether this is the primary."""
        return self._api

    def is_primary(self) -> bool:
        """Whether it says that it is the primary, and holds the lock for it."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._api}/primary", timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def roles(self) -> dict[str, str]:
        """The roles of all members that run, as Patroni knows them."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._api}/cluster", timeout=2) as answer:
            members = json.load(answer)["members"]
        return {one["name"]: one["role"] for one in members if one["state"] in ("running", "streaming")}

    def timeline(self) -> int:
        """The number of its timeline; 0 if it does not say."""
        url = f"http://127.0.0.1:{self._api}/patroni"
        with contextlib.suppress(OSError, ValueError), urllib.request.urlopen(url, timeout=2) as answer:
            return int(json.load(answer).get("timeline", 0))
        return 0

    def hand_over(self) -> None:
        """Ask Patroni to let another machine be the primary; it refuses if none is fit for it."""
        wish = json.dumps({"leader": self.name}).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{self._api}/switchover", wish)
        with contextlib.suppress(OSError):
            urllib.request.urlopen(asked, timeout=30).close()

    def start(self) -> None:
        self.program.start()

    def pids(self) -> list[int]:
        """All of its processes but the first one, which ends when it is alone."""
        return below(self.program.pid)[1:] if self.program.runs else []

    def kill(self) -> None:
        """As a power cut; ``start`` brings it back, and Patroni makes a standby of it."""

        def is_gone() -> bool:
            send(self.pids(), signal.SIGKILL)
            return not self.program.runs

        until(f"{self.name} is gone", is_gone, pause=0.02)

    def renew(self) -> None:
        """Give it an empty disk, so that Patroni copies everything from the primary."""
        self.kill()
        for path in self.data.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.start()

    def receivers(self) -> list[int]:
        """The processes that take in what the primary sends."""
        words = {pid: Path(f"/proc/{pid}/cmdline") for pid in self.pids()}
        return [pid for pid, line in words.items() if b"walreceiver" in _read(line)]

    def mount(self, disk_bytes: int) -> bool:
        """Put its data on a small disk of its own; False where that is not allowed."""
        if os.getuid():
            return False
        self.data.mkdir(mode=0o700)
        options = f"size={disk_bytes},mode=0700,uid={user()}"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.data)], capture_output=True
        )
        self._mounted = done.returncode == 0
        return self._mounted

    def fill_disk(self) -> None:
        """Leave no room on its disk."""
        with contextlib.suppress(OSError), (self.data / _BALLAST).open("wb", buffering=0) as file:
            while True:
                file.write(bytes(65_536))

    def empty_disk(self) -> None:
        """Give the room back; another machine may have got the ballast with a copy of the data."""
        (self.data / _BALLAST).unlink(missing_ok=True)

    def kill_postgres(self) -> None:
        """End the processes of Postgres, and leave Patroni to see to it."""
        words = {pid: Path(f"/proc/{pid}/cmdline") for pid in self.pids()}
        send([pid for pid, line in words.items() if b"postgres" in _read(line)], signal.SIGKILL)

    def restart_patroni(self) -> None:
        """A new Patroni, while Postgres runs on."""
        send([self.program.pid], signal.SIGUSR1)

    def freeze(self) -> None:
        self._frozen = self.pids()
        send(self._frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        send(self._frozen, signal.SIGCONT)
        self._frozen = []

    def stop(self) -> None:
        self.thaw()
        if self.program.runs:
            self.kill()
        if self._mounted:
            subprocess.run(["umount", "-l", str(self.data)], check=False)
        shutil.rmtree(self.data, ignore_errors=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended meanwhile
        return b""
