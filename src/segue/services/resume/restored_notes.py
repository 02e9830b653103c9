"""The notes of a project as parts of a restoration: its indexes, those that were asked for or are worked on,
those that match the work by their titles or by what they mean, those that all of these link to, and those
that were loaded before.

A note that is named and cannot be had becomes a line of the log that says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ...core.base.text import visible_text
from ...core.language.sentences import words
from ...core.resume.restoration import Candidate, pieces_of
from ...core.sessions.state import SessionState
from ...effects.notes import NOTE_BYTES_MAX, Library, ProjectNote, body_of
from ...effects.redaction.redact import redact

NOTES_MAX, WORDS_MAX = 5, 8
LINKS_MAX, LINK_STEPS = 20, 2
"""How many notes that are linked to, and over how many links, may be restored."""


def candidate(
    id: str, kind: str, priority: str, title: str, text: str, trust: str = "data", value: float = 1.0,
    note: str = "", source: str = "", excerpt: str = "",
) -> Candidate:  # fmt: skip
    """A candidate made of a text, masked and in pieces."""
    pieces, title = pieces_of(redact(visible_text(text))), redact(visible_text(title))
    return Candidate(id, kind, priority, title, pieces, trust, value, note, source=source, excerpt=excerpt)


def note_candidates(
    library: Library, state: SessionState | None, query: str, wanted: Sequence[str], known: Collection[str],
    *, by_meaning: bool = True,
) -> Iterator[Candidate]:  # fmt: skip
    """The notes that may be restored for a session, each once, without those that are ``known`` already.
    ``by_meaning`` finds notes that are about the work in other words, too."""
    chosen = _Chosen(library, known)
    for note in library.index_notes():
        yield from chosen.note(note, "index notes", "essential", 0.95)
    for id in wanted:
        yield from chosen.named(id, "requested notes", "recommended", 1.0)
    for id, value in _recommended(library, state):
        yield from chosen.named(id, "recommended notes", "recommended", value)
    yield from _matching(chosen, query, by_meaning)
    yield from chosen.linked()
    before = state.notes if state else {}
    for id in sorted(before, key=lambda id: (-before[id].count, id)):
        yield from chosen.named(id, "notes loaded before", "expanded", 1.0)


def _matching(chosen: _Chosen, query: str, by_meaning: bool) -> Iterator[Candidate]:
    """The notes that match the work: by words of their titles, then by what they mean."""
    library = chosen.library
    longest = sorted(words(query), key=lambda word: (-len(word), word))[:WORDS_MAX]
    found = library.matching(longest, NOTES_MAX) if longest else []
    meaning = None
    if by_meaning and query and library.all():
        from .meaning_of_notes import QueryMeaning

        meaning = QueryMeaning(query)
        seen = {*chosen.seen, *(note.id for note in found)}
        found = [*found, *meaning.notes(library, seen, NOTES_MAX - len(found))]
    for index, note in enumerate(found):
        kind = "playbooks" if "playbook" in note.path.lower() else "related notes"
        for one in chosen.note(note, kind, "recommended", 0.8 / (1 + index / 10)):
            yield meaning.begun_where_it_matters(one) if meaning is not None else one


def _recommended(library: Library, state: SessionState | None) -> list[tuple[str, float]]:
    """The note in focus, those of open threads, and the five most used, with their values."""
    if state is None:
        return []
    values: dict[str, float] = {}
    focus = state.focus
    in_focus = focus.note_id or (focus.file if library.is_place(focus.file) else "")
    if in_focus:
        values[in_focus] = 1.0
    for thread in state.threads.values():
        if thread.status == "in_progress":
            values.update((id, 0.95) for id in thread.notes)
    asked_for = [(id, use) for id, use in state.notes.items() if use.count]
    used = sorted(asked_for, key=lambda pair: (-pair[1].count, pair[0]))[:NOTES_MAX]
    for index, (id, _) in enumerate(used):
        values.setdefault(id, 0.9 / (1 + index / 20))
    return list(values.items())


class _Chosen:
    """The notes that were chosen so far."""

    def __init__(self, library: Library, known: Collection[str]) -> None:
        self.library = library
        self.seen = set(known)
        self._notes: list[ProjectNote] = []

    def note(self, note: ProjectNote, kind: str, priority: str, value: float) -> Iterator[Candidate]:
        """A note, unless it was chosen before."""
        if note.id in self.seen:
            return
        self.seen.add(note.id)
        self._notes.append(note)
        yield note_candidate(self.library, note, kind, priority, value)

    def named(self, id: str, kind: str, priority: str, value: float) -> Iterator[Candidate]:
        """The note that somebody named; if there is none, a candidate that says so in the log."""
        if id in self.seen:
            return
        note = self.library.find(id)
        if note is not None:
            yield from self.note(note, kind, priority, value)
        else:
            yield Candidate(f"note/{id}", kind, priority, note=id, missing="missing: no such note")
        self.seen.add(id)

    def linked(self) -> Iterator[Candidate]:
        """The notes that the chosen ones link to, then those that these link to."""
        found = 0
        here = list(self._notes)
        for step in range(1, LINK_STEPS + 1):
            targets = dict.fromkeys(other for note in here for other in self.library.linked(note))
            here = [note for note in targets if note.id not in self.seen][: LINKS_MAX - found]
            for index, note in enumerate(here):
                value = 1.0 / step / (1 + index / 20)
                yield from self.note(note, "linked notes", "expanded", value)
            found += len(here)


def note_candidate(library: Library, note: ProjectNote, kind: str, priority: str, value: float) -> Candidate:
    """A note with its text, or the reason why there is none."""
    text = library.text(note)
    if text is None:
        reason = "it cannot be read" if note.is_text else "it is not text"
        return Candidate(f"note/{note.id}", kind, priority, note=note.id, missing=f"missing: {reason}")
    same = library.with_same_id(note)
    also = f"; {', '.join(same)} {'has' if len(same) == 1 else 'have'} the same id" if same else ""
    title = f"{note.title} ({note.path}{also})"
    read = len(text.encode("utf-8", "replace"))
    excerpt = f"the first {read:,} of {note.size:,} bytes" if note.size > NOTE_BYTES_MAX else ""
    return candidate(
        f"note/{note.id}", kind, priority, title, body_of(text), "data", value, note.id, note.path, excerpt
    )
