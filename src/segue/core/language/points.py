"""The points of a text: entries of its numbered and bulleted lists, each with the line that heads its list.

A message with a list asks for several things, which are done one by one. Entries below an entry, code, tables
and what was pasted are no points. Of a long document only numbered steps count: its bullets are details.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..base.lazy import regex
from ..base.values import Value
from .sentences import sentences

POINTS_MAX, POINT_CHARS, HEAD_CHARS = 24, 600, 160
DOCUMENT_CHARS = 3_000
BULLETS_MAX = 16
FINDINGS_MAX, FINDING_CHARS = 12, 300
WRAPPED_CHARS = 66
"""A line that is shorter was ended by the one who wrote it, and not by an editor."""
_FENCED = regex(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.S | re.M)
_ENTRY = regex(
    r"^(\s{0,8})(?:#{1,4} +)?(?:\*\*)?"
    r"(?:\(?(\d{1,2}|[a-hA-H])[.):](?!\d)|([-*•+])|((?:step|phase|task|finding|issue|schritt|étape|paso|etapa"
    r"|шаг) +\d{1,2})\b\s*[.:)—–-]?)(?:\*\*)?\s+(\S.*)$",
    re.I,
)
_BOX = regex(r"^\[([ xX])\]\s+")
_INLINE = regex(r"(?:^|(?<=[\s:;,.(]))\(?([1-9])[.)]\s+(?=\S)")
_AND = regex(r"[,;]?(?:\s+(?:and|und|et|y|e|en|i|и))?[,;]?\s*$", re.I)
_RULE = regex(r"^[-=_*]{3,}$")
_FINDS = regex(
    r"\b(?:issues?|findings?|bugs?|vulnerab\w+|missing|incorrect|wrong|unsafe|races?|leaks?|severity|nits?"
    r"|blocker|fix|fails?|broken|never (?:checked|handled|tested|validated|closed|released)"
    r"|(?:not|n't) (?:check|handl|test|validat|clos|releas|escap)(?:e|ed)?"
    r"|fehl\w+|erreur|manqu\w+|falta|ошибк\w+)\b|问题|缺少|エラー|問題|문제"
    r"|^\W*(?:critical|high|medium|low|major|minor|p[0-4])\b\W*[:\])*—–-]"
    r"|[\[(](?:critical|high|medium|low|major|minor)[\])]"
    r"|\w\.\w{1,5}:\d+|\bL\d+\b",
    re.I,
)
"""A fault that somebody found, how grave it is, or the line where it stands."""


class Point(Value, gc=False):
    """An entry of a list."""

    text: str
    mark: str = ""
    """Its number or letter; empty for a bullet."""
    head: str = ""
    """The line that heads the list."""
    done: bool = False
    """Whether it is ticked off where it stands."""


def points_in(message: str) -> list[Point]:
    """The points of a message; empty if it has fewer than two."""
    return list(_points_in(message)) if len(message) >= 12 else []


@lru_cache(maxsize=8)
def _points_in(message: str) -> tuple[Point, ...]:
    """They are remembered, since several questions are asked of one message."""
    text = _FENCED.sub("\n", message) if "```" in message or "~~~" in message else message
    points = list(_listed(text.split("\n")))
    bullets = [point for point in points if not point.mark]
    if len(message) > DOCUMENT_CHARS or len(bullets) > BULLETS_MAX:
        points = [point for point in points if point.mark]
    if len(points) < 2:
        points = _inline(text)
    return tuple(points[:POINTS_MAX]) if len(points) >= 2 else ()


def _listed(lines: Sequence[str]) -> Iterator[Point]:
    """The entries of lists on lines of their own; a single entry is no list."""
    group: list[Point] = []
    head, depth = "", 0
    blank, before = True, ""
    for line in lines:
        entry = _ENTRY.match(line)
        bare = line.strip()
        if entry is not None and not _RULE.match(bare):
            indent = len(entry[1])
            if group and indent > depth + 1:
                continue  # an entry below an entry
            if not group:
                depth = indent
            group.append(_point(entry, head))
        elif not bare:
            pass
        elif group and (line[:1] in " \t" or (not blank and _is_wrapped(before, bare))):
            _extend(group, bare)
        else:
            yield from group if len(group) > 1 else ()
            group, head = [], bare.strip("#* ").rstrip(":")[:HEAD_CHARS]
        blank, before = not bare, line
    yield from group if len(group) > 1 else ()


def _is_wrapped(before: str, line: str) -> bool:
    """Whether a line that is not indented goes on with the one before it: that was too long for one, or
    stopped in the middle of a sentence. What follows a list ("Never push.") is no part of its last entry."""
    return len(before.rstrip()) >= WRAPPED_CHARS or line[:1].islower()


def _point(entry: re.Match[str], head: str) -> Point:
    mark = entry[2] or (re.findall(r"\d+", entry[4])[0] if entry[4] else "")
    text = entry[5].replace("**", "").strip()
    box = _BOX.match(text)
    done = box is not None and box[1] in "xX"
    text = text[box.end() :] if box else text
    return Point(text[:POINT_CHARS], mark, head, done)


def _extend(group: list[Point], line: str) -> None:
    """Add a line that goes on with the last entry."""
    last = group[-1]
    text = f"{last.text} {line}"
    if len(text) <= POINT_CHARS:
        group[-1] = Point(text, last.mark, last.head, last.done)


def _inline(text: str) -> list[Point]:
    """The points of a text in which they are numbered within a line, from 1 up."""
    wanted, chosen = 1, []
    for match in _INLINE.finditer(text):
        if int(match[1]) == wanted:
            chosen.append(match)
            wanted += 1
    points = []
    for at, match in enumerate(chosen):
        end = chosen[at + 1].start() if at + 1 < len(chosen) else _end_of_line(text, match.end())
        head = text[: chosen[0].start()].strip().rpartition("\n")[2].rstrip(":;, (")[-HEAD_CHARS:]
        points.append(
            Point(" ".join(text[match.end() : end].split()).rstrip(",;")[:POINT_CHARS], match[1], head)
        )
    return points if all(len(point.text) >= 3 for point in points) else []


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def findings_in(report: str) -> list[str]:
    """What a review found, one by one; empty if the text is none."""
    points = points_in(report[:20_000])
    if len(points) < 2:
        return []
    finding = [point for point in points if _FINDS.search(point.text)]
    heads = {point.head for point in points if point.head}
    if 2 * len(finding) < len(points) and not any(_FINDS.search(head) for head in heads):
        return []
    return [point.text[:FINDING_CHARS] for point in points[:FINDINGS_MAX] if not point.done]


_MARKED = regex(
    r"\b(?:(?:findings?|issues?|points?|items?|steps?|tasks?|numbers?|no\.?|punkte?|schritte?|points?|étapes?|puntos?|passos?"
    r"|punti|пункты?)\s*#?|#)\s*(\d{1,2}(?:\s*(?:,|and|&|und|et|y|e|-|–|to|bis)\s*#?\d{1,2})*)\b|^\W*(\d{1,2})\b(?=\s+(?:is|are|ist|est|es|è))",
    re.I,
)
_FINISHED = regex(
    r"\b(?:is|are|now|was|were|been|ist|sind|est|es|è|está|has been)?\s*(?:done|fixed|finished|completed?"
    r"|implemented|resolved"
    r"|addressed|solved|erledigt|fertig|behoben|fait|terminé|corrigé|hecho|listo|arreglado|feito|pronto|corrigido|fatto|risolto"
    r"|gedaan|klaar|zrobione|gotowe|готово|исправлен\w*|сделан\w*)\b|✅|✔|完成|已修复|修好|完了|修正しました|완료",
    re.I,
)
_UNFINISHED = regex(
    r"\b(?:not|n't|nicht|pas|no|non|não|не|still|yet|once|when|if|after|until|before|half|partly)\b|未|没",
    re.I,
)


def finished_marks(text: str) -> list[tuple[list[str], str]]:
    """The numbers of points that an agent says are done, each with the sentence that says so."""
    reports: list[tuple[list[str], str]] = []
    for sentence in sentences(text, numbers=True) if any(char.isdigit() for char in text) else ():
        if len(sentence) > FINDING_CHARS or not any(char.isdigit() for char in sentence):
            continue
        if not _FINISHED.search(sentence) or _UNFINISHED.search(sentence):
            continue
        marks = [mark for match in _MARKED.finditer(sentence) for mark in _numbers(match[1] or match[2])]
        if marks:
            reports.append((marks, sentence))
    return reports


def _numbers(text: str) -> list[str]:
    """The numbers in "1, 3 and 5" or "2-4"."""
    ends = re.findall(r"\d+", text)
    if (
        len(ends) == 2
        and re.search(r"-|–|\bto\b|\bbis\b", text)
        and int(ends[0]) < int(ends[1]) <= int(ends[0]) + 20
    ):
        return [str(number) for number in range(int(ends[0]), int(ends[1]) + 1)]
    return ends
