"""The status line of Claude Code: how full the window is, the item under way, the checks, and the cost.

Claude Code runs it after every message, with its own figures as JSON on standard input. Those are read from
there; what the session says is kept in a file, and Segue is loaded only when the store has changed. Whatever
goes wrong, a line of what is known comes out, or nothing.
"""

from __future__ import annotations

import os

from ...services.hooks.kept_line import kept_line

EVENT = "StatusLine"
COLUMNS_DEFAULT = 120
COLUMNS_MIN = 20
ITEM_CELLS_MIN = 12
_LEVELS = ((90, "EMERGENCY", "31"), (80, "CRITICAL", "31"), (60, "", "33"))
_TOKENS = (b"input_tokens", b"cache_creation_input_tokens", b"cache_read_input_tokens", b"output_tokens")


def answered(home: str, agent: str, payload: bytes) -> bytes:
    """The line for an event of this agent; never raises."""
    try:
        native = text_in(payload, b"session_id")
        parts, is_fresh = kept_line(home, native)
        if not is_fresh or _is_due(home, native, text_in(payload, b"transcript_path")):
            parts = _asked(home, agent, payload) or kept_line(home, native)[0]
        line = composed(payload, parts, _columns(), colour=not os.environ.get("NO_COLOR"))
        return f"{line}\n".encode("utf-8", "replace") if line else b""
    except Exception:
        return b""


def _asked(home: str, agent: str, payload: bytes) -> list[str]:
    """What Segue says of the session; empty if it cannot say it in time."""
    from .entry import answered as answer

    try:
        said = answer(home, agent, EVENT, payload)
    except Exception:
        return []
    return said.decode("utf-8", "replace").split("\n") if said else []


def _is_due(home: str, native: str, transcript: str) -> bool:
    """Whether the transcript has grown to the size at which Segue wants to look at it."""
    try:
        file = os.open(f"{home}/hook/looks/{os.path.basename(native)}", os.O_RDONLY)
        try:
            size = int(os.read(file, 32).split(b"\n")[0])
        finally:
            os.close(file)
        return os.stat(transcript).st_size >= size
    except (OSError, ValueError):
        return False


def _columns() -> int:
    given = os.environ.get("COLUMNS", "")
    return max(COLUMNS_MIN, int(given)) if given.isdecimal() and int(given) else COLUMNS_DEFAULT


# -- what the agent says -----------------------------------------------------------------------


def value_at(payload: bytes, key: bytes) -> int:
    """Where the value of a key begins in JSON; -1 if there is none."""
    at = -1
    while (at := payload.find(b'"%s"' % key, at + 1)) >= 0:
        rest = payload[at + len(key) + 2 : at + len(key) + 40]
        behind = rest.lstrip()
        if behind.startswith(b":"):
            inner = behind[1:].lstrip()
            return at + len(key) + 2 + len(rest) - len(inner)
    return -1


def text_in(payload: bytes, key: bytes) -> str:
    """The string value of a key; empty if there is none or it contains an escape."""
    at = value_at(payload, key)
    if at < 0 or payload[at : at + 1] != b'"':
        return ""
    stop = payload.find(b'"', at + 1)
    text = payload[at + 1 : stop]
    return "" if stop < 0 or b"\\" in text else text.decode("utf-8", "surrogateescape")


def object_in(payload: bytes, key: bytes) -> bytes:
    """The object that is the value of a key; empty if there is none."""
    at = value_at(payload, key)
    if at < 0 or payload[at : at + 1] != b"{":
        return b""
    depth, place, is_text = 0, at, False
    while place < len(payload):
        sign = payload[place]
        if is_text:
            if sign == 92:  # a backslash hides what follows
                place += 1
            is_text = sign != 34
        elif sign == 34:
            is_text = True
        elif sign in (123, 125):
            depth += 1 if sign == 123 else -1
            if not depth:
                return payload[at : place + 1]
        place += 1
    return b""


def number_in(payload: bytes, key: bytes) -> float:
    """The number that is the value of a key; -1 if there is none."""
    at = value_at(payload, key)
    if at < 0:
        return -1.0
    digits = payload[at : at + 30].split(b",")[0].split(b"}")[0].strip()
    try:
        return float(digits)
    except ValueError:
        return -1.0


# -- the line ----------------------------------------------------------------------------------


def composed(payload: bytes, parts: list[str], columns: int, *, colour: bool) -> str:
    """The line in so many columns: the item is shortened first, then parts are left out from the middle."""
    item, checks = (*parts, "", "")[:2]
    window, code = window_words(object_in(payload, b"context_window"))
    cost = number_in(object_in(payload, b"cost"), b"total_cost_usd")
    ends = [window, checks, f"${cost:.2f}" if cost > 0 else ""]
    if not any((item, *ends)):
        return ""
    room = columns - len("segue ") - sum(_cells(text) + 3 for text in ends if text)
    if item and room < min(ITEM_CELLS_MIN, _cells(item)):
        ends[1] = ""
        room = columns - len("segue ") - sum(_cells(text) + 3 for text in ends if text)
    if item and room < min(ITEM_CELLS_MIN, _cells(item)):
        item = ""
    shown = [ends[0], _cut(item, max(0, room)), *ends[1:]]
    line = "segue " + " · ".join(text for text in shown if text)
    line = _cut(line, columns)
    return line.replace(window, f"\x1b[{code}m{window}\x1b[0m", 1) if colour and code and window else line


def window_words(window: bytes) -> tuple[str, str]:
    """How full the window is, in words, and the code of a colour for it; empty if that is not known."""
    size = number_in(window, b"context_window_size")
    share = number_in(window, b"used_percentage")
    if share < 0 and size > 0:
        usage = object_in(window, b"current_usage")
        tokens = [number_in(usage, key) for key in _TOKENS]
        share = 100 * sum(max(0.0, one) for one in tokens) / size if usage else -1.0
    if share < 0:
        return "", ""
    of = f" of {size / 1000:,.0f}k" if size > 0 else ""
    level, code = next(((word, code) for least, word, code in _LEVELS if share >= least), ("", ""))
    return f"{share:.0f} %{of}{f' {level}' if level else ''}", code


def _cells(text: str) -> int:
    """How many columns a text takes, about: letters of East Asian scripts and most emoji take two."""
    return len(text) + sum(
        1 for char in text if "ᄀ" <= char <= "ᅟ" or "⺀" <= char <= "￦" or char > "\U0001f000"
    )


def _cut(text: str, cells: int) -> str:
    if _cells(text) <= cells:
        return text
    while text and _cells(text) > cells - 1:
        text = text[:-1]
    return f"{text.rstrip()}…" if text else ""
