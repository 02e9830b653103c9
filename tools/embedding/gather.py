"""Sentences to train on, from transcripts, Markdown and docstrings.

`python -m tools.embedding.gather OUT.txt.gz FOLDER…`

Every text is split into sentences; what is not prose is left out. Equal sentences count once, and the order
is mixed with a fixed seed, so that the same folders give the same file. Keep what you measure with out of it:
`--without NAME` leaves out files whose path has that name.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SENTENCE_CHARS = (15, 280)
PASSAGE_CHARS = (60, 600)
LETTERS_MIN = 0.55
"""The share of letters below which a text is code or a table."""
SENTENCES_OF_A_TEXT = 40
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_EDGES = " -*#>|`"


def sentences_of(text: str, most: int = SENTENCES_OF_A_TEXT) -> Iterator[str]:
    """The first sentences of a text, and the whole text where it is a short passage."""
    found = 0
    for part in _END.split(text):
        sentence = " ".join(part.split()).strip(_EDGES)
        if _is_prose(sentence, *SENTENCE_CHARS):
            yield sentence
            found += 1
            if found == most:
                break
    passage = " ".join(text.split())
    if _is_prose(passage, *PASSAGE_CHARS):
        yield passage


def _is_prose(text: str, least: int, most: int) -> bool:
    return least <= len(text) <= most and sum(map(str.isalpha, text)) > LETTERS_MIN * len(text)


def texts_of(path: Path) -> Iterator[str]:
    """The prose in a transcript of JSON lines, a Markdown file or a Python file."""
    body = path.read_text(errors="replace")
    if path.suffix == ".jsonl":
        for line in body.splitlines():
            try:
                yield from _strings(json.loads(line))
            except ValueError:
                continue
    elif path.suffix in (".md", ".mdx", ".rst"):
        yield from body.split("\n\n")
    elif path.suffix == ".py":
        yield from _docstrings(body)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:3_000]
    elif isinstance(value, list | dict):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _strings(child)


def _docstrings(body: str) -> Iterator[str]:
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError):
        return
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text


def gathered(folders: Iterable[Path], without: Iterable[str] = (), seed: int = 1) -> list[str]:
    """All different sentences in the files of these folders, in an order that depends on them alone."""
    left_out = tuple(without)
    found: set[str] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not any(name in str(path) for name in left_out):
                for text in texts_of(path):
                    found.update(sentences_of(text))
    mixed = sorted(found)
    random.Random(seed).shuffle(mixed)
    return mixed


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.embedding.gather")
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--without", action="append", default=[], help="leave out paths with this name")
    args = parser.parse_args()
    sentences = gathered(args.folders, args.without)
    with gzip.open(args.out, "wt", compresslevel=6) as file:
        file.write("\n".join(sentences))
    print(f"{len(sentences):,} sentences")


if __name__ == "__main__":
    main()
