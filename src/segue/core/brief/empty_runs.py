"""Runs that ended before they changed anything, told together with the run before them.

An agent that is killed at its start, or whose model cannot be reached, leaves a transcript with a prompt at
most, or, told to go on, with a look or two. Where the work stands is then still what the run before says, and
the prompt is the user's last message.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..base.lazy import regex
from ..language.sentences import is_assent
from ..runs.digest import PROMPTS_MAX, last_message, trail
from ..runs.model import RunDigest, SaidText, TrailStep, UserMessage
from .trail_words import is_look

_OURS = regex(r"(?:^|[\s;&|(/])segue\s|^(?:mcp__)?segue(?:_|__|$)|^mcp_+segue_", 0)
"""Matches the commands and the tools of Segue itself, with which a run only looks at what was done before."""
WORDS_CHARS = 300  # an agent that said more than this has answered
LOOKS_MAX = 3
_WORDS = ("prompt", "say", "notice")


def did_nothing(digest: RunDigest) -> bool:
    """Whether a run called nothing but its plan's tool and Segue itself, and gave no answer either. Of one
    that was only told to go on, words are no answer, and if it was cut off a few looks do not count."""
    calls = [step for step in digest.trail if step.id]
    own = [step for step in calls if not _is_preparation(step)]
    if digest.calls > len(calls) or (own and not _is_cut_off_looking(digest, own)):
        return False
    if digest.ended is not None:
        return not digest.says or _was_told_to_go_on(digest)
    return sum(len(said.text) for said in digest.says) <= WORDS_CHARS  # some formats never say that it ended


def _is_cut_off_looking(digest: RunDigest, calls: Sequence[TrailStep]) -> bool:
    is_little = len(calls) <= LOOKS_MAX and all(map(is_look, calls))
    return digest.ended is None and is_little and _was_told_to_go_on(digest)


def _was_told_to_go_on(digest: RunDigest) -> bool:
    return all(is_assent(message.text) for message in digest.prompts)


def _is_preparation(step: TrailStep) -> bool:
    return step.kind == "plan" or bool(_OURS.search(f"{step.command} ") or _OURS.search(step.tool))


def joined_with_empty(digests: Sequence[RunDigest]) -> list[RunDigest]:
    """The digests, newest first, where each run that did nothing is joined with the one before it."""
    kept: list[RunDigest] = []
    for digest in reversed(digests):
        if kept and did_nothing(digest):
            kept[-1] = followed_by(kept[-1], digest)
        else:
            kept.append(digest)
    return kept[::-1]


def followed_by(digest: RunDigest, later: RunDigest) -> RunDigest:
    """A run with what was said in a later one that did nothing."""
    start = digest.steps
    messages = [_shifted(message, start, digest.calls) for message in later.prompts]
    if messages and not messages[0].reply_to:
        messages[0].reply_to = last_message(digest)
    steps = [replace(step, at=start + step.at) for step in later.trail if step.kind in _WORDS]
    has_plan = bool(later.plan)
    ended = SaidText(digest.ended.text, start + later.steps) if digest.ended is not None else None
    says = [SaidText(one.text, start + one.at) for one in later.says]
    return replace(
        digest,
        steps=start + later.steps,
        prompts=[*digest.prompts, *messages][-PROMPTS_MAX:],
        first_prompt=digest.first_prompt or (messages[0] if messages else None),
        plan=later.plan if has_plan else digest.plan,
        planned=start + later.planned if has_plan else digest.planned,
        trail=[*trail(digest), *steps],
        interrupted=_later(later.interrupted, start) or digest.interrupted,
        fault=_later(later.fault, start) or digest.fault,
        says=[*digest.says, *says],
        ended=(_later(later.ended, start) if says else None) if messages else ended,
    )


def _shifted(message: UserMessage, steps: int, calls: int) -> UserMessage:
    return replace(message, at=message.at + steps, calls=message.calls + calls)


def _later(said: SaidText | None, by: int) -> SaidText | None:
    return SaidText(said.text, said.at + by) if said is not None else None
