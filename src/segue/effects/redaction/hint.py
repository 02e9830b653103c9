r"""A quick test whether a short text can contain a secret at all, without loading the regex engine.

Most texts contain none. The test may say yes too often, but never no where a rule would match: a rule with a
literal of its own needs a run of characters after it; most others need a telling word and, after it,
something that introduces a value.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain

from .rules import RULES, UNSEEN_CHARS

_RUN_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_.~+/=\\-"
_RUN_LENGTH, _RUN_LENGTH_COMMON = 10, 24
_COMMON = "m n o pat sk re_ sk_ fc- rnd_ sdk- api- access- sc_ ext_ pat.".split()
"""Literals that occur in many ordinary words; they need a longer run after them."""
_WITHOUT_RUN = ("pbkdf2_sha", ":::", "nral", "-us")
"""Literals behind which something else follows, or nothing."""
_LONG_RUN = r"[a-z0-9_.~+/=\\-]{12,}"
_MARKS = ("_", "-", ".", "")
_WORD_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_SPACE = " \t\r\n"
_QUOTES = "\"'`"
_TELLING = "pass pwd pw psk secret token key credential auth sig dsn conn access bearer".split()
_VISIBLE_BREAKS = str.maketrans("", "", "\n\t\r")
_PORTS = (":5", ":6432", ":1", ":2", ":*")
_PHRASE_WORDS = 12
_KEY_BYTES, _DIGEST, _HEX = 64, 32, "0123456789abcdef"
_TOGETHER = (
    ("@", "://"),
    ("@", ":\\"),
    ("-----begin", "private"),
    ("login", "password"),
    ("mysql", "-p"),
    ("sshpass", "-p"),
    ("redis-cli", "-a"),
    ("-----end", "private"),
    ("cookie", "="),
    ("variable", "default"),
    ("%3", "pass"),
    ("%3", "token"),
    ("%3", "secret"),
    ("%3", "key"),
    ("\\u", "\\u"),
    ("private-", ":"),
    ("kty", '"'),
    ("-signature", "="),
    ("-signature", "%3d"),
    ("oracle:", "/"),
    ("sqlplus", "/"),
    ("expdp", "/"),
    ("impdp", "/"),
    ("sqlldr", "/"),
    ("login", "-p"),
    ("openssl", "-k"),
    ("-pass", "pass:"),
    ("htpasswd", "-"),
    ("-securestring", "-"),
    ("kind", "secret"),
    ("storepassword", " "),
    ("keypassword", " "),
    ("wifi:", "p:"),
    ("wif", ":"),
    ("wif", "="),
    ("set", "password("),
    ("set", "passwd("),
    ("set", "phrase("),
    ("set", "token("),
    ("set", "secret("),
    ("set", "key("),
    ("ldap", "-w"),
    ("%", "-u"),
    ("%", "--user"),
    ("nmcli", "psk"),
    ("nmcli", "password"),
    ("::add-mask::", ":"),
    ("sudo", "-"),
    ("-stdin", "|"),
    ("-stdin", "<"),
    ("chpasswd", ":"),
    ("passphrase-fd", "|"),
    ("random_password", "result"),
    ("accounts", "0x"),
    ("private key", "0x"),
    ("privkey", " "),
    ("privkey", "="),
    ("privkey", ":"),
    (":::", ":"),
    ("_pat", "="),
    ("-pat", "="),
    ("_pat", ":"),
    ("-pat", ":"),
    ("?code", "="),
    ("&code", "="),
    ("\\x1b", "["),
    ("\\033", "["),
    ("\\e[", "["),
)
"""For rules that begin neither with a literal of their own nor with a telling word: both parts must occur."""


def may_hold_secret(text: str) -> bool:
    """Whether it is worth scanning the text; False only if no rule would match."""
    low = text.lower()
    if _are_together(low):
        return True
    if any(word in low and _introduces_value(low, word) for word in _TELLING):
        return True
    if _has_unseen(text):
        return True
    if _is_password_line(low) or _may_be_phrase(low) or _may_be_discord(low):
        return True
    if _may_be_list_or_digest(low):
        return True
    if ("-u" in low and ":" in low and _names_user(low)) or ("basic" in low and _is_basic(low)):
        return True
    return _has_shape(low)


def _are_together(low: str) -> bool:
    return any(
        first in low and second in low
        for mark, pairs in _together().items()
        if mark in low
        for first, second in pairs
    )


@cache
def _together() -> dict[str, list[tuple[str, str]]]:
    """The pairs by a character that both parts need and most texts have not: that is looked for first."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for first, second in _TOGETHER:
        mark = next((char for char in first + second if not char.isalnum()), first)
        pairs.setdefault(mark, []).append((first, second))
    return pairs


def _has_shape(low: str) -> bool:
    """Whether a literal of a rule that needs no telling word occurs, with enough behind it."""
    for literal in _literals("", in_runs=False):
        if literal in low and _runs_on(low, literal):
            return True
    runs = " ".join(_long_run().findall(low))
    if not runs:
        return False
    for mark in _MARKS:
        if mark in runs:
            for literal in _literals(mark, in_runs=True):
                if literal in runs and _runs_on(runs, literal):
                    return True
    return False


@cache
def _literals(mark: str, *, in_runs: bool) -> tuple[str, ...]:
    """The literals that begin the rules which need no telling word: those of which ``mark`` is the first of
    `_MARKS`, or those that do not stand in one long run with what follows them."""
    kinds = ("shape", "der", "encoded", "encoded_pem", "hex")
    shapes = [rule.literals.split() for rule in RULES if rule.check in kinds and rule.literals != "."]
    return tuple(
        literal
        for literal in dict.fromkeys(chain.from_iterable(shapes))
        if (not literal.strip(_RUN_CHARS) and literal not in _WITHOUT_RUN) == in_runs
        and (not in_runs or mark == next(mark for mark in _MARKS if mark in literal))
    )


def _has_unseen(text: str) -> bool:
    if text.isascii():
        return not text.translate(_VISIBLE_BREAKS).isprintable()
    return bool(_unseen().search(text))


@cache
def _long_run() -> re.Pattern[str]:
    return re.compile(_LONG_RUN)


@cache
def _unseen() -> re.Pattern[str]:
    return re.compile(f"[{UNSEEN_CHARS}]")


def _after(low: str, word: str, length: int) -> list[str]:
    """The characters that follow each occurrence of a word, up to a length."""
    rests, at = [], -1
    while (at := low.find(word, at + 1)) >= 0:
        rests.append(low[at + len(word) : at + len(word) + length])
    return rests


def _runs_on(low: str, literal: str) -> bool:
    if literal.startswith(("$", "{")) or (literal in _WITHOUT_RUN and literal != "-us"):
        return True
    if literal == "-us":
        return any(rest.isdigit() for rest in _after(low, literal, 1))
    length = _RUN_LENGTH_COMMON if literal in _COMMON else _RUN_LENGTH
    return any(len(rest) == length and not rest.strip(_RUN_CHARS) for rest in _after(low, literal, length))


def _is_password_line(low: str) -> bool:
    return low.count(":") >= 4 and any(port in low for port in _PORTS)


def _may_be_phrase(low: str) -> bool:
    return any(word in low for word in ("mnemonic", "phrase", "seed", "words", "word")) and (
        len(low.split(None, _PHRASE_WORDS)) >= _PHRASE_WORDS or '","' in low
    )


def _may_be_discord(low: str) -> bool:
    parts = low.split(".")
    return any(
        len(second) == 6 and len(third) >= 27 and first.strip()
        for first, second, third in zip(parts, parts[1:], parts[2:], strict=False)
    )


def _may_be_list_or_digest(low: str) -> bool:
    if low.count(",") >= _KEY_BYTES - 1 and "[" in low:
        return True
    return low.count(":") > 1 and any(
        not field[:_DIGEST].strip(_HEX) for field in low.split(":") if len(field) >= _DIGEST
    )


def _is_basic(low: str) -> bool:
    rests = (rest for rest in _after(low, "basic", 12) if rest[:1] in (*_SPACE, "\\"))
    return any("\\" in rest or not rest.strip(_SPACE + _RUN_CHARS) for rest in rests)


def _names_user(low: str) -> bool:
    return any(rest and rest in _SPACE + "=\\" for word in ("-u", "-user") for rest in _after(low, word, 1))


def _introduces_value(low: str, word: str) -> bool:
    option = "--" in low or word == "bearer" or any(verb in low for verb in ("set ", "setx ", "setenv "))
    for rest in _after(low, word, 120):
        rest = rest.lstrip(_WORD_CHARS)
        then = rest.lstrip(_SPACE + _QUOTES + "]")
        between = rest[: len(rest) - len(then)]
        if (then[:1] and then[0] in ":=?|>\\＝：") or then.startswith("value"):
            return True
        if then[:1] == "," and (between.endswith(tuple(_QUOTES)) or "value" in then):
            return True
        if word == "bearer" and rest.startswith(("%", "+")):
            return True
        if option and then and between.startswith(tuple(_SPACE)):
            return True
    return False
