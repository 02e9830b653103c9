"""What a run heard that concerns the ledger: messages, lists, choices, reports, the ends of turns, in order.

Sayings are taken from the steps of a transcript while it is read, and wait beside the digest until they are
in the ledger of the run's session. They are numbered from 1 on in each run. A transcript that only grows is
read on; one that is read anew as a whole begins at 1 again, and its messages are known by their text.
"""

from __future__ import annotations

import msgspec


class _Saying(msgspec.Struct, array_like=True, gc=False, tag=True):
    number: int
    """0 if it holds for the moment only, and is said anew each time."""
    at: float
    """In seconds since the epoch; 0 if the agent does not say."""
    step: int


class Message(_Saying, tag="message"):
    """A message of the user, in their own words."""

    text: str
    how: str = ""
    """queued, command or refusal: see ``steps.Prompt``."""
    reply_to: str = ""
    """The agent's last message before it; empty if there is none since the user's last one."""
    interrupts: bool = False
    """Whether the user had stopped the agent."""
    chars: int = 0
    """How long it was, if it is cut here."""


class Reply(_Saying, tag="reply"):
    """The agent's first answer to the last message: its plan in its own words."""

    text: str
    message: int = 0
    """The step of that message."""


class Answer(_Saying, tag="answer"):
    """A question that the agent asked with a tool, and the user's answer."""

    question: str
    answer: str


class Listed(_Saying, tag="listed"):
    """A list that the run works through, as it is now."""

    source: str
    """todo, plan (in the agent's words), document or report."""
    name: str
    """The path of a document, or the name of a sub-agent."""
    items: list[tuple[str, str]]
    """The text of each and its state: pending, active, done or dropped."""
    whole: bool = True
    """Whether items that are not in it are no longer in the list."""


class Chosen(_Saying, tag="chosen"):
    """A sentence in which the agent says what it chose, with the one that says why."""

    text: str


class Attempted(_Saying, tag="attempted"):
    """Something that was tried in vain: what, and what became of it."""

    text: str
    outcome: str = ""


class Checked(_Saying, tag="checked"):
    """Checks whose verdict is new."""

    failing: list[tuple[str, str]]
    """The name of each, and the lines that say why."""
    passing: list[str]


class TurnEnded(_Saying, tag="ended"):
    """The agent ended its turn."""

    text: str
    """Its last message."""
    did: str
    """What it did in that turn that may be what was asked for: files that it edited, commands, commits."""
    calls: int = 0


class Finished(_Saying, tag="finished"):
    """The agent reports points of a list as done, by their numbers."""

    marks: list[str]
    text: str


class TakenBack(_Saying, tag="rewind"):
    """The user went back to before a message, or withdrew one that was queued."""

    step_from: int = 0
    """The step of the first message that no longer counts."""
    text: str = ""
    """That of the message that was queued."""


class Told(_Saying, tag="told"):
    """What a brief said that the run was given. The ledger may know nothing of it: it may come from
    elsewhere."""

    requests: list[str] = []
    rules: list[str] = []
    choices: list[str] = []
    decisions: list[str] = []
    items: list[str] = []
    failing: list[tuple[str, str]] = []


Saying = (
    Message | Reply | Answer | Listed | Chosen | Attempted | Checked | Finished | TurnEnded | TakenBack | Told
)
