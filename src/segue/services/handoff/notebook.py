"""A project as sources for a notebook tool: Markdown files of limited size in a folder, and an index of them.

One file has the project (its sessions, decisions, memories and other runs), and each session has one with
what was said in its runs. Everything is masked. A later export writes only what has changed since, and takes
out files of sessions that are gone. Files that it did not write itself are never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ..._files import read_bytes
from ...agents import agent as agent_of
from ...core.base.canonical import sha256
from ...core.base.values import Value, count
from ...core.documents.conversation import conversation
from ...core.documents.markdown import markdown
from ...core.documents.model import (
    Block,
    Document,
    Entry,
    Facts,
    Folded,
    Heading,
    Listing,
    Paragraph,
    Turn,
    shortened,
)
from ...core.memories.model import Memory
from ...core.sessions.status import Card
from ...effects.files.atomic import check_writable, write_whole
from ...errors import SegueError, UsageError
from ..memories.service import memories_of
from ..runs.listing import steps_of
from ..runs.run import Run, run_in
from ..runs.sessions_shown import list_sessions
from ..workspace.open_session import find_session
from ..workspace.workspace import Workspace
from .readable import session_document

INDEX, STATE = "index.md", "notebook.json"
FILE_BYTES_MAX = 300_000
"""Most tools take a few hundred thousand words a source; smaller ones are cited more exactly."""
MARK = "Written by Segue for a notebook."
"""The last line of every file, by which it is known as ours even after a crash."""
SAID_CHARS_MAX = 2_000
MEMORIES_MAX, RUNS_MAX = 500, 200


class Source(Value):
    """A file of the notebook: what it was made of, and its content's hash."""

    stamp: str
    hash: str
    title: str
    bytes: int


class Notebook(Value):
    """What an export wrote and left."""

    folder: str
    files: dict[str, Source]
    written: tuple[str, ...]
    """The names of files that are new or changed."""
    removed: tuple[str, ...]


class _State(Value):
    sources: dict[str, Source] = {}
    version: int = 1


def export_notebook(
    workspace: Workspace, folder: Path, *, file_bytes_max: int = FILE_BYTES_MAX,
    progress: Callable[[int, int, str], None] | None = None,
) -> Notebook:  # fmt: skip
    """Write the sources of this project to a folder, or what has changed of them since the last time. Raises
    UsageError if the folder has files of the same names that are not ours."""
    workspace.pause_file.check()
    check_writable(folder / INDEX)
    before = _state(folder)
    cards = list_sessions(workspace)
    runs = _runs(workspace)
    learnt = [f"{one.id} {one.content}" for one in _memories(workspace)]
    stamp = _stamp(*(f"{card.id} {card.version}" for card in cards), *map(_known, runs), *learnt)
    wanted: dict[str, tuple[str, Callable[[], Document]]] = {
        "project.md": (stamp, lambda: _project(workspace, cards, runs))
    }
    for card in cards:
        own = [run for run in runs if run.session == card.id]
        make = _session_maker(workspace, card, own, file_bytes_max)
        wanted[f"session-{card.id}.md"] = _stamp(card.id, str(card.version), *map(_known, own)), make
    _check_ours(folder, [*wanted, INDEX], before)
    files, written = dict[str, Source](), list[str]()
    for number, (name, (stamp, make)) in enumerate(wanted.items()):
        if progress is not None:
            progress(number, len(wanted), name)
        known = before.sources.get(name)
        if known is not None and known.stamp == stamp and _hash_of(folder / name) == known.hash:
            files[name] = known
            continue
        document = make()
        body = _within(document, file_bytes_max)
        files[name] = Source(stamp, _hash(body), document.title, len(body))
        if _put(folder / name, body):
            written.append(name)
    removed = [name for name in before.sources if name not in files and name != INDEX]
    for name in removed:
        (folder / name).unlink(missing_ok=True)
    body = markdown(_index(workspace, files)).encode("utf-8", "replace")
    if _put(folder / INDEX, body):
        written.append(INDEX)
    kept = {**files, INDEX: Source("", _hash(body), "Index", len(body))}
    _put(folder / STATE, msgspec.json.format(msgspec.json.encode(_State(kept)), indent=1))
    return Notebook(str(folder), kept, tuple(written), tuple(removed))


# -- the folder ------------------------------------------------------------------------------------


def _state(folder: Path) -> _State:
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode(read_bytes(folder / STATE), type=_State)
    return _State()


def _check_ours(folder: Path, names: Iterable[str], before: _State) -> None:
    strange = [name for name in names if name not in before.sources and not _is_ours(folder / name)]
    if strange:
        raise UsageError(
            f"{folder} already has {', '.join(strange[:3])}, which is not from an export",
            hint="name a folder of its own for the notebook",
        )


def _is_ours(path: Path) -> bool:
    try:
        return read_bytes(path).endswith(f"{MARK}\n".encode())
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _put(path: Path, body: bytes) -> bool:
    """Whether a file had to be written."""
    if _hash_of(path) == _hash(body):
        return False
    write_whole(path, body)
    return True


def _hash(body: bytes) -> str:
    return sha256(body).hexdigest()[:32]


def _hash_of(path: Path) -> str:
    try:
        return _hash(read_bytes(path))
    except OSError:
        return ""


def _stamp(*parts: str) -> str:
    return _hash("\0".join(parts).encode("utf-8", "replace"))


def _known(run: Run) -> str:
    return f"{run.id} {run.last} {run.steps} {run.session}"


# -- what they say ---------------------------------------------------------------------------------


def _runs(workspace: Workspace) -> list[Run]:
    """The runs of this project that are not sub-agents', the newest first."""
    keys = set(workspace.working_tree.project_keys(workspace.settings))
    found = (run_in(row) for row in workspace.store.runs.rows())
    ours = [run for run in found if run is not None and not run.side and run.project in keys]
    return sorted(ours, key=lambda run: run.last, reverse=True)


def _memories(workspace: Workspace) -> list[Memory]:
    with suppress(SegueError):
        return [one.memory for one in memories_of(workspace).recall("*", top_k=MEMORIES_MAX)]
    return []


def _project(workspace: Workspace, cards: Sequence[Card], runs: Sequence[Run]) -> Document:
    mask = workspace.repository.mask or (lambda text: text)
    tree = workspace.working_tree
    name = tree.project_name(tree.project_key(workspace.settings)[0])
    blocks: list[Block] = [Facts((("Sessions", str(len(cards))), ("Runs", str(len(runs)))))]
    sessions = tuple(
        Entry(f"{card.id}: {mask(card.goal)}", aside=f"{card.status}, {card.done} of {card.total} done",
              more=(mask(card.summary),) if card.summary and card.summary != card.goal else ())
        for card in cards
    )  # fmt: skip
    blocks += _part("Sessions", sessions)
    blocks += _part("Decisions", _decisions(workspace, cards, mask))
    said = (
        Entry(shortened(mask(one.content), SAID_CHARS_MAX), aside=one.type) for one in _memories(workspace)
    )
    blocks += _part("What is remembered", said)
    others = [run for run in runs if not run.session][:RUNS_MAX]
    goals = (Entry(mask(run.goal) or "(no prompt)", aside=f"{run.agent}, {run.last[:10]}") for run in others)
    blocks += _part("Runs outside of sessions", goals)
    return Document(f"Project {name}", tuple(blocks), MARK)


def _decisions(workspace: Workspace, cards: Sequence[Card], mask: Callable[[str], str]) -> Iterator[Entry]:
    for card in cards:
        with suppress(SegueError):
            for made in find_session(workspace, card.id).state.decisions:
                why = (f"because: {mask(made.why)}",) if made.why else ()
                yield Entry(mask(made.text), aside=f"{card.id}, {made.at[:10]}", more=why)


def _part(title: str, entries: Iterable[Entry]) -> list[Block]:
    made = tuple(entries)
    return [Heading(2, title), Listing(made)] if made else []


def _session_maker(
    workspace: Workspace, card: Card, runs: Sequence[Run], bytes_max: int
) -> Callable[[], Document]:
    def make() -> Document:
        document = session_document(find_session(workspace, card.id))
        blocks = list(_unfolded(document.blocks))
        room = bytes_max - len(markdown(Document(document.title, tuple(blocks))).encode("utf-8", "replace"))
        for run in runs:
            said = _said(workspace, run, room)
            room -= len(markdown(Document("", tuple(said))).encode("utf-8", "replace"))
            blocks += said
        return Document(f"Session {card.id}: {document.title}", tuple(blocks), MARK)

    return make


def _unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks without any that must be opened: such tools read plain Markdown."""
    for block in blocks:
        if isinstance(block, Folded):
            yield Heading(4, block.summary, block.aside)
            yield from _unfolded(block.blocks)
        else:
            yield block


def _said(workspace: Workspace, run: Run, room: int) -> list[Block]:
    """What was said in a run, without the output of tools; of a long one the newest, as far as it fits."""
    if room <= 0:
        return []
    title = f"What was said in {run.agent} {run.id}"
    try:
        blocks = conversation(steps_of(workspace, run), agent_of(run.agent).title)
    except SegueError as fault:
        return [Heading(2, title), Paragraph(f"It cannot be read: {fault.message}")]
    turns = [
        Turn(one.who, shortened(one.text, SAID_CHARS_MAX), one.aside, one.role)
        for one in blocks
        if isinstance(one, Turn)
    ]
    kept: list[Block] = []
    for turn in reversed(turns):
        room -= len(markdown(Document("", (turn,))).encode("utf-8", "replace"))
        if room < 0:
            break
        kept.append(turn)
    left = len(turns) - len(kept)
    earlier = [Paragraph(f"{count(left, 'earlier turn')} are left out.")] if left else []
    return [Heading(2, title, run.last[:10]), *earlier, *reversed(kept)] if kept else []


def _within(document: Document, bytes_max: int) -> bytes:
    """A document as a file that is not larger than allowed; what does not fit is left out, and it says so."""
    body = markdown(document).encode("utf-8", "replace")
    if len(body) <= bytes_max:
        return body
    note = f"\n\nThe rest is left out: the file would be too large.\n\n{MARK}\n"
    kept = body[: bytes_max - len(note.encode())]
    return kept[: kept.rfind(b"\n") + 1] + note.encode()


def _index(workspace: Workspace, files: dict[str, Source]) -> Document:
    rows = tuple(Entry(f"{name}: {one.title}", aside=f"{one.bytes:,} bytes") for name, one in files.items())
    about = (
        "Sources about the work of coding agents on this project. Give all files to the tool. After the next"
        " export, replace those that have changed."
    )
    return Document("Notebook", (Paragraph(about), Heading(2, "Files"), Listing(rows)), MARK)
