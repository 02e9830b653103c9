"""The interface of an agent, the same for ours and for those of third parties.

An agent is a value with a name, a way to recognise its transcripts, a reader, and a way to find them. Third
parties declare theirs in the entry point group ``segue.agents``. A reader never raises on content: it skips
what it does not know, counts what is malformed, and its memory does not grow with the transcript.
Environment, home and project are arguments; nothing here reads those of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, get_args, get_origin

import msgspec

from ..core.base.json_prefix import decode_prefix
from ..core.base.lazy import regex
from ..core.base.long_json import LONG_BYTES
from ..core.base.values import Value
from ..core.runs.steps import Step
from .common import repaired_json

Form = Literal["lines", "document", "database"]
Sign = Literal["alive", "crashed", "ended", ""]

HEAD_BYTES = 65_536  # how much of a file `recognises` gets
HEADS_MAX = 256  # the newest run is among so many files of unknown projects
UNKNOWN_LEAD = "?"  # the parent of a sub-agent whose transcript does not say whose it is


class SearchScope(Value):
    """Where to search for transcripts, and of which project."""

    env: Mapping[str, str]
    home: Path  # the user's home folder
    roots: tuple[Path, ...]  # the project's working trees, absolute; empty: any project
    remote: str = ""  # the project's remote, normalised; "" where it has none
    heads_max: int = HEADS_MAX  # how many files of unknown projects may be opened; 0: no limit
    is_alive: Callable[[int, str], bool] = lambda pid, started: False  # process id, start time or ""
    known: Mapping[str, str] = {}  # transcript path -> cwd, from earlier searches: need not be opened
    data: Path | None = None  # Segue's own data folder, where programs' conversations are told

    def folder(self, variable: str, usual: str) -> Path:
        """The folder that an environment variable names, or else one in the home folder."""
        return Path(self.env.get(variable) or self.home / usual)

    def holds(self, cwd: str) -> bool:
        """Whether a folder, as an agent wrote it down, is in the project."""
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
    parent: str = ""  # native id of the run whose sub-agent this is, or UNKNOWN_LEAD
    sign: Sign = ""  # what the agent's own registries and locks say about its process
    pid: int = 0  # of the process that writes it, where known


class Reader(Protocol):
    """Turns records into steps. In the form ``lines`` a record is a line without its newline; in the forms
    ``document`` and ``database`` it is the whole document (see ``Agent.load``).

    A reader of lines may have a method ``read_view`` that does the same for a line as a ``memoryview``."""

    skipped: int  # records of kinds that it does not know or need
    malformed: int

    def read(self, record: bytes) -> Iterable[Step]:
        """The steps of one record, in order. Never raises."""
        ...

    def keep(self) -> Any:
        """The state that a later reader needs to continue: of bounded size, encodable as JSON, and passed to
        ``Agent.reader``."""
        ...


class Traits(Value):
    """What Segue must know of an agent besides its transcripts. An agent has it as its attribute ``traits``;
    the defaults stand for "has none"."""

    aliases: tuple[str, ...] = ()
    """Other names that people use for it."""
    conversation_variables: tuple[str, ...] = ()
    """Environment variables that hold the id of the conversation, for the commands it runs."""
    variables: tuple[str, ...] = ()
    """Other environment variables that it sets for the commands it runs."""
    pid_variable: str = ""
    """The environment variable that holds its pid, for hooks."""
    member_options: tuple[str, ...] = ()
    """Options that are only in the command line of a process which works for another one, its lead."""
    start: str = ""
    """The command that starts it, to which a first prompt is appended."""
    rules_file: str = ""
    """The file of a project that it reads by itself."""
    hooks: str = ""
    """``module:name`` of its ``Hooks``."""
    installer: str = ""
    """``module:name`` of its ``Installer``, for `segue init`."""
    id_can_be_chosen: bool = False
    """Whether the launcher can choose the id of a new conversation."""
    calls_seen_by_hooks_only: bool = False
    """Whether a call is missing from its transcript until it has ended."""
    deletes: str = ""
    """A pattern of the paths of transcripts that it deletes by itself, whether or not they are of use."""
    takes_context_at_prompts: bool = False
    """Whether what its hook at a prompt replies is shown to the model with that prompt."""
    takes_context_at_compactions: bool = False
    """Whether what its hook before a compaction replies reaches the one who writes the summary."""
    forgets_hook_context: bool = False
    """Whether the texts of hooks are in no transcript of it, so that a conversation that is resumed lacks
    them."""
    shows_its_process: bool = False
    """Whether its own files tell from the start which process writes a run, so that no hook must."""


def loaded(reference: str) -> Any:
    """The value that a reference ``module:name`` stands for."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class Agent(Protocol):
    """A coding agent whose transcripts Segue can read.

    It may also have a method ``transcripts_at(path, where)``, which returns an iterator of ``Found``: the
    transcripts in a file that somebody named, as ``find`` gives them. An id comes from the file's content
    where that has one. Without the method, the file's name is the id.

    And a method ``size_of(path, native)``, which returns how many bytes ``load`` would have to read, where
    that is not the size of the file: a hook reads no document that is too large for its time."""

    name: str  # "claude-code"
    title: str  # "Claude Code"
    form: Form

    def recognises(self, head: bytes, name: str) -> bool:
        """Whether a file with this beginning (64 KB) and this name is one of its transcripts."""
        ...

    def reader(self, kept: Any = None) -> Reader:
        """A reader; ``kept`` is the state of an earlier one, from ``Reader.keep``."""
        ...

    def load(self, path: Path, native: str) -> bytes:
        """The record to read, in the forms document and database. A database is opened read-only."""
        ...

    def find(self, where: SearchScope) -> Iterator[Found]:
        """The project's transcripts, newest first and lazily, opening as few files as possible."""
        ...

    def retention(self, where: SearchScope) -> int | None:
        """After how many days the agent deletes its transcripts; None if it never does."""
        ...


_any: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_TORN_TRIES_MAX = 64
_MALFORMED_MAX = 10_000
"""No crash and no race damages so many lines: such a file is no transcript any more."""
"""How often a record is looked for on a line that is torn."""
_RECORD = regex(r'(?<![:\[,\s])\s*(?=\{")')  # an object within another one follows one of these characters
T = TypeVar("T", bound=msgspec.Struct)


class AgentOutput(Value):
    """What an agent without a terminal printed, as far as a supervisor needs it. Every field may be
    missing."""

    native: str = ""  # the agent's own id of the conversation
    fault: str = ""  # why it could not continue
    status: int = 0  # of HTTP
    cost: float = 0.0  # in dollars
    resets_at: float = 0.0  # when a limit ends, seconds since the epoch
    retry_seconds: float = 0.0  # how long to wait before the next try
    retrying: str = ""  # why it tries again by itself, if that is the last thing it printed


class Launcher(Protocol):
    """How to start an agent; an agent that can be started has one as its attribute ``launcher``.

    It may have ``needs_full_access``, true if without a terminal it would wait for ever for an answer."""

    command: str  # the program's name on PATH

    def headless(
        self, prompt: str, *, native: str, resume: str, full_access: bool, more: Sequence[str]
    ) -> list[str]:
        """The command line without a terminal. ``native`` is the id for a new conversation, where it can be
        chosen; ``resume`` the conversation to continue; ``more`` further arguments. With ``full_access`` the
        agent never asks for permission."""
        ...

    def interactive(self, prompt: str, *, resume: str, more: Sequence[str]) -> list[str]:
        """The command line with the agent's own terminal interface."""
        ...

    def parse_output(self, output: str) -> AgentOutput:
        """The facts in its output. Never raises."""
        ...


def json_objects(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that a program printed, one per line or one over all lines."""
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
    """A number, or a string of one, that a program printed; 0 for anything else."""
    try:
        return max(0.0, float(value)) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0


def decode_line(line: bytes, decoder: msgspec.json.Decoder[T], malformed: int) -> tuple[list[T], int]:
    """The records on a line, and how many pieces of it were malformed.

    Usually there is one; concurrent writers join two on a line, and a crash tears the last one. A field of a
    wrong type costs only that field, and half a surrogate pair only itself. Of a file that is full of
    ``malformed`` pieces already, only intact lines are read.
    """
    try:
        return [decoder.decode(line)], 0
    except DECODE_ERRORS:
        return salvaged_line(line, decoder, malformed)


def salvaged_line(line: bytes, decoder: msgspec.json.Decoder[T], malformed: int) -> tuple[list[T], int]:
    """The same for a line of which is known that it is not one intact record."""
    if len(line) > LONG_BYTES or malformed >= _MALFORMED_MAX:
        return [], 1
    text = repaired_json(line).decode().strip()
    if not text:
        return [], int(bool(line.strip(b"\xef\xbb\xbf \t\r\n")))
    if text.startswith("//"):
        return [], 0
    records: list[T] = []
    bad = at = tries = 0
    is_torn = False
    while at < len(text) and tries < _TORN_TRIES_MAX:
        try:
            value, end = decode_prefix(text, at)
        except (ValueError, RecursionError):
            tries += 1
            bad += not is_torn
            is_torn = True
            next_record = _RECORD.search(text, at + 1)  # an intact record may follow a torn one directly
            at = next_record.end() if next_record else len(text)
            continue
        is_torn = False
        if isinstance(value, dict):
            records.append(_fitted(text[at:end], value, decoder))
        else:
            bad += 1
        at = end
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
    return records, bad


def _fitted(text: str, value: dict[str, Any], decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(text)
    except DECODE_ERRORS:
        return decode_leniently(value, decoder.type)


def decode_part(data: bytes, decoder: msgspec.json.Decoder[T], kind: type[T]) -> T | None:
    """A part of a record, as far as its fields can be decoded; None if it is missing or not an object."""
    try:
        return decoder.decode(data)
    except DECODE_ERRORS:
        pass
    repaired = repaired_json(data)
    try:
        return decoder.decode(repaired)
    except DECODE_ERRORS:
        pass
    value = decode_any(repaired)
    return decode_leniently(value, kind) if isinstance(value, dict) else None


def decode_any(data: bytes | str | msgspec.Raw) -> Any:
    """A part of a record of any type; None if it cannot be decoded."""
    try:
        return _any.decode(data)
    except (*DECODE_ERRORS, UnicodeEncodeError):  # a text may hold half a surrogate pair
        pass
    try:
        whole = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
        return _any.decode(repaired_json(whole))
    except DECODE_ERRORS:
        return None


@cache
def _fields_of(kind: type[Any]) -> dict[str, msgspec.structs.FieldInfo]:
    """The fields of a struct by their names in JSON."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def decode_leniently(value: dict[str, Any], kind: type[T]) -> T:
    """An object as a struct in which every field of a wrong type has its default."""
    fits: dict[str, Any] = {}
    fields = _fields_of(kind)
    for name in fields.keys() & value.keys():
        field, raw_value = fields[name], value[name]
        try:
            if field.type is msgspec.Raw:
                fits[field.name] = msgspec.Raw(msgspec.json.encode(raw_value))
            else:
                fits[field.name] = _field_value(raw_value, field.type)
        except (msgspec.ValidationError, RecursionError, UnicodeEncodeError):
            continue
    return kind(**fits)


def _field_value(value: Any, kind: Any) -> Any:
    """A value as a field's type; in a list of objects, each is decoded leniently."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        for option in get_args(kind):
            inner = get_args(option)
            if get_origin(option) is list and isinstance(value, list) and inner:
                return [decode_leniently(item, inner[0]) for item in value if isinstance(item, dict)]
            if isinstance(option, type) and issubclass(option, msgspec.Struct) and isinstance(value, dict):
                return decode_leniently(value, option)
        raise
