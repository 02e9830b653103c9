"""Every error that Segue raises, in one tree.

A branch exists because a caller would catch it; everything else is a message. Each class
carries a stable ``code``, the exit status of the CLI, the HTTP status of the server and
whether trying again can help. ``hint`` names a safe next step: agents copy commands out of
error texts, so no hint ever holds a destructive one.

    SegueError
    ├─ UsageError            64 / 400   the call itself is wrong
    │  ├─ UnknownSession        404
    │  ├─ UnknownCheckpoint     404
    │  ├─ UnknownAgent          404
    │  ├─ UnknownRun            404
    │  ├─ UnknownFeature        404
    │  ├─ UnknownMemory         404
    │  ├─ UnknownEntry          404    (entry, candidates): of the ledger, or several begin so
    │  ├─ UnknownHandoff        404
    │  ├─ UnknownKey            404
    │  ├─ Misdirected           421    a request that names another host
    │  ├─ KeyReused             422    an idempotency key that was used for another request
    │  ├─ BudgetTooSmall
    │  ├─ BadValue                     of the wrong kind or size; a ValueError and a TypeError too
    │  ├─ BadName                      an id or a name that is not valid
    │  ├─ TextTooLong
    │  ├─ BadSettings
    │  ├─ NoModel                      none is set, or models are off
    │  └─ BadImport                    a file that does not contain a session
    ├─ RefusedError          65 / 409   understood, but not allowed now
    │  ├─ SessionOver                  completed or abandoned
    │  ├─ MisspeltItem                 (item, candidates): not in the plan, but something similar is
    │  ├─ NothingToUndo
    │  ├─ OtherWorkflow                the interrupted handover has other steps
    │  ├─ NotTrusted                   a file of the project that nobody has accepted in its current form
    │  ├─ StepUncertain                (step): it is not known whether it happened
    │  ├─ FeatureExists                with other steps, checks or covered paths
    │  ├─ UnverifiedFeatures           (counts, features): not everything is proven
    │  ├─ OverBudget                   a model would cost more than a cap allows
    │  └─ Paused                       a PAUSE file is in force
    ├─ ConflictError         66 / 409   somebody else was faster
    │  ├─ StaleVersion                 (stream, expected, actual)
    │  ├─ HistoryWentBack              (stream, seen, actual): the store lost what it had acknowledged
    │  ├─ HandoffSettled               somebody else took it, or it ran out
    │  ├─ AlreadyDone                  (stream): a request that was carried out before
    │  └─ SessionHeld                  (holder)
    ├─ StoreError            74 / 503   the write or read failed; nothing was half-written
    │  ├─ StoreBusy *
    │  ├─ StoreUnavailable *
    │  ├─ StoreFull *
    │  ├─ OverQuota             507    (project, quota, limit, used): a limit that its operator set
    │  └─ SchemaTooNew
    ├─ DamagedError          70 / 500   (source, where, reason)
    ├─ UnexpectedError       70 / 500   a fault of Segue itself; its cause is attached
    ├─ HandoverPending *     75 / 502   (step, reason): a step failed, and is not done yet
    ├─ AccessError           77 / 403   something that may not be read or written
    │  ├─ NotKnown              401    no key, or one the server does not (or no longer) know
    │  ├─ NotAllowed            403    the key is for another role, project or agent
    │  └─ RateLimited *         429    (retry_after_seconds): too many requests with this key
    └─ AgentError            69 / 502   an agent, or what it left on disk, is at fault
       ├─ TranscriptUnreadable         gone, or not from an agent that Segue knows
       ├─ NotInstalled                 a program or a package that is needed is missing
       ├─ ModelFailed *                no configured model gave a usable answer
       └─ NotWritable                  a file of an agent that cannot be parsed or written
    (* retryable)
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import ClassVar


class SegueError(Exception):
    """The base of all errors: a message for people and, if there is one, a safe next step."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 70
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = ()
    """Attributes that a program needs to react to the error, besides the message."""

    def __init_subclass__(cls, **traits: str | int | tuple[str, ...]) -> None:
        """Set class attributes from keywords in the class statement: ``code``, ``http_status``, …"""
        for name, value in traits.items():
            assert name in SegueError.__annotations__, name
            setattr(cls, name, value)

    def __init__(self, message: str, *, hint: str = "", nothing_yet: bool = False) -> None:
        """``nothing_yet``: whatever was asked for may well come; whoever only looks is told that calmly."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.nothing_yet = nothing_yet

    def facts(self) -> dict[str, object]:
        """The values of ``fields``, by name."""
        return {name: getattr(self, name) for name in self.fields}


class UsageError(SegueError, code="usage", exit_code=64, http_status=400):
    """The call itself is wrong; the same call will fail again."""


class UnknownSession(UsageError, code="unknown_session", http_status=404):
    """No session has this id, or none is current in this working tree."""


class UnknownCheckpoint(UsageError, code="unknown_checkpoint", http_status=404):
    """The session has no checkpoint of this name."""


class UnknownAgent(UsageError, code="unknown_agent", http_status=404):
    """No agent has this name, or the session holds no state of it."""


class UnknownRun(UsageError, code="unknown_run", http_status=404):
    """No run with this id was found, or none at all in this project."""


class UnknownFeature(UsageError, code="unknown_feature", http_status=404):
    """The session has no feature of this id."""


class UnknownMemory(UsageError, code="unknown_memory", http_status=404):
    """No memory has this id, or none that the reader may see."""


class UnknownEntry(UsageError, code="unknown_entry", http_status=404, fields=("entry", "candidates")):
    """No entry of the session's ledger has this id or handle, or more than one begins so."""

    entry = ""
    candidates: Sequence[dict[str, object]] = ()

    def facts(self) -> dict[str, object]:
        return {"entry": self.entry, "candidates": list(self.candidates)}


class Misdirected(UsageError, code="misdirected", http_status=421):
    """A request names a host other than this server."""


class KeyReused(UsageError, code="key_reused", http_status=422):
    """An idempotency key was used for another request before."""


class UnknownKey(UsageError, code="unknown_key", http_status=404):
    """The server has no key of this id."""


class UnknownHandoff(UsageError, code="unknown_handoff", http_status=404):
    """The session was not offered under this id, or not to this agent."""


class BudgetTooSmall(UsageError, code="budget_too_small"):
    """The budget is too small for what a brief must say."""


class BadValue(UsageError, ValueError, TypeError, code="bad_value"):
    """A value has the wrong type or is out of range; also a ValueError and a TypeError."""


class BadName(UsageError, code="bad_name"):
    """An id or a name is not valid, for instance because it would lead out of the data folder."""


class TextTooLong(UsageError, code="text_too_long"):
    """A text is over its limit; nothing was stored and nothing was truncated."""


class BadSettings(UsageError, code="bad_settings"):
    """A setting is unknown, has the wrong type, or may not be set where it is."""


class NoModel(UsageError, code="no_model"):
    """No model is set, or models are switched off; everything else works without one."""


class BadImport(UsageError, code="bad_import"):
    """A file does not contain what it should; nothing was imported."""


class RefusedError(SegueError, code="refused", exit_code=65, http_status=409):
    """Understood, but not allowed in this state."""


class SessionOver(RefusedError, code="session_over"):
    """The session is completed or abandoned and takes no more work."""


class MisspeltItem(RefusedError, code="misspelt_item", fields=("item", "candidates")):
    """A named item is not in the plan, but something similar is; nothing was recorded."""

    item = ""
    candidates: Sequence[dict[str, object]] = ()

    def facts(self) -> dict[str, object]:
        return {"item": self.item, "candidates": list(self.candidates)}


class NothingToUndo(RefusedError, code="nothing_to_undo"):
    """There is no command that could be undone."""


class OtherWorkflow(RefusedError, code="other_workflow"):
    """The interrupted handover has steps that this workflow does not have."""


class NotTrusted(RefusedError, code="not_trusted"):
    """A file of the project says what to run, and nobody has accepted it in its current form."""


class StepUncertain(RefusedError, code="step_uncertain", fields=("step",)):
    """It is not known whether a step happened that must not be done twice."""

    step = ""


class FeatureExists(RefusedError, code="feature_exists"):
    """There is a feature of this id, with other steps, checks or covered paths."""


class UnverifiedFeatures(RefusedError, code="unverified_features"):
    """Not every feature is proven, so the session is not completed."""

    counts: dict[str, int] = {}
    features: tuple[dict[str, str], ...] = ()

    def facts(self) -> dict[str, object]:
        return {"counts": self.counts, "features": list(self.features)}


class OverBudget(RefusedError, code="over_budget"):
    """Asking the model could cost more than a cap allows; it was not asked."""


class Paused(RefusedError, code="paused"):
    """A PAUSE file is in force: nothing is written until it is gone."""


class ConflictError(SegueError, code="conflict", exit_code=66, http_status=409):
    """Somebody else was faster; read again, then decide again."""


class StaleVersion(ConflictError, code="stale_version", fields=("stream", "expected", "actual")):
    """The stream moved on between reading and writing, and the command cannot be merged."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(
            f"{stream} is at version {actual}, not {expected}: somebody else wrote in between",
            hint="look at what changed with `segue log`, then run the command again",
        )
        self.stream, self.expected, self.actual = stream, expected, actual


class HistoryWentBack(ConflictError, code="history_went_back", fields=("stream", "seen", "actual")):
    """A shared store lost commits that it had acknowledged."""

    def __init__(self, stream: str, seen: int, actual: int) -> None:
        name = stream.removeprefix("session/")
        other = "a different history is in its place" if actual >= seen else f"the store is at {actual} now"
        super().__init__(
            f"session {name} went back: version {seen} had been saved, but {other}",
            hint="`segue recover` restores it from this machine's copies",
        )
        self.stream, self.seen, self.actual = stream, seen, actual


class AlreadyDone(ConflictError, code="already_done"):
    """A request has already taken effect, and its response is no longer known."""

    def __init__(self, stream: str) -> None:
        super().__init__("this request has already been carried out", hint="look at what is there now")
        self.stream = stream


class HandoffSettled(ConflictError, code="handoff_settled"):
    """The offer was taken by somebody else, declined, withdrawn, or ran out."""


class SessionHeld(ConflictError, code="session_held", fields=("session", "by", "since", "until")):
    """Another living run holds the session."""

    def __init__(self, session: str, by: str, since: str, until: str) -> None:
        super().__init__(
            f"session {session} has been held by {by} since {since} (lease until {until})",
            hint="wait for it, start another session, or share it on purpose with --share",
        )
        self.session, self.by, self.since, self.until = session, by, since, until


class StoreError(SegueError, code="store", exit_code=74, http_status=503):
    """The store refused the write, or cannot be read; nothing was half-written."""


class StoreBusy(StoreError, code="store_busy", retryable=True):
    """Other writers kept the store busy for too long."""


class StoreUnavailable(StoreError, code="store_unavailable", retryable=True):
    """The store cannot be opened or reached."""

    doubt = False
    """Whether a write was under way that may have taken effect nonetheless."""


class StoreFull(StoreError, code="store_full", retryable=True):
    """There is no space left for the store, or for a file that was to be written."""


class OverQuota(StoreError, code="over_quota", http_status=507, fields=("project", "quota", "limit", "used")):
    """The project has used up a quota that the operator of its server set; what it has is kept."""

    project = ""
    quota = ""
    """Of what: sessions, events, memories or bytes."""
    limit = 0
    used = 0

    @classmethod
    def of(cls, project: str, quota: str, limit: int, used: int) -> OverQuota:
        """The error for a quota that is used up."""
        told = f"the project {project} may hold {limit:,} {quota} on this server, and has {used:,}"
        made = cls(
            f"{told}: nothing was saved of this",
            hint="what is stored stays, and can be read; ask the operator for more (`segue quota` shows it)",
        )
        made.project, made.quota, made.limit, made.used = project, quota, limit, used
        return made


class SchemaTooNew(StoreError, code="schema_too_new"):
    """A newer Segue wrote this store in a way that this one cannot read."""


class UnexpectedError(SegueError, code="unforeseen"):
    """Something happened that should not: a fault of Segue itself. ``__cause__`` is the exception."""


class DamagedError(SegueError, code="damaged", fields=("source", "where", "reason")):
    """Stored data is not what was written: (source, where, reason)."""

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            f"{source} is damaged at {where}: {reason}",
            hint="`segue recover` restores what is readable and keeps the damaged file",
        )
        self.source, self.where, self.reason = source, where, reason


class HandoverPending(
    SegueError,
    code="handover_pending",
    exit_code=75,
    http_status=502,
    retryable=True,
    fields=("step", "reason"),
):
    """A step of a handover failed and stays pending; everything before it is done."""

    def __init__(self, step: str, reason: str, hint: str = "") -> None:
        super().__init__(
            f"step {step} is pending: {reason}",
            hint=hint or "what came before it is done; `segue handover run` continues with this step",
        )
        self.step, self.reason = step, reason


class AccessError(SegueError, code="access", exit_code=77, http_status=503):
    """A folder or a file may not be read or written by this user."""


class NotKnown(AccessError, code="not_known", http_status=401):
    """No key was given, or one that this server does not know or no longer accepts."""


class NotAllowed(AccessError, code="not_allowed", http_status=403):
    """The key is known, but it is for another role, project or agent."""


class RateLimited(
    AccessError, code="rate_limited", http_status=429, retryable=True, fields=("retry_after_seconds",)
):
    """There were too many requests with this key; the error says when to try again."""

    def __init__(self, message: str, *, hint: str = "", retry_after_seconds: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_seconds = retry_after_seconds


class AgentError(SegueError, code="agent", exit_code=69, http_status=502):
    """An agent, or what it left on disk, is at fault."""


class TranscriptUnreadable(AgentError, code="transcript_unreadable"):
    """The transcript is gone, or was not written by a known agent."""


class NotInstalled(AgentError, code="not_installed"):
    """A program or a package that is needed is not on this machine."""


def extra(name: str) -> str:
    """How to install an optional part of Segue: from where Segue itself was installed."""
    from ._installed import command_for_extra

    return f"install Segue with the extra `{name}`: {command_for_extra(name)}"


class ModelFailed(AgentError, code="model_failed", retryable=True):
    """No configured model gave a usable answer."""


class NotWritable(AgentError, code="not_writable"):
    """A file of an agent cannot be parsed or written; nothing was written at all."""


def unwrapped(fault: Exception) -> Exception:
    """The cause of an UnexpectedError; any other exception itself."""
    cause = fault.__cause__ if isinstance(fault, UnexpectedError) else None
    return cause if isinstance(cause, Exception) else fault


_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PATH = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP, errno.ENAMETOOLONG,
    errno.ENXIO,
)  # fmt: skip


def is_of_store(fault: BaseException) -> bool:
    """Whether the store could not take something: the call itself was right, and may succeed later."""
    return isinstance(fault, StoreError | DamagedError | OSError) or type(fault) is AccessError


def of_os(fault: OSError, name: str = "", *, hint: str = "") -> SegueError:
    """The SegueError for an OSError: access denied, no space left, or an invalid path."""
    name = name or str(fault.filename or "")
    words = fault.strerror or str(fault) or type(fault).__name__
    message = f"{name}: {words}" if name else words
    if fault.errno in _REFUSED:
        return AccessError(message, hint=hint or "check its owner and its permissions")
    if fault.errno in _FULL:
        return StoreFull(message, hint="free some space, then try again")
    if fault.errno in _PATH and name:
        return UsageError(message, hint=hint or "check the path")
    return StoreError(message, hint="try again; `segue doctor` checks whether everything is in order")
