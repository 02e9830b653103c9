"""Importing features from the files in which people keep them, and exporting them again.

What a file says is a claim: no imported feature passes, and no command from a file runs before somebody has
accepted it. Features that exist already stay as they are, so importing is idempotent.
"""

from __future__ import annotations

from pathlib import PurePath

from msgspec.structs import replace

from ...core import event_kinds as ev
from ...core.base import canonical
from ...core.base.text import clean_text
from ...core.base.values import Value, count
from ...core.features import file_formats as forms
from ...core.features.checks import Check
from ...core.features.model import Feature
from ...core.sessions import commands as do, feature_commands as fc
from ...core.sessions.state import key
from ...errors import BadImport, UsageError
from ..workspace.session_handle import SessionHandle
from .features import Features, as_check, feature_id

FORMATS = ("feature_list", "progress", "pytest", "junit")
STEPS_MAX = 200


class ImportedFeatures(Value):
    """The result of an import."""

    format: str
    added: list[str]
    known: list[str]
    claimed: list[str]
    """The features that pass according to the file: a claim, not a proof."""
    reported: list[str]
    notes_taken: int
    notes: list[str]
    """What the user should have a look at."""

    def words(self) -> list[str]:
        """The result as lines for the user."""
        if self.format == "progress":
            return [f"{count(self.notes_taken, 'note')} taken"]
        lines = [f"{count(len(self.added), 'feature')} added, {len(self.known)} known already"]
        if self.claimed:
            lines.append(f"{len(self.claimed)} passing according to the file: `segue verify` proves it")
        if self.reported:
            lines.append(
                f"{len(self.reported)} mentioned in the report, which proves nothing: run `segue verify`"
            )
        return lines


class _Import:
    def __init__(self, session: SessionHandle, source: str, format: str) -> None:
        self.features: Features = Features(session)
        self.session = session
        self.source = PurePath(source).name if source != "-" else "standard input"
        self.state = session.state
        self.commands: list[do.Command] = []
        self.taken = {id: key(feature.description) for id, feature in self.state.features.items()}
        """The normalized descriptions of known features, by id."""
        self.found = ImportedFeatures(format, [], [], [], [], 0, [])

    def add(self, row: forms.Listed, checks: tuple[Check, ...], covers: tuple[str, ...] = ()) -> str:
        """Add a feature to the commit unless it exists already. Returns its id."""
        description = clean_text(row.description, what="description").strip()
        same_text = next((id for id, text in self.taken.items() if text == key(description)), "")
        id = row.id if row.id in self.taken else same_text
        if id:
            self.found.known.append(id)
            old = self.state.features.get(id)
            if old is not None and row.steps and row.steps != old.steps:
                self.found.notes.append(
                    f"{id} has different steps in this session, which were left unchanged"
                )
        else:
            id = feature_id(row.id or description, self.taken)
            self.taken[id] = key(description)
            self.found.added.append(id)
            claim = f"passes according to {self.source}" if row.passes else ""
            self.commands.append(
                fc.AddFeature(
                    id, description, row.category, row.steps[:STEPS_MAX], checks, covers, self.source, claim
                )
            )
        if row.passes:
            self.found.claimed.append(id)
        return id

    def done(self) -> ImportedFeatures:
        notes = sum(isinstance(command, do.Note) for command in self.commands)
        if self.commands:
            self.features._apply(*self.commands)
        return replace(self.found, notes_taken=notes)


def import_features(session: SessionHandle, body: bytes, name: str, format: str = "") -> ImportedFeatures:
    """Import a file in one commit. Raises BadImport if its format is unknown or it cannot be parsed."""
    kind = format or forms.recognised(name, body)
    if kind not in FORMATS:
        raise BadImport(
            f"{name} is not in a known format of feature lists", hint="name the format with --format"
        )
    work = _Import(session, name, kind)
    if kind == "feature_list":
        for row in forms.read_feature_list(body):
            work.add(row, tuple(map(as_check, row.checks)))
    elif kind == "pytest":
        for file, names in forms.read_node_ids(body).items():
            work.add(_of_tests(file, names), (_pytest(file),))
    elif kind == "junit":
        _report(work, forms.read_junit(body), canonical.digest(body).hex())
    else:
        bodies = map(ev.read_body, session.log())
        known = {body.text for body in bodies if isinstance(body, ev.Noted)}
        notes = [
            clean_text(text, what="note", mask=session.workspace.repository.mask)
            for text in forms.read_progress(body)
        ]
        work.commands += [do.Note(text) for text in notes if text not in known]
    return work.done()


def _pytest(file: str) -> Check:
    return Check(("python", "-m", "pytest", "-q", file))


def _of_tests(file: str, names: list[str]) -> forms.Listed:
    return forms.Listed(f"the tests in {file} pass", "tests", tuple(names), id=file.removesuffix(".py"))


def _report(work: _Import, cases: list[forms.Case], digest: str) -> None:
    """Attach a report's results to the features whose checks run those tests. Test files that exist but
    belong to no feature become features."""
    groups: dict[str, list[forms.Case]] = {}
    unmatched = 0
    for case in cases:
        file = forms.file_of(case)
        groups.setdefault(file, []).append(case)
    root = work.features.workspace.working_tree.root
    head = work.features.look().head
    for file, own in groups.items():
        ids = [id for id, feature in work.state.features.items() if file and _runs(feature, file)]
        if not ids and file and not file.startswith(("/", "..")) and (root / file).is_file():
            ids = [work.add(_of_tests(file, [case.name for case in own]), (_pytest(file),))]
        if not ids:
            unmatched += len(own)
        failed = [case for case in own if not case.ok]
        first = f"{failed[0].name}: {failed[0].message}" if failed else ""
        passed = sum(case.ok and not case.skipped for case in own)
        for id in ids:
            work.found.reported.append(id)
            work.commands.append(fc.Report(id, work.source, passed, len(failed), first, digest, head))
    if unmatched:
        work.found.notes.append(
            f"{count(unmatched, 'test case')} could not be matched to a feature or to a file here"
        )


def _runs(feature: Feature, file: str) -> bool:
    words = [word.partition("::")[0] for check in feature.checks for word in check.text.split()]
    return file in words


def export_features(session: SessionHandle, format: str) -> bytes:
    """The features in one of ``FORMATS``; "passes" is what is proven now. Raises UsageError."""
    if format not in FORMATS:
        raise UsageError(f"unknown format: {format}", hint="one of " + ", ".join(FORMATS))
    state = session.state
    pairs = [(state.features[verdict.id], verdict) for verdict in Features(session).verdicts(state)]
    if format == "feature_list":
        return forms.write_feature_list(pairs)
    if format == "pytest":
        return forms.write_node_ids(pairs)
    if format == "junit":
        return forms.write_junit(pairs, state.id)
    items = state.items
    todo = [items[index].text for index in (*state.active, *state.next)]
    return forms.write_progress(state.goal, [items[index].text for index in state.done], todo, pairs)
