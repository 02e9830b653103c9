"""Features from the files in which people keep them, and back.

What a file says is brought in as a claim: nothing imported passes, and no command from a file runs before
somebody accepted it. What is there already stays as it is; importing twice is importing once.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ...core import event_kinds as ev
from ...core.base import canonical
from ...core.base.text import clean_text
from ...core.base.values import Value, count
from ...core.features import file_formats as forms
from ...core.features.checks import Check
from ...core.features.model import Feature
from ...core.sessions import commands as do
from ...core.sessions import feature_commands as fc
from ...core.sessions.state import key
from ...errors import BadImport, UsageError
from .features import Features, as_check, feature_id

if TYPE_CHECKING:
    from ..workspace.session_handle import SessionHandle

FORMATS = ("feature_list", "progress", "pytest", "junit")
STEPS_MAX = 200


class ImportedFeatures(Value):
    """What an import did."""

    format: str
    added: list[str]
    known: list[str]
    claimed: list[str]
    """Those that the file says pass: a claim, not a proof."""
    reported: list[str]
    notes_taken: int
    notes: list[str]
    """What should be looked at."""

    def words(self) -> list[str]:
        """The import in a line or two."""
        if self.format == "progress":
            return [f"{count(self.notes_taken, 'note')} taken"]
        told = [f"{count(len(self.added), 'feature')} added, {len(self.known)} known already"]
        if self.claimed:
            told.append(f"said to pass: {len(self.claimed)}; that is a claim, `segue verify` proves it")
        if self.reported:
            told.append(f"the report speaks of {len(self.reported)}: it was made by somebody else, no proof")
        return told


class _Import:
    def __init__(self, session: SessionHandle, source: str) -> None:
        self.features: Features = Features(session)
        self.session = session
        self.source = PurePath(source).name if source != "-" else "standard input"
        self.state = session.state
        self.commands: list[do.Command] = []
        self.taken: dict[str, str] = {id: key(one.description) for id, one in self.state.features.items()}
        self.added: list[str] = []
        self.known: list[str] = []
        self.claimed: list[str] = []
        self.reported: list[str] = []
        self.notes: list[str] = []

    def add(self, row: forms.Listed, checks: tuple[Check, ...], covers: tuple[str, ...] = ()) -> str:
        """Plan a feature, unless it is there; its id."""
        description = clean_text(row.description, what="description").strip()
        found = next((id for id, text in self.taken.items() if text == key(description)), "")
        id = row.id if row.id in self.taken else found
        if id:
            self.known.append(id)
            old = self.state.features.get(id)
            if old is not None and row.steps and row.steps != old.steps:
                self.notes.append(f"{id} has other steps here; they stay")
        else:
            id = feature_id(row.id or description, self.taken)
            self.taken[id] = key(description)
            self.added.append(id)
            claim = f"said to pass in {self.source}" if row.passes else ""
            self.commands.append(
                fc.AddFeature(
                    id, description, row.category, row.steps[:STEPS_MAX], checks, covers, self.source, claim
                )
            )
        if row.passes:
            self.claimed.append(id)
        return id

    def done(self, format: str) -> ImportedFeatures:
        notes = sum(isinstance(command, do.Note) for command in self.commands)
        if self.commands:
            self.features._apply(*self.commands)
        return ImportedFeatures(
            format, self.added, self.known, self.claimed, self.reported, notes, self.notes
        )  # fmt: skip


def import_features(session: SessionHandle, body: bytes, name: str, format: str = "") -> ImportedFeatures:
    """Bring a file in, in one commit."""
    kind = format or forms.recognised(name, body)
    if kind not in FORMATS:
        raise BadImport(f"{name} is no kind of file that holds features", hint="say which with --format")
    work = _Import(session, name)
    if kind == "feature_list":
        for row in forms.read_feature_list(body):
            work.add(row, tuple(map(as_check, row.checks)))
    elif kind == "pytest":
        for file, names in forms.read_node_ids(body).items():
            work.add(_of_tests(file, names), (_pytest(file),))
    elif kind == "junit":
        _report(work, forms.read_junit(body), canonical.digest(body).hex())
    else:
        facts = map(ev.read_body, session.log())
        told = {fact.text for fact in facts if isinstance(fact, ev.Noted)}
        notes = [
            clean_text(text, what="note", mask=session.workspace.repository.mask)
            for text in forms.read_progress(body)
        ]
        work.commands += [do.Note(text) for text in notes if text not in told]
    return work.done(kind)


def _pytest(file: str) -> Check:
    return Check(("python", "-m", "pytest", "-q", file))


def _of_tests(file: str, names: list[str]) -> forms.Listed:
    return forms.Listed(f"the tests in {file} pass", "tests", tuple(names), id=file.removesuffix(".py"))


def _report(work: _Import, cases: list[forms.Case], digest: str) -> None:
    """What a report says, to the features whose checks run those tests; files that exist become features."""
    groups: dict[str, list[forms.Case]] = {}
    lost = 0
    for case in cases:
        file = forms.file_of(case)
        groups.setdefault(file, []).append(case)
    root = work.features.workspace.working_tree.root
    head = work.features.look().head
    for file, mine in groups.items():
        ids = [id for id, one in work.state.features.items() if file and _runs(one, file)]
        if not ids and file and not file.startswith(("/", "..")) and (root / file).is_file():
            ids = [work.add(_of_tests(file, [case.name for case in mine]), (_pytest(file),))]
        if not ids:
            lost += len(mine)
        failed = [case for case in mine if not case.ok]
        first = f"{failed[0].name}: {failed[0].message}" if failed else ""
        passed = sum(case.ok and not case.skipped for case in mine)
        for id in ids:
            work.reported.append(id)
            work.commands.append(fc.Report(id, work.source, passed, len(failed), first, digest, head))
    if lost:
        work.notes.append(f"{lost} test cases belong to no feature and to no file here")


def _runs(feature: Feature, file: str) -> bool:
    words = [word.partition("::")[0] for check in feature.checks for word in check.text.split()]
    return file in words


def export_features(session: SessionHandle, format: str) -> bytes:
    """The features as such a file; "passes" says what is proven now."""
    if format not in FORMATS:
        raise UsageError(f"unknown format: {format}", hint="one of " + ", ".join(FORMATS))
    state = session.state
    pairs = [(state.features[one.id], one) for one in Features(session).verdicts(state)]
    if format == "feature_list":
        return forms.write_feature_list(pairs)
    if format == "pytest":
        return forms.write_node_ids(pairs)
    if format == "junit":
        return forms.write_junit(pairs, state.id)
    items = state.items
    todo = [items[at].text for at in (*state.active, *state.next)]
    return forms.write_progress(state.goal, [items[at].text for at in state.done], todo, pairs)
