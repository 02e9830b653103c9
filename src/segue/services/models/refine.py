"""The uses of a model: refining a brief, summarising a session, condensing what is pruned, and reflecting.

The manifest without a model is written before a model is asked, and is replaced only if the model's claims
hold: if anything goes wrong, the next run starts from what was observed. Excerpts come from the transcript,
masked while it is read, and nothing else is sent.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.base.values import Value
from ...core.brief.facts import Claim
from ...core.models import prompt
from ...core.models.grounding import ClaimSource, ObservedFacts, gives_orders, observed
from ...core.models.prompt import Excerpts, ModelQuestion
from ...core.sessions.state import SessionState
from ...effects.clock import now
from ...effects.redaction.redact import redact, redact_bytes
from ...errors import SegueError
from ..brief.gather import gather, summary_of_run, summary_of_session, world_now
from ..brief.model_claims import StoredClaims, store_claims
from ..brief.runs_summary import RunsSummary
from ..resume.prepare import Prepared, prepare
from ..resume.scenes import state_of
from ..runs.observed import runs_of
from ..runs.read_transcript import read
from ..runs.select import find_run, newest_other_run
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import ask as models
from .ask import Announce, Refined, RequestPreview
from .config import load_required
from .triggers import TRIGGERS

if TYPE_CHECKING:
    from ...core.memories.model import Memory


class Refinement(Value):
    """A manifest to which a model contributed, or why none did."""

    prepared: Prepared
    model: str
    """The model that answered; empty if none did."""
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
    """The share of the transcript's tokens that reading the manifest instead saves."""
    fell_back: str = ""


class RunMaterial(Value):
    """What a model may be sent about a run."""

    run: str
    sources: tuple[ClaimSource, ...]
    facts: ObservedFacts
    about: str
    steps: int
    chars: int


def material_of(
    workspace: Workspace, state: SessionState | None, runs: RunsSummary, path: Path | None, purpose: str
) -> RunMaterial:
    """The facts and excerpts of the newest run, as many as fit the smallest window of the models."""
    known = gather(workspace, state, runs, world=world_now(workspace, runs), memories=(), covers=False)
    room = prompt.room_for(load_required(workspace).window, purpose)
    about = redact(prompt.facts_of(known, room // 4))
    excerpts = _excerpts(runs, path)
    files = prompt.files_of(known) if room > 4_000 else []
    chosen = [*excerpts.chosen(room - len(about.encode()) - 60), *files]
    sources = tuple(models.masked(chosen))
    return RunMaterial(runs.run, sources, observed(known), about, excerpts.steps, known.chars)


def _excerpts(runs: RunsSummary, path: Path | None) -> Excerpts:
    """Excerpts of the whole transcript or, if that cannot be read, of its digest."""
    excerpts = Excerpts()
    if path is not None and runs.agent:
        try:
            read(path, agent_of(runs.agent), runs.run, clean=redact_bytes, also=excerpts.take)
            return excerpts
        except (SegueError, OSError):
            excerpts = Excerpts()
    return prompt.of_digest(runs.digests[0]) if runs.digests else excerpts


def _path(workspace: Workspace, runs: RunsSummary, transcript: Path | None) -> Path | None:
    if transcript is not None or not runs.run:
        return transcript
    found: Found
    for found in runs_of(workspace).finder().found(runs.agent):
        if found.native == runs.run:
            return Path(found.path)
    return None


def sent_for(
    workspace: Workspace, session: str = "", *, transcript: Path | None = None, agent: str = "", run: str = ""
) -> list[RequestPreview]:
    """What ``refine`` would send to each model. Nothing is sent or written."""
    state, _, question, _ = _prepared_question(workspace, session, transcript, agent, run)
    return models.requests(workspace, question, session=state.id if state else "")


def _prepared_question(
    workspace: Workspace,
    session: SessionHandle | str | None,
    transcript: Path | None,
    agent: str,
    run: str,
) -> tuple[SessionState | None, RunsSummary, ModelQuestion, RunMaterial]:
    state = state_of(workspace, session or None)
    runs = summary_of_session(workspace, state, transcript=transcript, agent=agent, run=run)
    material = material_of(workspace, state, runs, _path(workspace, runs, transcript), "brief")
    return state, runs, models.claims_question(workspace, "brief", material.sources, material.about), material


def refine(
    workspace: Workspace, session: SessionHandle | str | None = None, *, reason: str,
    transcript: Path | None = None, agent: str = "", run: str = "", here: bool = False,
    say: Announce | None = None, within_seconds: float = math.inf,
) -> Refinement:  # fmt: skip
    """Prepare, ask a model, and prepare again with those of its claims that hold. What another process
    prepared meanwhile is left, but for the claims. Raises NoModel."""
    start = time.monotonic()
    load_required(workspace)
    options: dict[str, Any] = {
        "reason": reason,
        "transcript": transcript,
        "agent": agent,
        "run": run,
        "here": here,
    }
    done = prepare(workspace, session or None, **options)
    written = _stamp(done.path)
    state, runs, _, material = _prepared_question(workspace, session, transcript, agent, run)
    refined = Refined(fell_back="there is no run to ask about")
    if material.sources:
        refined = models.claims(
            workspace, "brief", material.sources, material.facts, about=material.about,
            session=state.id if state else "", say=say, deadline=start + within_seconds,
            trigger=reason if reason in TRIGGERS else "",
        )  # fmt: skip
    claims = masked(refined.grounded.kept)
    asked = refined.asked
    if claims and runs.run and asked is not None:
        store_claims(workspace, StoredClaims(runs.run, asked.model, now(), material.steps, claims))
        newer = {"reason": reason, "here": here} if _stamp(done.path) != written else options
        done = prepare(workspace, session or None, **newer)
    saved = 1 - done.tokens / max(1, material.chars // 4) if material.chars else 0.0
    return Refinement(
        done, asked.model if asked else "", claims, refined.grounded.reasons,
        asked.bytes_sent if asked else 0, asked.input if asked else 0, asked.output if asked else 0,
        asked.cost if asked else 0.0, round(time.monotonic() - start, 3),
        round(asked.seconds, 3) if asked else 0.0, round(max(0.0, saved), 4), refined.fell_back,
    )  # fmt: skip


def _stamp(path: str) -> tuple[int, int]:
    """Which writing of a file it is that lies there."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def masked(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims without secrets."""
    return tuple(replace(claim, text=redact(claim.text)) for claim in claims)


def summary(workspace: Workspace, session: SessionHandle, *, say: Announce | None = None) -> Refined:
    """Ask a model what a session decided and learnt, from its journal and its newest run."""
    state = session.state
    runs = summary_of_session(workspace, state)
    material = material_of(workspace, state, runs, _path(workspace, runs, None), "summary")
    declared = [(f"d{n}", "user", f"{made.text}. {made.why}") for n, made in enumerate(state.decisions, 1)]
    declared += [(f"f{n}", "user", finding.text) for n, finding in enumerate(state.findings, 1)]
    sources = [*models.masked(prompt.texts_as_sources(declared)), *material.sources]
    if not sources:
        return Refined(fell_back="there is nothing to summarise")
    return models.claims(
        workspace, "summary", sources, material.facts, about=material.about,
        session=state.id, say=say,
    )  # fmt: skip


def summary_text(refined: Refined) -> str:
    """Claims as one text that says that a model made it; empty without claims."""
    claims = [f"{claim.text.rstrip('.')} [{claim.trust}]" for claim in masked(refined.grounded.kept)]
    return f"By a model: {'; '.join(claims)}." if claims else ""


def condensed(
    workspace: Workspace, texts: Sequence[tuple[str, str, str]], session: str, say: Announce | None
) -> Refined:
    """Ask a model what will still matter of texts that are put away; each is an id, a voice and a text."""
    room = prompt.room_for(load_required(workspace).window, "history")
    sources: list[ClaimSource] = []
    for source in models.masked(prompt.texts_as_sources(texts)):
        room -= len(prompt.line_of(source).encode()) + 1
        if room < 0:
            break
        sources.append(source)
    return models.claims(workspace, "history", sources, ObservedFacts(), session=session, say=say)


def condensed_memories(
    workspace: Workspace, group: Sequence[Memory], *, session: str = "", say: Announce | None = None
) -> str:
    """What a model condensed memories to, a line for each claim with the memories that support it."""
    voices = {"user": "user", "agent": "agent"}
    texts = [(memory.id, voices.get(memory.trust, "tool"), memory.content) for memory in group]
    claims = masked(condensed(workspace, texts, session, say).grounded.kept)
    return "\n".join(f"- by a model, of {', '.join(claim.evidence)}: {claim.text}" for claim in claims)


def condensed_notes(workspace: Workspace, notes: Mapping[str, str], *, say: Announce | None = None) -> str:
    """The same for notes by name, without paragraphs that instruct their reader."""
    texts = [
        (f"{name}#{number}", "agent", part)
        for name, text in notes.items()
        for number, part in enumerate(_prose(text).split("\n\n"), 1)
        if part.strip() and not gives_orders(part)
    ]
    claims = masked(condensed(workspace, texts, "", say).grounded.kept)
    return "\n".join(f"- {claim.text} ({', '.join(claim.evidence)})" for claim in claims)


def _prose(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith(("<!--", "#")))


def reflections(workspace: Workspace, run: str = "", *, say: Announce | None = None) -> tuple[str, Refined]:
    """A run's id, by default of the newest, and lessons that a model draws from its failures."""
    finder = runs_of(workspace).finder()
    found = find_run(finder, run) if run else newest_other_run(finder)
    runs = summary_of_run(workspace, finder, found)
    material = material_of(workspace, None, runs, Path(found.path), "reflection")
    if not material.sources:
        return found.native, Refined(fell_back="there is nothing to quote from that run")
    sources, facts = material.sources, material.facts
    refined = models.claims(workspace, "reflection", sources, facts, about=material.about, say=say)
    return found.native, refined
