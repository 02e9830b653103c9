"""Text for terminals: colour, width, marks, times, tables."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest

from segue.core import event_kinds as ev
from segue.core.sessions.fold import fold_body
from segue.core.sessions.state import SessionState
from segue.core.sessions.status import status_of
from segue.surfaces.cli.views.session import status_lines
from segue.surfaces.render import (
    Style,
    ago,
    as_json,
    bar,
    cells,
    cut,
    fitted,
    one_line,
    safe,
    style_for,
    table,
    wrap,
)

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
PLAIN = Style()


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="")

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (-30, "just now"),
        (7, "7 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (200, "3 min ago"),
        (7200, "2 h ago"),
        (86400, "1 day ago"),
        (5 * 86400, "5 days ago"),
        (60 * 86400, "2026-09-16"),
    ],
)
def test_times_are_relative_until_they_are_long_ago(seconds: int, words: str) -> None:
    then = (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    assert ago(then, NOW) == words


def test_a_time_that_is_none_is_shown_as_it_is() -> None:
    assert ago("yesterday\x1b[1m", NOW) == "yesterday"


def test_colour_needs_a_terminal_and_no_refusal() -> None:
    assert style_for(Terminal(), {}).colour
    assert not style_for(Terminal(), {"NO_COLOR": "1"}).colour
    assert not style_for(Terminal(), {"TERM": "dumb"}).colour
    assert not style_for(Terminal(), {}, no_color=True).colour
    assert not style_for(io.StringIO(), {}).colour
    assert style_for(Terminal(), {"NO_COLOR": ""}).colour


def test_colour_can_be_forced_where_there_is_no_terminal() -> None:
    assert style_for(io.StringIO(), {"FORCE_COLOR": "1"}).colour
    assert not style_for(io.StringIO(), {"FORCE_COLOR": "0"}).colour
    assert not style_for(io.StringIO(), {"FORCE_COLOR": "1"}, no_color=True).colour


def test_width_is_that_of_the_terminal_and_a_pipe_has_none() -> None:
    assert style_for(Terminal(), {"COLUMNS": "72"}).width == 72
    assert style_for(Terminal(), {"COLUMNS": "5"}).width == 40
    assert style_for(Terminal(), {}).width == 80, "a terminal without a size"
    assert style_for(io.StringIO(), {"COLUMNS": "72"}).width == 0


def test_marks_fall_back_to_ascii_where_the_encoding_has_no_others() -> None:
    style = style_for(Terminal("latin-1"), {})
    assert (style.mark("done"), style.mark("more")) == ("x", "...")
    assert bar(50, 4, Style(unicode=False)) == "##.."


def test_text_is_cut_and_wrapped_by_columns_not_by_characters() -> None:
    assert cells("日本語") == 6
    assert cells("e\u0301") == 1
    assert cut("日本語テキスト", 7, PLAIN) == "日本語…"
    assert cut("short", 0, PLAIN) == "short"
    assert wrap("one two three four", 9, PLAIN) == ["one two", "three", "four"]
    assert wrap("one two three four", 9, PLAIN, lines=2) == ["one two", "three fo…"]
    assert wrap("x" * 30, 10, PLAIN) == ["x" * 9 + "…"]


def test_a_table_gives_way_in_its_last_column_only() -> None:
    lines = table(("id", "goal"), [("abc", "g" * 100), ("日本", "short")], Style(width=40))
    assert [cells(line) for line in lines] == [10, 40, 11]
    assert lines[2] == "日本  short"


def test_a_row_without_room_takes_several_lines_and_cuts_no_word() -> None:
    head, goal = ("", "session", "status", "goal"), "Refactor authentication to web tokens"
    rows = [("*", "2026-11-15-coding-shop-001", "active", goal), ("", "leak", "paused", "日本")]
    assert table(head, rows, Style(width=40)) == [
        "*  2026-11-15-coding-shop-001  active",
        "    Refactor authentication to web",
        "    tokens",
        "leak  paused",
        "    日本",
    ]
    assert table(head, rows, Style(width=60))[0].split() == list(head[1:])


def test_lines_break_between_words_in_a_narrow_terminal_only() -> None:
    line = "  no run here;  `segue runs --all` looks in /a/path/that/is/longer/than/forty/columns/are"
    assert fitted(line, Style(width=40)) == [
        "  no run here;  `segue runs --all` looks",
        "    in",
        "    /a/path/that/is/longer/than/forty/columns/are",
    ]
    painted = Style(colour=True, width=40).paint("twenty columns of it", "red") + " and twenty more of them"
    assert len(fitted(painted, Style(width=40))) == 2
    texts = "one\n" + "two " * 30
    assert fitted(texts, Style(width=40)) == [texts]
    assert fitted(line, Style(width=0)) == fitted(line, Style(width=80)) == [line]


def test_progress_is_drawn_on_a_terminal_after_a_second_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace
    from typing import Any

    from segue.surfaces.cli.progress import ProgressBar

    clock = [100.0]
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("segue.surfaces.cli.progress.time.monotonic", lambda: clock[0])
    context: Any = SimpleNamespace(environment={"COLUMNS": "80"}, args=SimpleNamespace(no_color=True))
    with ProgressBar(context) as progress:
        progress(1, 4, "early")
        clock[0] += 2
        progress(2, 4, "mid\x1b[2Jway")
        progress(3, 4, "too soon")
    terminal.seek(0)
    shown = terminal.read()
    assert " 50%  2/4  0:02, 0:02 left  midway" in shown
    assert "early" not in shown and "too soon" not in shown
    assert shown.endswith("\r\x1b[2K")


def test_progress_of_files_tells_bytes_in_words_and_the_end_of_a_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from types import SimpleNamespace
    from typing import Any

    from segue.surfaces.cli.progress import ProgressBar
    from segue.surfaces.render import bytes_words

    clock = [100.0]
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("segue.surfaces.cli.progress.time.monotonic", lambda: clock[0])
    context: Any = SimpleNamespace(environment={"COLUMNS": "100"}, args=SimpleNamespace(no_color=True))
    path = "/home/somebody/.codex/sessions/2026/11/15/rollout-2026-11-15T00-43-39-0a1b2c3d.jsonl"
    with ProgressBar(context, bytes_words) as progress:
        clock[0] += 75
        progress(6_983_732, 63_851_264, f"87 of 800 files  {path}")
    terminal.seek(0)
    line = terminal.read().split("\x1b[2K")[1].rstrip("\r")
    assert "  7.0 MB/63.9 MB  1:15, 10:10 left  87 of 800" in line and line.endswith("0a1b2c3d.jsonl")
    assert len(line) <= 100


def test_no_control_character_passes() -> None:
    evil = "".join(map(chr, range(0x20))) + "\x7f\x80\x9b\u202e\u2066\ud800ok\u2028"
    assert not set(one_line(evil)) & set(
        map(chr, [*range(32), *range(127, 160), 0x202E, 0x2066, 0xD800, 0x2028])
    )
    assert safe("a\tb\nc") == "a\tb\nc"


def test_json_can_hold_what_utf8_cannot() -> None:
    assert as_json({"a": "x\udcffy"}) == '{\n  "a": "x?y"\n}'


def _state() -> SessionState:
    state = SessionState()
    bodies: list[ev.Body] = [ev.Created("an-id", "A goal " * 20, "o", "p", "coding"), ev.Started()]
    bodies += [ev.ItemDone(f"done {n} " + "long " * 60) for n in range(9)] + [
        ev.ItemAdded("next 日本語 " * 30)
    ]
    bodies += [ev.ItemBlocked("blocked " * 20, "reason " * 30), ev.Decided("decision " * 30, "why " * 30)]
    for version, body in enumerate(bodies, 1):
        state = fold_body(state, body, version=version, at="2026-11-15T00:00:00.000000Z", actor="user")
    return state


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("all", [False, True])
def test_no_line_of_a_status_is_wider_than_the_terminal(width: int, all: bool) -> None:
    state = _state()
    lines = status_lines(status_of(state, held_by="codex"), Style(width=width), state, all=all)
    assert max(cells(line) for line in lines) <= width
    assert all or len(lines) < 40


def test_colours_of_a_status_are_closed_on_every_line() -> None:
    state = _state()
    coloured = status_lines(status_of(state), Style(colour=True, width=80), state)
    plain = status_lines(status_of(state), Style(width=80), state)
    assert all(
        line.count("\x1b[") % 2 == 0 and (line.endswith("\x1b[0m") or "\x1b" not in line[-4:])
        for line in coloured
    )
    import re

    assert [re.sub("\x1b\\[[0-9;]*m", "", line) for line in coloured] == plain


def test_on_a_pipe_nothing_is_cut() -> None:
    state = _state()
    text = "\n".join(status_lines(status_of(state), PLAIN, state))
    assert ("reason " * 30).strip() in text
