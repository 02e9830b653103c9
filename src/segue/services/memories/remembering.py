"""Memories of a place: who asks and from where, what a session learnt, what a run learnt the hard way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.memories.model import Memory
from ...stores.base import Memories, MemoryChange
from .reader import current_session, reader_of
from .service import MemoryService, Remembered

if TYPE_CHECKING:
    from ...api.segue import Segue
    from ...core.brief.facts import Claim
    from ...core.runs.digest import Failure, RunDigest
    from ...effects.vectors.embedder import Embedder

SOLVED_FILES_MAX = 6
WHY_CHARS = 600


class PlaceMemories(MemoryService):
    """The memories of a Segue."""

    def learnt(self, session: str, texts: Sequence[str]) -> MemoryChange:
        """What a session learnt, for the commit in which it says so."""
        drafts = [
            self.draft(text, type="learnt", session=session, source=f"learnt in session {session}")
            for text in texts
        ]
        trail = [self.trace(memory, "add", memory.provenance.source) for memory in drafts]
        return MemoryChange(adds=self.kept(drafts), trail=trail)


def memories_of(segue: Segue, embedder: Embedder | None = None) -> PlaceMemories:
    """The memories that a Segue works with; of this process alone if its store keeps none."""
    kept: Memories | None = getattr(segue.journal, "memories", None)
    if kept is None:
        from ...stores.memory.memories import VolatileMemories

        kept = VolatileMemories()
    settings = segue.settings

    def choose() -> Embedder:
        from ...effects.vectors.embedder import choose

        return embedder or choose(
            settings.text("embedder"), url=settings.text("embedder_url"),
            model=settings.text("embedder_model"), key=settings.text("embedder_key"),
        )  # fmt: skip

    def who() -> str:
        from ..features.features import declarer

        return declarer(segue.book.actor, segue.environment)

    return PlaceMemories(
        kept, reader=lambda: reader_of(segue), embedder=choose, mask=segue.book.mask, brake=segue.brake,
        run=segue.book.run, session=lambda: current_session(segue), who=who,
    )  # fmt: skip


def from_run(segue: Segue, id: str = "", *, scope: str = "project") -> list[tuple[Memory | None, Remembered]]:
    """Reflections from what failed in a run and then went well; the newest run if none is named."""
    from ...agents import agent as agent_of
    from ..brief.brief import masked
    from ..runs.read_transcript import final

    capture = segue.observed.capture()
    found = capture.find_run(id) if id else capture.newest()
    digest = masked(final(capture.reading(found), agent_of(found.agent)))
    wishes = [_wish(digest, failure, found.native, scope) for failure in digest.solved]
    if not wishes:
        return []
    kept = segue.memories.remember_many(wishes)
    there = {m.id: m for m in segue.memories.store.get([k.id for k in kept], segue.memories.reader())}
    return [(there.get(one.id), one) for one in kept]


def from_claims(
    segue: Segue, run: str, model: str, claims: Sequence[Claim], *, scope: str = "project"
) -> list[tuple[Memory | None, Remembered]]:
    """Reflections that a model found in a run and that its transcript bears out, as trusted as that."""
    wishes = [
        {
            "content": one.text, "type": "reflection", "scope": scope, "trust": "transcript", "run": run,
            "source": f"a model ({model}) about run {run}",
            "metadata": {"by": model, "kind": one.kind, "evidence": list(one.evidence), "voice": one.trust},
        }
        for one in claims
    ]  # fmt: skip
    if not wishes:
        return []
    kept = segue.memories.remember_many(wishes)
    there = {m.id: m for m in segue.memories.store.get([k.id for k in kept], segue.memories.reader())}
    return [(there.get(one.id), one) for one in kept]


def _wish(digest: RunDigest, failure: Failure, run: str, scope: str) -> dict[str, Any]:
    why = " ".join(failure.why.split())[:WHY_CHARS]
    between = [
        path for path, use in digest.files.items() if use.edits and failure.at <= use.edited <= failure.solved
    ][-SOLVED_FILES_MAX:]
    times = f" {failure.count} times" if failure.count > 1 else ""
    after = f" It went well after a change of {', '.join(between)}." if between else " It went well later."
    return {
        "content": f"`{failure.what}` failed{times}: {why or 'no reason was given'}.{after}",
        "type": "reflection", "scope": scope, "trust": "transcript", "run": run,
        "error_pattern": why[:200], "correct_approach": f"change {', '.join(between)}" if between else "",
        "file": between[-1] if between else "", "source": f"a run of {digest.native or run}",
        "metadata": {"command": failure.what, "files": between},
    }  # fmt: skip
