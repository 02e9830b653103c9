"""The agents' formats, each read plainly and by itself: what happened, and how to cut it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bench.blind.formats import claude_code, cline, codex, copilot_cli, gemini_cli, opencode
from bench.blind.transcript import Transcript

HEAD_BYTES = 65_536
FORMATS: tuple[tuple[Callable[[bytes, str], bool], Callable[[Path], Transcript]], ...] = (
    (cline.recognises, cline.Task),
    (gemini_cli.recognises, gemini_cli.read),
    (opencode.recognises, opencode.OpenCode),
    (codex.recognises, codex.Codex),
    (copilot_cli.recognises, copilot_cli.CopilotCli),
    (claude_code.recognises, claude_code.ClaudeCode),
)


def read(path: Path) -> Transcript | None:
    """A transcript of a known agent; None if the file is something else, or cannot be read to its end."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    for recognises, reader in FORMATS:
        if recognises(head, path.name):
            try:
                return reader(path)
            except ValueError:
                return None
    return None


def files(folders: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """(name below its folder, path) of everything that may be a transcript, in order of the names."""
    found = (
        (path.relative_to(folder).as_posix(), path)
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".json", ".jsonl") and path.is_file()
    )
    return iter(sorted(found))
