"""The whole cluster: started, waited for, and gone with the test."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.cluster.fronts import Balancer, Pooler
from tests.support.cluster.machines import (
    DISK_BYTES,
    LOOP_SECONDS,
    RETRY_SECONDS,
    TTL_SECONDS,
    Etcd,
    Machine,
)
from tests.support.cluster.programs import free_ports, own, send, until
from tests.support.server import SegueServer

OPTIONS = ("--rate", "0", "--proxy", "127.0.0.1")
_PARAMETERS = {
    "max_connections": 200, "shared_buffers": "64MB", "wal_keep_size": "64MB", "max_wal_size": "256MB",
    "dynamic_shared_memory_type": "mmap", "wal_log_hints": "on", "wal_retrieve_retry_interval": "500ms",
}  # fmt: skip


class Cluster:
    """Machines named ``n1`` to ``n3`` and what stands before them."""

    def __init__(
        self, *, synchronous: bool = True, servers: int = 2, disk_bytes: int = DISK_BYTES, pool: int = 20
    ) -> None:
        self.folder = own(Path(tempfile.mkdtemp(prefix="segue-cluster-")))
        self.folder.chmod(0o755)
        self.etcd = Etcd(self.folder)
        dcs: dict[str, Any] = {
            "ttl": TTL_SECONDS, "loop_wait": LOOP_SECONDS, "retry_timeout": RETRY_SECONDS,
            "maximum_lag_on_failover": 100_000_000, "synchronous_mode": synchronous,
            "synchronous_mode_strict": synchronous,
            "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": _PARAMETERS},
        }  # fmt: skip
        self.synchronous = synchronous
        self.machines = [Machine(f"n{n}", self.folder, self.etcd, dcs) for n in (1, 2, 3)]
        ports = free_ports(servers)
        self.balancer = Balancer(self.folder, self.machines, ports)
        self.pooler = Pooler(self.folder, self.balancer.primary, pool)
        self.servers = [
            SegueServer(self.folder / f"server{n}", self.pooled("team"), options=OPTIONS, port=port)
            for n, port in enumerate(ports, 1)
        ]
        self.key = ""
        self.small_disks = {machine.mount(disk_bytes) for machine in self.machines} == {True}

    # -- life ----------------------------------------------------------------------------------

    def start(self) -> Cluster:
        """All but the servers; the first machine becomes the primary."""
        self.etcd.start()
        self.machines[0].start()
        until("there is a primary", self.machines[0].is_primary)
        for machine in self.machines[1:]:
            machine.start()
        self.balancer.program.start()
        self.pooler.program.start()
        until("all stream", self.whole)
        self.query("CREATE DATABASE team")
        until("the pooler answers", lambda: _listens(self.pooler.port))
        return self

    def serve(self) -> None:
        """The servers, with one key for all projects."""
        self.key = self.servers[0].first_key()
        for server in self.servers:
            server.start()
            server.token = self.key
        for server in self.servers:
            server.until_ready(30)
        until("the balancer has a server", self._is_served)

    def _is_served(self) -> bool:
        with urllib.request.urlopen(f"{self.front}/ready", timeout=2) as answer:
            return bool(answer.status == 200)

    def stop(self) -> None:
        for server in self.servers:
            server.kill()
        for part in (self.pooler, self.balancer):
            part.program.kill()
        for machine in self.machines:
            machine.stop()
        self.etcd.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Cluster:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- addresses -----------------------------------------------------------------------------

    def direct(
        self, database: str = "team", *, user: str = "postgres", host: str = "127.0.0.1", **more: str
    ) -> str:
        """The address that names all three machines."""
        hosts = ",".join(f"{host}:{machine.port}" for machine in self.machines)
        return _url(user, hosts, database, {"target_session_attrs": "read-write", **more})

    def pooled(self, database: str = "team", *, user: str = "postgres", **more: str) -> str:
        """The address of PgBouncer, behind which is whoever is the primary."""
        return _url(user, f"127.0.0.1:{self.pooler.port}", database, {"sslmode": "disable", **more})

    def standbys(self, database: str = "team", *, user: str = "postgres", **more: str) -> str:
        """The address behind which standbys take turns."""
        return _url(user, f"127.0.0.1:{self.balancer.standbys}", database, {"sslmode": "disable", **more})

    @property
    def front(self) -> str:
        """The URL at which any of the servers answers."""
        return f"http://127.0.0.1:{self.balancer.servers}"

    # -- looking -------------------------------------------------------------------------------

    def primary(self) -> Machine:
        """Whoever is the primary; TimeoutError if there is none although everything was tried."""
        with contextlib.suppress(TimeoutError):
            return _primary_among(self.machines, 30.0)
        return self._primary_without_diverged()

    def _primary_without_diverged(self) -> Machine:
        """What an operator does where Patroni waits for ever: the standby that has all does not take over
        while a machine of an older timeline is further in its log. That one is off until it has."""
        lines = {machine: machine.timeline() for machine in self.machines if machine.program.runs}
        diverged = [machine for machine, line in lines.items() if line < max(lines.values())]
        print(f"no primary: {[one.name for one in diverged]} of an older timeline are switched off")
        for machine in diverged:
            machine.kill()
        try:
            return _primary_among([one for one in self.machines if one not in diverged], 90.0)
        finally:
            for machine in diverged:
                machine.start()

    def other_primary(self, before: Machine, seconds: float = 60.0) -> Machine:
        """The primary once it is another than this; frozen ones are not asked."""
        return _primary_among([machine for machine in self.machines if machine is not before], seconds)

    def query(self, sql: str, database: str = "postgres", machine: Machine | None = None) -> list[Any]:
        """What a statement gives on the primary, or on a machine."""
        import psycopg

        url = self.direct(database)
        if machine is not None:
            url = _url("postgres", f"127.0.0.1:{machine.port}", database, {})
        with psycopg.connect(url, autocommit=True, connect_timeout=3) as db:
            found = db.execute(sql)
            return list(found.fetchall()) if found.description else []

    def takes_writes(self, machine: Machine) -> bool:
        """Whether the Postgres of a machine says that it is a primary."""
        import psycopg

        with contextlib.suppress(psycopg.Error):
            return self.query("SELECT pg_is_in_recovery()", machine=machine) == [(False,)]
        return False

    def whole(self) -> bool:
        """Whether two standbys stream, and Patroni knows of a synchronous one if there has to be one."""
        import psycopg

        with contextlib.suppress(psycopg.Error):
            states = self.query("SELECT state FROM pg_stat_replication")
            roles = self.primary().roles()
            is_safe = not self.synchronous or "sync_standby" in roles.values()
            return states.count(("streaming",)) >= 2 and len(roles) == len(self.machines) and is_safe
        return False

    @contextlib.contextmanager
    def standbys_behind(self) -> Iterator[None]:
        """Within the block no standby receives anything from the primary; nor afterwards what is under way to
        it by then."""
        primary = self.primary()
        receivers = [pid for one in self.machines if one is not primary for pid in one.receivers()]
        assert receivers
        send(receivers, signal.SIGSTOP)
        try:
            yield
        finally:
            send(receivers, signal.SIGTERM)  # it ends instead of reading on
            send(receivers, signal.SIGCONT)

    @contextlib.contextmanager
    def stopped(self, pids: Sequence[int]) -> Iterator[None]:
        """Within the block these processes stand still."""
        assert pids
        send(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            send(pids, signal.SIGCONT)

    def until_served(self) -> None:
        """Wait until every server is ready."""
        for server in self.servers if self.key else ():
            if not server.runs:
                server.start()
            server.until_ready(30)

    def until_whole(self, seconds: float = 60.0) -> float:
        """Wait until every machine is in its place, so that the next fault finds a whole cluster. Where that
        takes long, do what an operator does: restart Patroni, and renew a standby that does not follow."""
        for machine in self.machines:
            if not machine.program.runs:
                machine.start()
        try:
            return until("the cluster is whole", self.whole, seconds / 3)
        except TimeoutError:  # Patroni may have lost track of its key for the synchronous standby
            primary = self.primary()
            primary.restart_patroni()
            with contextlib.suppress(TimeoutError):
                return until("the cluster is whole", self.whole, seconds / 3)
            streams = "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'"
            follow = {self.primary().name, *(name for (name,) in self.query(streams))}
            for machine in self.machines:
                if machine.name not in follow:
                    print(f"{machine.name} does not follow, and is renewed")
                    machine.renew()
            return until("the cluster is whole", self.whole, seconds)

    def logs(self, keep: Callable[[str], None] = print) -> None:
        """Say what everybody logged last, for a test that failed."""
        for program in (*(m.program for m in self.machines), self.balancer.program, self.pooler.program):
            keep(f"== {program.name}\n{program.told(1500)}")


def _primary_among(machines: Sequence[Machine], seconds: float) -> Machine:
    found: list[Machine] = []

    def is_found() -> bool:
        found[:] = [machine for machine in machines if machine.is_primary()]
        return bool(found)

    until("there is a primary", is_found, seconds)
    return found[0]


def _url(user: str, hosts: str, database: str, more: dict[str, str]) -> str:
    rest = "&".join(f"{name}={value}" for name, value in more.items())
    return f"postgresql://{user}@{hosts}/{database}" + (f"?{rest}" if rest else "")


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
