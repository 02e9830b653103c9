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
_COMMON = ("m", "n", "o", "pat", "sk")
"""Literals that occur in many ordinary words; they need a longer run after them."""
_WORD_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_SPACE = " \t\r\n"
_QUOTES = "\"'`"
_TELLING = "pass pwd pw psk secret token key credential auth sig dsn conn access bearer".split()
_VISIBLE_BREAKS = str.maketrans("", "", "\n\t\r")
_PORTS = (":5", ":6432", ":1", ":2", ":*")
_PHRASE_WORDS = 12
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
    ("\\x1b", "["),
    ("\\033", "["),
    ("\\e[", "["),
)
"""For rules that begin neither with a literal of their own nor with a telling word: both parts must occur."""


def may_hold_secret(text: str) -> bool:
    """Whether it is worth scanning the text; False only if no rule would match."""
    low = text.lower()
    if any(first in low and second in low for first, second in _TOGETHER):
        return True
    if any(word in low and _introduces_value(low, word) for word in _TELLING):
        return True
    if _has_unseen(text):
        return True
    if _is_password_line(low) or _may_be_phrase(low) or _may_be_discord(low):
        return True
    if ("-u" in low and ":" in low and _names_user(low)) or ("basic" in low and _is_basic(low)):
        return True
    return any(literal in low and _runs_on(low, literal) for literal in _literals())


@cache
def _literals() -> tuple[str, ...]:
    """The literals that begin the rules which need no telling word."""
    kinds = ("shape", "der", "encoded", "encoded_pem", "hex")
    shapes = [rule.literals.split() for rule in RULES if rule.check in kinds and rule.literals != "."]
    return tuple(dict.fromkeys(chain.from_iterable(shapes)))


def _has_unseen(text: str) -> bool:
    if text.isascii():
        return not text.translate(_VISIBLE_BREAKS).isprintable()
    return bool(_unseen().search(text))


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
    if literal.startswith(("$", "{", "pbkdf2")):
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
