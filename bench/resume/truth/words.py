"""Whether words of a brief stand in a text: letters and digits are compared, marks are not."""

from __future__ import annotations

import re
from functools import lru_cache

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # each a word of its own
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")
_GAP = re.compile(
    r"…|\(given to a command:|^\(a command\)|\[(?:done|withdrawn|superseded)\]"
    r"|\[redacted[^\]]*\]|\[\d+ pasted lines?(?:: )?|\]|<redacted[^>]*>"
)
_NUMBERING = re.compile(r"^\s*(?:[-*•#>]\s*)*\d+[.)]\s", re.M)
_STOP = re.compile(r" / |[.;:!?,|](?=\s|$)|\s[-–—*•]\s|\\(?=\s|$)")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


@lru_cache(maxsize=20_000)
def words(text: str) -> str:
    """The words of a text, one space between them and around."""
    return f" {' '.join(_WORD.findall(_ESCAPES.sub('', text).lower()))} "


_DRIVE = re.compile(r"\b[A-Za-z]:(?=[\\/])")


def plain_path(path: str) -> str:
    """A path of Windows as one of others, with a small letter for the drive."""
    return _DRIVE.sub(lambda drive: drive[0].lower(), path.replace("\\", "/"))


class Folders:
    """The folder and the home of a run, so that paths can be compared however they are told."""

    def __init__(self, folders: list[str]) -> None:
        roots = {plain_path(folder).rstrip("/") for folder in folders if len(folder) > 1}
        self.roots = sorted(roots, key=len, reverse=True)
        homes = (re.match(r"/(?:Users|home)/[^/]+|/root", root) for root in self.roots)
        self.homes = sorted({home[0] for home in homes if home}, key=len, reverse=True)
        self.known: dict[str, str] = {}

    def short(self, text: str) -> str:
        """The text with paths told from the folder or the home."""
        if text not in self.known:
            self.known[text] = self._shortened(text)
        return self.known[text]

    def _shortened(self, text: str) -> str:
        text = plain_path(text) if _DRIVE.search(text) else text
        for root in self.roots:
            text = text.replace(f"{root}/", "")
        for home in self.homes:
            text = text.replace(f"{home}/", "~/")
        return text

    def at_home(self, text: str) -> str:
        """The text with paths told from the home alone."""
        for home in self.homes:
            text = text.replace(f"{home}/", "~/")
        return text

    def path(self, path: str) -> str:
        """A path from the folder."""
        path = self.short(plain_path(path))
        return path.removeprefix("./")


def is_folder(shown: str, folder: str) -> bool:
    """Whether a brief may call a folder so: from the home, and without what an ellipsis stands for."""
    head, gap, tail = shown.removeprefix("~").rstrip("/").partition("…")
    if shown.startswith("~") or not head:
        at = folder.find(f"/{head.strip('/')}") if head.strip("/") else 0
    else:
        at = 0 if folder.startswith(head) else -1
    if not gap:
        return folder == shown or folder.endswith(f"/{head.strip('/')}")
    return at >= 0 and folder.endswith(tail) and len(folder) >= at + len(head) + len(tail)


@lru_cache(maxsize=20_000)
def _forms(source: str) -> str:
    """The words of a text, also without the numbers of its lists and the targets of its links."""
    plain = _LINK.sub(r"\1", source)
    return words(source) + words(_NUMBERING.sub(" ", plain)) + (words(plain) if plain != source else "")


def stands(quoted: str, source: str) -> bool:
    """Whether the quoted words stand in the source; what was left out is marked by an ellipsis."""
    there = _forms(source)
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


def is_verbatim(quoted: str, source: str) -> bool:
    """Whether each piece of a quotation stands in the source as it is, one behind the other. Unlike in
    ``stands``, nothing may be put together from several places."""
    there, at = _forms(source), 0
    for number, piece in enumerate(piece for piece in _GAP.split(quoted) if words(piece).strip()):
        wanted = words(piece).rstrip()
        found = there.find(wanted if number == 0 else wanted.lstrip(), at)
        if found < 0:
            return False
        at = found + len(wanted) - 1
    return True


_SMALL = frozenset(
    """a an the and or of to in for on with by from at is are was were be been it this that these those as if
    then but not no so can could will would has have had i you we they he she my your our their me us them do
    does did done should need want when after before what why how which there here also just only all any more
    please make sure into out up about over again still now one two first next like get go let use using used
    must may might never always without instead yes ok okay sure""".split()
)


def content(text: str) -> frozenset[str]:
    """The words of a text that say what it is about."""
    return frozenset(word for word in words(text).split() if word not in _SMALL and len(word) > 1)
