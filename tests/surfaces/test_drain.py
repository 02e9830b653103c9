"""A server that is asked to end serves on for a while as not ready, and a store that is away is said soon."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import yaml
from tests.support.postgres import PostgresServer
from tests.support.postgres_store import needs_postgres
from tests.support.server import SegueServer

ALERTS = Path(__file__).parents[2] / "deploy" / "alerts.yaml"


def test_at_sigterm_a_server_serves_on_as_not_ready_and_then_ends(tmp_path: Path) -> None:
    server = SegueServer(tmp_path / "there", options=["--drain", "2"]).start()
    assert server.ask("GET", "/ready")[0] == 200
    began = time.monotonic()
    os.kill(server.pid, signal.SIGTERM)
    time.sleep(0.3)
    status, problem, _ = server.ask("GET", "/ready")
    assert status == 503 and "shutting down" in problem["detail"]
    status, _, headers = server.ask("POST", "/v1/sessions", {"goal": "still served"})
    assert status == 201 and headers["connection"] == "close"
    assert server.ask("GET", "/health")[0] == 200
    while server.runs and time.monotonic() < began + 20:
        time.sleep(0.05)
    assert 1.5 < time.monotonic() - began < 15
    assert server.stop() == 0


def test_without_draining_a_server_ends_at_once(tmp_path: Path) -> None:
    server = SegueServer(tmp_path / "there").start()
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 5


@needs_postgres
def test_a_server_whose_database_is_gone_lives_and_is_not_ready(tmp_path: Path) -> None:
    database = PostgresServer(tcp=True).start()
    try:
        with SegueServer(tmp_path / "there", database.url()) as server:
            assert server.ask("GET", "/ready")[0] == 200
            assert "segue_ready 1" in str(server.ask("GET", "/metrics")[1])
            database.kill()
            began = time.monotonic()
            assert server.ask("GET", "/health")[0] == 200
            assert server.ask("GET", "/ready")[0] == 503
            assert time.monotonic() - began < 4
            database.start()
            server.until_ready()
    finally:
        database.stop()


def test_every_alert_is_about_a_measure_that_the_server_has(tmp_path: Path) -> None:
    with SegueServer(tmp_path / "there") as server:
        server.ask("GET", "/ready")
        server.ask("PUT", "/v1/quotas/default", {"events": 1_000})
        text = server.ask("GET", "/metrics")[1].decode()
    [group] = yaml.safe_load(ALERTS.read_text())["groups"]
    named = {word for rule in group["rules"] for word in _words(rule["expr"]) if word.startswith("segue_")}
    assert named and all(f"{name} " in text or f"{name}{{" in text for name in named), named
    assert all(rule["annotations"]["summary"] and rule["for"] for rule in group["rules"])


def _words(expression: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in expression).split()
