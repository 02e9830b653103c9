"""A restore to a moment by pgBackRest, as the guide for teams tells it, with the settings in ``deploy``."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.test_history_went_back import segue
from tests.support.cluster.clients import tokens_of
from tests.support.cluster.programs import (
    PATH,
    POSTGRES_FOLDER,
    Program,
    free_ports,
    needs_cluster,
    own,
    query,
    takes_writes,
    until,
    user,
)

from segue import Segue

SETTINGS = Path(__file__).parents[2] / "deploy" / "cluster" / "pgbackrest.conf"
pytestmark = [
    needs_cluster,
    pytest.mark.skipif(shutil.which("pgbackrest") is None, reason="NOT TESTED: apt-get install pgbackrest"),
    pytest.mark.timeout(300),
]


class BackedUp:
    """A Postgres whose log goes to a repository of pgBackRest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        [self.port] = free_ports(1)
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        for name in ("data", "repository", "log", "lock", "socket", "spool"):
            (folder / name).mkdir(mode=0o700)
            own(folder / name)
        self.settings = folder / "pgbackrest.conf"
        with self.settings.open("w") as file:
            self._settings().write(file, space_around_delimiters=False)
        self.settings.chmod(0o644)
        self.server = Program("postgres", ["postgres", "-D", str(folder / "data")], folder)

    def _settings(self) -> configparser.ConfigParser:
        """Those of the guide; only the paths are ours."""
        settings = configparser.ConfigParser(interpolation=None)
        settings.read(SETTINGS)
        folder = self.folder
        places = {"repo1-path": "repository", "log-path": "log", "lock-path": "lock", "spool-path": "spool"}
        settings["global"].update({name: f"{folder}/{place}" for name, place in places.items()})
        here = {"pg1-path": f"{folder}/data", "pg1-socket-path": f"{folder}/socket"}
        settings["segue"].update({**here, "pg1-port": str(self.port), "pg1-user": "postgres"})
        return settings

    def create(self) -> None:
        self._run(
            str(POSTGRES_FOLDER / "initdb"), "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--no-sync", "--data-checksums",
        )  # fmt: skip
        push = f"pgbackrest --config={self.settings} --stanza=segue archive-push %p"
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(
                f"port = {self.port}\nlisten_addresses = '127.0.0.1'\n"
                f"unix_socket_directories = '{self.folder}/socket'\n"
                f"dynamic_shared_memory_type = mmap\narchive_mode = on\narchive_command = '{push}'\n"
            )

    def start(self) -> None:
        self.server.start()
        until("it takes writes", lambda: takes_writes(self.url))

    def pgbackrest(self, *words: str) -> str:
        return self._run("pgbackrest", f"--config={self.settings}", "--stanza=segue", *words)

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self.folder, user=user(), capture_output=True, text=True,
            env={"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": str(self.folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def server() -> Iterator[BackedUp]:
    folder = own(
        Path(tempfile.mkdtemp(prefix="segue-backrest-", dir="/tmp"))
    )  # the path of a socket is short
    folder.chmod(0o755)
    made = BackedUp(folder)
    try:
        made.create()
        made.start()
        yield made
    finally:
        made.server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_store_is_restored_by_pgbackrest_to_the_moment_before_a_mistake(
    server: BackedUp, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    server.pgbackrest("stanza-create")
    server.pgbackrest("check")
    with Segue(store=server.url, home=home, folder=home) as client:
        session = client.start("work of a week")
        session.note("before the backup")
        server.pgbackrest("--type=full", "backup")
        session.note("after the full backup")
        server.pgbackrest("--type=incr", "backup")
        session.note("after the second backup")
        time.sleep(0.2)
        [(moment,)] = query(server.url, "SELECT now()")
        time.sleep(0.2)
        session.note("after the moment")
    query(server.url, "DELETE FROM segue.events RETURNING 1")
    query(server.url, "SELECT pg_switch_wal()")
    server.pgbackrest("check")  # waits until the log is archived
    assert server.pgbackrest("info").count("backup:") >= 2
    server.server.kill()
    shutil.rmtree(server.folder / "data")  # the machine is lost, too
    own(_made(server.folder / "data"))
    words = ("--type=time", f"--target={moment}", "--target-action=promote", "--archive-mode=off", "restore")
    server.pgbackrest(*words)
    server.start()
    found = {one["name"]: one for one in segue(home, server.url, "doctor")}
    assert found["store"]["status"] == "ok", "every chain is proven"
    assert found["history"]["status"] == "bad", "this machine has seen more"
    assert segue(home, server.url, "recover")["changed"]
    with Segue(store=server.url, home=home, folder=home) as client:
        wanted = (
            "", "", "before the backup", "after the full backup", "after the second backup",
            "after the moment",
        )  # fmt: skip
        assert tokens_of(client.workspace.store, session.id) == wanted


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder
