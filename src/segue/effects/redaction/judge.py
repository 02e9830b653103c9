"""Decides whether the value of a telling name is a secret, and not a word, a placeholder or code.

Only the few values that a rule matched come here, with their escapes resolved.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache, lru_cache
from typing import Any

from .rules import ADDRESS, KEY_OF, MEMBER, NO_SECRETS, PASSWORDS, PLACEHOLDER, SHORT_WORDS, STAND_INS

JUDGED_LENGTH_MAX = 128
"""A long value is judged by its beginning; the rest is more of the same."""


@cache
def regex(pattern: str) -> Any:
    """A pattern compiled by RE2, which compiles sooner than `re` and is faster on large patterns."""
    import re2  # type: ignore[import-untyped]

    return re2.compile(pattern)


_WORDS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+"
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_VOWEL, _NO_SOUND = "[aeiouy]", "[^aeiouy]{5}|[aeiou]{4}|q[^u]"
_HEX = r"(?i)[0-9a-f]+"
_TECHNICAL = (
    r"(?i)base64|utf-?8|sha-?\d+|md5|oauth2|i18n|k8s|s3|ec2|x509|ed25519|rs256|hs256|aes\d*|gpt-?\d|"
    r"e2e|a11y|l10n|p2p|\bv\d+"
)
_PASSWORD = rf"(?i)(?:{PASSWORDS}|pass)"
_OWN_RIGHT = r"(?i)pass|secret|api[_.-]?key|heroku|private|auth_?token"
_OWNED_TOKEN = r"(?i)(?:^|[^a-z0-9])([a-z][a-z0-9]+)[_.-](?:[a-z]+[_.-])?token$"
"""A name in which somebody's token is spoken of: `CODECOV_TOKEN`, `X-Postmark-Server-Token`."""
_PASSING = frozenset(
    "request csrf xsrf client idempotency trace span correlation state task job run device push claim "
    "message upload session transaction lock lease owner worker".split()
)
"""Words before `token` of one that identifies something, and opens nothing."""
_OWNED_KEY = r"[A-Z0-9][_-](?:APP|APPLICATION|LICEN[CS]E|INTEGRATION|INGEST)[_-]?KEY$"
_SHORT_LIVED = r"(?i)[a-z]\.[A-Za-z0-9]{24,}"
"""A token of Vault of before its version 1.10, which reads like the member of an object."""


@lru_cache(4096)
def is_secret(
    name: str, value: str, *, key: str = "", quoted: bool, bare_code: bool, weak: bool, alone: bool = False,
    shouted: bool = False,
) -> bool:  # fmt: skip
    """Whether the value of a telling name is a secret, and not a word, a placeholder or code.

    ``key`` is the whole name, of which ``name`` is the telling part. ``bare_code``: unquoted, so it may be an
    expression. ``weak``: the name alone is no strong sign. ``alone``: no code surrounds the value.
    ``shouted``: it is assigned to an environment variable such as DB_PASSWORD."""
    password = bool(re.search(_PASSWORD, name))
    length, value = len(value), value[:JUDGED_LENGTH_MAX]
    if length < (6 if password else 8) or re.search(r"\s|\\n", value):
        return False
    if bare_code and length < 20 and re.fullmatch(r"[A-Za-z_]+", value):
        return False
    if is_placeholder(value) or ("(" in value and ")" in value and not quoted):
        return False
    if regex(MEMBER).search(value) and (bare_code or is_wordy(value)) and not _is_token_of_vault(value):
        return False
    digits = len(re.findall(r"\d", value))
    random = digits > 1 and length in (40, 44, 64, 88) and _entropy(value) > 4.2
    if not random and regex(ADDRESS).search(value):
        return False
    if regex(_UUID).fullmatch(value):
        return (bool(regex(_OWN_RIGHT).search(key or name)) and not weak) or _is_owned_token(key)
    if weak:
        if is_wordy(value) or _entropy(value) < 3.3 or re.search(r"(?i)key|token|secret|passw", value):
            return False
        telling = re.search(r"(?i)api|secret|auth", key or name) or regex(_OWNED_KEY).search(key)
        hashed = regex(_HEX).fullmatch(value) and not telling
        return length >= 16 and digits > 0 and not hashed
    if password:
        if not is_wordy(value):
            return True
        bare = shouted or (alone and re.fullmatch(r"[A-Za-z]{3,}\d{1,6}", value))
        if bare and (key or name).lower() != "pwd" and not is_stand_in(value):
            return True  # DB_PASSWORD=correcthorse, password: hunter2
        return digits > 0 and not (bare_code and re.fullmatch(r"[\w.-]+", value))
    if value.isdigit():
        return False
    return not is_wordy(value) and (digits > 0 or (length >= 20 and _entropy(value) > 3.5))


def _is_token_of_vault(value: str) -> bool:
    return (
        bool(regex(_SHORT_LIVED).fullmatch(value))
        and bool(re.search(r"\d", value))
        and not is_wordy(value)
        and _entropy(value) > 3.5
    )


def _is_owned_token(key: str) -> bool:
    """Whether a name such as `CODECOV_TOKEN` or `X-Postmark-Server-Token` says whose token it is."""
    found = regex(_OWNED_TOKEN).search(key)
    return bool(found) and not _PASSING & set(re.split(r"[_.-]", key.lower()[found.start() :]))


def is_placeholder(value: str) -> bool:
    """Whether a value marks where a secret belongs, such as `<your-token>` or `changeme`."""
    return len(set(value)) < 2 or bool(regex(PLACEHOLDER).search(value))


def is_stand_in(value: str) -> bool:
    """Whether a value is a common word in place of a password, such as `admin` or `test-password1`."""
    return bool(regex(STAND_INS).fullmatch(value) or regex(_TECHNICAL).fullmatch(value))


@lru_cache(1024)
def is_no_secret_name(key: str) -> bool:
    """Whether the name uses a telling word with another meaning, as `page_token` and `primaryKey` do."""
    words = re.findall(_WORDS, key)[-2:]
    return len(words) == 2 and words[1].lower() in ("key", "token") and words[0].lower() in NO_SECRETS


_WEAK = (
    r"(?i)[_?&-](?:key|pat)|[?&]code|credentials?|authorization|.auth|dsn|conn\w*[_-]?str(?:ing)?|bearer|access[_-]?code|"
    r"(?:session|app|application|integration|write|root|service|storage|client)[ _.-]?key"
)


@cache
def is_weak(name: str) -> bool:
    """Whether the name alone does not show that its value is a secret."""
    return bool(regex(_WEAK).fullmatch(name))


_BEFORE_KEY = (b" ", b"_", b".", b"-")


def key_of_what(chunk: bytes, key: int) -> int:
    """Where the word before `key` begins if it makes it a secret's name (`api_key`), else ``key`` itself."""
    end = key - (chunk[key - 1 : key] in _BEFORE_KEY)
    window = chunk[max(0, key - 16) : end].lower()
    if not window.endswith(KEY_OF):
        return key
    return end - max(len(word) for word in KEY_OF if window.endswith(word))


def _entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def is_wordy(value: str) -> bool:
    """Whether a value consists of words and at most a small number: an identifier, a label, a sentence."""
    value = re.sub(_TECHNICAL, "-", value[:JUDGED_LENGTH_MAX])
    if len(re.findall(r"\d", value)) > 4 or re.search(r"[A-Za-z]\d+[A-Za-z]", value):
        return False
    words = [word.lower() for word in re.findall(_WORDS, value)]
    letters = sum(map(len, words))
    if letters >= 10 and letters < len(words) * 3.5 and re.fullmatch(r"[A-Za-z0-9]+", value):
        return False  # random capitals make many short "words"
    strange = sum(len(word) for word in words if not _is_word(word))
    return letters > 0 and strange * 4 <= letters


@lru_cache(4096)
def _is_word(word: str) -> bool:
    if not word.isascii():
        return True
    if len(word) < 3:
        return word in SHORT_WORDS
    return bool(re.search(_VOWEL, word)) and not re.search(_NO_SOUND, word)
