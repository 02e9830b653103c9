"""What is in ``deploy``: as far as it can be started without Docker and systemd, it is."""

from __future__ import annotations

import configparser
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from tests.support.children import ended, ends_with_us
from tests.support.postgres import PostgresServer, binaries
from tests.support.postgres_store import needs_postgres

from segue.services.upkeep.postgres_schema import roles_sql

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMES = ("postgres", "segue_owner", "segue_writer")


@pytest.fixture(scope="module")
def segue_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program `segue`."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "segue"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m segue "$@"\n')
    program.chmod(0o755)
    return folder


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> str:
    done = subprocess.run(
        command, env=dict(environment), cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(segue_program: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "SEGUE_EMBEDDER") if name in os.environ}
    return {"PATH": f"{segue_program}:/usr/bin:/bin", **kept, **more}


def is_ready_and_ends(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    """A server of this command answers, and ends when it is asked to."""
    process = subprocess.Popen(
        command, env=dict(environment), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, preexec_fn=ends_with_us(),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        told = process.stdout.readline()
        assert told.startswith("serving "), told
        with urlopen(f"{told.split(' on ')[1].strip()}/ready", timeout=10) as answer:
            assert answer.status == 200
    finally:
        ended(process, signal.SIGTERM)


def test_the_roles_are_those_that_segue_schema_prints() -> None:
    lines = (DEPLOY / "roles.sql").read_text().splitlines()[1:]
    assert lines == [f"{statement};" for statement in roles_sql("segue")]


class Composed:
    """The services of the compose file, done by hand on a Postgres of ours."""

    def __init__(self, server: PostgresServer, folder: Path, program: Path) -> None:
        self.services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
        self.folder, self._program, self._server = folder, program, server
        self.secrets = folder / "secrets"
        self.secrets.mkdir()
        for name in NAMES:
            (self.secrets / name).write_text(f"{name}-password\n")

    def roles(self) -> None:
        found = binaries()
        assert found is not None
        more = {
            "PGHOST": "127.0.0.1", "PGPORT": str(self._server.port), "PGPASSWORD": self._server.password,
            "POSTGRES_DB": self.services["postgres"]["environment"]["POSTGRES_DB"],
            "SEGUE_ROLES": str(DEPLOY / "roles.sql"), "SEGUE_SECRETS": str(self.secrets),
        }  # fmt: skip
        path = f"{found / 'bin'}:/usr/bin:/bin"
        run(
            ["sh", str(DEPLOY / "roles.sh")],
            {**environment(self._program, **more), "PATH": path},
            self.folder,
        )

    def command(self, name: str) -> tuple[list[str], dict[str, str]]:
        service = self.services[name]
        words = [*service.get("entrypoint", []), *service["command"]]
        here = {"/run/secrets": str(self.secrets), "$$": "$"}
        for there, own in here.items():
            words = [word.replace(there, own) for word in words]
        host = f"@127.0.0.1:{self._server.port}/"
        store = service["environment"]["SEGUE_STORE"].replace("@postgres/", host)
        return words, environment(self._program, SEGUE_STORE=store, SEGUE_HOME=str(self.folder / "data"))


@pytest.fixture
def composed(tmp_path: Path, segue_program: Path) -> Iterator[Composed]:
    with PostgresServer(tcp=True) as server:
        server.database("segue")
        yield Composed(server, tmp_path, segue_program)


@needs_postgres
def test_the_services_of_the_compose_file_start_one_after_the_other(composed: Composed) -> None:
    composed.roles()
    words, variables = composed.command("upgrade")
    assert "schema" in run(words, variables, composed.folder)
    words, variables = composed.command("segue")
    entry, serve = words[:4], words[4:]
    key = [*entry, "segue", "key", "create", "--project", "*", "--role", "admin"]
    assert "sgk_" in run(key, variables, composed.folder)
    assert serve[:4] == ["segue", "serve", "--host", "0.0.0.0"]
    serve[serve.index("--port") + 1], serve[3], serve[-1] = "0", "127.0.0.1", "0"
    is_ready_and_ends([*entry, *serve], variables, composed.folder)


def test_a_server_starts_as_the_unit_of_systemd_says(tmp_path: Path, segue_program: Path) -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "segue.service")
    service = unit["Service"]
    words = service["ExecStart"].split()
    assert words[0] == "/opt/segue/bin/segue"
    words[0] = str(segue_program / "segue")
    words[words.index("--port") + 1], words[words.index("--drain") + 1] = "0", "0"
    name, _, state = service["Environment"].partition("=")
    assert state == f"/var/lib/{service['StateDirectory']}"
    is_ready_and_ends(words, environment(segue_program, **{name: str(tmp_path / "state")}), tmp_path)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="NOT TESTED: no systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "segue.service"
    unit.write_text((DEPLOY / "segue.service").read_text().replace("/opt/segue/bin/segue", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert done.returncode == 0 and "segue.service" not in done.stderr, done.stderr


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="NOT TESTED: no docker-compose")
def test_docker_compose_understands_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "deploy"
    shutil.copytree(DEPLOY, folder, ignore=shutil.ignore_patterns("secrets"))
    (folder / "secrets").mkdir()
    for name in NAMES:
        (folder / "secrets" / f"{name}.txt").write_text("secret")
    done = subprocess.run(
        ["docker-compose", "-f", str(folder / "compose.yaml"), "config", "--quiet"],
        capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="NOT TESTED: no promtool")
def test_prometheus_understands_the_alert_rules() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", str(DEPLOY / "alerts.yaml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
