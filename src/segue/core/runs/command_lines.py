"""Command lines taken apart: the commands in one, how they are joined, and how the whole is shown.

Nothing is executed. Agents write shell in every dialect, so what cannot be understood is shown as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, cast

from ..base.lazy import regex
from ..base.values import Value

Joint = Literal["", "&&", "||", ";", "|"]
"""How a command follows the one before it; a line end counts as ``;``."""

_LINE_CHARS = 20_000
_JOINTS = regex(r"[&|;\n]")
_SPECIAL = regex(r"[&|;\n'\"`\\]")
_WITHIN_QUOTES = regex(r"['\"`\\]")
_HERE_STRING = regex(r"@(['\"])[ \t]*\r?\n.*?\r?\n\1@", re.S)
"""A text over several lines in PowerShell, which ends where a line begins with the mark."""
_HEREDOC = regex(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)(?:\n[ \t]*\2[ \t]*(?=\n|\Z|\))|\Z)", re.S)
_ASSIGNED = regex(r"^(?:[A-Za-z_][A-Za-z0-9_]*=(?:\"[^\"]*\"|'[^']*'|\$\([^)]*\)|\S*)\s+)+(?=\S)")
_ONLY_ASSIGNED = regex(r"^(?:[A-Za-z_][A-Za-z0-9_]*=(?:\"[^\"]*\"|'[^']*'|\$\([^)]*\)|\S*)\s*)+$")
_REDIRECTED = regex(r"\s*(?:[12&]?>{1,2}\s*/dev/null|2>&1|<\s*/dev/null)")
_WRAPPERS = ("sudo", "time", "nohup", "nice", "command", "exec", "env", "rtk")
_WRAPPED = regex(r"^(?:sudo|time|nohup|nice|command|exec|env|rtk|timeout\s+\S+)\s+")
_SILENT = frozenset(
    "cd echo printf sleep true false : set export unset source . pushd popd wait clear date trap".split()
)
"""Commands that change nothing and whose output says nothing."""
_TRIMMING = regex(
    r"^(?:tail|head|wc|sort|uniq|cut|tr|cat|less|more|nl|column|tee|fold|sed -n|grep -v)(?:\s|$)"
)
"""What only shortens the output of the command before it."""
_LONG_QUOTE = regex(r"(\"(?:[^\"\\]|\\.)*\"|'[^']*')", re.S)
_QUOTE_CHARS, _VARIABLES_CHARS = 60, 200


class Part(Value, gc=False):
    """One command of a line."""

    joint: Joint
    text: str

    @property
    def bare(self) -> str:
        """Without variables, wrappers and redirections to nowhere."""
        return bare(self.text)


class HereDocument(Value, gc=False):
    """A text that a command line gives to one of its commands."""

    head: str  # the line on which it is announced, before the mark
    rest: str  # what follows the mark on that line
    body: str


@lru_cache(maxsize=256)
def parts(line: str) -> tuple[Part, ...]:
    """The commands of a line, split outside of quotes, without the bodies of here-documents."""
    line = line[:_LINE_CHARS]
    if "<<" in line:
        line = _HEREDOC.sub(r"<<\2\3", line)
    if "@'" in line or '@"' in line:
        line = _HERE_STRING.sub(r"\1\1", line)
    if "\\\n" in line:
        line = line.replace("\\\n", " ")
    if _JOINTS.search(line) is None:
        text = line.strip()
        return (Part("", text),) if text else ()
    result: list[Part] = []
    joint: Joint = ""
    start = at = 0
    quote = ""

    def close(end: int, next_joint: Joint, width: int) -> int:
        nonlocal joint, start
        text = line[start:end].strip()
        if text:
            result.append(Part(joint if result else "", text))
            joint = next_joint
        elif next_joint == "|" or not result:
            joint = next_joint
        start = end + width
        return start

    while special := (_WITHIN_QUOTES if quote else _SPECIAL).search(line, at):
        at, char = special.start(), special[0]
        if quote:
            if char == "\\" and quote == '"':
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"`":
            quote = char
        elif char == "\\":
            at += 1
        elif not _within_substitution(line, start, at):
            joint_here = line[at : at + 2] if line.startswith(("&&", "||"), at) else char.replace("\n", ";")
            if joint_here != "&":
                at = close(at, cast(Joint, joint_here), len(joint_here))
                continue
        at += 1
    close(len(line), "", 0)
    return tuple(result)


def _within_substitution(line: str, start: int, at: int) -> bool:
    """Whether a position is inside a ``$(…)`` that began in the same command."""
    opened = line.rfind("$(", start, at)
    return opened >= 0 and line.count("(", opened, at) > line.count(")", opened, at)


def here_documents(line: str) -> list[HereDocument]:
    """The here-documents of a line, in their order."""
    found: list[HereDocument] = []
    if "<<" not in line:
        return found
    for match in _HEREDOC.finditer(line[:_LINE_CHARS]):
        head = line[: match.start()].rpartition("\n")[2]
        found.append(HereDocument(head.strip(), match[3].strip(), match[4]))
    return found


@lru_cache(maxsize=512)
def bare(command: str) -> str:
    """A command without variables before it, wrappers around it and redirections to nowhere."""
    text = _REDIRECTED.sub("", command) if ">" in command or "<" in command else command
    text = text.strip().lstrip("({ ").strip()
    if text.count(")") > text.count("("):
        text = text.rstrip(") ")
    before = ""
    while before != text:
        before = text
        text = _ASSIGNED.sub("", text) if "=" in text else text
        text = _WRAPPED.sub("", text) if text.startswith(_WRAPPERS) else text
    return text


@lru_cache(maxsize=512)
def is_silent(command: str) -> bool:
    """Whether a command neither changes anything nor says anything about the work."""
    text = bare(command)
    if not text or ("=" in command and _ONLY_ASSIGNED.match(command.strip())):
        return True
    return text.split(None, 1)[0] in _SILENT and not writes_file(text)


def is_trimming(part: Part) -> bool:
    """Whether a command only shortens the output of the one before it."""
    return part.joint == "|" and _TRIMMING.match(bare(part.text)) is not None


_TARGET = regex(r"(?<![0-9&>=-])>{1,2}\s*(?!/dev/|&)(\"[^\"]+\"|'[^']+'|[^\s;|&<>()]+)")


def writes_file(command: str) -> str:
    """The file into which a command redirects its output; empty if there is none."""
    if ">" not in command:
        return ""
    target = _TARGET.search(re.sub(r"\"[^\"]*\"|'[^']*'", lambda quoted: "_" * len(quoted[0]), command))
    return command[target.start(1) : target.end(1)].strip("'\"") if target else ""


_EDITS_IN_PLACE = regex(r"^(?:sed|perl)\s+-[a-zA-Z.]*i\S*\s")


def written_files(line: str) -> list[str]:
    """The files that the commands of a line write to, as far as their arguments say."""
    found = []
    for part in parts(line):
        text = bare(part.text)
        words = [word.strip("'\"") for word in text.split()]
        if target := writes_file(text):
            found.append(target)
        elif words[:1] == ["tee"]:
            found += [word for word in words[1:] if not word.startswith("-")]
        elif text.startswith(("sed", "perl")) and _EDITS_IN_PLACE.match(text) and len(words) > 2:
            found += [word for word in words[-1:] if re.fullmatch(r"[\w@~./+-]+\.[\w]+", word)]
    found += [target for document in here_documents(line) if (target := writes_file(document.rest))]
    return [path for path in dict.fromkeys(found) if "$" not in path and "*" not in path]


def folder_of(line: str) -> str:
    """The folder that a line changes to before it does anything; empty if it changes to none."""
    first = next(iter(parts(line)), None)
    if first is None or not first.text.startswith("cd "):
        return ""
    return first.text[3:].strip().strip("'\"")


@lru_cache(maxsize=256)
def shown(line: str) -> str:
    """The line on one line without what says nothing: changes of folder, echoes, trimming, long
    quotations."""
    kept = ""
    for part in parts(line):
        text = bare(part.text)
        if is_trimming(part) or (part.joint != "|" and is_silent(text)):
            continue
        text = _LONG_QUOTE.sub(_shortened, f"{_variables(part.text)}{text}")
        between = f" {part.joint} " if part.joint in ("&&", "||", "|") else "; "
        kept += (between if kept else "") + " ".join(text.split())
    return kept or " ".join(line.split())


def _variables(command: str) -> str:
    """The variables that are set for a command, which may be what it depends on."""
    given = _ASSIGNED.match(command) if "=" in command else None
    return given[0] if given is not None and len(given[0]) <= _VARIABLES_CHARS else ""


def _shortened(quotation: re.Match[str]) -> str:
    text = quotation[0]
    return text if len(text) <= _QUOTE_CHARS else f"{text[: _QUOTE_CHARS - 20].rstrip()}…{text[0]}"
