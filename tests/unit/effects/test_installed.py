"""How an extra of this Segue is added depends on how Segue itself was installed."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from typing import Any

import pytest

from segue._installed import command_for_extra


class Installed:
    """A distribution that came from somewhere."""

    def __init__(self, origin: dict[str, Any] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        return json.dumps(self._origin) if self._origin is not None and name == "direct_url.json" else None


@pytest.mark.parametrize(
    ("origin", "package"),
    [
        (None, "'segue[mcp]'"),
        ({"url": "file:///a%20b/segue.whl", "archive_info": {}}, "'/a b/segue.whl[mcp]'"),
        ({"url": "file:///code/segue", "dir_info": {"editable": True}}, "-e '/code/segue[mcp]'"),
        ({"url": "file:///code/segue", "dir_info": {}}, "'/code/segue[mcp]'"),
        ({"url": "https://h/s.git", "vcs_info": {"vcs": "git"}}, "'segue[mcp] @ git+https://h/s.git'"),
    ],
)
def test_an_extra_comes_from_where_segue_came(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None, package: str
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(origin))
    monkeypatch.setattr(sys, "prefix", "/home/u/venv")
    assert command_for_extra("mcp") == f"pip install {package}"


@pytest.mark.parametrize(
    ("prefix", "installer"),
    [
        ("/home/u/.local/share/uv/tools/segue", "uv tool install --force"),
        ("/home/u/.local/share/pipx/venvs/segue", "pipx install --force"),
    ],
)
def test_what_installed_segue_installs_its_extras(
    monkeypatch: pytest.MonkeyPatch, prefix: str, installer: str
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(None))
    monkeypatch.setattr(sys, "prefix", prefix)
    assert command_for_extra("map") == f"{installer} 'segue[map]'"
