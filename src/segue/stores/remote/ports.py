"""The ports as requests: one for each method, read from the protocols of ``stores.base`` and written nowhere
else.

A request is a map from the names of a method's arguments to their values, an answer is what the method gives,
both MessagePack. What travels under another name or in another form than the port has it stands in the tables
here: the first version did it so, and clients and servers of all versions understand each other. Both sides
read by the same types, so that what does not fit is refused before anything happens. A write that must not
happen twice carries an ``attempt``, a random name, by which a server knows a request that comes a second time
while the first is under way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from inspect import Parameter, signature
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from ...core.base.values import Value
from ...core.memories import model, ranking
from ...errors import StoreUnavailable
from .. import base, memory_changes
from . import wire
from .client import Client

T = TypeVar("T")
_TYPES = vars(model) | vars(ranking) | vars(memory_changes)
"""What the protocols name and do not import."""


class About(Value):
    """What a server says of itself, and of the key that it is asked with."""

    segue: str = ""
    project: str = ""
    role: str = ""
    agent: str = ""


class ServerJournal(base.Journal, Protocol):
    """The journal of a server, which can be asked about itself."""

    def about(self) -> About:
        """What the server says of itself, and of the key."""


PORTS: dict[str, type] = {
    "journal": ServerJournal,
    "runs": base.Runs,
    "project_facts": base.ProjectFacts,
    "memories": base.Memories,
}
ONCE = {("journal", "append"), ("journal", "erase"), ("journal", "drop"), ("memories", "write")}
_NAMES = {
    ("journal", "head", "stream"): "name", ("journal", "streams", "prefix"): "name",
    ("journal", "pieces", "addresses"): "names", ("runs", "get", "key"): "name",
    ("runs", "drop", "keys"): "names", ("memories", "meant", "ids"): "names",
}  # fmt: skip
"""Arguments that travel under another name."""
_ANSWERS: dict[tuple[str, str], Any] = {
    ("journal", "append"): list[tuple[bytes, bytes]],  # header and hash: the bodies are those that were sent
    ("journal", "read"): wire.StreamPage,
    ("journal", "head"): tuple[int, bytes],
    ("journal", "pieces"): list[tuple[str, bytes, bool]],  # address, bytes, whether these have that address
    ("journal", "snapshots"): list[base.Snapshot],
}
"""Answers that travel in another form."""


class PortMethod:
    """A method of a port, for both sides."""

    def __init__(self, port: str, name: str) -> None:
        self.port, self.name = port, name
        function = getattr(PORTS[port], name)
        self._signature = signature(function)
        self._hints = get_type_hints(function, _TYPES | vars(base) | globals())
        self._arguments = list(self._signature.parameters.values())[1:]

    @cached_property
    def answer(self) -> Any:
        """The type of an answer."""
        return _ANSWERS.get((self.port, self.name)) or _received(self._hints["return"])

    def body(self, *args: Any, **named: Any) -> dict[str, Any]:
        """The request for a call with these arguments."""
        bound = self._signature.bind(None, *args, **named)
        bound.apply_defaults()
        asked = {self._name(one): _sent(bound.arguments[one.name]) for one in self._arguments}
        return asked | ({"attempt": os.urandom(16).hex()} if (self.port, self.name) in ONCE else {})

    def _name(self, argument: Parameter) -> str:
        return _NAMES.get((self.port, self.name, argument.name), argument.name)

    @cached_property
    def request(self) -> type[msgspec.Struct]:
        """The type of a request: a field for each argument."""
        fields: list[Any] = []
        for one in self._arguments:
            kind = _received(self._hints[one.name])
            if one.kind is Parameter.VAR_POSITIONAL:
                kind = list[kind]  # type: ignore[valid-type]
            default = () if one.default is Parameter.empty else (one.default,)
            fields.append((one.name, kind, *default))
        if (self.port, self.name) in ONCE:
            fields.append(("attempt", str, ""))
        fields.sort(key=len)  # those without a default come first
        names = {one.name: self._name(one) for one in self._arguments}
        return msgspec.defstruct(f"{self.port}_{self.name}", fields, frozen=True, rename=names)

    def call(self, port: Any, request: Any) -> Any:
        """What the method of a port gives for a request."""
        args: list[Any] = []
        named: dict[str, Any] = {}
        for one in self._arguments:
            value = getattr(request, one.name)
            if one.kind is Parameter.VAR_POSITIONAL:
                args += value
            elif one.kind is Parameter.KEYWORD_ONLY:
                named[one.name] = value
            else:
                args.append(value)
        return getattr(port, self.name)(*args, **named)


@cache
def port_method(port: str, name: str) -> PortMethod:
    """A method of a port; KeyError if there is none of this name."""
    if name not in methods_of(port):
        raise KeyError(f"{port}/{name}")
    return PortMethod(port, name)


@cache
def methods_of(port: str) -> tuple[str, ...]:
    """The names of the methods of a port that can be asked for; KeyError if there is no such port."""
    names = {name for kind in PORTS[port].__mro__ for name, value in vars(kind).items() if callable(value)}
    return tuple(sorted(name for name in names if name[0] != "_" and name != "close"))


def _received(hint: Any) -> Any:
    """The type by which a value is read: whatever can be gone through is a list."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Sequence, Iterable):
        return list[inner[0]]  # type: ignore[valid-type]
    return hint


def _sent(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else value


class RemotePort:
    """A port on a server: each of its methods is a request, and gives the answer as it travels."""

    def __init__(self, client: Client, port: str) -> None:
        self.client = client
        self._port = port

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name[0] == "_" or name not in methods_of(self._port):
            raise AttributeError(name)
        return partial(self.ask, name)

    def ask(self, name: str, *args: Any, **named: Any) -> Any:
        """The answer of a method that may be called twice."""
        method = port_method(self._port, name)
        answer = self.client.call(f"{method.port}/{name}", wire.encode(method.body(*args, **named)))
        return self._read(answer, method)

    def once(self, name: str, settle: Callable[[], T | None], *args: Any, **named: Any) -> Any:
        """The answer of a method that must not happen twice; ``settle`` says, after a doubt, what it would
        have given if it has happened, and None if it has not."""
        method = port_method(self._port, name)
        body = wire.encode(method.body(*args, **named))
        found = self.client.call(
            f"{method.port}/{name}", body, lambda: None if (found := settle()) is None else (found,)
        )
        if isinstance(found, tuple):  # which cannot be mistaken for bytes of an answer
            return found[0]
        try:
            return self._read(found, method)
        except StoreUnavailable as fault:
            fault.doubt = True  # whatever it was that answered may have done it
            raise

    def _read(self, answer: bytes, method: PortMethod) -> Any:
        try:
            return wire.decode(answer, method.answer)
        except msgspec.MsgspecError as fault:
            where = self.client.address.shown
            told = f"{where} answers in a way that this Segue does not understand: {fault}"
            raise StoreUnavailable(told, hint="check that both have the same version") from None
