"""The texts of runs that were sent to a server: of each there is a digest, no transcript."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.runs.model import RunDigest
from ...core.search.index import NewTexts, SearchSource
from ...core.search.kinds import Kind
from ...core.search.texts import SearchText, shortened
from ...stores.base import RunRow
from ..runs.observed import runs_of
from ..runs.sent_runs import digest_in
from ..workspace.workspace import Workspace
from .indexes import sessions_index

BATCH_RUNS = 50


def catch_up_sent_runs(workspace: Workspace) -> None:
    """Index what is new in the digests that a server was sent."""
    if workspace.pause_file.in_force():
        return  # nothing is written
    index, runs = sessions_index(workspace), runs_of(workspace).runs
    known = index.indexed()
    rows = {row.key: row for row in runs.rows()}
    gone = [key for key, one in known.items() if one.source.agent and key not in rows]
    if gone:
        index.drop(gone)
    changed = [key for key, row in rows.items() if key not in known or known[key].version != _version(row)]
    for first in range(0, len(changed), BATCH_RUNS):
        whole = (runs.get(key) for key in changed[first : first + BATCH_RUNS])
        index.put([_new_texts(row) for row in whole if row is not None])


def _version(row: RunRow) -> int:
    return int(row.last * 1_000)


def _new_texts(row: RunRow) -> NewTexts:
    digest = digest_in(row)
    texts = list(texts_of_digest(digest)) if digest is not None else []
    source = SearchSource(row.key, row.agent, row.native, cwd=row.cwd, project=row.project)
    return NewTexts(source, texts, digest.steps if digest is not None else 0, _version(row), row.last, True)


def texts_of_digest(digest: RunDigest) -> Iterator[SearchText]:
    """What a digest has kept of what was said and done."""
    first = [digest.first_prompt] if digest.first_prompt is not None else []
    for message in {one.at: one for one in (*first, *digest.prompts)}.values():
        yield _text(digest, message.at, "prompt", message.text)
    summary = [digest.summary] if digest.summary is not None else []
    for said in (*digest.says, *digest.reports, *digest.recaps, *summary):
        yield _text(digest, said.at, "answer", said.text)
    for said in digest.decided:
        yield _text(digest, said.at, "decision", said.text)
    for command in digest.commands.values():
        yield _text(digest, command.last, "command", command.line, failed=command.ok is False)
    for failure in (*digest.failures.values(), *digest.solved):
        yield _text(digest, failure.at, "output", f"{failure.what}\n{failure.why}", failed=True)


def _text(digest: RunDigest, step: int, kind: Kind, text: str, *, failed: bool = False) -> SearchText:
    return SearchText(step, kind, shortened(text), digest.last, failed)
