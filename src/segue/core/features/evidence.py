"""Checks and what stands in the journal about them: declared by people and agents, run by Segue alone.

A check is known by the hash of what it runs, so that evidence belongs to exactly one form of it, and
trust too. ``passed`` looks at facts (exit code, time, pattern, files) and at nothing that anybody said:
no body here has a field that says "passing".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from ..base import canonical
from ..base.lazy import regex
from ..base.values import Value
from ..journal.body import Body

PERSON = "user"
"""The actor that is no agent."""
SECONDS_DEFAULT = 600.0
Small = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Large = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Check(Value, omit_defaults=True):
    """A command that proves steps of a feature, and when it counts as passed."""

    command: tuple[str, ...]
    """Its words; with ``shell`` one text."""
    shell: bool = False
    folder: str = ""
    """Where it runs, from the top of the working tree; empty: there."""
    environment: dict[str, str] = {}
    """Added to the variables that checks are given."""
    limit_seconds: Seconds = SECONDS_DEFAULT
    proves: tuple[Small, ...] = ()
    """Numbers of the steps, from 1; empty: all."""
    exit_code: Small = 0
    """What it must exit with."""
    pattern: str = ""
    """A regular expression that its output must hold."""
    by: str = PERSON
    """Who set it."""
    source: str = ""
    """The file that it was imported from; empty: it was declared."""

    @property
    def text(self) -> str:
        """The command as people write it."""
        if self.shell:
            return " ".join(self.command)
        from shlex import join  # few commands need it, and all load this module

        return join(self.command)

    @property
    def hash(self) -> str:
        """What trust and evidence know it by: all that decides about what runs and when it passes."""
        facts = (
            self.command, self.shell, self.folder, self.environment, self.limit_seconds, self.exit_code,
            self.pattern,
        )  # fmt: skip
        return canonical.digest(canonical.encode(facts))[:12].hex()


def definition(steps: Sequence[str], checks: Sequence[Check], covers: Sequence[str]) -> str:
    """What evidence is about: another one of these, and it proves nothing."""
    facts = (tuple(steps), [(check.hash, check.proves) for check in checks], tuple(covers))
    return canonical.digest(canonical.encode(facts))[:12].hex()


# -- events ------------------------------------------------------------------------------------


class FeatureAdded(Body):
    KIND = "feature.added"
    id: str
    description: str
    category: str = ""
    steps: list[str] = []
    checks: list[Check] = []
    covers: list[str] = []
    """Globs; empty: the whole working tree."""
    source: str = ""
    """The file that it was imported from."""
    claim: str = ""
    """What that file, or whoever declared it, said of it without proof."""


class FeatureChanged(Body):
    KIND = "feature.changed"
    id: str
    description: str | None = None
    category: str | None = None
    steps: list[str] | None = None
    checks: list[Check] | None = None
    covers: list[str] | None = None
    reason: str = ""
    source: str = ""


class FeatureRemoved(Body):
    KIND = "feature.removed"
    id: str
    reason: str = ""


class FeatureMoved(Body):
    KIND = "feature.moved"
    id: str
    status: str
    """not_started, in_progress, testing, blocked or failing: never passing."""
    reason: str = ""
    implemented_by: str = ""
    notes: str = ""
    claim: str = ""


class StepAttested(Body):
    KIND = "step.attested"
    feature: str
    step: str
    who: str
    note: str
    definition: str = ""
    covered: str = ""
    """The hash over the covered files at that moment."""
    head: str = ""


class ChecksBegun(Body):
    KIND = "checks.begun"
    feature: str
    definition: str
    checks: list[str]
    """The hashes of those that run now: what was known of them no longer counts."""


class CheckRan(Body):
    KIND = "check.ran"
    feature: str
    definition: str
    check: str
    command: str
    exit_code: Small | None = None
    """None if it did not come to an end by itself."""
    signal: Small = 0
    timed_out: bool = False
    found: bool = False
    """Whether the pattern was found, if there is one."""
    fault: str = ""
    """Why it could not be run."""
    duration_seconds: Seconds = 0.0
    host: str = ""
    head: str = ""
    """The commit that was checked out."""
    covered: str = ""
    """The hash over the covered files before it ran."""
    after: str = ""
    """The same hash when it had ended."""
    files: Large = 0
    output: str = ""
    """The hash of the whole output, masked, as it is kept."""
    output_bytes: Large = 0
    """How much it wrote, also what was left out."""
    cut: bool = False
    tail: str = ""
    """The last lines, masked."""
    first: str = ""
    """The line that tells most of a failure."""


class CheckReported(Body):
    KIND = "check.reported"
    feature: str
    source: str
    """The file: somebody else ran this."""
    passed: Small = 0
    failed: Small = 0
    first: str = ""
    digest: str = ""
    """The hash of the file."""
    head: str = ""
    """The commit that was checked out when it was taken in."""


class EvidenceVoided(Body):
    KIND = "evidence.voided"
    reason: str
    feature: str = ""
    """Empty: of all features."""


class CheckTrusted(Body):
    KIND = "check.trusted"
    check: str
    command: str


TRUSTS: dict[type[Body], str] = {CheckRan: "run", StepAttested: "attested", CheckReported: "reported"}
"""How far evidence is trusted: Segue ran it, somebody gave their word, somebody else's file says so."""


def passed(check: Check, ran: CheckRan) -> bool:
    """Whether a run proves what its check is there for."""
    ended = ran.exit_code == check.exit_code and not ran.signal and not ran.timed_out and not ran.fault
    still = bool(ran.covered) and ran.covered == ran.after
    return ended and still and (ran.found or not check.pattern)


def why_not(check: Check, ran: CheckRan) -> str:
    """The first thing that a failed run has to say, in a line."""
    if ran.fault:
        return ran.fault
    if ran.timed_out:
        return f"not over after {check.limit_seconds:g} s"
    if ran.signal:
        return f"ended by signal {ran.signal}"
    if ran.exit_code != check.exit_code:
        told = f"exit {ran.exit_code}" + (f" instead of {check.exit_code}" if check.exit_code else "")
        return ran.first or f"{told}: {check.text}"
    if check.pattern and not ran.found:
        return f"its output does not hold /{check.pattern}/"
    if not ran.covered:
        return "nobody looked at the covered files"
    return "covered files changed while it ran" if ran.covered != ran.after else ""


# -- covered paths -----------------------------------------------------------------------------

_TOOLS = {
    "pytest": ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "conftest.py"),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "npm": ("package.json",), "pnpm": ("package.json",), "yarn": ("package.json",),
    "npx": ("package.json",), "cargo": ("Cargo.toml",), "go": ("go.mod",), "just": ("justfile", "Justfile"),
}  # fmt: skip
_WORD_END = regex(r"::|[;&|<>()`]")


def run_paths(check: Check) -> tuple[str, ...]:
    """Paths that a check itself runs or is steered by, from the top of the tree; some may not exist."""
    words = list(check.command)
    if check.shell:
        from shlex import split

        try:
            words = split(check.text)
        except ValueError:
            words = check.text.split()
    found: dict[str, None] = {}
    tools = {posixpath.basename(word) for word in words}
    for tool in tools & _TOOLS.keys():
        for name in _TOOLS[tool]:
            _put(found, check.folder, name)
    for place, word in enumerate(words):
        for part in word.split("=") if "=" in word else (word,):
            _put(found, check.folder, _WORD_END.split(part)[0])
        if word == "-m" and place + 1 < len(words):
            module = words[place + 1].replace(".", "/")
            for name in (f"{module}.py", f"{module}/__main__.py", f"src/{module}.py"):
                _put(found, check.folder, name)
    if "pytest" in tools:
        for path in list(found):
            folder = posixpath.dirname(path)
            while folder:
                found[f"{folder}/conftest.py"] = None
                folder = posixpath.dirname(folder)
    return tuple(found)


def _put(found: dict[str, None], folder: str, name: str) -> None:
    if not name or name[0] in "-$~" or len(name) > 1024 or "\n" in name or "*" in name:
        return
    path = posixpath.normpath(posixpath.join(folder, name))
    if path not in (".", "..") and not path.startswith(("/", "../")):
        found[path] = None


def glob_regex(pattern: str) -> str:
    """A glob over paths as a regular expression: ``**`` crosses folders, ``*`` and ``?`` do not.

    A folder's name means all that is in it.
    """
    path = posixpath.normpath(pattern.strip()).removeprefix("./") if pattern.strip() else ""
    made, at = "", 0
    while at < len(path):
        if path.startswith("**/", at):
            made, at = made + "(?:[^\n]*/)?", at + 3
        elif path.startswith("**", at):
            made, at = made + "[^\n]*", at + 2
        elif path[at] == "*":
            made, at = made + "[^/\n]*", at + 1
        elif path[at] == "?":
            made, at = made + "[^/\n]", at + 1
        else:
            made, at = made + re.escape(path[at]), at + 1
    return made + "(?:/[^\n]*)?"


def is_literal(pattern: str) -> bool:
    """Whether a pattern is a path, without wild cards."""
    return not any(sign in pattern for sign in "*?")


def covered_patterns(covers: Iterable[str], checks: Iterable[Check]) -> tuple[str, ...]:
    """What a feature covers: its globs and what its checks run; empty: the whole tree."""
    globs = [posixpath.normpath(one.strip()) for one in covers if one.strip()]
    if not globs or "." in globs:
        return ()
    return tuple(dict.fromkeys([*globs, *(path for check in checks for path in run_paths(check))]))
