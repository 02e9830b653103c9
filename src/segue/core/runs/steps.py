"""What was observed in a transcript, in our own agent-neutral form.

A reader turns an agent's records into these; nothing behind the readers knows any agent's format.
Each step says one thing and is complete in itself: a result names its call by id, a plan update by
key, usage by the message that it belongs to. So a transcript read in any pieces gives the same digest.
"""

from __future__ import annotations

from typing import Literal

from ..base.values import Value

Act = Literal["read", "edit", "create", "delete", "run", "search", "plan", "agent", "ask", "web", "other"]
Began = Literal["start", "resume", "clear", "fork", "compact"]
Planning = Literal["pending", "active", "done", "dropped"]


class Start(Value, gc=False, tag="start"):
    """A stretch of work begins, or its surroundings change: empty fields mean "as before"."""

    at: float = 0.0  # seconds since the epoch; 0 where the agent did not say
    how: Began | Literal[""] = ""  # "" is a change of surroundings (cwd, branch) within the stretch
    native: str = ""  # the agent's own id of the conversation
    cwd: str = ""
    branch: str = ""
    head: str = ""  # commit
    version: str = ""  # of the agent
    parent: str = ""  # native id of what this was forked from, or of the run whose sub-agent it is


class Prompt(Value, gc=False, tag="prompt"):
    """The user's own words. Never text of the harness, of a hook, a file or a command's output."""

    at: float
    text: str


class Rewind(Value, gc=False, tag="rewind"):
    """The user took words back: the last so many prompts with all that followed, or a queued one."""

    at: float
    prompts: int = 0
    text: str = ""  # of a prompt that was queued and never sent


class Given(Value, gc=False, tag="given"):
    """A brief of ours that the run was given: not the user's words, but what it was told holds on."""

    at: float
    text: str


class Say(Value, gc=False, tag="say"):
    """What the agent said. Thinking is not said."""

    at: float
    text: str


class Call(Value, gc=False, tag="call"):
    """A tool was called. It is pending until a Result with the same id."""

    at: float
    id: str
    tool: str  # as the agent names it
    act: Act
    text: str = ""  # the plain text inside the arguments, values only, newline between
    command: str = ""  # of a shell, as the shell gets it
    paths: tuple[str, ...] = ()  # files that it is about, as written there
    note: str = ""  # the agent's own words for it ("Run the tests"); of a question, the question


class Result(Value, gc=False, tag="result"):
    """What a call gave."""

    at: float
    id: str
    ok: bool | None = None  # None: not said
    exit: int | None = None
    text: str = ""  # without the harness's header lines
    paths: tuple[str, ...] = ()  # files known only now


class PlanItem(Value, gc=False, array_like=True):
    """A line of the agent's own plan."""

    text: str
    state: Planning | Literal[""] = "pending"  # "" in a change that leaves it as it is
    key: str = ""  # identity where the agent has one; else the text is


class Plan(Value, gc=False, tag="plan"):
    """The agent's plan: whole, or the items that changed (same key, or same text)."""

    at: float
    items: tuple[PlanItem, ...]
    whole: bool = True


class Usage(Value, gc=False, tag="usage"):
    """Tokens of one model response. The same key again is the same response."""

    at: float
    key: str
    context: int = 0  # all tokens in the window at that moment, cached ones too
    output: int = 0
    window: int = 0  # size of the window; 0 where unknown
    cost: float = 0.0  # dollars, where the agent says so


class Compact(Value, gc=False, tag="compact"):
    """The agent compacted its window; what stood before stays in the transcript."""

    at: float
    summary: str = ""
    trigger: str = ""  # auto or manual
    tokens: int = 0  # before


class Recap(Value, gc=False, tag="recap"):
    """A summary that the agent wrote for the user, not for itself."""

    at: float
    text: str


class Report(Value, gc=False, tag="report"):
    """What a sub-agent handed back."""

    at: float
    text: str
    name: str = ""
    call: str = ""  # id of the call that sent it, where known


class Interrupt(Value, gc=False, tag="interrupt"):
    """The user, or a signal, stopped the agent, or refused a call."""

    at: float
    reason: str = ""  # of a refusal, what the agent was told that the user said
    call: str = ""  # id of the call that was refused; it has no result yet


class Fault(Value, gc=False, tag="fault"):
    """The model could not be reached or refused."""

    at: float
    text: str
    status: int = 0
    retrying: bool = False


class Model(Value, gc=False, tag="model"):
    """The model that answers from here on."""

    at: float
    name: str


class Title(Value, gc=False, tag="title"):
    """A name that the agent or the user gave to the conversation."""

    at: float
    text: str


class End(Value, gc=False, tag="end"):
    """A turn or the conversation ended in order; ``how`` in a word: turn, exit, error, aborted."""

    at: float
    how: str = "turn"
    text: str = ""


Step = (
    Start
    | Prompt
    | Rewind
    | Given
    | Say
    | Call
    | Result
    | Plan
    | Usage
    | Compact
    | Recap
    | Report
    | Interrupt
    | Fault
    | Model
    | Title
    | End
)

EDITS: frozenset[Act] = frozenset({"edit", "create", "delete"})
