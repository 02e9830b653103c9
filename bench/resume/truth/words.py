"""Whether words of a brief stand in a text: letters and digits are compared, marks are not."""

from __future__ import annotations

import re

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # each a word of its own
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")
_GAP = re.compile(r"…|\[redacted[^\]]*\]|\[\d+ pasted lines?(?:: )?|\]|<redacted[^>]*>")
_NUMBERING = re.compile(r"^\s*(?:[-*•#>]\s*)*\d+[.)]\s", re.M)
_STOP = re.compile(r" / |[.;:!?,|](?=\s|$)|\s[-–—*•]\s|\\(?=\s|$)")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def words(text: str) -> str:
    """The words of a text, one space between them and around."""
    return f" {' '.join(_WORD.findall(_ESCAPES.sub('', text).lower()))} "


class Folders:
    """The folder and the home of a run, so that paths can be compared however they are told."""

    def __init__(self, folders: list[str]) -> None:
        roots = {folder.replace("\\", "/").rstrip("/") for folder in folders if len(folder) > 1}
        self.roots = sorted(roots, key=len, reverse=True)
        homes = (re.match(r"/(?:Users|home)/[^/]+|/root", root) for root in self.roots)
        self.homes = sorted({home[0] for home in homes if home}, key=len, reverse=True)

    def short(self, text: str) -> str:
        """The text with paths told from the folder or the home."""
        text = text.replace("\\", "/") if re.search(r"\b[A-Z]:\\", text) else text
        for root in self.roots:
            text = text.replace(f"{root}/", "")
        for home in self.homes:
            text = text.replace(f"{home}/", "~/")
        return text

    def path(self, path: str) -> str:
        """A path from the folder."""
        path = self.short(path.replace("\\", "/"))
        return path.removeprefix("./")


def stands(quoted: str, source: str) -> bool:
    """Whether the quoted words stand in the source; what was left out is marked by an ellipsis."""
    plain = _LINK.sub(r"\1", source)
    there = words(source) + words(_NUMBERING.sub(" ", plain)) + (words(plain) if plain != source else "")
    pieces = [piece for piece in _GAP.split(quoted) if piece]
    return all(_stands(piece, there, at > 0) for at, piece in enumerate(pieces))


def _stands(piece: str, there: str, torn: bool) -> bool:
    """``torn`` is whether the piece may begin inside a word."""
    wanted = words(piece).rstrip()
    if not wanted.strip() or wanted in there or (torn and wanted.strip() in there):
        return True
    parts = [words(part).rstrip() for part in _STOP.split(piece)]
    if len(parts) > 1 and all(
        part in there or (torn and part.strip() in there) for part in parts if part.strip()
    ):
        return True
    return _is_composed(wanted.split(), there)


def _is_composed(wanted: list[str], there: str) -> bool:
    """Whether the words are sentences and headings of the source, put one behind the other."""
    at, breaks = 0, 0
    while at < len(wanted):
        end = at + 1
        while end <= len(wanted) and f" {' '.join(wanted[at:end])}" in there:
            end += 1
        taken = end - 1 - at
        if taken < min(3, len(wanted) - at):
            return False
        at, breaks = at + taken, breaks + 1
    return breaks - 1 <= len(wanted) // 6


def share(quoted: str, source: str) -> float:
    """How many of the quoted words occur in the source at all."""
    wanted = _WORD.findall(quoted.lower())
    there = set(_WORD.findall(source.lower()))
    return sum(word in there for word in wanted) / len(wanted) if wanted else 1.0
