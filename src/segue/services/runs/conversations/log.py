"""A conversation of a program: a list of items in a stream of its own, which grows, and may lose its end.

An addition is one event, so that all of it is there or none, and it is on the disk when the call returns. To
append, nothing of what is there is read. Two handles, in one process or in two, see each other's items: an
addition that comes second stands second. What is read is folded once; after that only what is new is read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ....agents.common import repaired_json
from ....core.base.canonical import GENESIS, sha256
from ....core.base.text import clean_name, slug
from ....core.journal.event import Event, draft, read_body
from ....core.runs.events import ConversationChanged
from ....effects.clock import now
from ....errors import BadName, BadValue, DamagedError, StaleVersion, UsageError
from ....stores.base import Append
from ...workspace.workspace import Workspace
from .transcript import ConversationTranscript

PREFIX = "conversation/"
NATIVE_CHARS = 100
WRAPPED = "segue-json"
TRIES_MAX = 64
"""How often an addition is tried again because another one came first."""

Told = Callable[[Sequence[Any]], list[Any]]
"""What items are in the words of a model provider's interface."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def encoded(item: Any) -> bytes:
    """An item as JSON, with its keys in their order. What stores cannot keep as it is (half a surrogate pair,
    a number of more than 64 bits) is kept as JSON in a text. Raises BadValue if it is not JSON at all."""
    try:
        return _encode(item)
    except (UnicodeEncodeError, OverflowError):
        return _encode({WRAPPED: json.dumps(item)})
    except (TypeError, ValueError, RecursionError) as fault:
        raise BadValue(
            f"an item is not JSON: {fault}", hint="an item is a dictionary of plain values"
        ) from fault


def decoded(item: bytes | memoryview) -> Any:
    """An item of its JSON, a new value each time."""
    value = _decode(item)
    is_wrapped = isinstance(value, dict) and len(value) == 1 and WRAPPED in value
    return json.loads(value[WRAPPED]) if is_wrapped else value


def native_id(name: str) -> str:
    """The id of a conversation in names of streams and files, on every platform; its own name if possible."""
    if not name.strip():
        raise UsageError("a conversation without a name", hint="give it an id, such as the user's")
    if name == name.lower() and len(name) <= NATIVE_CHARS:
        try:
            return clean_name(name)
        except BadName:
            pass
    return f"{slug(name, limit=40)}-{sha256(name.encode(errors='surrogatepass')).hexdigest()[:12]}"


def stream_of_conversation(agent: str, *natives: str) -> str:
    """The stream in which the items of a conversation are kept."""
    return PREFIX + "/".join((clean_name(agent), *natives))


class ConversationLog:
    """The items of one conversation, and its transcript. All methods may be called from several threads."""

    def __init__(
        self, workspace: Workspace, agent: str, name: str, *, within: Sequence[str] = (),
        told: Told | None = None, writes: bool = True,
    ) -> None:  # fmt: skip
        """``within`` are the names of what the conversation is a part of. ``told`` is for the transcript;
        None says that items are messages as they are. Without ``writes`` there is no transcript."""
        self.workspace, self.agent, self.name = workspace, agent, name
        self.native = native_id(name)
        self.stream = stream_of_conversation(agent, *map(native_id, within), self.native)
        self._told = told
        folder = workspace.home.conversations
        self._transcript = ConversationTranscript(folder, agent, self.native) if writes else None
        self._lock = threading.RLock()
        self._head = -1
        """The version of the stream as last seen; -1 if it never was."""
        self._items: list[bytes] = []
        self._version, self._hash = 0, b""
        """The last event that is in ``_items``."""

    # -- reading -------------------------------------------------------------------------------

    def items(self, limit: int | None = None) -> list[Any]:
        """The items, or the last ``limit`` of them, as new values."""
        with self._lock:
            self._refresh()
            first = 0 if limit is None else max(0, len(self._items) - limit)
            return [decoded(item) for item in self._items[first:]]

    def count(self) -> int:
        """How many items there are."""
        with self._lock:
            self._refresh()
            return len(self._items)

    def version(self) -> int:
        """The version of the conversation, which every change raises; 0 if it has none."""
        with self._lock:
            self._refresh()
            return self._version

    def _refresh(self) -> None:
        events = self.workspace.store.read(self.stream, after=max(0, self._version - 1))
        if self._version:
            if events and events[0].hash == self._hash:
                del events[0]
            else:  # it was cleared meanwhile, and perhaps begun anew
                self._items, self._version, self._hash = [], 0, b""
                events = self.workspace.store.read(self.stream)
        for event in events:
            self._fold(event)
        self._head = self._version

    def _fold(self, event: Event) -> None:
        body = read_body(event)
        if isinstance(body, ConversationChanged):
            if body.keep >= 0:
                del self._items[body.keep :]
            self._items += map(bytes, body.items)
        elif event.kind == ConversationChanged.KIND:
            raise DamagedError(self.stream, f"version {event.version}", "the change cannot be read")
        self._version, self._hash = event.version, event.hash

    # -- writing -------------------------------------------------------------------------------

    def add(self, items: Sequence[Any]) -> None:
        """Add items to the end, all or none. Raises BadValue if one is not JSON."""
        raw = [encoded(item) for item in items]
        if raw:
            with self._lock:
                self._commit(lambda: ConversationChanged([msgspec.Raw(one) for one in raw]), items)

    def pop(self) -> Any:
        """Remove the last item and return it; None if there is none."""
        with self._lock:
            self._refresh()
            popped: list[bytes] = []

            def change() -> ConversationChanged | None:
                popped[:] = self._items[-1:]
                return ConversationChanged(keep=len(self._items) - 1) if self._items else None

            self._commit(change, (), reads=True)
            return decoded(popped[0]) if popped else None

    def replace_end(self, keep: int, items: Sequence[Any], *, version: int) -> bool:
        """Put items in the place of those behind the first ``keep``, in one step. False, and nothing happens,
        if the conversation is no longer at this version."""
        raw = [msgspec.Raw(encoded(item)) for item in items]
        with self._lock:
            self._refresh()

            def change() -> ConversationChanged | None:
                return ConversationChanged(raw, keep) if self._version == version else None

            return self._commit(change, items, reads=True)

    def add_if(self, items: Sequence[Any], *, version: int) -> bool:
        """Add items if the conversation is still at this version; whether that was so."""
        return self.replace_end(self.count(), items, version=version) if items else self.version() == version

    def clear(self, *, version: int | None = None) -> bool:
        """Erase all items; the conversation may be begun anew. Its transcript goes with them. With a version,
        only if the conversation is still at it; whether that was so."""
        self.workspace.pause_file.check()
        with self._lock:
            while True:
                there = self.workspace.store.head(self.stream).version
                if version is not None and there != version:
                    return False
                try:
                    if there:
                        self.workspace.store.drop(Append(self.stream, there))
                    break
                except StaleVersion:
                    continue
            self._items, self._version, self._hash, self._head = [], 0, b"", -1
            if self._transcript is not None:
                self._transcript.remove()
            return True

    def _commit(
        self, change: Callable[[], ConversationChanged | None], items: Sequence[Any], *, reads: bool = False
    ) -> bool:
        """Append what ``change`` returns, again if somebody else came first; whether there was something.
        With ``reads`` the change rests on all items, which are read before the next try."""
        self.workspace.pause_file.check()
        store = self.workspace.store
        for _ in range(TRIES_MAX):
            if self._head < 0:
                self._head = store.head(self.stream).version
            body = change()
            if body is None:
                return False
            if not self._head:
                body = msgspec.structs.replace(body, name=self.name, cwd=str(self.workspace.folder))
            drafted = draft(body, at=now(), actor=self.agent)
            try:
                [event] = store.append(Append(self.stream, self._head, (drafted,)))
            except StaleVersion:
                self._head = -1
                if reads:
                    self._refresh()
                continue
            self._committed(event, body, items)
            return True
        raise StaleVersion(self.stream, self._head, store.head(self.stream).version)

    def _committed(self, event: Event, body: ConversationChanged, items: Sequence[Any]) -> None:
        dropped = self._items[body.keep :] if body.keep >= 0 else []
        self._head = event.version
        if event.prev == (self._hash or GENESIS):  # else others wrote meanwhile, or it was begun anew
            self._fold(event)
        self.workspace.backups.written(1)
        if self._transcript is not None:
            self._transcript.catch_up(event.version - 1, self._lines_since)
            self._transcript.write(self._line(event, body, items, dropped))

    # -- the transcript ------------------------------------------------------------------------

    def tell(self) -> None:
        """Add to the transcript what it lacks because a process died behind a commit."""
        with self._lock:
            version = self.workspace.store.head(self.stream).version
            if self._transcript is not None and version:
                self._transcript.catch_up(version, self._lines_since)

    def _line(
        self, event: Event, body: ConversationChanged, items: Sequence[Any], dropped: Sequence[bytes]
    ) -> bytes:
        messages = self._messages(body, items)
        rewound = sum(is_prompt(one) for one in self._told_of([decoded(item) for item in dropped]))
        more = b',"rewound":%d' % rewound if rewound else b""
        named = b""
        if event.version == 1:
            named = b',"conversation":%b,"cwd":%b' % (_encode(self.native), _encode(body.cwd))
        return b'{"v":%d,"at":"%b"%b%b,"messages":[%b]}\n' % (
            event.version, event.at.encode(), named, more, messages,
        )  # fmt: skip

    def _messages(self, body: ConversationChanged, items: Sequence[Any]) -> bytes:
        if self._told is None:
            return b",".join(map(bytes, body.items)) if not _has_wrapped(body) else _shown(items)
        return _shown(self._told(items))

    def _told_of(self, items: list[Any]) -> list[Any]:
        return items if self._told is None else self._told(items)

    def _lines_since(self, version: int, until: int) -> list[bytes]:
        """The lines of the transcript for the changes behind a version, up to another one."""
        items: list[bytes] = []
        lines = []
        for event in self.workspace.store.read(self.stream):
            body = read_body(event)
            if event.version > until:
                break
            if not isinstance(body, ConversationChanged):
                continue
            dropped = items[body.keep :] if body.keep >= 0 else []
            if body.keep >= 0:
                del items[body.keep :]
            raw = [bytes(item) for item in body.items]
            items += raw
            if event.version > version:
                lines.append(self._line(event, body, [decoded(item) for item in raw], dropped))
        return lines


def _has_wrapped(body: ConversationChanged) -> bool:
    return any(bytes(item).startswith(b'{"%b"' % WRAPPED.encode()) for item in body.items)


def _shown(messages: Sequence[Any]) -> bytes:
    """Messages for a transcript, in which half a surrogate pair is replaced."""
    return b",".join(repaired_json(json.dumps(one).encode()) for one in messages)


class Listed(NamedTuple):
    """A conversation in a list."""

    stream: str
    changed: str
    """When it was last changed."""
    last: list[Any]
    """The items that were added last."""


def listed(workspace: Workspace, agent: str, *within: str) -> list[Listed]:
    """The conversations of programs that are part of something, with those that are part of them."""
    found = []
    prefix = stream_of_conversation(agent, *map(native_id, within)) + "/"
    for stream, version in workspace.store.streams(prefix):
        events = workspace.store.read(stream, after=version - 1)
        body = read_body(events[-1]) if events else None
        if isinstance(body, ConversationChanged):
            found.append(Listed(stream, events[-1].at, [decoded(item) for item in body.items]))
    return found


def name_of(workspace: Workspace, stream: str) -> str:
    """How the program calls a conversation; empty if it is gone."""
    events = workspace.store.read(stream, limit=1)
    body = read_body(events[0]) if events else None
    return body.name if isinstance(body, ConversationChanged) else ""


def is_prompt(message: Any) -> bool:
    """Whether a message is the user's own."""
    return isinstance(message, dict) and message.get("role") in ("user", "human")
