"""Telling Codex that its user trusts our hooks: by asking Codex itself, never by guessing its hashes.

Only the hooks that we wrote are trusted. Codex writes its own configuration; `segue uninit` removes that,
too.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...agents.codex.install import INSTALLER, own_places
from ...agents.install import InstallTarget
from ...agents.own_entries import is_own_command
from ...agents.transcript_files import bytes_of
from ...errors import AgentError
from ..workspace.data_folder import DataFolder
from .install import adopt, where_of

ANSWER_SECONDS = 20.0
_HINT = "review the hooks with /hooks in codex"


def trust_hooks(home: DataFolder, where: InstallTarget) -> int:
    """Make Codex trust all of our hooks, and return how many there are. Raises AgentError if Codex does not
    answer."""
    return adopt(home, INSTALLER.folder(where) / "config.toml", "codex", where, lambda: _trusted(where))


def trusted_hooks(home: DataFolder, environment: Mapping[str, str]) -> tuple[int, int]:
    """How many of our hooks Codex trusts according to its configuration, and how many there are. Whether it
    trusts them as they are now only Codex can tell."""
    where = where_of(home, Path("/"), environment, "user", mcp=False)
    config = bytes_of(INSTALLER.folder(where) / "config.toml").decode("utf-8", "replace")
    try:
        states = tomllib.loads(config).get("hooks", {}).get("state", {})
    except (tomllib.TOMLDecodeError, AttributeError):
        states = {}
    keys = [key for key, state in states.items() if isinstance(state, dict) and state.get("trusted_hash")]
    places = own_places(INSTALLER.folder(where) / "hooks.json", where.hook)
    trusted = sum(any(key.endswith(f"/hooks.json:{place}") for key in keys) for place in places)
    return trusted, len(places)


def _trusted(where: InstallTarget) -> int:
    program = shutil.which("codex", path=where.env.get("PATH"))
    if program is None:
        raise AgentError("codex was not found on PATH", hint=_HINT)
    process = subprocess.Popen(
        [program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        cwd=where.root, env=dict(where.env),
    )  # fmt: skip
    try:
        talk = _Talk(process)
        talk.ask("initialize", {"clientInfo": {"name": "segue", "title": "Segue", "version": "1"},
                                "capabilities": {"experimentalApi": True}})  # fmt: skip
        talk.tell("initialized")
        listed = talk.ask("hooks/list", {"cwds": [str(where.root)]})
        ours = [hook for hook in _hooks(listed) if _is_own(hook, where)]
        state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in ours}
        if state:
            edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
            talk.ask("config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
        return len(state)
    finally:
        process.terminate()
        process.wait(10)


def _is_own(hook: dict[str, Any], where: InstallTarget) -> bool:
    """Whether a hook that Codex lists runs our hook file and nothing else."""
    return any(is_own_command(value, where.hook) for value in hook.values())


def _hooks(listed: Any) -> list[dict[str, Any]]:
    if isinstance(listed, dict):
        if isinstance(listed.get("key"), str) and isinstance(listed.get("currentHash"), str):
            return [listed]
        return [hook for value in listed.values() for hook in _hooks(value)]
    return [hook for value in listed for hook in _hooks(value)] if isinstance(listed, list) else []


class _Talk:
    """A JSON-RPC connection with one message per line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0
        self._read = b""

    def tell(self, method: str, **more: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"method": method, **more}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as fault:
            raise AgentError("codex does not accept requests", hint=_HINT) from fault

    def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        self.tell(method, id=self._number, params=params)
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            for line in self._lines(deadline):
                try:
                    reply = json.loads(line)
                except ValueError:
                    continue
                if reply.get("id") == self._number and "method" not in reply:
                    if "error" in reply:
                        raise AgentError(f"codex refused {method}: {reply['error'].get('message', '')}")
                    return reply.get("result")
        raise AgentError(f"codex did not answer {method}", hint=_HINT)

    def _lines(self, deadline: float) -> list[bytes]:
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return []
        piece = os.read(out.fileno(), 65536)
        if not piece:
            raise AgentError("codex ended before it answered", hint=_HINT)
        *lines, self._read = (self._read + piece).split(b"\n")
        return lines
