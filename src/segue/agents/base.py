"""The door through which an agent is declared, ours and third parties' alike.

An agent is a value with a name, a way to recognise its transcripts, a reader and a way to find
them. Third parties name theirs in the entry point group ``segue.agents``. A reader never raises on
content: what it does not know it skips, what is malformed it counts, and its memory does not grow
with the transcript. Environment, home and project are handed in; nothing here reads the process's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, get_args, get_origin

import msgspec

from ..core.base.json_prefix import decode_prefix
from ..core.base.lazy import regex
from ..core.base.values import Value
from ..core.runs.steps import Step
from .common import mended

Form = Literal["lines", "document", "database"]
Sign = Literal["alive", "crashed", "ended", ""]

HEAD_BYTES = 65_536  # as much of a file as `recognises` is shown


class SearchScope(Value):
    """Where to look and for whom."""

    env: Mapping[str, str]
    home: Path  # the user's home folder
    roots: tuple[Path, ...]  # the project's working trees, absolute; empty: any project
    remote: str = ""  # the project's remote, normalised; "" where it has none
    heads_max: int = 256  # how many files of unknown project may be opened; 0: no limit
    is_alive: Callable[[int, str], bool] = lambda pid, started: False  # process id, start time or ""
    known: Mapping[str, str] = {}  # transcript path -> cwd, from earlier looks: need not be opened

    def holds(self, cwd: str) -> bool:
        """Is this folder, as an agent wrote it, in the project?"""
        if not self.roots:
            return True
        at = Path(cwd)
        return any(at == root or root in at.parents for root in self.roots)


class Found(Value):
    """A transcript on this machine."""

    agent: str
    path: str  # a file; for a database the database's path
    native: str  # the agent's own id of the conversation
    changed: float  # when it was last written, seconds since the epoch
    size: int = 0  # bytes; 0 where it has none of its own
    cwd: str = ""  # "" unknown
    parent: str = ""  # native id of the run whose sub-agent this is
    sign: Sign = ""  # what the agent's own registries and locks say about its process
    pid: int = 0  # of the process that writes it, where known


class Reader(Protocol):
    """Turns records into steps. ``lines``: one record is one line without its newline;
    ``document`` and ``database``: one record is the whole document (see ``Agent.load``).

    A reader of lines may have a method ``read_view`` that does the same with a line as a ``memoryview``."""

    skipped: int  # records of kinds that it does not know or need
    malformed: int

    def read(self, record: bytes) -> Iterable[Step]:
        """The steps of one record, in order. Never raises."""
        ...

    def keep(self) -> Any:
        """What the next piece needs to go on: JSON-able, bounded, given to ``Agent.reader``."""
        ...


class Traits(Value):
    """What Segue must know of an agent beside its transcripts. An agent declares it as its attribute
    ``traits``;
    whatever it leaves out it does not have."""

    aliases: tuple[str, ...] = ()
    """Other names that people use for it."""
    conversation_variables: tuple[str, ...] = ()
    """Variables that tell the commands it runs which conversation it is."""
    variables: tuple[str, ...] = ()
    """Other variables that it sets for the commands it runs."""
    pid_variable: str = ""
    """A variable that tells its own process to hooks."""
    start: str = ""
    """How it is started with words to begin with."""
    rules_file: str = ""
    """The file of a project that it reads by itself."""
    hooks: str = ""
    """``module:name`` of how it speaks with hooks."""
    installer: str = ""
    """``module:name`` of what `segue init` writes for it."""
    id_can_be_chosen: bool = False
    """Whether a new conversation gets the id that its launcher gives it."""
    calls_seen_by_hooks_only: bool = False
    """Whether its transcript has a call only once that has ended."""
    start_is_first_prompt: bool = False
    """Whether it has no hook at the start that could be answered, so that the first prompt counts as one."""


class Agent(Protocol):
    """One kind of coding agent."""

    name: str  # "claude-code"
    title: str  # "Claude Code"
    form: Form

    def recognises(self, head: bytes, name: str) -> bool:
        """Is this (the first 64 KB and the file's name) one of its transcripts?"""
        ...

    def reader(self, kept: Any = None) -> Reader: ...

    def load(self, path: Path, native: str) -> bytes:
        """Document and database forms: the record to read. A database is opened read-only."""
        ...

    def find(self, where: SearchScope) -> Iterator[Found]:
        """The project's transcripts, newest first, lazily, opening as few files as it can."""
        ...

    def retention(self, where: SearchScope) -> int | None:
        """After how many days the agent deletes its transcripts; None if it keeps them."""
        ...


_any: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_RECORD = regex(r'(?<![:\[,\s])\s*(?=\{")')  # what stands in an object follows one of these
T = TypeVar("T", bound=msgspec.Struct)


class Heard(Value):
    """What an agent without a screen printed, as far as a supervisor needs it."""

    native: str = ""  # its own id of the conversation
    fault: str = ""  # why it could not go on
    status: int = 0  # of HTTP, where it said one
    cost: float = 0.0  # dollars, where it said so
    resets_at: float = 0.0  # when a limit ends, seconds since the epoch, where it said so
    retry_seconds: float = 0.0  # after how long to try again, where it said so
    retrying: str = ""  # why it tries again by itself, as the last thing that it said


class Launcher(Protocol):
    """How an agent is started; an agent that can be has one as its attribute ``launcher``."""

    command: str  # the program's name on PATH

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        """The command line without a screen. ``native``: an id that a new conversation should have, where
        it can be chosen; ``resume``: the conversation to go on with; ``full_access``: without asking for
        anything."""
        ...

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        """The command line with its own screen."""
        ...

    def hear(self, output: str) -> Heard:
        """What its output says. Never raises."""
        ...


def objects(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that a program printed, one a line or one over all lines."""
    lines = output.splitlines() if output.lstrip()[:2] != "{\n" else [output[output.find("{") :]]
    for line in lines:
        if line.lstrip().startswith("{"):
            try:
                value, _ = decode_prefix(line, line.find("{"))
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def number_of(value: Any) -> float:
    """A number that a program printed, or its digits; 0 for anything else."""
    try:
        return max(0.0, float(value)) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0


def loads(line: bytes, decoder: msgspec.json.Decoder[T]) -> tuple[list[T], int]:
    """The records on a line, and how many pieces of it were malformed.

    The usual line holds one; concurrent writers glue two; a crash tears the last one. A field of a
    wrong type costs that field, not the record, and half of an emoji costs the half.
    """
    try:
        return [decoder.decode(line)], 0
    except BROKEN:
        pass
    text = mended(line).decode().strip()
    if not text:
        return [], int(bool(line.strip(b"\xef\xbb\xbf \t\r\n")))
    if text.startswith("//"):
        return [], 0
    found: list[T] = []
    bad = at = 0
    is_torn = False
    while at < len(text):
        try:
            value, end = decode_prefix(text, at)
        except (ValueError, RecursionError):
            bad += not is_torn
            is_torn = True
            glued = _RECORD.search(text, at + 1)  # a torn piece may have a whole one glued to it
            at = glued.end() if glued else len(text)
            continue
        is_torn = False
        if isinstance(value, dict):
            found.append(_fitted(text[at:end], value, decoder))
        else:
            bad += 1
        at = end
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
    return found, bad


def _fitted(text: str, value: dict[str, Any], decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(text)
    except BROKEN:
        return lenient(value, decoder.type)


def decoded(data: bytes, decoder: msgspec.json.Decoder[T], kind: type[T]) -> T | None:
    """A part of a record; None where there is none or it is no object."""
    try:
        return decoder.decode(data)
    except BROKEN:
        pass
    mend = mended(data)
    try:
        return decoder.decode(mend)
    except BROKEN:
        pass
    value = anything(mend)
    return lenient(value, kind) if isinstance(value, dict) else None


def anything(data: bytes | str | msgspec.Raw) -> Any:
    """A part of a record, whatever it is; None where it cannot be read."""
    try:
        return _any.decode(data)
    except (*BROKEN, UnicodeEncodeError):  # a text may hold half a pair
        pass
    try:
        whole = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
        return _any.decode(mended(whole))
    except BROKEN:
        return None


def lenient(value: dict[str, Any], kind: type[T]) -> T:
    """As much of an object as fits the type: a field of a wrong type has its default."""
    fits: dict[str, Any] = {}
    for one in msgspec.structs.fields(kind):
        if one.encode_name not in value:
            continue
        given = value[one.encode_name]
        try:
            if one.type is msgspec.Raw:
                fits[one.name] = msgspec.Raw(msgspec.json.encode(given))
            else:
                fits[one.name] = _field(given, one.type)
        except (msgspec.ValidationError, RecursionError, UnicodeEncodeError):
            continue
    return kind(**fits)


def _field(given: Any, kind: Any) -> Any:
    """A value as a field's type; of a list of objects, each as far as it fits."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError:
        for option in get_args(kind):
            inner = get_args(option)
            if get_origin(option) is list and isinstance(given, list) and inner:
                return [lenient(one, inner[0]) for one in given if isinstance(one, dict)]
            if isinstance(option, type) and issubclass(option, msgspec.Struct) and isinstance(given, dict):
                return lenient(given, option)
        raise
