"""What became of a command: whether it succeeded, and the lines of its output that say so.

The exit status of a line belongs to its last command. Where a pipe, a ``;`` or an ``||`` stands behind the
command in question, the status says nothing about it, and only its own words count; without any, the outcome
is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from ..base.lazy import regex
from ..base.text import ESCAPE_SEQUENCES, lowered
from ..language.sentences import gives_orders, was_stopped
from .command_lines import Part, bare, is_silent, is_trimming, parts

Outcome = Literal["ok", "failed", "stopped", "unknown"]

_TOLD_CHARS, _BEGINNING_CHARS = 12_000, 6_000
_WORDED = regex(r"\w")
_BAD = regex(
    r"\b(?!0\b)\d+ (?:failed|failing|fail|failures?|errors?|problems?)\b(?! \(0 errors)"
    r"|^\s*(?:FAILED?|FAILURES?"
    r"|ERROR)\b|error TS\d"
    r"|test result: FAILED|--- FAIL|^npm ERR!|ELIFECYCLE|^error(?:\[E\d+\])?:|^Traceback \(most recent"
    r"|^panic:"
    r"|\bBUILD FAILED\b|^E   |^\S+\.\w+:\d+(?::\d+)?: (?:error|undefined|cannot|syntax error)|✘"
    r"|^\s*[✖✗×] (?!.*\b0 errors)"
    r"|^\s*ERR_PNPM_|^\s*● (?:.* › |Test suite failed)"
    r"|^make(?:\[\d+\])?: \*\*\*|^fatal: |Command failed|command not found",
    re.M,
)
_GOOD = regex(
    r"\b(?!0\b)\d+ (?:passed|passing|pass|tests? passed|succeeded)\b|^ok\b|^OK\b|test result: ok"
    r"|^Success\b|^PASS\b"
    r"|All checks passed|no issues found|BUILD SUCCESS|Build succeeded|✓ built|Compiled successfully"
    r"|\b0 errors\b"
    r"|^Found 0 errors|no problems|^Done in |Finished `?\w+`? profile",
    re.M | re.I,
)
_BAD_MARKS = (
    "fail", "FAIL", "error", "ERR", "problem", "Traceback", "panic:", "E   ", "undefined", "cannot", "✘", "✖",
    "✗", "×", "●", "ELIFECYCLE", "make", "fatal: ", "command not found",
)  # fmt: skip
_GOOD_MARKS = (
    "pass",
    "succe",
    "ok",
    "no issues found",
    "built",
    "0 errors",
    "no problems",
    "done in ",
    "finished",
)
"""Every line that ``_BAD`` or ``_GOOD`` matches contains one of these, the latter in some case. The
expressions try each of their alternatives at each position, which is slow for the long outputs of builds."""
_TEST = r"\b(?:py\.?test|jest|vitest|mocha|tests?|cargo test|go test|rspec|phpunit|tox|playwright)\b"
_TESTS = regex(_TEST)
_CHECKS = regex(rf"{_TEST}|\b(?:ruff|eslint|mypy|pyright|tsc|flake8|pylint|clippy|cargo check)\b")
_COUNTED = regex(r"\b(?!0\b)\d+ (passed|passing|failed|failing)\b|\btest result: (?:ok|FAILED)")
_VERDICT = regex(
    r"(?:ok|FAIL(?:ED)?(?! +\S+[:/.])|PASS|BUILD|Tests?:|Found \d+|No fixes|Success|All checks|Checked \d+)\b"
    r"|\[[\w/.#-]+ (?:\(root-commit\) )?[0-9a-f]{7,}\]",
    re.I,
)
"""Matches at the beginning of lines that say what became of a command."""
_VERDICT_MARKS = ("test result:", "compiled", "✓ built")
_NUMBER = regex(r"\d (?:pass|fail|error|problem|warning|test)", re.I)
_TALLY = regex(
    r"\b\d+ (?:passed|passing|pass|failed|failing|fail|failures?|errors?|problems?|warnings?|tests?)\b", re.I
)
"""Such lines also count something. ``_NUMBER`` is in every such count and is searched for much faster."""
_TROUBLE = regex(
    r"\b(?:error|fail(?:ed|ure|s)?|exception|cannot|can't|not found|denied|undefined|unexpected|panic"
    r"|fatal|refused"
    r"|conflict|rejected|expected|missing|invalid|unable|timed? ?out|no such|traceback)\b|\w(?:Error"
    r"|Exception)\b|error TS\d|[✗✖×❌]|^E   |^\S+\.\w{1,5}:\d+(?::\d+)?:? ",
    re.I,
)
_HARNESS = regex(
    r"^(?:Exit code \d+|Wall time|Chunk ID|Process exited|Original token|Total output|Output:|\$ |> \S+@"
    r"|hint: |\([Uu]se "
    r"|npm notice|[+-] (?:actual|expected) [+-] (?:actual|expected)|remote:\s*$|Shell cwd was reset"
    r"|warning: LF will|-{3,}$|={3,}$)"
)
_TAGS = regex(r"</?(?:tool_use_error|stdout|stderr|output|status|exit_code|system)>")
_TRACEBACK = "Traceback (most recent call last)"
_BARE_EXCEPTION = regex(r"[A-Za-z_][\w.]*(?:Error|Exception)")
_COUNTERPART = regex(r"^(?:actual|received|got|but was|found|right|want)\b", re.I)
"""The second half of "expected …, actual …"."""
_PASSING = regex(r"^\s*(?:[✔✓]|ok\b|PASS\b)")
_SEARCHES = regex(r"^(?:grep|egrep|rg|ag|diff|cmp|test|\[|pgrep|which|type|git (?:diff|grep))\b")


def outcome(line: str, ok: bool | None, exit: int | None, output: str, command: str = "") -> Outcome:
    """What became of ``command``, a part of ``line``; without one, of the line as a whole.

    ``ok`` and ``exit`` are what the agent says of the whole line."""
    if was_stopped(exit, output):
        return "stopped"
    status: Outcome = "failed" if ok is False or exit else "unknown" if ok is None and exit is None else "ok"
    telling = [part for part in parts(line) if not is_silent(part.text)]
    at = next((at for at, part in enumerate(telling) if command and bare(part.text) == command), 0)
    behind = telling[at + 1 :]
    if status == "failed":
        return _of_failure(telling, behind, output, command)
    if status == "unknown" and (command or _CHECKS.search(line)):
        return _of_words(output) or "unknown"
    hides = any(part.joint in ("|", ";", "||") for part in behind)
    if not hides and not (telling and _has_last_word(line, telling)):
        return status
    return _of_words(output) or "unknown"


def _has_last_word(line: str, telling: list[Part]) -> bool:
    """Whether a silent command, such as ``|| true`` or ``; echo done``, gives the status of the line."""
    last = parts(line)[-1]
    return last is not telling[-1] and last.joint in (";", "||", "|")


def _of_failure(telling: list[Part], behind: list[Part], output: str, command: str) -> Outcome:
    """Of a line that failed: a search that found nothing is no failure, and of several commands one
    failed."""
    if (
        telling
        and _SEARCHES.match(bare(telling[-1].text))
        and (len(telling) == 1 or telling[-1].joint == "|")
    ):
        return _of_words(output) or "unknown"
    if not command or not behind or all(is_trimming(part) for part in behind):
        return "failed"
    if _TESTS.search(command) and (counts := _COUNTED.findall(plain(output)[-_TOLD_CHARS:])):
        return "failed" if any(word.startswith("fail") for word in counts) else "ok"
    return "unknown"


def _of_words(output: str) -> Outcome | Literal[""]:
    """What an output says of itself: a failure anywhere in its end counts more than a success."""
    end = plain(output)[-_TOLD_CHARS:]
    if any(_BAD.search(line) for line in _marked_lines(end, end, _BAD_MARKS)):
        return "failed"
    return "ok" if any(_GOOD.search(line) for line in _marked_lines(end, lowered(end), _GOOD_MARKS)) else ""


def _marked_lines(text: str, searched: str, marks: Iterable[str]) -> Iterator[str]:
    """The lines of a text with one of the marks; ``searched`` has the same lines, in lower case if case does
    not matter."""
    present = [mark for mark in marks if mark in searched]
    if present:
        for line, low in zip(text.split("\n"), searched.split("\n"), strict=True):
            if any(mark in low for mark in present):
                yield line


def plain(output: str) -> str:
    """An output without escape sequences and tags of the harness."""
    if "\x1b" in output:
        output = ESCAPE_SEQUENCES.sub("", output)
    return _TAGS.sub("", output) if "<" in output else output


def told_lines(output: str) -> list[str]:
    """The lines of an output that may be quoted, each on one line; those that give orders to an agent are
    not."""
    return [line for line in _worded_lines(output) if not gives_orders(line)]


def _worded_lines(output: str) -> list[str]:
    """The lines with words, of a long output those at its beginning and at its end."""
    text = plain(output)
    if len(text) > _TOLD_CHARS + _BEGINNING_CHARS:
        text = f"{text[:_BEGINNING_CHARS]}\n{text[-_TOLD_CHARS:]}"
    lines = (" ".join(line.split()).strip("=- ") for line in text.split("\n"))
    worded = [line for line in lines if _WORDED.search(line) and not _HARNESS.match(line)]
    return worded if len(worded) == 1 else [line for line in worded if len(line) > 1]


def telling(output: str, failed: bool) -> list[str]:
    """The few lines of an output that say what became of a command, in their order."""
    lines = _worded_lines(output)
    if failed and _TRACEBACK in output:
        lines = _without_traceback(lines)
    verdicts = (line for line in reversed(lines) if line != "FAIL" and _is_verdict(line))
    if failed:
        bad = (
            f"{line}, {after}" if _COUNTERPART.match(after) else line
            for line, after in zip(lines, [*lines[1:], ""], strict=False)
            if _TROUBLE.search(line) and not _is_verdict(line) and not _PASSING.match(line)
        )
        chosen = [*_quotable(bad, 3), *_quotable(verdicts, 1)]
        return _in_order(lines, chosen) or _quotable(reversed(lines), 2)[::-1]
    return _quotable(verdicts, 1) or (told_lines(output) if len(lines) <= 3 else [])


def _without_traceback(lines: list[str]) -> list[str]:
    """Lines without the heading of a traceback; an exception without a message has the line it came from."""
    found: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith(_TRACEBACK):
            continue
        said = before and not before.startswith(('File "', _TRACEBACK))
        found.append(f"{line}: {before}" if said and _BARE_EXCEPTION.fullmatch(line) else line)
    return found or lines


def _is_verdict(line: str) -> bool:
    """Whether a line says what became of a command as a whole."""
    if _VERDICT.match(line) or (_NUMBER.search(line) and _TALLY.search(line)):
        return True
    low = lowered(line)
    return any(mark in low for mark in _VERDICT_MARKS)


def _quotable(lines: Iterable[str], most: int) -> list[str]:
    """The first lines that give no orders to an agent."""
    return list(islice((line for line in lines if not gives_orders(line)), most))


def _in_order(lines: list[str], chosen: Iterable[str]) -> list[str]:
    places = {line: at for at, line in enumerate(lines)}
    return sorted(
        dict.fromkeys(chosen), key=lambda line: places.get(line, places.get(line.split(", ")[0], 0))
    )


TESTS_MAX = 8
_FAILED_TEST = regex(
    r"^(?:FAILED|ERROR) (\S+::\S+)|^\s*--- FAIL: (\S+)|^test (\S+) \.\.\. FAILED|^\s*● (.+ › .+)$"
    r"|^\s*(?:FAIL|[×✗✕]) {1,3}(\S+ > .+?)(?: \d+ms)?$|^(?:FAIL|ERROR): (\w+ \([\w.]+\))"
    r"|^\s+\d+\) ([^\n]{3,120}\n\s+[^\n]{3,120}):$",
    re.M,
)
"""Names of failed tests as pytest, Go, Cargo, Jest, Vitest, unittest and Mocha print them."""


def failing_tests(output: str) -> tuple[str, ...]:
    """The names of the tests that an output reports as failed, each once, at most ``TESTS_MAX``."""
    found = (next(filter(None, match.groups())) for match in _FAILED_TEST.finditer(plain(output)))
    names = dict.fromkeys(name.strip()[:160] for name in found)
    return tuple(name for name in names if not any(one.startswith(f"{name}/") for one in names))[:TESTS_MAX]
