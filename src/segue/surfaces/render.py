"""Text for terminals and values for programs.

Stored text is data: whatever it contains, none of its control characters reaches a terminal, even if it was
stored without being cleaned. Colour, width and marks depend on the stream that is written to; on a pipe there
is no colour, and nothing is cut or wrapped. In a narrow terminal lines break between words, and a row of a
table that does not fit takes several lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, TextIO

import msgspec

from ..core.base.values import count as count, iso, parse_digits

_COLOURS = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35",
    "cyan": "36",
}  # fmt: skip
_MARKS = {
    "done": ("✓", "x"),
    "active": ("▶", ">"),
    "next": ("○", "o"),
    "blocked": ("■", "#"),
    "dropped": ("✗", "-"),
    "bullet": ("•", "*"),
    "thread": ("~", "~"),
    "full": ("█", "#"),
    "empty": ("░", "."),
    "more": ("…", "..."),
    "dot": ("·", "-"),
}
ROOMY = 80
"""From this many columns on, lines are fitted to the width."""
STRETCH_MIN = 16
"""The least width of a column with long texts."""


class Style:
    """What a stream can show."""

    def __init__(self, *, colour: bool = False, unicode: bool = True, width: int = 0) -> None:
        self.colour = colour
        self.unicode = unicode
        self.width = width
        """Columns; 0 means no limit, so that nothing is cut or wrapped."""

    def paint(self, text: str, *names: str) -> str:
        """The text in colours, if the stream shows any."""
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(_COLOURS[name] for name in names)}m{text}\x1b[0m"

    def mark(self, name: str) -> str:
        """A mark that the stream can encode."""
        return _MARKS[name][0 if self.unicode else 1]


def style_for(stream: TextIO, environment: Mapping[str, str], *, no_color: bool = False) -> Style:
    """The style of a stream in an environment."""
    terminal = is_terminal(stream)
    plain = no_color or bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
    forced = environment.get("FORCE_COLOR", "0") not in ("", "0") and not no_color
    return Style(
        colour=forced or (terminal and not plain),
        unicode=_can_encode(stream, "✓▶○■░…"),
        width=_columns(stream, environment) if terminal else 0,
    )


def is_terminal(stream: Any) -> bool:
    """Whether the stream is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _can_encode(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _columns(stream: TextIO, environment: Mapping[str, str]) -> int:
    given = environment.get("COLUMNS", "")
    if parse_digits(given) > 0:
        return max(40, parse_digits(given))
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        columns = 0
    return max(40, columns) if columns else 80


# -- text --------------------------------------------------------------------------------------


def safe(text: str) -> str:
    """The text without anything that would control a terminal or imitate our marks; newlines and tabs
    stay."""
    from ..core.base.text import encodable, harmless_text  # not at the top, because a brief does not need it

    return harmless_text(encodable(text))


def one_line(text: str) -> str:
    """The text, safe and on one line."""
    return " ".join(safe(text).split())


SHOWN_MAX = 1_000
"""How many characters of each text are shown to people where there are many texts; programs get all of it."""


def shown(text: str) -> str:
    """A text, safe, on one line, and shortened if it is very long."""
    line = one_line(text)
    if len(line) <= SHOWN_MAX:
        return line
    return f"{line[:SHOWN_MAX].rstrip()} [{len(line):,} characters in all; --json shows them]"


def cells(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def _cell(char: str) -> int:
    from unicodedata import category, east_asian_width

    if char.isascii():
        return 1
    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def cut(text: str, width: int, style: Style) -> str:
    """At most ``width`` columns, the last of them a mark that something was left out; 0: no limit."""
    if not width or cells(text) <= width:
        return text
    more = style.mark("more")
    kept, room = "", width - len(more)
    for char in text:
        room -= _cell(char)
        if room < 0:
            break
        kept += char
    return kept.rstrip() + more


def cut_middle(text: str, width: int, style: Style) -> str:
    """At most ``width`` columns, with a mark for what was left out in the middle: a path keeps its name."""
    if not width or cells(text) <= width:
        return text
    more = style.mark("more")
    head = cut(text, width // 3 + len(more), style)
    tail, room = "", width - cells(head)
    for char in reversed(text):
        room -= _cell(char)
        if room < 0:
            break
        tail = char + tail
    return head + tail


def wrap(text: str, width: int, style: Style, *, lines: int = 0) -> list[str]:
    """The text in lines of at most ``width`` columns, the last of at most ``lines`` cut."""
    if not width or cells(text) <= width:
        return [text]
    made: list[str] = []
    line = ""
    for word in text.split():
        trial = f"{line} {word}" if line else word
        if not line or cells(trial) <= width:
            line = trial
        else:
            made.append(line)
            line = word
    made.append(line)
    if lines and len(made) > lines:
        made = [*made[: lines - 1], " ".join(made[lines - 1 :])]
    return [cut(line, width, style) for line in made]


def bare(text: str) -> str:
    """The text without colours."""
    while "\x1b[" in text:
        head, _, tail = text.partition("\x1b[")
        text = head + tail.partition("m")[2]
    return text


def fitted(line: str, style: Style) -> list[str]:
    """The line, broken into several where the terminal is narrow; words and multi-line texts stay whole."""
    if not 0 < style.width < ROOMY or "\n" in line or cells(bare(line)) <= style.width:
        return [line]
    inner = line.lstrip(" ")
    start = line[: len(line) - len(inner)]
    return packed(inner.split(" "), style, between=" ", first=start, rest=start + "  ")


def packed(words: Iterable[str], style: Style, *, between: str, first: str = "", rest: str = "") -> list[str]:
    """Unbroken words in as few lines as possible; the first line begins with ``first``, the others with
    ``rest``."""
    lines: list[str] = []
    for word in words:
        trial = lines[-1] + between + word if lines else first + word
        if not lines or not style.width or cells(bare(trial)) <= style.width:
            lines[-1:] = [trial]
        elif word:
            lines[-1:] = [lines[-1].rstrip(), rest + word]
    return lines


def pad(text: str, width: int) -> str:
    """The text and spaces up to a width."""
    return text + " " * max(0, width - cells(text))


def bytes_words(size: int) -> str:
    """A number of bytes in words, as in ``1.4 MB``."""
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return ""


# -- times -------------------------------------------------------------------------------------


def moment(text: str) -> datetime | None:
    """A time as events carry it, or None."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def ago(text: str, now: datetime | None = None) -> str:
    """How long ago a time was, as in ``3 min ago``; the date if it is long ago."""
    then = moment(text)
    if then is None:
        return one_line(text)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < -90 or seconds > 45 * 86400:
        return then.astimezone().date().isoformat()
    if seconds < 5:
        return "just now"
    for size, unit in ((86400, "day"), (3600, "h"), (60, "min"), (1, "s")):
        number = int(seconds // size)
        if number:
            return f"{number} {unit}{'s' if unit == 'day' and number > 1 else ''} ago"
    return "just now"


MODELS_SHOWN = 6


def models_words(names: Sequence[str]) -> str:
    """Models in a sentence, those that no transcript names at the end."""
    words = [one_line(name) for name in names if name]
    words += ["models that are not named"] if "" in names else []
    if len(words) > MODELS_SHOWN:
        words = [*words[: MODELS_SHOWN - 1], f"{len(words) - MODELS_SHOWN + 1} more"]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def bar(percent: int, width: int, style: Style) -> str:
    """A progress bar that is full at 100."""
    full = min(width, max(0, percent) * width // 100)
    return style.paint(style.mark("full") * full, "green") + style.paint(
        style.mark("empty") * (width - full), "dim"
    )


# -- tables ------------------------------------------------------------------------------------


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], style: Style, *, stretch: int = -1,
    below: Sequence[Sequence[str]] = (),
) -> list[str]:  # fmt: skip
    """Aligned columns. If lines would be too long, the ``stretch`` column is narrowed; if that is not enough,
    rows take several lines. ``below`` has the lines that follow each row, if any."""
    body = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(cells(row[i]) for row in [list(head), *body]) for i in range(len(head))]
    if style.width:
        room = style.width - (sum(widths) - widths[stretch] + 2 * (len(widths) - 1))
        if room < min(widths[stretch], STRETCH_MIN):
            return _interleaved([_block(row, style, stretch) for row in body], below)
        widths[stretch] = min(widths[stretch], room)
    lines = [style.paint(_row(head, widths, style), "dim")]
    return lines + _interleaved([[_row(row, widths, style)] for row in body], below)


def _interleaved(blocks: Sequence[list[str]], below: Sequence[Sequence[str]]) -> list[str]:
    """The lines of rows, each with those that follow it."""
    return [line for block, more in zip_longest(blocks, below, fillvalue=()) for line in (*block, *more)]


def paint_word(line: str, word: str, colour: str | None, style: Style) -> str:
    """A line of a table with a word of it in a colour."""
    return line.replace(f" {word}", f" {style.paint(word, colour)}", 1) if colour else line


_FINDINGS = {"ok": "green", "used": "green", "none": "dim", "warn": "yellow", "bad": "red", "damaged": "red"}


def finding_line(style: Style, row: Any) -> str:
    """A finding of a check-up or of a recovery: its status, what it is about, and the details."""
    word = style.paint(f"{row.status:8}", _FINDINGS.get(row.status, "bold"))
    return f"{word} {one_line(row.name)}" + (f": {one_line(row.detail)}" if row.detail else "")


def _block(row: list[str], style: Style, stretch: int) -> list[str]:
    """A row in several lines: the short cells, as many on a line as fit, and the long ones below."""
    long = row[stretch]
    short = [cell for place, cell in enumerate(row) if cell and place != stretch % len(row)]
    lines = packed(short, style, between="  ", rest="  ")
    return lines + [f"    {line}" for line in wrap(long, style.width - 4, style, lines=3) if line]


def _row(row: Sequence[str], widths: Sequence[int], style: Style) -> str:
    return "  ".join(
        pad(cut(cell, width, style), width) for cell, width in zip(row, widths, strict=True)
    ).rstrip()


# -- values for programs -----------------------------------------------------------------------


HIDDEN = {"AgentState": "pieces", "Item": "key", "Question": "key", "Trouble": "key"}
"""Internal fields that are not shown: where a value is stored, and how a row is found again."""


def plain(value: Any) -> Any:
    """A value as objects and arrays in which every field is named, including those with default values."""
    if isinstance(value, msgspec.Struct):
        hidden = HIDDEN.get(type(value).__name__, "")
        names = [name for name in value.__struct_fields__ if name != hidden]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [plain(inner) for inner in value]
    return value.hex() if isinstance(value, bytes) else str(value)


def as_json(value: Any) -> str:
    """JSON with an indent of two spaces, in the order of the fields, for whoever asked on this machine: often
    an agent, so that no text in it can be taken for a brief's beginning or end."""
    harmless = _harmless(_encodable(plain(value)))
    return msgspec.json.format(msgspec.json.encode(harmless), indent=2).decode()


def json_line(value: Any) -> str:
    """The same JSON on one line, for what is told bit by bit."""
    return msgspec.json.encode(_harmless(_encodable(plain(value)))).decode()


def _harmless(value: Any) -> Any:
    from ..core.base.text import harmless_text

    if isinstance(value, str):
        return harmless_text(value)
    if isinstance(value, list):
        return [_harmless(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    from ..core.runs.brief_text import delimited

    own = (
        "text" if "tokens_used" in value else "brief"
    )  # a restored context has marks of ours, and so has a brief
    return {
        harmless_text(key): delimited(inner) if key == own and isinstance(inner, str) else _harmless(inner)
        for key, inner in value.items()
    }


def compact(value: Any) -> bytes:
    """The same JSON without whitespace, as it is sent."""
    return msgspec.json.encode(_encodable(plain(value)))


def _encodable(value: Any) -> Any:
    """Replace lone surrogates, which cannot be encoded, by a mark."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list) else value


def saved_object(saved: Any, **more: Any) -> dict[str, Any]:
    """What was saved, with further fields of a command's result."""
    return {**{name: getattr(saved, name) for name in saved.__struct_fields__}, **more}


def status_object(found: Any, notices: Sequence[str]) -> dict[str, Any]:
    """The status of a session, what needs attention and, if the server cannot be reached, when it was last
    seen."""
    return {
        **plain(found.status), "as_of": found.as_of, "pending": found.pending, "notices": list(notices),
    }  # fmt: skip


def started_object(done: Any) -> dict[str, Any]:
    """A session that was begun or continued."""
    return saved_object(done.saved, status=done.status, left_active=done.left_active)


def handed_object(handed: Any) -> dict[str, Any]:
    """An offer of a session, with the files and the command for whoever takes it."""
    return saved_object(
        handed.saved, offer=plain(handed.offer), file=handed.file, start=handed.start, rules=handed.rules,
        missing=handed.missing,
    )  # fmt: skip


def verified_object(done: Any) -> dict[str, Any]:
    """The result of running checks or of an audit, and whether everything is in order."""
    return {**plain(done), "ok": done.ok}


def delta_object(delta: Any) -> dict[str, Any]:
    """What changed since the work was left, and whether nothing did."""
    return {**plain(delta), "nothing": delta.nothing}


def steps_object(steps: Iterable[tuple[int, Any]], chars: int = 0) -> list[dict[str, Any]]:
    """Steps of a run with their numbers; with ``chars``, so much of each text at most."""
    found = (
        {"step": number, "kind": type(step).__name__.lower(), **plain(step), "at": iso(step.at)}
        for number, step in steps
    )
    return [{name: _short(value, chars) for name, value in step.items()} for step in found]


def _short(value: Any, chars: int) -> Any:
    if chars and isinstance(value, str) and len(value) > chars:
        return f"{value[:chars]} … ({len(value) - chars:,} more characters)"
    return [_short(one, chars) for one in value] if chars and isinstance(value, list) else value


def resumed_object(done: Any) -> dict[str, Any]:
    """A session that was resumed, with what its next run needs to know."""
    return saved_object(
        done.saved, status=done.status, brief=done.brief,
        since=delta_object(done.since) if done.since is not None else None, restoration=done.restoration,
        timeout=done.timeout, working=done.working,
    )  # fmt: skip


def prepared_object(done: Any) -> dict[str, Any]:
    """A manifest that was written, without the scene."""
    return {name: getattr(done, name) for name in done.__struct_fields__ if name != "scene"}


def handover_check_object(standing: Any) -> dict[str, Any]:
    """Whether a handover is to be resumed: 0 clean, 1 interrupted, 2 completed."""
    return {"code": standing.code, "status": standing.status, "steps": standing.steps}


def evidence_objects(history: Iterable[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Everything that was recorded about a feature."""
    from ..core.features.evidence import TRUSTS

    return [
        {"version": event.version, "at": event.at, "kind": event.kind, "by": event.actor,
         "trust": TRUSTS.get(type(body), ""), **plain(body)}
        for event, body in history
    ]  # fmt: skip


def feature_object(features: Any, id: str) -> dict[str, Any]:
    """A feature with its verdict and everything that speaks for or against it."""
    evidence = evidence_objects(features.history(id))
    return {**plain(features.feature(id)), "verdict": features.get(id), "evidence": evidence}


def recalled_object(one: Any) -> dict[str, Any]:
    """A memory that was found, with its score."""
    fields: dict[str, Any] = plain(one.memory)
    more = {"effectiveness": round(one.memory.effectiveness, 3), "score": one.score, "quoted": one.quoted}
    return {**fields, **more}


# -- how well it does

NOTHING = "–"
"""Stands for a figure that nothing was measured for."""


def stats_words(row: Any) -> list[tuple[str, str]]:
    """Every figure with its name, in words."""
    return [
        ("work taken up again", _number_figure(row.restarts)),
        ("taken up after a crash", _number_figure(row.survived)),
        ("time to the first edit", _seconds_figure(row.seconds_to_edit)),
        ("calls to the first edit", _plain_figure(row.calls_to_edit)),
        ("size of a brief", _bytes_figure(row.brief_bytes)),
        ("usefulness of a brief", _plain_figure(row.brief_score, " of 100 points")),
        ("time to write a manifest", _seconds_figure(row.prepare_seconds)),
        ("size of a manifest", _bytes_figure(row.manifest_bytes)),
        ("time to check a start", _times_figure(row.bootstrap_seconds, row.bootstraps)),
        ("time to restore context", _times_figure(row.restore_seconds, row.restores)),
        ("size of restored context", _bytes_figure(row.restore_bytes)),
        ("usefulness of a handover", _handovers_figure(row)),
        ("memories", _memories_figure(row)),
        ("known failures", f"{row.pitfalls} told, {row.pitfalls_mended} fixed" if row.pitfalls else NOTHING),
        ("next command guessed right", _habits_figure(row)),
    ]


def _number_figure(value: int) -> str:
    return count(value, "time") if value else NOTHING


def _handovers_figure(row: Any) -> str:
    points = _plain_figure(row.handover_score, " of 100 points")
    return points if points == NOTHING else f"{points} ({count(row.handovers, 'handover')})"


def _plain_figure(value: float | None, unit: str = "") -> str:
    return NOTHING if value is None else f"{value:g}{unit}"


def _seconds_figure(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value / 60:.1f} min" if value >= 120 else f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def _times_figure(seconds: float | None, times: int) -> str:
    return NOTHING if seconds is None else f"{_seconds_figure(seconds)} ({count(times, 'time')})"


def _bytes_figure(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f} bytes"


def _memories_figure(row: Any) -> str:
    if not row.memories:
        return NOTHING
    rate = row.memory_hit_rate
    helpful = "" if rate is None else f", {100 * rate:.0f} % of {row.memory_votes} votes helpful"
    return f"{row.memories:,} made, {row.memories_recalled} recalled{helpful}"


def _habits_figure(row: Any) -> str:
    if row.habit_hit_rate is None or row.habit_hit_rate_alone is None:
        return NOTHING
    rates = f"{row.habit_hit_rate:.0%} with habits, {row.habit_hit_rate_alone:.0%} without"
    return f"{rates} ({count(row.habit_guesses, 'guess', 'guesses')})".replace("%", " %")
