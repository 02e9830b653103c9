"""aider's repository map, as its own environment runs it: reads one question a line, answers one a line.

Run by the benchmark with the Python of an environment that has ``aider-chat`` and ``msgspec``. No model is
asked: the map needs one only to count tokens, and here the counter is Segue's, the same for all.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any

from aider.repomap import RepoMap

from segue.core.base.token_estimate import estimate


class Counting:
    """What the map asks a model for."""

    def token_count(self, text: str) -> int:
        return estimate(text)


class Silent:
    """What the map asks a terminal for."""

    def read_text(self, name: str, silent: bool = False) -> str | None:
        try:
            with open(name, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeError):
            return None

    def tool_output(self, *_: Any, **__: Any) -> None:
        pass

    tool_warning = tool_error = tool_output


_maps: dict[str, RepoMap] = {}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    root, touched, task = asked["root"], asked["touched"], asked["task"]
    began = time.perf_counter()
    repo_map = _maps.get(root)
    if repo_map is None:
        repo_map = _maps[root] = RepoMap(root=root, main_model=Counting(), io=Silent(), refresh="always")
    repo_map.max_map_tokens = asked["tokens"]
    repo_map.map_mul_no_files = 1
    idents = set(re.split(r"\W+", task))
    names = {name for name in asked["files"] if os.path.basename(name) in task}
    names |= repo_map_matches(idents, asked["files"])
    chat = [os.path.join(root, name) for name in touched] if asked["in_chat"] else []
    mentioned = names | (set() if asked["in_chat"] else set(touched))
    others = [os.path.join(root, name) for name in asked["files"]]
    others = [name for name in others if name not in chat]
    text = repo_map.get_repo_map(chat, others, mentioned, idents) or ""
    return {"text": text, "seconds": time.perf_counter() - began}


def repo_map_matches(idents: set[str], files: list[str]) -> set[str]:
    """Files whose name without its ending is a word of the task, of five letters or more, as aider does."""
    stems: dict[str, set[str]] = {}
    for name in files:
        stem = os.path.splitext(os.path.basename(name))[0].lower()
        if len(stem) >= 5:
            stems.setdefault(stem, set()).add(name)
    return {name for ident in idents if len(ident) >= 5 for name in stems.get(ident.lower(), ())}


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what aider prints is not an answer
    for line in sys.stdin:
        out.write(json.dumps(answer(json.loads(line))) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
