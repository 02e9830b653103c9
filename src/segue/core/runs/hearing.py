"""What a run heard for the ledger, taken from its steps while they are read.

``hear`` is called with each step after the digest has taken it. What it finds waits in ``Hearing`` until it
is in the ledger of a session. Lists are told as they are at last: of several updates between two messages
only the last one waits. ``heard_now`` adds what holds only for the moment: how checks stand, and that a
turn is over though nothing came after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from ..base.lazy import regex
from ..language.attempts import attempts_in
from ..language.choices import choices_in
from ..language.points import findings_in, finished_marks
from ..language.sentences import answer_pairs, bounded, clip, clip_start
from ..ledger.model import ANSWERS_CHARS, REPLY_CHARS, TEXT_CHARS
from ..ledger.sayings import (
    Answer,
    Attempted,
    Checked,
    Chosen,
    Finished,
    Listed,
    Message,
    Reply,
    Saying,
    TakenBack,
    Told,
    TurnEnded,
)
from .brief_text import read_brief, split_brief, users_part
from .model import RunDigest
from .steps import EDITS, Call, End, Given, Interrupt, Plan, Prompt, Report, Result, Rewind, Say, Step
from .tree import still_failing

WAITING_MAX, MESSAGES_MAX = 4_000, 64
PLAN_CHARS_MIN = 160
"""A first answer that is shorter and has no list only announces the next call."""
DID_MAX, DID_CHARS = 80, 160
ITEMS_MAX, ITEM_CHARS = 120, 300
FAILING_MAX = 4
_LISTS = regex(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+\S", re.M)


class Hearing(msgspec.Struct, omit_defaults=True):
    """The sayings of a run that wait for the ledger, and where its present turn stands."""

    count: int = 0
    """How many sayings there were in all."""
    waiting: list[Saying] = []
    messages: list[int] = []
    """The steps of the user's last messages."""
    has_reply: bool = False
    """Whether the agent's first answer to it is known."""
    is_over: bool = False
    """Whether the turn was told to be over."""
    interrupted: bool = False
    """Whether the user stopped the agent since."""
    said: str = ""
    """The agent's last message since."""
    did: list[str] = []
    """What the agent did since."""
    calls: int = 0
    at: float = 0.0


def hearing_behind_gap(before: Hearing) -> Hearing:
    """What waits for the ledger with which the end of a transcript begins whose middle there was no time for:
    its turn is another one."""
    return Hearing(count=before.count, waiting=before.waiting, messages=before.messages, has_reply=True)


def hear(hearing: Hearing, digest: RunDigest, step: Step) -> None:
    """Take a step that the digest has just taken."""
    handler = _HANDLERS.get(type(step))
    if handler is not None:
        hearing.at = step.at or hearing.at
        handler(hearing, digest, step)


def heard_now(hearing: Hearing, digest: RunDigest) -> list[Saying]:
    """All that waits, and what can be said only of this moment."""
    now = list(hearing.waiting)
    if not hearing.is_over and hearing.said and _is_turn_over(digest):
        now.append(_turn(hearing, digest, 0))
    failing = [(name, "\n".join(run.lines)) for name, run in still_failing(digest.tree) if run.lines]
    passing = [name for name, run in digest.tree.checks.items() if run.outcome == "ok"]
    if failing or passing:
        now.append(Checked(0, hearing.at, digest.steps, failing[:FAILING_MAX], passing))
    return now


def _is_turn_over(digest: RunDigest) -> bool:
    return bool(digest.trail) and digest.trail[-1].kind == "say" and not digest.pending


def _add(hearing: Hearing, digest: RunDigest, kind: Callable[..., Saying], *values: Any) -> None:
    hearing.count += 1
    hearing.waiting.append(kind(hearing.count, hearing.at, digest.steps, *values))
    if len(hearing.waiting) > WAITING_MAX:
        del hearing.waiting[0]


# -- one function for each kind of step


def _prompt(hearing: Hearing, digest: RunDigest, step: Prompt) -> None:
    brief, text = split_brief(step.text.replace("\r\n", "\n").strip())
    if brief:
        _tell(hearing, digest, brief)
    text = users_part(text).strip()
    if not text or (step.how == "inherited" and digest.is_sub_agent):
        return  # what was asked of the agent that sent this one is not for it to do
    if step.how == "queued":
        reply_to = ""
    else:
        _end_turn(hearing, digest)
        reply_to = clip_start(hearing.said, ANSWERS_CHARS * 2)
    kept = bounded(text, TEXT_CHARS)
    chars = len(text) if len(kept) < len(text) else 0
    how = step.how if step.how != "inherited" else ""
    _add(hearing, digest, Message, kept, how, reply_to, hearing.interrupted, chars)
    hearing.messages = [*hearing.messages, digest.steps][-MESSAGES_MAX:]
    if step.how != "queued":
        hearing.has_reply, hearing.is_over = False, False
        hearing.said, hearing.did, hearing.calls, hearing.interrupted = "", [], 0, False


def _end_turn(hearing: Hearing, digest: RunDigest) -> None:
    if hearing.messages and not hearing.is_over and (hearing.said or hearing.calls):
        hearing.is_over = True
        hearing.count += 1
        hearing.waiting.append(_turn(hearing, digest, hearing.count))


def _turn(hearing: Hearing, digest: RunDigest, number: int) -> TurnEnded:
    text = clip_start(hearing.said, REPLY_CHARS) if not hearing.interrupted else ""
    return TurnEnded(number, hearing.at, digest.steps, text, "\n".join(hearing.did), hearing.calls)


def _given(hearing: Hearing, digest: RunDigest, step: Given) -> None:
    if brief := split_brief(step.text)[0]:
        _tell(hearing, digest, brief)


def _tell(hearing: Hearing, digest: RunDigest, brief: str) -> None:
    told = read_brief(brief)
    if told:
        _add(
            hearing, digest, Told, list(told.requests), list(told.rules), list(told.choices),
            list(told.decisions), list(told.items), list(told.failing),
        )  # fmt: skip


def _say(hearing: Hearing, digest: RunDigest, step: Say) -> None:
    text = step.text.strip()
    if not text:
        return
    hearing.said, hearing.is_over = text, False
    if hearing.messages and not hearing.has_reply and _tells_a_plan(text):
        hearing.has_reply = True
        _add(hearing, digest, Reply, clip(text, REPLY_CHARS), hearing.messages[-1])
    for choice in choices_in(text):
        _add(hearing, digest, Chosen, choice)
    for attempt in attempts_in(text):
        _add(hearing, digest, Attempted, attempt)
    for marks, sentence in finished_marks(text):
        _add(hearing, digest, Finished, marks, clip(sentence, ITEM_CHARS))
    _take_written(hearing, digest)


def _tells_a_plan(text: str) -> bool:
    return len(text) >= PLAN_CHARS_MIN or len(_LISTS.findall(text)) >= 2


def _take_written(hearing: Hearing, digest: RunDigest) -> None:
    """The plan that was only written as text, if this step has changed it."""
    if digest.sketched != digest.steps:
        return
    rows = [*((one, "done") for one in digest.sketch_done), *((one, "pending") for one in digest.sketch)]
    source, name = ("document", digest.sketched_in) if digest.sketched_in else ("plan", "")
    _list(hearing, digest, source, name, rows)


def _list(
    hearing: Hearing, digest: RunDigest, source: str, name: str, rows: list[tuple[str, str]],
    *, whole: bool = True,
) -> None:  # fmt: skip
    """Let a list wait, in the place of an earlier state of it since the last message. Another report has
    other findings."""
    rows = [(clip(text, ITEM_CHARS) or text[:ITEM_CHARS], state) for text, state in rows[:ITEMS_MAX] if text]
    waiting = hearing.waiting
    for at in range(len(waiting) - 1, -1, -1):
        earlier = waiting[at]
        if isinstance(earlier, Message):
            break
        if isinstance(earlier, Listed) and (earlier.source, earlier.name) == (source, name):
            if source != "report" and (whole or source == "todo"):
                del waiting[at]
            break
    _add(hearing, digest, Listed, source, name, rows, whole)


def _plan(hearing: Hearing, digest: RunDigest, step: Plan) -> None:
    """The todo list as the digest has it, which knows the texts of items that a change names by their key,
    and those that were finished and cleared away."""
    rows = [(row[0], row[1]) for row in digest.plan]
    listed = {text for text, _ in rows}
    rows += [(text, "done") for text in digest.settled if text not in listed]
    _list(hearing, digest, "todo", "", rows)


def _call(hearing: Hearing, digest: RunDigest, step: Call) -> None:
    hearing.calls += 1
    hearing.is_over = False
    did = ""
    if step.act in EDITS or step.changes:
        did = " ".join(step.paths or tuple(change.path for change in step.changes))
    elif step.command:
        did = step.command
    if did and len(hearing.did) < DID_MAX:
        hearing.did.append(did[:DID_CHARS])


def _result(hearing: Hearing, digest: RunDigest, step: Result) -> None:
    if digest.decided and digest.decided[-1].at == digest.steps:
        asked = next((call.note for call in reversed(digest.trail) if call.id == step.id), "")
        for question, answer in answer_pairs(asked, step.text):
            _add(hearing, digest, Answer, clip(question, ANSWERS_CHARS), clip(answer, TEXT_CHARS))
    if digest.reports and digest.reports[-1].at == digest.steps:
        _take_report(hearing, digest, step.text)
    _take_written(hearing, digest)


def _report(hearing: Hearing, digest: RunDigest, step: Report) -> None:
    _take_report(hearing, digest, step.text, step.name)


def _take_report(hearing: Hearing, digest: RunDigest, text: str, name: str = "") -> None:
    if findings := findings_in(text):
        _list(hearing, digest, "report", name, [(one, "pending") for one in findings])


def _rewind(hearing: Hearing, digest: RunDigest, step: Rewind) -> None:
    """What still waits of the messages that were withdrawn is not told at all."""
    text = step.text.strip()
    if text:
        hearing.waiting = [one for one in hearing.waiting if not isinstance(one, Message) or one.text != text]
        _add(hearing, digest, TakenBack, 0, text)
    elif step.prompts > 0 and hearing.messages:
        kept = hearing.messages[: -step.prompts]
        start = hearing.messages[len(kept)]
        hearing.waiting = [one for one in hearing.waiting if one.step < start or isinstance(one, TakenBack)]
        hearing.messages = kept
        _add(hearing, digest, TakenBack, start)


def _interrupt(hearing: Hearing, digest: RunDigest, step: Interrupt) -> None:
    hearing.interrupted = hearing.interrupted or not step.call


def _end(hearing: Hearing, digest: RunDigest, step: End) -> None:
    if step.how in ("turn", "exit", "complete"):
        _end_turn(hearing, digest)


_HANDLERS: dict[type, Callable[[Hearing, RunDigest, Any], None]] = {
    Prompt: _prompt,
    Given: _given,
    Say: _say,
    Plan: _plan,
    Call: _call,
    Result: _result,
    Report: _report,
    Rewind: _rewind,
    Interrupt: _interrupt,
    End: _end,
}
