"""The steps of a trail in words: one line for each, with path, arguments, outcome and the telling line of
output.

A line is written for a number of bytes: the newest step gets most. What the agent was told by a tool is
always quoted behind an arrow, and a call without a result says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from ..base.definitions import definitions
from ..base.lazy import regex
from ..base.page import cut, middle, plain, quote, size
from ..base.values import Value
from ..language.sentences import flat, replies, sentences, shortened_question
from ..runs import command_lines
from ..runs.command_lines import written_files
from ..runs.git_effects import commit_was_made, commits_named, git_words, subject_of
from ..runs.model import TrailStep
from ..runs.outcomes import Outcome, outcome, telling as telling_lines, told_lines
from ..runs.shell_commands import parse_shell
from ..runs.steps import EDITS, Change
from ..runs.tree import check_names
from .code_changes import ChangeWords, change_words

NO_RESULT = "NO RESULT YET"
_LOOKING = "was looking, when it stopped, at "
_WHOLE_BYTES, _FEW_LINES = 300, 8
_SHORT_BYTES = 60
SHOWN_BYTES = 300  # of what one of the newest calls showed
_SAID_BYTES_MIN, _OPENING_CHARS, _COMMAND_BYTES_MIN = 24, 12, 44
_USAGE = regex(r"<usage>.*|^agentId: .*$", re.S | re.M)
"""What a harness adds to the report of a sub-agent."""
_TASK_OUTPUT = regex(r"/tmp/.*/tasks/(\w+)\.output$")
_PLAN_SHOWN = regex(r"(?i)exit_?plan|plan_?exit|present_?plan")
_LEAD_IN = regex(
    r"^(?:(?:(?:perfect|great|excellent|good|now|okay|ok|alright|based on|i (?:now )?have|let me"
    r"|here(?:'s| is| are)"
    r"|this is|below is)\b[^.!:\n]*|(?:comprehensive|detailed|complete)\b[^.!:\n]*)(?:[.!:]|\n)\s*)+",
    re.I,
)
"""The sentences with which a report announces itself."""
_ENDED = regex(r"(.{1,120}?) (ended|failed)(?:: (.*)|)$", re.S)
_PLACE = regex(r"(?:[\w@.-]+/)*[\w@.-]+\.\w+:\d+")
_PLACES_MAX = 6
_PATH_ALONE = regex(r"[\w@.-]+(?:/[\w@.-]+)+/?")
_NUMBERED = regex(r"^\s*\d+[→\t:|]")
_SED = regex(r"^sed -n ['\"]?(\d+),\+?(\d+)p['\"]?\s+(\S+)$")
_PAGER = regex(r"^(?:cat|nl|head|tail|less|bat)\b(?:\s+-\S+(?:\s+\d+)?)*\s+([^\s|<>;-][^\s|<>;]*)$")
_GREP = regex(r"^(?:rg|grep|egrep|ag|git grep)\s+(.*)$")
_GIT_LOOK = regex(
    r"^git\s+(?:-C\s+\S+\s+)?(?:status|log|diff|show|branch|blame|remote|rev-parse|worktree list|ls-files)\b"
)
_LOOKS = regex(
    r"^(?:ls|cat|nl|head|tail|sed -n|grep|egrep|rg|ag|fd|find|wc|pwd|which|tree|stat|file|du|df|awk|jq"
    r"|type|env|date|ps|test |\["
    r"|basename|dirname|realpath|readlink|git (?:-C \S+ )?(?:status|diff|log|show|branch$|branch -[avr]"
    r"|blame|grep|ls-|remote"
    r"|rev-parse|merge-base|config --get|stash list|worktree list|describe|reflog))"
)


class Folder(Value):
    """Where a run worked, so that its paths can be told from there."""

    root: str = ""
    home: str = ""

    def short(self, path: str) -> str:
        """A path from the root of the work, or from the home."""
        path = path.replace("\\", "/")
        if self.root and path == self.root:
            return "."
        if self.root and path.startswith(f"{self.root}/"):
            return path[len(self.root) + 1 :]
        if self.home and path.startswith(f"{self.home}/"):
            return f"~{path[len(self.home) :]}"
        return path.removeprefix("./")

    def within(self, text: str) -> str:
        """A text with the paths in it told from the root."""
        if self.root:
            text = text.replace(f"{self.root}/", "")
        return text.replace(f"{self.home}/", "~/") if self.home else text


def folder_of(cwd: str) -> Folder:
    """The folder of a run that worked in ``cwd``."""
    root = cwd.replace("\\", "/").rstrip("/")
    home = re.match(r"/(?:Users|home)/[^/]+|/root(?=/|$)", root)
    return Folder(root, home[0] if home and home[0] != root else "")


_outcome = lru_cache(maxsize=256)(outcome)
"""Of the clipped outputs of a trail, which are asked for many times."""


def became(step: TrailStep) -> Outcome | str:
    """What became of a call: an outcome, "open" while it has no result, or "refused"."""
    if step.refused:
        return "refused"
    if not step.done:
        return "open"
    if step.command:
        whole = _outcome(step.command, step.ok, step.exit, step.output)
        names = check_names(step.command) if whole == "ok" else ()
        own = {_outcome(step.command, step.ok, step.exit, step.output, name) for name in names}
        return "failed" if "failed" in own else "unknown" if "unknown" in own else whole
    return "failed" if step.ok is False or step.exit else "ok"


def is_look(step: TrailStep) -> bool:
    """Whether a call changes nothing: a read, a search, or commands that only look."""
    if step.polls:
        return False
    if step.kind in ("read", "search"):
        return True
    if step.kind != "run" or not step.command or written_files(step.command):
        return False
    parts = [part for part in command_lines.parts(step.command) if not command_lines.is_silent(part.text)]
    return bool(parts) and all(
        command_lines.is_trimming(part)
        or _LOOKS.match(part.bare)
        or (part.joint == "|" and _GREP.match(part.bare))
        for part in parts
    )


def is_plan_shown(step: TrailStep) -> bool:
    """Whether a call shows the user a plan and asks whether to go on with it."""
    return step.kind in ("plan", "other") and _PLAN_SHOWN.search(step.tool) is not None


def is_commit(step: TrailStep) -> bool:
    return step.kind == "run" and _commit_part(step) != ""


def _commit_part(step: TrailStep) -> str:
    """The command of a line that commits; empty if none does."""
    if "commit" not in step.command:
        return ""
    found = (part.bare for part in command_lines.parts(step.command) if "commit" in part.text)
    return next((text for text in found if git_words(text)[:1] == ("commit",)), "")


# -- looks


def look_words(step: TrailStep, folder: Folder) -> list[str]:
    """What a look was at, a few words for each thing."""
    if step.kind in ("read", "search") and not step.command:
        if step.kind == "read" and step.paths:
            if task := _TASK_OUTPUT.search(step.paths[0]):
                return [f"the output of background task {task[1]}"]
            return [folder.short(step.paths[0]) + _lines_read(step)]
        where = f" in {folder.short(step.paths[0])}" if step.paths else ""
        given = [line for line in step.text.split("\n") if line and line not in step.paths]
        pattern = next((line for line in given if not _PATH_ALONE.fullmatch(line)), given[0] if given else "")
        return [f"grep {quote(pattern, 62)}{where}" if pattern else f"{step.tool}{where}"]
    words: list[str] = []
    for part in command_lines.parts(step.command):
        text = part.bare
        if part.joint == "|" or command_lines.is_silent(part.text):
            lines = re.match(r"sed -n ['\"]?(\d+),\+?(\d+)p", text)
            if part.joint == "|" and lines and words:
                words[-1] += f":{lines[1]}-{lines[2]}"
            continue
        words.append(folder.within(_look(text)))
    return words or [folder.within(" ".join(step.command.split()))]


def _lines_read(step: TrailStep) -> str:
    numbers = [line for line in step.text.split("\n") if line.isdigit()]
    return f":{numbers[0]}-{int(numbers[0]) + int(numbers[1]) - 1}" if len(numbers) == 2 else ""


def _look(command: str) -> str:
    if match := _SED.match(command):
        return f"{match[3]}:{match[1]}-{match[2]}"
    if match := _PAGER.match(command):
        return match[1]
    if match := _GREP.match(command):
        return _grep(match[1]) or command
    return command


def _grep(arguments: str) -> str:
    words: list[str] = []
    skip = False
    for word in re.findall(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S+", arguments):
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = not words and word in (
                "-A",
                "-B",
                "-C",
                "-m",
                "-g",
                "-t",
                "-e",
                "--glob",
                "--type",
                "--include",
            )
        else:
            words.append(word.strip("'\""))
    if not words:
        return ""
    return f"grep {quote(words[0], 62)}" + (f" in {cut(' '.join(words[1:]), 60)}" if words[1:] else "")


def look_outcome(step: TrailStep) -> str:
    """What a search or a question to git gave, if it is short."""
    if not step.done:
        return NO_RESULT
    if step.kind == "read":
        return "" if step.ok is not False else f"failed: {quote(' '.join(told_lines(step.output)[:1]), 90)}"
    lines = told_lines(step.output)
    parts = [part.bare for part in command_lines.parts(step.command)]
    if _is_search(step):
        hits = [line for line in lines if not _COUNT_OF_HITS.match(line)]
        if not hits:
            return _NOTHING
        if len(hits) <= 2:
            return f"{len(hits)} hit{'s' * (len(hits) > 1)}: {quote(' | '.join(hits), 150)}"
        count = f"{len(hits)} lines found"
        places = list(dict.fromkeys(match[0] for hit in hits if (match := _PLACE.match(hit))))
        return f"{count}: {', '.join(places)}" if 0 < len(places) <= _PLACES_MAX else count
    if parts and _GIT_LOOK.match(parts[0]) and lines and "diff" not in parts[0] and "show" not in parts[0]:
        return quote(" / ".join(lines), 140)
    return quote(" / ".join(telling_lines(step.output, True)), 110) if step.ok is False and lines else ""


def _is_search(step: TrailStep) -> bool:
    parts = command_lines.parts(step.command)
    return step.kind == "search" or (len(parts) == 1 and bool(_GREP.match(parts[0].bare)))


_COUNT_OF_HITS = regex(r"Found \d+|No (?:matches|files) found")
_SHOWS_FILE = regex(r"(?:cat|nl|head|tail|sed -n|bat|less)\b|cd ")
_NOTHING = "no hits"
_ABSENT = regex(r"(?i)\bno such file or directory|\bdoes not exist|\bcannot find (?:the )?path")


def looks_line(
    steps: Sequence[TrailStep], folder: Folder, most: int, newest: Sequence[TrailStep] = ()
) -> str:
    """Several looks in a row as one line: the last ones by name, with what was found by all of them, or by
    the last two where there is less room; of the ``newest`` calls with what they showed."""
    line = _looks_line(steps, folder, most, newest, all_found=True)
    if " more, then " not in line and not line.endswith("…"):
        return line
    return _looks_line(steps, folder, most, newest, all_found=False)


def _looks_line(
    steps: Sequence[TrailStep], folder: Folder, most: int, newest: Sequence[TrailStep], *, all_found: bool
) -> str:
    said: list[str] = []
    spans: dict[str, list[str]] = {}
    rich = [step for step in steps if any(step is one for one in newest)]
    share = min(SHOWN_BYTES, (most - 60 * len(steps[-2:])) // max(1, len(rich)))
    for step in steps:
        is_rich = any(step is one for one in rich)
        found = _shown_by(step, folder, share) if is_rich else look_outcome(step) if step.done else ""
        if found and not all_found and not is_rich and step not in steps[-2:]:
            found = _NOTHING if found == _NOTHING else "no such file" if _ABSENT.search(step.output) else ""
        *before, last = look_words(step, folder)
        for word in (*before, f"{last} ({folder.within(found)})" if found else last):
            path, colon, span = word.rpartition(":")
            if colon and re.fullmatch(r"\d+-\d+", span):
                spans.setdefault(path, []).append(span)
                word = path
            if word not in said:
                said.append(word)
    said = [f"{word}:{','.join(spans[word][-3:])}" if word in spans else word for word in said]
    kept, start = said, 0
    while len(kept) > 1 and size("; ".join(kept)) > most - 30:
        kept, start = _in_one_folder(said[start:]), start + 1
    left = len(said) - len(kept)
    plain_head = re.match(r"grep |git |ls|find |[A-Z]\w+ in ", kept[0])
    head = _LOOKING if not steps[-1].done else "" if plain_head else "looked at "
    return cut(head + (f"{left} more, then " if left else "") + "; ".join(kept), most)


def _in_one_folder(paths: Sequence[str]) -> list[str]:
    """The paths, without the folder where it is that of the one before."""
    short: list[str] = []
    folder = ""
    for path in paths:
        here, slash, name = path.rpartition("/")
        is_path = bool(slash) and " " not in here
        short.append(name if is_path and here == folder else path)
        folder = here if is_path else ""
    return short


def _shown_by(step: TrailStep, folder: Folder, most: int) -> str:
    """What one of the newest looks showed: the hits of a search, names that a file defines, else lines."""
    raw = [_NUMBERED.sub("", line) for line in step.output.split("\n")]
    lines = told_lines("\n".join(raw))
    if not step.done or not lines:
        return look_outcome(step) if step.done else ""
    head, between = "", " / "
    if step.ok is False:
        head = "failed: "
    elif _is_search(step):
        lines = [line for line in lines if not _COUNT_OF_HITS.match(line)]
        count = (
            f"{len(lines)} hit{'s' * (len(lines) > 1)}" if len(lines) <= 2 else f"{len(lines)} lines found"
        )
        head, between = f"{count}: ", " | "
    elif _shows_file(step):
        names = [name for name in definitions(raw) if not name.startswith("#")]
        if names or len(lines) > _FEW_LINES:
            return f"defines {', '.join(names[:6])}" if names else ""
    text = between.join(cut(line, 120) for line in lines)
    if not lines:
        return _NOTHING
    return f"{head}{quote(folder.within(text), most - size(head) - 2)}".removesuffix(": ")


def _shows_file(step: TrailStep) -> bool:
    parts = command_lines.parts(step.command)
    return step.kind == "read" or all(_SHOWS_FILE.match(part.bare) for part in parts)


# -- edits


def edit_words(change: Change, words: ChangeWords) -> tuple[str, str]:
    """Where a change is, behind the path, and what it does."""
    if change.how == "delete":
        return "", ""
    if change.how == "create":
        more = ", …" if len(words.new) > 3 else ""
        names = f": {', '.join(words.new[:3])}{more}" if words.new else ""
        if words.where:  # it was there before, and this is where it changed
            names = f", changed in {words.where}"
        return (f" ({words.lines} lines{names})" if words.lines > 1 else ""), ""
    where = f" {_PLACED.get(words.where[:1], 'in')} {words.where}" if words.where else ""
    where = where.replace(" in line ", " at line ")
    if len(words.new) > 1:
        return where, f"adds {', '.join(words.new)}"
    if words.added:
        return where, f"+ {' / '.join(words.told)}"
    return where, f"− {words.removed}" if words.removed else ""


_PLACED = {"#": "under"}
_VERBS = {"edit": "edited", "create": "wrote", "delete": "deleted"}


def edits_line(steps: Sequence[TrailStep], folder: Folder, most: int) -> str:
    """Edits in a row: of one file with all places, of several with their names."""
    state = became(steps[-1])
    pairs = [(change, change_words(change)) for step in steps for change in _changes(step)]
    if not pairs:
        pairs = [(Change(path), ChangeWords()) for step in steps for path in step.paths[:1] or (step.tool,)]
    change, words = pairs[-1]
    paths = list(dict.fromkeys(folder.short(one.path) for one, _ in pairs))
    if state == "failed":
        why = " / ".join(telling_lines(steps[-1].output, True)[:1])
        head = cut(f"edit FAILED on {', '.join(paths[:3])}", most - 40)
        return f"{head}: {quote(folder.within(why), most - size(head) - 2)}".removesuffix(": ")
    if state == "refused":
        head = cut(f"the user refused the edit of {', '.join(paths[:3])}", most - 40)
        return f"{head}: {quote(steps[-1].output, most - size(head) - 2)}".removesuffix(": ")
    open_mark = f" → {NO_RESULT}" if state == "open" else ""
    room = most - size(open_mark)
    kinds = {one.how for one, _ in pairs}
    verb = ("patch" if open_mark else "patched") if len(kinds) > 1 else _verb(change.how, bool(open_mark))
    if len(paths) > 1:
        gone = {folder.short(one.path) for one, _ in pairs if one.how == "delete" and len(kinds) > 1}
        same = paths[0].rpartition("/")[0]
        names = [paths[0], *(path.removeprefix(f"{same}/") if same else path for path in paths[1:])]
        told_names = [
            f"{name} (deleted)" if path in gone else name for path, name in zip(paths, names, strict=True)
        ]
        return cut(f"{verb} {len(paths)} files: {', '.join(told_names)}", room) + open_mark
    places = list(dict.fromkeys(one.where for _, one in pairs if one.where and not one.where.startswith("#")))
    head = f"{verb} {paths[0]}" + (f" ×{len(pairs)}" if len(pairs) > 1 else "")
    where, said = edit_words(change, words)
    if len(places) > 1:
        where = f" in {', '.join(places[-5:])}"
        said = f"+ {words.added}" if words.added else ""
    head = cut(folder.within(f"{head}{where}"), room)
    left = room - size(head) - 2
    told = cut(said, left) if left >= _SAID_BYTES_MIN else ""
    told = told if size(told) >= min(_SAID_BYTES_MIN, size(said)) else ""
    return f"{head}: {told}{open_mark}" if told else f"{head}{open_mark}"


def _verb(how: str, is_open: bool) -> str:
    return {"edit": "edit", "create": "write", "delete": "delete"}[how] if is_open else _VERBS[how]


def _changes(step: TrailStep) -> tuple[Change, ...]:
    return step.changes


def edited_paths(step: TrailStep) -> list[str]:
    """The files that a call edits."""
    return [change.path for change in step.changes] or (list(step.paths[:1]) if step.kind in EDITS else [])


def message_words(text: str, most: int, about: Collection[str] = ()) -> str:
    """A message in at most ``most`` bytes: whole, else its end, which says what comes next, the sentences
    with the words ``about`` which it was asked, and its beginning."""
    said = [
        _stopped(one) for one in sentences(_DIRECTIVE.sub("", text), numbers=True) if re.search(r"\w", one)
    ]
    whole = " ".join(said).removesuffix(";") or flat(text)
    if size(whole) <= most or len(said) < 2:
        return cut(whole, most)
    stems = {word[:6] for word in about}
    shared = [len(stems & {word[:6] for word in _WORDS.findall(one.lower())}) for one in said]
    last = len(said) - 1
    opening = next((at for at, one in enumerate(said) if len(one) >= _OPENING_CHARS), 0)
    answers = sorted((at for at in range(last) if shared[at] >= 2), key=lambda at: -shared[at])[:3]
    kept: set[int] = set()
    for at in [last, *answers, last - 1, opening, *range(last - 2, -1, -1)]:
        if size(" … ".join(said[one] for one in sorted({*kept, at}))) <= most:
            kept.add(at)
        elif at not in answers:
            break
    if not kept:
        return cut(said[last], most)
    words, before = "", -1
    for at in sorted(kept):
        gap = "" if at == 0 else "… " if not words else " " if at == before + 1 else " … "
        words, before = f"{words}{gap}{said[at]}", at
    return words.removesuffix(";")


_WORDS = regex(r"[^\W\d_][\w'-]{2,}")
_DIRECTIVE = regex(r"::[a-z-]+\{[^}\n]*\}")  # for a program that shows the message


def _stopped(sentence: str) -> str:
    """A sentence as it is; an entry of a list with a semicolon behind it."""
    return sentence if sentence[-1] in ".!?:;…。！？" else f"{sentence};"


# -- commands, commits, agents, questions, other tools


def result_words(step: TrailStep, most: int, folder: Folder, *, rich: bool = False) -> str:
    """``→ ok: 3 passed``; the whole output where it is short enough, and of a ``rich`` one as much as fits
    where no line of it says what became of the call."""
    state = became(step)
    if state == "open":
        return NO_RESULT
    if state == "refused":
        return f"REFUSED by the user: {quote(step.output, min(200, most - 21))}".removesuffix(": ")
    if step.runs_on and not step.output.strip():
        return f"runs on in the background as {step.process}"
    mark = {"ok": "ok", "failed": "FAILED", "stopped": "was stopped", "unknown": "ended"}[state]
    lines = told_lines(step.output)
    told = telling_lines(step.output, state == "failed")
    if rich and state != "failed" and not check_names(step.command):
        told = []
    if step.runs_on:
        mark = "still runs" if step.polls else f"runs on as {step.process}"
    elif state == "unknown" and not lines:
        return "ended without output"
    if step.kind == "agent":
        report = _LEAD_IN.sub("", _USAGE.sub("", step.output).lstrip("#* \n"))
        text = message_words(report or step.output, max(40, most - size(mark) - 4))
        return f"{mark}: {quote(folder.within(text), most - size(mark) - 2)}".removesuffix(": ")
    text = folder.within(" / ".join(told or lines))
    if not told and (rich or most >= _WHOLE_BYTES or len(lines) <= _FEW_LINES):
        text = middle(text, most - size(mark) - 4)
    elif not told and lines:
        return f"{mark}, {len(lines)} lines"
    return f"{mark}: {quote(text, most - size(mark) - 2)}".removesuffix(": ")


def command_line(step: TrailStep, folder: Folder, most: int, *, rich: bool = False) -> str:
    """A command with its folder, what it is for where it is long, and what became of it."""
    if is_commit(step) and (line := _commit_line(step, folder, most)):
        return line
    text = folder.within(command_lines.shown(step.command))
    given = command_lines.folder_of(step.command)
    where = folder.short(given) if given else ""
    place = f" (in {where})" if where not in ("", ".") else ""
    room = max(30, most * 3 // 5 if most < 300 else most - 120)
    became_words = result_words(step, room, folder, rich=rich)
    room = max(20, most - size(became_words) - size(place) - 6)
    long = size(text) > max(room, _SHORT_BYTES) or "<<" in text
    if step.note and long:
        note = cut(step.note, max(40, room // 2))
        left = room - size(note) - 3
        text = f"{middle(text, left)} ({note})" if left >= _COMMAND_BYTES_MIN else f"({note})"
    return f"$ {middle(text, room)}{place} → {became_words}"


def _commit_line(step: TrailStep, folder: Folder, most: int) -> str:
    """A commit by its subject; empty if nobody says one."""
    command, state = _commit_part(step), became(step)
    named = commits_named(step.output)
    told = _NAMED.search(named[-1]) if named else None
    subject = f"{told[1][:7]} {told[2]}" if told else subject_of(command, step.command)
    if not subject:
        return ""
    if told or (state != "open" and state != "refused" and _is_made(step, command)):
        pushed = (
            " and pushed" if re.search(r"\bgit (?:-C \S+ )?push\b", step.command) and state == "ok" else ""
        )
        return cut(f"committed{pushed} {subject}", most)
    if state == "open":
        return cut(f"commit {subject}", most - 20) + f" → {NO_RESULT}"
    verbs = {"refused": "the user REFUSED the commit", "failed": "commit FAILED"}
    said = step.output if state == "refused" else " / ".join(telling_lines(step.output, True)[:2])
    head = cut(f"{verbs.get(state, 'tried to commit')} {subject}", most - 60)
    return f"{head}: {quote(folder.within(said), most - size(head) - 2)}".removesuffix(": ")


_NAMED = regex(r" ([0-9a-f]{7,40})\] (.+)$")


def _is_made(step: TrailStep, command: str) -> bool:
    whole = _outcome(step.command, step.ok, step.exit, step.output)
    return commit_was_made(command, whole, step.command, step.output)


def poll_line(step: TrailStep, folder: Folder, most: int, *, rich: bool = False) -> str:
    """A call that asks something in the background for its output, or stops it, under what started it."""
    typed = f", typed {quote(step.text, 40)}" if step.text.strip() and _TYPES.search(step.tool) else ""
    name = middle(folder.within(step.polls), max(40, most // 3))
    head = f"$ {name} (in the background as {step.process}{typed})"
    if _STOPS.search(step.tool) and became(step) != "failed":
        return f"{head} → was stopped"
    return f"{head} → {result_words(step, max(40, most - size(head) - 5), folder, rich=rich)}"


_TYPES = regex(r"(?i)stdin|input|write")
_STOPS = regex(r"(?i)kill|stop|close")


def other_line(step: TrailStep, folder: Folder, most: int, *, rich: bool = False) -> str:
    """A call of any other tool: its arguments, and what it gave."""
    if step.kind == "agent":
        head = f"sub-agent {quote(step.note or step.text, 112)}"
    elif step.kind == "ask":
        asked = shortened_question(step.note or step.text, max(60, most // 2))
        head = f"asked the user {quote(asked) or 'a long question'}"
        if became(step) == "ok":
            answer = "; ".join(replies(step.output))
            return f"{head} → answer: {quote(answer, most - size(head) - 14)}"
        if became(step) == "open":
            return f"{head} → no answer yet"
    elif is_plan_shown(step):
        plan = step.text[max(step.text.find("# "), 0) :]
        head = f"showed the user a plan {quote(flat(plan), max(60, most // 2))}".rstrip()
        if became(step) == "open":
            return f"{head} → waits for approval"
        if became(step) == "ok":
            return f"{head} → approved"
    else:
        name = step.tool.replace("mcp__", "").replace("__", ".")
        given = folder.within(step.text).strip() or step.note or step.process
        head = f"{name} {cut(given, max(40, most // 2))}".strip()
    return f"{head} → {result_words(step, max(40, most - size(head) - 5), folder, rich=rich)}"


def step_line(steps: Sequence[TrailStep], folder: Folder, most: int, newest: Sequence[TrailStep] = ()) -> str:
    """One line for a step, or for several that are told together; of the ``newest`` calls with what their
    results said."""
    last = steps[-1]
    rich = any(step is last for step in newest)
    if is_look(last):
        line = looks_line(steps, folder, most, newest)
    elif last.changes or last.kind in EDITS:
        line = edits_line(steps, folder, most)
    elif last.polls and last.kind != "agent" and not _TELLS.search(last.tool):
        line = poll_line(last, folder, most, rich=rich)
    elif last.kind == "run" and last.command:
        line = command_line(last, folder, most, rich=rich)
    elif last.kind == "notice":
        line = _notice_line(folder.within(last.text), most)
    else:
        line = other_line(last, folder, most, rich=rich)
    return plain(line)


_TELLS = regex(r"(?i)message|send|followup|resume")
"""Tools that tell something to a sub-agent at work."""


def _notice_line(text: str, most: int) -> str:
    """What befell the run: of a process its name, that it has ended, and its output."""
    ended = _ENDED.match(text)
    if ended is not None:
        head, rest = f"{cut(ended[1], most // 2 - 8)} {ended[2]}", ended[3]
    else:
        head, _, rest = text.partition(": ")
        head = cut(head, most // 2)
    return f"{head}: {quote(rest, most // 2)}" if rest else head


def repeats(first: TrailStep, second: TrailStep) -> bool:
    """Whether a later call is a check of the same name, or the very same command."""
    if not first.command or not second.command:
        return same_thing(first, second)
    mine, other = check_names(first.command), check_names(second.command)
    if mine or other:
        return bool(set(mine) & set(other))
    return command_lines.shown(first.command) == command_lines.shown(second.command)


def same_thing(first: TrailStep, second: TrailStep) -> bool:
    """Whether a later call does what an earlier one did: the same command, or a check of the same name."""
    if first.command and second.command:
        mine, other = check_names(first.command), check_names(second.command)
        if mine and other:
            return bool(set(mine) & set(other))
        one, two = parse_shell(first.command), parse_shell(second.command)
        return bool(one.short) and one.short == two.short
    return first.tool == second.tool and bool(set(edited_paths(first)) & set(edited_paths(second)))
