"""What a model is used for: refining a brief, summing up, condensing what is pruned, reflecting.

The manifest without a model is in place before a model is asked, and what a model adds replaces it only when
it held: whatever goes wrong, the next run starts from what was observed. Excerpts come from the transcript,
masked while it is read, and nothing else is sent.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.base.values import Value
from ...core.brief.facts import Claim
from ...core.models import prompt
from ...core.models.grounding import ClaimSource, ObservedFacts, gives_orders, observed
from ...core.models.prompt import Excerpts, ModelQuestion
from ...effects.clock import now
from ...effects.redaction.redact import redact, redact_bytes
from ...errors import SegueError
from ..brief.gather import RunsSummary, gather, summary_of_run, summary_of_session
from ..brief.model_claims import StoredClaims, store_claims
from ..resume.prepare import Prepared, prepare
from ..resume.scenes import state_of
from ..runs.observed import runs_of
from ..runs.read_transcript import read
from ..runs.select import find_run, newest_other_run
from . import ask as models
from . import config as ladders
from .ask import Refined, RequestPreview, Telling

if TYPE_CHECKING:
    from ...agents.base import Found
    from ...core.memories.model import Memory
    from ...core.sessions.state import SessionState
    from ..workspace.session_handle import SessionHandle
    from ..workspace.workspace import Workspace


class Refinement(Value):
    """A manifest that a model had a part in, or why it had none."""

    prepared: Prepared
    model: str
    """Empty if none answered."""
    claims: tuple[Claim, ...]
    dropped: dict[str, int]
    """How many claims did not hold, by reason."""
    bytes_sent: int
    input: int
    output: int
    cost: float
    seconds: float
    model_seconds: float
    compression: float
    """The share of the transcript's tokens that the manifest saves."""
    fell_back: str = ""


class RunMaterial(Value):
    """What a model may be given about a run."""

    run: str
    sources: tuple[ClaimSource, ...]
    facts: ObservedFacts
    about: str
    steps: int
    chars: int


def material_of(
    workspace: Workspace,
    state: SessionState | None,
    told: RunsSummary,
    path: Path | None,
    purpose: str = "brief",
) -> RunMaterial:
    """The facts and excerpts of the newest run, as many as fit the smallest window of the ladder."""
    shown = gather(workspace, state, told, memories=(), covers=False)
    room = prompt.room_for(ladders.wanted(workspace).window, purpose)
    about = redact(prompt.facts_of(shown, room // 4))
    excerpts = _excerpts(told, path)
    files = prompt.files_of(shown) if room > 4_000 else []
    chosen = [*excerpts.chosen(room - len(about.encode()) - 60), *files]
    return RunMaterial(
        told.run, tuple(models.masked(chosen)), observed(shown), about, excerpts.steps, shown.chars
    )


def _excerpts(told: RunsSummary, path: Path | None) -> Excerpts:
    """Of the whole transcript; where it cannot be read, of what the digest kept."""
    from ...agents import agent as agent_of

    found = Excerpts()
    if path is not None and told.agent:
        try:
            read(path, agent_of(told.agent), told.run, clean=redact_bytes, also=found.take)
            return found
        except (SegueError, OSError):
            found = Excerpts()
    return prompt.of_digest(told.digests[0]) if told.digests else found


def _path(workspace: Workspace, told: RunsSummary, transcript: Path | None) -> Path | None:
    if transcript is not None or not told.run:
        return transcript
    found: Found
    for found in runs_of(workspace).finder().found(told.agent):
        if found.native == told.run:
            return Path(found.path)
    return None


def sent_for(
    workspace: Workspace, session: str = "", *, transcript: Path | None = None, agent: str = ""
) -> list[RequestPreview]:
    """What ``refine`` would send, rung by rung, to the byte; nothing is sent or written."""
    state, _, question, _ = _asking(workspace, session, transcript, agent)
    return models.requests(workspace, question, session=state.id if state else "")


def _asking(
    workspace: Workspace, session: SessionHandle | str | None, transcript: Path | None, agent: str
) -> tuple[SessionState | None, RunsSummary, ModelQuestion, RunMaterial]:
    state = state_of(workspace, session or None)
    told = summary_of_session(workspace, state, transcript=transcript, agent=agent)
    material = material_of(workspace, state, told, _path(workspace, told, transcript))
    return state, told, models.claims_question(workspace, "brief", material.sources, material.about), material


def refine(
    workspace: Workspace, session: SessionHandle | str | None = None, *, reason: str,
    transcript: Path | None = None,
    agent: str = "", here: bool = False, say: Telling | None = None,
) -> Refinement:  # fmt: skip
    """Prepare without a model, ask one, ground what it says, and prepare again with what held."""
    start = time.monotonic()
    ladders.wanted(workspace)
    options: dict[str, Any] = {"reason": reason, "transcript": transcript, "agent": agent, "here": here}
    done = prepare(workspace, session or None, **options)
    state, told, _, material = _asking(workspace, session, transcript, agent)
    refined = Refined(fell_back="there is no run of an agent to ask about")
    if material.sources:
        refined = models.claims(
            workspace, "brief", material.sources, material.facts, about=material.about,
            session=state.id if state else "", tell=say,
        )  # fmt: skip
    kept = masked(refined.grounded.kept)
    asked = refined.asked
    if kept and told.run and asked is not None:
        store_claims(workspace, StoredClaims(told.run, asked.model, now(), material.steps, kept))
        done = prepare(workspace, session or None, **options)
    saved = 1 - done.tokens / max(1, material.chars // 4) if material.chars else 0.0
    return Refinement(
        done, asked.model if asked else "", kept, refined.grounded.reasons,
        asked.bytes_sent if asked else 0, asked.input if asked else 0, asked.output if asked else 0,
        asked.cost if asked else 0.0, round(time.monotonic() - start, 3),
        round(asked.seconds, 3) if asked else 0.0, round(max(0.0, saved), 4), refined.fell_back,
    )  # fmt: skip


def masked(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims without secrets."""
    return tuple(Claim(one.kind, redact(one.text), one.evidence, one.trust, one.at) for one in claims)


# -- other uses


def summary(workspace: Workspace, session: SessionHandle, *, say: Telling | None = None) -> Refined:
    """What a session decided and learnt, from its journal and its newest run."""
    state = session.state
    told = summary_of_session(workspace, state)
    material = material_of(workspace, state, told, _path(workspace, told, None), "summary")
    declared = [(f"d{n}", "user", f"{one.text}. {one.why}") for n, one in enumerate(state.decisions, 1)]
    declared += [(f"f{n}", "user", one.text) for n, one in enumerate(state.findings, 1)]
    sources = [*models.masked(prompt.texts_as_sources(declared)), *material.sources]
    if not sources:
        return Refined(fell_back="there is nothing to sum up")
    return models.claims(
        workspace, "summary", sources, material.facts, about=material.about,
        session=state.id, tell=say,
    )  # fmt: skip


def summary_text(refined: Refined) -> str:
    """Claims as a text that says where it comes from; empty without claims."""
    told = [f"{one.text.rstrip('.')} [{one.trust}]" for one in masked(refined.grounded.kept)]
    return f"By a model: {'; '.join(told)}." if told else ""


def condensed(
    workspace: Workspace,
    texts: Sequence[tuple[str, str, str]],
    *,
    session: str = "",
    say: Telling | None = None,
) -> Refined:
    """What will still matter of (id, voice, text): notes that are put away, memories that are pruned."""
    room = prompt.room_for(ladders.wanted(workspace).window, "history")
    sources: list[ClaimSource] = []
    for source in models.masked(prompt.texts_as_sources(texts)):
        room -= len(prompt.line_of(source).encode()) + 1
        if room < 0:
            break
        sources.append(source)
    return models.claims(workspace, "history", sources, ObservedFacts(), session=session, tell=say)


def condensed_memories(
    workspace: Workspace, group: Sequence[Memory], *, session: str = "", say: Telling | None = None
) -> str:
    """Lines that a model kept of memories, each with the memory that it rests on; empty without any."""
    voices = {"user": "user", "agent": "agent"}
    texts = [(memory.id, voices.get(memory.trust, "tool"), memory.content) for memory in group]
    kept = masked(condensed(workspace, texts, session=session, say=say).grounded.kept)
    return "\n".join(f"- by a model, of {', '.join(one.evidence)}: {one.text}" for one in kept)


def condensed_notes(workspace: Workspace, notes: Mapping[str, str], *, say: Telling | None = None) -> str:
    """The same of notes by their names, paragraph by paragraph; what talks to its reader is left out."""
    texts = [
        (f"{name}#{number}", "agent", part)
        for name, text in notes.items()
        for number, part in enumerate(_prose(text).split("\n\n"), 1)
        if part.strip() and not gives_orders(part)
    ]
    kept = masked(condensed(workspace, texts, say=say).grounded.kept)
    return "\n".join(f"- {one.text} ({', '.join(one.evidence)})" for one in kept)


def _prose(text: str) -> str:
    """A note without its marks and headings."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(("<!--", "#")))


def reflections(workspace: Workspace, run: str = "", *, say: Telling | None = None) -> tuple[str, Refined]:
    """(run, lessons from what failed in it), from its excerpts."""
    finder = runs_of(workspace).finder()
    found = find_run(finder, run) if run else newest_other_run(finder)
    told = summary_of_run(workspace, finder, found)
    material = material_of(workspace, None, told, Path(found.path), "reflection")
    if not material.sources:
        return found.native, Refined(fell_back="that run says nothing")
    asked = models.claims(
        workspace, "reflection", material.sources, material.facts, about=material.about, tell=say
    )
    return found.native, asked


__all__ = ["Refinement", "condensed", "refine", "reflections", "sent_for", "summary"]
