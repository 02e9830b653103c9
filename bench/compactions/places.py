"""Where a transcript of a public corpus comes from, so that no repository decides a benchmark alone."""

from __future__ import annotations

from pathlib import Path


def repository_of(path: Path, name: str) -> str:
    """The repository of a transcript: the folder that is called OWNER__NAME, else the part of the file's name
    before ``--``, else its folder."""
    folders = (*name.split("/")[:-1], *reversed(path.parts[:-1]))
    owned = next((folder for folder in folders if "__" in folder.strip("_")), "")
    stem, dashes, _ = path.name.partition("--")
    return owned or (stem if dashes else name.rpartition("/")[0])
