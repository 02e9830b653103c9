"""Runs the real command line in a project of its own."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from segue.surfaces.cli.main import main


class Ran(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def cli(project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """``cli("start", "goal", stdin=b"…")``; a code other than the expected one fails."""

    def run(*words: str, code: int = 0, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfd.readouterr()
        got = main(list(words))
        out, err = capfd.readouterr()
        assert got == code, f"segue {' '.join(words)[:200]} gave {got}\n{out[:2000]}\n{err[:2000]}"
        return Ran(got, out, err)

    return run


@pytest.fixture
def started(cli: Cli) -> Cli:
    """A session `jwt` with four items, one done and one under way."""
    items = ("analyse codebase", "user model", "auth middleware", "token validation")
    cli("start", "Refactor authentication to JWT", "--id", "jwt", *(f"--item={item}" for item in items))
    cli("checkpoint", "--done", "user model", "--begin", "auth middleware")
    return cli


def a_day_of_work(started: Cli) -> None:
    """What is done with a session in a day, on whichever store."""
    started("done", "user model")
    started("learn", "the pool has ten connections")
    assert started("status", "--json").value["done"] == ["user model"]
    assert "ten connections" in started("recall", "pool connections").out
    started("checkpoint", "--name", "one", "--note", "half way")
    started("pause", "--reason", "lunch")
    started("resume")
    assert started("list", "--json").value[0]["id"] == "jwt"
    assert "user model" in started("log").out
    assert "GOAL" in started("brief").out
    assert started("rebuild", "--check", "--json").value["different"] == []
    assert started("runs").code == started("sync").code == started("hold").code == 0
