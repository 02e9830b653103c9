"""Steps: what was observed in a transcript, in a form that does not depend on the agent.

Readers turn an agent's records into steps; no other code knows the agents' formats. Each step is complete in
itself: a result names its call by id, a change of the plan names its item by key, usage names its message.
Therefore a transcript gives the same digest in whatever pieces it is read.
"""

from __future__ import annotations

from typing import Literal

from ..base.values import Value

Act = Literal["read", "edit", "create", "delete", "run", "search", "plan", "agent", "ask", "web", "other"]
Began = Literal["start", "resume", "clear", "fork", "compact"]
Planning = Literal["pending", "active", "done", "dropped"]
Typed = Literal["", "queued", "command", "refusal", "inherited"]


DETACHED = "HEAD"
"""What agents call the branch where git has checked out none."""


class Start(Value, gc=False, tag="start"):
    """A stretch of work begins, or its environment changes. An empty field means that it is unchanged."""

    at: float = 0.0  # seconds since the epoch; 0 if the agent does not say
    how: Began | Literal[""] = ""  # "" if only the environment (cwd, branch) changes
    native: str = ""  # the agent's own id of the conversation
    cwd: str = ""
    branch: str = ""
    head: str = ""  # the commit that is checked out
    version: str = ""  # the version of the agent
    parent: str = ""  # native id of the run that this was forked from, or whose sub-agent it is


class Prompt(Value, gc=False, tag="prompt"):
    """The user's own words, never text from the harness, a hook, a file or a command's output.

    ``how`` is "queued" if they were typed while the agent was at work, "command" for a slash command,
    "refusal" for words with which a call was rejected, "inherited" if they were typed in the conversation
    that this one was forked from. In a sub-agent's run they are its task, in the words of whoever sent it.
    """

    at: float
    text: str
    how: Typed = ""


class Rewind(Value, gc=False, tag="rewind"):
    """The user withdrew the last prompts with everything that followed, or a prompt that was queued."""

    at: float
    prompts: int = 0
    text: str = ""  # the text of a prompt that was queued and never sent


class Given(Value, gc=False, tag="given"):
    """A brief from Segue. These are not the user's words, but the facts in it still hold for the run."""

    at: float
    text: str


class Say(Value, gc=False, tag="say"):
    """What the agent said to the user, without its thinking."""

    at: float
    text: str


class Thought(Value, gc=False, tag="thought"):
    """What the agent thought, where the transcript has it in plain words. Nobody was told it."""

    at: float
    text: str


class Change(Value, gc=False, array_like=True):
    """What a call changes in one file, as far as its arguments say."""

    path: str  # as written in the arguments
    how: Literal["edit", "create", "delete"] = "edit"
    old: str = ""  # the text that is replaced; several replacements are joined by line ends
    new: str = ""  # the text in its place, or the whole new file
    place: str = ""  # the heading of a hunk: the function or class that it stands in
    lines: int = 0  # of a new file of which only a part is kept here, how many lines it has


class Call(Value, gc=False, tag="call"):
    """A call of a tool. It is pending until there is a Result with the same id."""

    at: float
    id: str
    tool: str  # the agent's name for it
    act: Act
    text: str = ""  # the plain text of the arguments' values, one per line
    command: str = ""  # for a shell, the command line
    paths: tuple[str, ...] = ()  # the files that it concerns, as written in the arguments
    note: str = ""  # the agent's description ("Run the tests"); for a question, the question
    changes: tuple[Change, ...] = ()  # of files; empty if it changes none, or the arguments do not say
    process: str = ""  # the id of the background process that it asks for output, sends input to, or stops


class Result(Value, gc=False, tag="result"):
    """The result of a call."""

    at: float
    id: str
    ok: bool | None = None  # None if the agent does not say
    exit: int | None = None
    text: str = ""  # without the harness's header lines
    paths: tuple[str, ...] = ()  # files that the call did not name
    process: str = ""  # the id of a process or agent that the call started and that goes on without it
    place: str = ""  # of an edit, the line that defines what was changed
    overwrote: bool = False  # whether a file that the call wrote was there before


class Settled(Value, gc=False, tag="settled"):
    """A process or agent in the background has ended, or was stopped."""

    at: float
    process: str
    ok: bool | None = None
    text: str = ""  # the agent's notice, or the last output


class PlanItem(Value, gc=False, array_like=True):
    """An item of the agent's own plan."""

    text: str
    state: Planning | Literal[""] = "pending"  # "" in a change that does not concern the state
    key: str = ""  # the agent's id for it; without one, the text identifies it


class Plan(Value, gc=False, tag="plan"):
    """The agent's plan, or only the items that changed, which are matched by their key or their text."""

    at: float
    items: tuple[PlanItem, ...]
    whole: bool = True


class Usage(Value, gc=False, tag="usage"):
    """The token usage of one model response. A step with the same key is about the same response; where it
    says more than the one before, the higher numbers count.

    Every token that is paid for is in one of ``input``, ``cache_read``, ``cache_write`` and ``output``, as
    far as the agent says it."""

    at: float
    key: str
    context: int = 0  # all tokens in the context window at that time, including cached ones
    output: int = 0  # with what the model thought
    window: int = 0  # the size of the window; 0 if unknown
    cost: float = 0.0  # in US dollars, if the agent says so
    input: int = 0  # tokens that were sent and neither read from a cache nor written to one
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0  # those of ``cache_write`` that the cache keeps for an hour
    model: str = ""  # the model that answered, if it is not the one of the last ``Model``


class Compact(Value, gc=False, tag="compact"):
    """The agent compacted its context window. The transcript still has what came before."""

    at: float
    summary: str = ""
    trigger: str = ""  # auto or manual
    tokens: int = 0  # the size before


class Recap(Value, gc=False, tag="recap"):
    """A summary that the agent wrote for the user."""

    at: float
    text: str


class Report(Value, gc=False, tag="report"):
    """The report of a sub-agent."""

    at: float
    text: str
    name: str = ""
    call: str = ""  # the id of the call that started it, if known


class Interrupt(Value, gc=False, tag="interrupt"):
    """The user or a signal stopped the agent, or the user rejected a call."""

    at: float
    reason: str = ""  # for a rejected call, the user's words as the agent received them
    call: str = ""  # the id of the rejected call, which has no result yet


class Fault(Value, gc=False, tag="fault"):
    """The model could not be reached, or refused the request."""

    at: float
    text: str
    status: int = 0
    retrying: bool = False


class Model(Value, gc=False, tag="model"):
    """The model that answers from now on."""

    at: float
    name: str


class Title(Value, gc=False, tag="title"):
    """A name that the agent or the user gave to the conversation."""

    at: float
    text: str


class End(Value, gc=False, tag="end"):
    """The end of a turn or of the conversation; ``how`` is turn, exit, error or aborted."""

    at: float
    how: str = "turn"
    text: str = ""


Step = (
    Start
    | Prompt
    | Rewind
    | Given
    | Say
    | Thought
    | Call
    | Result
    | Settled
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
