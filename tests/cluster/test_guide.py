"""The cluster of the guide for teams, from the files in ``deploy/cluster`` themselves: its primary is lost.

Only addresses and folders are replaced: the machines are addresses of loopback (127.0.0.11 for 10.0.0.11).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from tests.support.certificates import signed, signing
from tests.support.cluster.machines import _INIT
from tests.support.cluster.programs import PATH, Program, below, needs_cluster, own, send, until, user
from tests.support.server import SegueServer

DEPLOY = Path(__file__).parents[2] / "deploy" / "cluster"
PASSWORD = "chosen-for-a-test"
PORTS = ((5000, "127.0.0.1"), (5001, "127.0.0.1"), (6432, "127.0.0.1"), (8080, "127.0.0.10"))
pytestmark = [
    needs_cluster,
    pytest.mark.skipif(shutil.which("pgbackrest") is None, reason="NOT TESTED: apt-get install pgbackrest"),
    pytest.mark.timeout(300),
]


class Guide:
    """A folder in the place of ``/``, and what was started."""

    def __init__(self) -> None:
        self.folder = own(Path(tempfile.mkdtemp(prefix="segue-guide-", dir="/tmp")))
        self.folder.chmod(0o755)
        self.programs: list[Program] = []
        for name in ("keys", "backup", "log", "lock", "spool"):
            own(_made(self.folder / name))
        authority = signing(self.folder / "keys", "ca")
        signed(self.folder / "keys", "server", authority, "localhost")
        for path in (self.folder / "keys").iterdir():
            own(path).chmod(0o600)
        (self.folder / "keys" / "ca.pem").chmod(0o644)
        (self.folder / "keys").chmod(0o755)

    def text(self, name: str) -> str:
        """A file of the guide, with our addresses and folders."""
        found = (DEPLOY / name).read_text().replace("10.0.0.", "127.0.0.").replace("CHOOSE ONE", PASSWORD)
        found = found.replace("postgres peer", "postgres trust")  # here its user may be called otherwise
        for there, here in {
            "/etc/segue": self.folder / "keys", "/etc/pgbouncer": self.folder, "/var/lib/etcd": self.folder,
            "/backup": self.folder / "backup",
            "pgbackrest --stanza": f"pgbackrest --config={self.backrest} --stanza",
        }.items():  # fmt: skip
            found = found.replace(there, str(here))
        return found

    @property
    def backrest(self) -> Path:
        return self.folder / "pgbackrest.conf"

    def start(self, name: str, *command: str, **environment: str) -> Program:
        program = Program(name, command, self.folder, environment=environment)
        program.start()
        self.programs.append(program)
        return program

    def etcd(self, number: int) -> None:
        lines = self.text("etcd").splitlines()
        settings = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        for name in settings:
            if name != "ETCD_INITIAL_CLUSTER":
                settings[name] = (
                    settings[name].replace(".31:", f".3{number}:").replace("etcd1", f"etcd{number}")
                )
        settings["ETCD_DATA_DIR"] += str(number)
        self.start(f"etcd{number}", "etcd", **settings)

    def patroni(self, number: int) -> Program:
        config: dict[str, Any] = yaml.safe_load(self.text("patroni.yaml").replace(".11:", f".1{number}:"))
        config["name"] = f"pg{number}"
        socket_folder = own(_made(self.folder / f"socket{number}"))
        postgres = config["postgresql"]
        postgres["data_dir"] = str(self.folder / f"pg{number}")
        postgres["pgpass"] = str(self.folder / f"pgpass{number}")
        postgres["parameters"] = {"unix_socket_directories": str(socket_folder)}
        postgres["parameters"]["dynamic_shared_memory_type"] = "mmap"
        path = self.folder / f"patroni{number}.json"
        path.write_text(json.dumps(config))
        return self.start(f"patroni{number}", "/usr/bin/python3", "-c", _INIT, "patroni", str(own(path)))

    def fronts(self) -> None:
        for name in ("haproxy.cfg", "pgbouncer.ini"):
            own(_written(self.folder / name, self.text(name)))
        self.start("haproxy", "haproxy", "-db", "-f", str(self.folder / "haproxy.cfg"))
        self.start("pgbouncer", "pgbouncer", str(self.folder / "pgbouncer.ini"))

    def query(self, sql: str, database: str = "postgres", host: str = "") -> list[tuple[Any, ...]]:
        """As the superuser, on the primary or on one machine."""
        hosts = host or "127.0.0.11,127.0.0.12,127.0.0.13"
        url = f"postgresql://postgres:{PASSWORD}@{hosts}/{database}?connect_timeout=2"
        url += "" if host else "&target_session_attrs=read-write"
        with psycopg.connect(url, autocommit=True) as db:
            cursor = db.execute(sql.encode())
            return list(cursor.fetchall()) if cursor.description else []

    def segue(self, store: str, *words: str) -> Any:
        own_home = {"SEGUE_HOME": str(self.folder / "home"), "SEGUE_STORE": store, "PGPASSWORD": PASSWORD}
        done = subprocess.run(
            [sys.executable, "-m", "segue", "--json", *words], env={**os.environ, **own_home},
            capture_output=True, text=True, cwd=self.folder, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def back_up(self) -> None:
        """The first backup, on the machine of the primary."""
        for words in (["stanza-create"], ["check"], ["--type=full", "backup"]):
            done = subprocess.run(
                ["pgbackrest", f"--config={self.backrest}", "--stanza=segue", *words], user=user(),
                cwd=self.folder, capture_output=True, text=True, env={"PATH": PATH, "LC_ALL": "C.UTF-8"},
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr

    def streams(self) -> bool:
        """Whether a standby confirms each commit, and the other one streams, too."""
        with contextlib.suppress(psycopg.Error):
            found = self.query("SELECT sync_state FROM pg_stat_replication")
            return len(found) == 2 and ("sync",) in found
        return False

    def stop(self) -> None:
        for program in reversed(self.programs):
            if program.runs:
                send(below(program.pid), signal.SIGKILL)
            program.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture
def guide() -> Iterator[Guide]:
    made = Guide()
    try:
        yield made
    finally:
        made.stop()


def _wanted(url: str, key: str, path: str, body: Any = None) -> Any:
    request = urllib.request.Request(url + path, method="POST" if body else "GET")
    request.add_header("Authorization", f"Bearer {key}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=40) as answer:
        return json.loads(answer.read())


def test_a_team_comes_from_nothing_to_a_cluster_that_outlives_its_primary(guide: Guide) -> None:
    _check_free()
    here = f"{guide.folder}/pg1\npg1-socket-path={guide.folder}/socket1\npg1-user=postgres"
    settings = guide.text("pgbackrest.conf").replace("/var/lib/postgresql/15/segue", here)
    more = "".join(f"{name}-path={guide.folder}/{name}\n" for name in ("log", "lock", "spool"))
    own(_written(guide.backrest, settings.replace("[global]\n", f"[global]\n{more}")))
    for number in (1, 2, 3):
        guide.etcd(number)
    first = guide.patroni(1)
    until("there is a primary", lambda: _is_up(guide), 90)
    for number in (2, 3):
        guide.patroni(number)
    until("both standbys stream", guide.streams, 90)
    _make_roles(guide)
    writer = guide.query("SELECT rolpassword FROM pg_authid WHERE rolname = 'segue_writer'")[0][0]
    own(_written(guide.folder / "users.txt", f'"segue_writer" "{writer}"\n'))
    guide.fronts()
    store = "postgresql://segue_writer@127.0.0.1:6432/segue"
    until("the pooler answers", lambda: _answers(store), 30)
    key = guide.segue(store, "key", "create", "--project", "*", "--role", "admin")["key"]
    with _server(guide, 1, store), _server(guide, 2, store):
        front = "http://127.0.0.10:8080"
        until("a server is ready", lambda: _is_ready(front), 30)
        session = _wanted(front, key, "/v1/sessions", {"goal": "from nothing to a cluster"})["session"]
        guide.back_up()
        send(below(first.pid), signal.SIGKILL)
        _note(front, key, session, "after the primary was lost")
        events = _wanted(front, key, f"/v1/sessions/{session}/events")["events"]
        assert [one["kind"] for one in events][2:] == ["note.taken"], "once, however often it was sent"


def _check_free() -> None:
    import socket

    for port, host in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                pytest.skip(f"NOT TESTED: somebody else has port {port}")


def _make_roles(guide: Guide) -> None:
    guide.query("CREATE DATABASE segue")
    for statement in guide.segue("", "schema", "--roles", "segue")["sql"]:
        guide.query(statement, "segue")
    for role in ("segue_owner", "segue_writer", "segue_reader"):
        guide.query(f"ALTER ROLE {role} PASSWORD '{PASSWORD}'")
    owner = "postgresql://segue_owner@127.0.0.11,127.0.0.12,127.0.0.13/segue?sslmode=require"
    made = guide.segue(owner, "schema", "--upgrade")
    assert made["schema"] == made["newest"] and made["may_change"]


def _server(guide: Guide, number: int, store: str) -> SegueServer:
    options = ["--host", f"127.0.0.2{number}", "--proxy", "127.0.0.10", "--drain", "5"]
    home, secret = guide.folder / f"server{number}", {"PGPASSWORD": PASSWORD}
    return SegueServer(home, store, options=options, port=8787, as_owner=False, environment=secret)


def _is_up(guide: Guide) -> bool:
    with contextlib.suppress(psycopg.Error):
        return guide.query("SELECT pg_is_in_recovery()", host="127.0.0.11") == [(False,)]
    return False


def _answers(store: str) -> bool:
    with (
        contextlib.suppress(psycopg.Error),
        psycopg.connect(store, password=PASSWORD, connect_timeout=2) as db,
    ):
        return db.execute("SELECT 1").fetchone() == (1,)
    return False


def _is_ready(front: str) -> bool:
    with urllib.request.urlopen(f"{front}/ready", timeout=2) as answer:
        return bool(answer.status == 200)


def _note(front: str, key: str, session: str, text: str) -> None:
    """As a client does: sent until it was answered, and it takes effect once."""
    deadline = time.monotonic() + 60
    while True:
        body = {"commands": [{"command": "Note", "text": text}]}
        request = urllib.request.Request(f"{front}/v1/sessions/{session}/commands", json.dumps(body).encode())
        for name, value in {
            "Authorization": f"Bearer {key}", "Content-Type": "application/json", "Idempotency-Key": "once",
        }.items():  # fmt: skip
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=40):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
