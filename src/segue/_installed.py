"""How this Segue was installed, and so how an extra of it is added."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote, urlsplit


def command_for_extra(name: str) -> str:
    """The command that installs this Segue once more, with an extra."""
    from importlib import metadata

    try:
        told = metadata.distribution("segue").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        told = '{"url": "."}'  # run from a checkout
    return f"{_installer()} {_package(told or '', name)}"


def _installer() -> str:
    places = PurePath(sys.prefix).parts
    if "pipx" in places:
        return "pipx install --force"
    if "uv" in places and "tools" in places:
        return "uv tool install --force"
    return "pip install"


def _package(told: str, extra: str) -> str:
    """What to install: the file, folder or address that it came from, else its name on the index."""
    if not told:
        return f"'segue[{extra}]'"
    import json

    origin: dict[str, Any] = json.loads(told)
    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        return f"'segue[{extra}] @ {origin['vcs_info'].get('vcs', 'git')}+{url}'"
    path = unquote(urlsplit(url).path) if url.startswith("file:") else url
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"{editable}'{path}[{extra}]'"
