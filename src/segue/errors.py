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
    │  ├─ UnknownHandoff        404
    │  ├─ UnknownKey            404
    │  ├─ Misdirected           421    a request that names another host
    │  ├─ KeyReused             422    an idempotency key that came with another request
    │  ├─ BudgetTooSmall
    │  ├─ BadName                      an id or a name that cannot be one
    │  ├─ TextTooLong
    │  ├─ BadSettings
    │  ├─ NoModel                      none is set, or models are off
    │  └─ BadImport                    a file that does not hold a session
    ├─ RefusedError          65 / 409   understood, and not allowed now
    │  ├─ SessionOver                  completed or abandoned
    │  ├─ NothingToUndo
    │  ├─ OtherWorkflow                the interrupted handover has other steps
    │  ├─ StepUncertain                (step): nobody knows whether it happened
    │  ├─ FeatureExists                with other steps, checks or covered paths
    │  ├─ UnverifiedFeatures           (counts, features): not everything is proven
    │  ├─ OverBudget                   a model would cost more than a cap allows
    │  └─ Paused                       a PAUSE file is in force
    ├─ ConflictError         66 / 409   somebody else was faster
    │  ├─ StaleVersion                 (stream, expected, actual)
    │  ├─ HandoffSettled               somebody else took it, or it ran out
    │  ├─ AlreadyDone                  (stream): a request that was carried out before
    │  └─ SessionHeld                  (holder)
    ├─ StoreError            74 / 503   the store did not take it; nothing was half-written
    │  ├─ StoreBusy *
    │  ├─ StoreUnavailable *
    │  ├─ StoreFull *
    │  └─ SchemaTooNew
    ├─ DamagedError          70 / 500   (source, where, reason)
    ├─ HandoverPending *     75 / 502   (step, reason): a step failed, and is not done yet
    ├─ AccessError           77 / 403   something that may not be read or written
    │  ├─ NotKnown              401    no key, or one that a server does not know (any more)
    │  ├─ NotAllowed            403    the key's role, project or agent is another one
    │  └─ RateLimited *         429    (retry_after_seconds): too many requests with this key
    └─ AgentError            69 / 502   an agent, or what it left on disk, is at fault
       ├─ TranscriptUnreadable         gone, or of no agent that we know
       ├─ NotInstalled                 a program or a package that is wanted is not there
       ├─ ModelFailed *                no model of the ladder gave an answer that can be used
       └─ NotWritable                  a file of an agent that cannot be understood or written
    (* retryable)
"""

from __future__ import annotations

import errno
from typing import ClassVar


class SegueError(Exception):
    """The root: a message for people and, where there is one, a safe next step."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 70
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = ()
    """Attributes that a program needs to react, beyond the message."""

    def __init_subclass__(cls, **traits: str | int | tuple[str, ...]) -> None:
        """What a branch has otherwise than its parent is said in its head: ``code``, ``http_status``, …"""
        for name, value in traits.items():
            assert name in SegueError.__annotations__, name
            setattr(cls, name, value)

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

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
    """No memory has this id, or none that may be seen by who asks."""


class Misdirected(UsageError, code="misdirected", http_status=421):
    """A request names a host that this server is not."""


class KeyReused(UsageError, code="key_reused", http_status=422):
    """An idempotency key came with another request before."""


class UnknownKey(UsageError, code="unknown_key", http_status=404):
    """The server has no key of this id."""


class UnknownHandoff(UsageError, code="unknown_handoff", http_status=404):
    """The session was not offered under this id, or not to this agent."""


class BudgetTooSmall(UsageError, code="budget_too_small"):
    """The brief cannot say what it must within so few bytes."""


class BadName(UsageError, code="bad_name"):
    """An id or a name that cannot be one, for instance because it would leave the data folder."""


class TextTooLong(UsageError, code="text_too_long"):
    """A text over its limit; nothing was stored and nothing was cut."""


class BadSettings(UsageError, code="bad_settings"):
    """A setting that is unknown, has the wrong type, or may not stand where it stands."""


class NoModel(UsageError, code="no_model"):
    """No model is set, or models are switched off; everything else works without."""


class BadImport(UsageError, code="bad_import"):
    """A file that does not hold what it should; nothing was imported."""


class RefusedError(SegueError, code="refused", exit_code=65, http_status=409):
    """Understood, and not allowed in this state."""


class SessionOver(RefusedError, code="session_over"):
    """The session is completed or abandoned and takes no more work."""


class NothingToUndo(RefusedError, code="nothing_to_undo"):
    """The journal holds no command that could be taken back."""


class OtherWorkflow(RefusedError, code="other_workflow"):
    """The interrupted handover has steps that this workflow does not have."""


class StepUncertain(RefusedError, code="step_uncertain", fields=("step",)):
    """A step that must not be done twice died in the middle, and nobody knows whether it happened."""

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
    """A PAUSE file is in force: nothing writes until it is gone."""


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


class AlreadyDone(ConflictError, code="already_done"):
    """A request took effect already, and its answer is not known any more."""

    def __init__(self, stream: str) -> None:
        super().__init__("this request was carried out already", hint="look at what is there now")
        self.stream = stream


class HandoffSettled(ConflictError, code="handoff_settled"):
    """The offer was taken by somebody else, declined, withdrawn, or ran out."""


class SessionHeld(ConflictError, code="session_held", fields=("session", "by", "since", "until")):
    """Another living run holds the session."""

    def __init__(self, session: str, by: str, since: str, until: str) -> None:
        super().__init__(
            f"session {session} is held by {by} since {since} (lease until {until})",
            hint="wait for it, start another session, or share on purpose with --share",
        )
        self.session, self.by, self.since, self.until = session, by, since, until


class StoreError(SegueError, code="store", exit_code=74, http_status=503):
    """The store did not take the write, or cannot be read; nothing was half-written."""


class StoreBusy(StoreError, code="store_busy", retryable=True):
    """Other writers held the store for longer than we wait."""


class StoreUnavailable(StoreError, code="store_unavailable", retryable=True):
    """The store cannot be opened or reached."""

    doubt = False
    """Whether a write was under way that may have happened all the same."""


class StoreFull(StoreError, code="store_full", retryable=True):
    """No space is left for the store, or for a file that was to be written."""


class SchemaTooNew(StoreError, code="schema_too_new"):
    """A newer Segue wrote this store, in a way that this one cannot read."""


class DamagedError(SegueError, code="damaged", fields=("source", "where", "reason")):
    """Bytes are not what was written: (source, where, reason)."""

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            f"{source} is damaged at {where}: {reason}",
            hint="`segue recover` brings back what is readable; the damaged file is kept",
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

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(
            f"step {step} is pending: {reason}",
            hint="what came before it is done; `segue handover run` goes on with this step",
        )
        self.step, self.reason = step, reason


class AccessError(SegueError, code="access", exit_code=77, http_status=503):
    """A folder or a file that may not be read or written by this user."""


class NotKnown(AccessError, code="not_known", http_status=401):
    """No key was given, or one that this server does not know, or no longer."""


class NotAllowed(AccessError, code="not_allowed", http_status=403):
    """The key is known, and its role, its project or its agent is another one."""


class RateLimited(
    AccessError, code="rate_limited", http_status=429, retryable=True, fields=("retry_after_seconds",)
):
    """Too many requests with this key; it says when to come back."""

    def __init__(self, message: str, *, hint: str = "", retry_after_seconds: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_seconds = retry_after_seconds


class AgentError(SegueError, code="agent", exit_code=69, http_status=502):
    """An agent, or what it left on disk, is at fault."""


class TranscriptUnreadable(AgentError, code="transcript_unreadable"):
    """The transcript is gone, or no agent that we know wrote it."""


class NotInstalled(AgentError, code="not_installed"):
    """A program or a package that is wanted is not on this machine."""


def extra(name: str) -> str:
    """How to have a part of Segue that is not installed: from where Segue itself came, since an index may
    know another package of this name."""
    return f"install Segue again with this extra, where it came from: pip install '.[{name}]'"


class ModelFailed(AgentError, code="model_failed", retryable=True):
    """No model of the ladder gave an answer that can be used."""


class NotWritable(AgentError, code="not_writable"):
    """A file of an agent cannot be understood or written; nothing was written at all."""


_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PATH = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP, errno.ENAMETOOLONG,
    errno.ENXIO,
)  # fmt: skip


def of_os(fault: OSError, name: str = "", *, hint: str = "") -> SegueError:
    """Our error for one of the machine's: not allowed, no room, or a path that cannot be."""
    name = name or str(fault.filename or "")
    words = fault.strerror or str(fault) or type(fault).__name__
    message = f"{name}: {words}" if name else words
    if fault.errno in _REFUSED:
        return AccessError(message, hint=hint or "check whose it is, and who may read and write it")
    if fault.errno in _FULL:
        return StoreFull(message, hint="free some space, then try again")
    if fault.errno in _PATH and name:
        return UsageError(message, hint=hint or "check the path")
    return StoreError(message, hint="try again; `segue doctor` looks whether all is well")
