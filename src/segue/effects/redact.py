"""Secrets out of every text before it becomes durable.

Known shapes of keys and tokens, credentials in URLs, private keys, and values assigned to
telling names. Hashes, UUIDs and plain words stay. Each rule has a literal that must occur
first, so a text without any costs one scan per literal.
"""

from __future__ import annotations

import re
from functools import cache

MASK = "[redacted:{}]"

_PEM = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?"
_NAMES = r"password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|private[_-]?key"

_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("private-key", ("-----BEGIN",), rf"-----BEGIN {_PEM}-----[\s\S]*?(?:-----END {_PEM}-----|\Z)"),
    ("aws-key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    (
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    ("gitlab-token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("anthropic-key", ("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", ("sk-",), r"\bsk-(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,}"),
    ("google-key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    ("slack-token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("stripe-key", ("_live_", "_test_"), r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("npm-token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}"),
    ("pypi-token", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("huggingface-token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
    ("jwt", ("eyJ",), r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("url-password", ("://",), r"(?<=://)[^\s/:@]{1,64}:[^\s/@]{3,}(?=@)"),
    ("bearer", ("earer ",), r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*"),
    (
        "assigned",
        ("=", ":"),
        rf"(?i)(?<![\w-])((?:[\w-]*[_-])?(?:{_NAMES})[\"']?\s*[:=]\s*[\"']?)"
        r"(?!\[redacted)(?=[^\s\"',;]*[0-9])[^\s\"',;]{8,}",
    ),
)


@cache
def _telling() -> re.Pattern[str]:
    """Any literal of any rule: one scan tells that most texts hold no secret."""
    return re.compile("|".join(re.escape(literal) for _, literals, _ in _RULES for literal in literals))


@cache
def _compiled() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    return tuple((name, literals, re.compile(pattern)) for name, literals, pattern in _RULES)


def redact(text: str) -> str:
    """The text with every secret that is recognised masked."""
    if len(text) < 12 or not _telling().search(text):
        return text
    for name, literals, pattern in _compiled():
        if any(literal in text for literal in literals):
            mask = MASK.format(name)
            text = pattern.sub(r"\1" + mask if pattern.groups else mask, text)
    return text
