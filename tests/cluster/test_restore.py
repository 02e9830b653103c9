"""A restore to a moment, as the guide for teams tells it: a base backup, the log since, and one mistake."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.test_history_went_back import segue
from tests.support.cluster.clients import tokens_of
from tests.support.cluster.programs import (
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

pytestmark = [needs_cluster, pytest.mark.timeout(120)]


class Archiving:
    """A Postgres that keeps its log in a folder beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = own(folder)
        folder.chmod(0o755)
        [self.port] = free_ports(1)
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.log = own(_made(folder / "wal"))
        self.program = self._program("data")

    def _program(self, data: str) -> Program:
        return Program(f"postgres-{data}", ["postgres", "-D", str(self.folder / data)], self.folder)

    def create(self) -> None:
        run(self.folder, "initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(
                f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                "dynamic_shared_memory_type = mmap\narchive_mode = on\n"
                f"archive_command = 'test ! -f {self.log}/%f && cp %p {self.log}/%f'\n"
            )

    def start(self) -> None:
        self.program.start()
        until("it answers", lambda: takes_writes(self.url))

    def restore(self, moment: str) -> None:
        """The base backup in the place of the data, and the log up to a moment."""
        with (self.folder / "base" / "postgresql.conf").open("a") as file:
            file.write(
                f"restore_command = 'cp {self.log}/%f %p'\nrecovery_target_time = '{moment}'\n"
                "recovery_target_action = promote\narchive_mode = off\n"
            )
        own(_touched(self.folder / "base" / "recovery.signal"))
        self.program = self._program("base")


def run(folder: Path, *words: str) -> None:
    command = [str(POSTGRES_FOLDER / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=folder, user=user(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _touched(path: Path) -> Path:
    path.touch()
    return path


@pytest.fixture
def archiving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archiving]:
    folder = tmp_path_factory.mktemp("archiving")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    made = Archiving(folder)
    made.create()
    made.start()
    yield made
    made.program.kill()


def test_a_store_is_restored_to_the_moment_before_a_mistake(archiving: Archiving, tmp_path: Path) -> None:
    home = _made(tmp_path / "home")
    with Segue(store=archiving.url, home=home, folder=home) as client:
        session = client.start("work of a week")
        session.note("before the backup")
        run(archiving.folder, "pg_basebackup", "-d", archiving.url, "-D", "base", "-X", "stream")
        session.note("after the backup")
        time.sleep(0.2)
        [(moment,)] = query(archiving.url, "SELECT now()")
        time.sleep(0.2)
        session.note("after the moment")
    query(archiving.url, "DELETE FROM segue.events RETURNING 1")
    [(segment,)] = query(archiving.url, "SELECT pg_walfile_name(pg_switch_wal())")
    until("the log is archived", lambda: (archiving.log / str(segment)).exists())
    archiving.program.kill()
    archiving.restore(str(moment))
    archiving.start()
    found = {one["name"]: one for one in segue(home, archiving.url, "doctor")}
    assert found["store"]["status"] == "ok", "every chain is proven"
    assert found["history"]["status"] == "bad", "this machine has seen more"
    assert segue(home, archiving.url, "recover")["changed"]
    with Segue(store=archiving.url, home=home, folder=home) as client:
        wanted = ("", "", "before the backup", "after the backup", "after the moment")
        assert tokens_of(client.workspace.store, session.id) == wanted
        client.session(session.id).note("and on")
