"""A handover described in TOML, as agent-handover 0.5.1 reads it.

    [handover]  memory_dir, tag, checkpoint, pause_file
    [note]      session, current_state (by default the session's note)
    [backend]   type ("git" or "null"), repo_dir, paths, push, branch, remote, message

Everything except the note is optional. An unknown key is ignored with a warning, as in agent-handover;
Segue's own ``segue.toml`` refuses it.
"""

from __future__ import annotations

import difflib
import tomllib
import warnings
from pathlib import Path
from typing import Any

from .._files import open_file
from ..errors import BadValue
from .backends import Backend, GitBackend, NullBackend
from .checkpoint import HandoverWarning
from .engine import HandoverEngine
from .steps import DEFAULT_CHECKPOINT as DEFAULT_CHECKPOINT, three_steps

KEYS: dict[str, tuple[str, ...]] = {
    "handover": ("memory_dir", "tag", "checkpoint", "pause_file"),
    "note": ("session", "current_state"),
    "backend": ("type", "repo_dir", "paths", "push", "branch", "remote", "message"),
}


def load_config(path: Path | str) -> dict[str, Any]:
    """The content of a TOML file, with a warning for each unknown key."""
    with open_file(Path(path)) as file:
        config = tomllib.load(file)
    for text in unknown_keys(config):
        warnings.warn(f"{path}: {text}", HandoverWarning, stacklevel=2)
    return config


def unknown_keys(config: dict[str, Any]) -> list[str]:
    """A message for each unknown key, with the most similar known one."""
    messages = []
    for section, values in config.items():
        if section not in KEYS:
            messages.append(f"unknown section [{section}]{_near(section, tuple(KEYS))}")
        elif isinstance(values, dict):
            messages += [
                f"unknown key {section}.{key}{_near(key, KEYS[section])}"
                for key in values
                if key not in KEYS[section]
            ]
    return messages


def _near(word: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def build_engine_from_config(
    config: dict[str, Any], *, note: str | None = None, current_state: str | None = None,
    push: bool | None = None, checkpoint: Path | str | None = None,
) -> HandoverEngine:  # fmt: skip
    """The engine that a configuration describes; arguments override the configuration."""
    handover, noted, published = (config.get(name, {}) for name in ("handover", "note", "backend"))
    memory_dir, tag = handover.get("memory_dir", "memory"), handover.get("tag", "general")
    session_note = note if note is not None else noted.get("session")
    if session_note is None:
        raise BadValue("no session note: pass one with note=… (--note), or set session in [note]")
    state = current_state if current_state is not None else noted.get("current_state")
    return three_steps(
        note=session_note,
        state=session_note if state is None else state,
        memory_dir=memory_dir,
        tag=tag,
        backend=_build_backend(published, memory_dir, push),
        message=published.get("message", f"handover: {tag} session"),
        checkpoint=checkpoint or handover.get("checkpoint", DEFAULT_CHECKPOINT),
        pause_file=handover.get("pause_file"),
    )


def _build_backend(config: dict[str, Any], memory_dir: Path | str, push: bool | None) -> Backend:
    kind = config.get("type", "git")
    if kind == "null":
        return NullBackend()
    if kind != "git":
        raise BadValue(f"unknown backend type: {kind!r} (git or null)")
    return GitBackend(
        config.get("repo_dir", "."),
        paths=config.get("paths") or [str(memory_dir)],
        branch=config.get("branch", "main"),
        remote=config.get("remote", "origin"),
        push=config.get("push", True) if push is None else push,
    )
