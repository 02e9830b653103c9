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

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def facts(self) -> dict[str, object]:
        """What a program needs to react, beyond the message."""
        return {}


class UsageError(SegueError):
    """The call itself is wrong; the same call will fail again."""

    code = "usage"
    exit_code = 64
    http_status = 400


class UnknownSession(UsageError):
    """No session has this id, or none is current in this working tree."""

    code = "unknown_session"
    http_status = 404


class UnknownCheckpoint(UsageError):
    """The session has no checkpoint of this name."""

    code = "unknown_checkpoint"
    http_status = 404


class UnknownAgent(UsageError):
    """No agent has this name, or the session holds no state of it."""

    code = "unknown_agent"
    http_status = 404


class UnknownRun(UsageError):
    """No run with this id was found, or none at all in this project."""

    code = "unknown_run"
    http_status = 404


class UnknownFeature(UsageError):
    """The session has no feature of this id."""

    code = "unknown_feature"
    http_status = 404


class UnknownMemory(UsageError):
    """No memory has this id, or none that may be seen by who asks."""

    code = "unknown_memory"
    http_status = 404


class Misdirected(UsageError):
    """A request names a host that this server is not."""

    code = "misdirected"
    http_status = 421


class KeyReused(UsageError):
    """An idempotency key came with another request before."""

    code = "key_reused"
    http_status = 422


class UnknownKey(UsageError):
    """The server has no key of this id."""

    code = "unknown_key"
    http_status = 404


class UnknownHandoff(UsageError):
    """The session was not offered under this id, or not to this agent."""

    code = "unknown_handoff"
    http_status = 404


class BudgetTooSmall(UsageError):
    """The brief cannot say what it must within so few bytes."""

    code = "budget_too_small"


class BadName(UsageError):
    """An id or a name that cannot be one, for instance because it would leave the data folder."""

    code = "bad_name"


class TextTooLong(UsageError):
    """A text over its limit; nothing was stored and nothing was cut."""

    code = "text_too_long"


class BadSettings(UsageError):
    """A setting that is unknown, has the wrong type, or may not stand where it stands."""

    code = "bad_settings"


class NoModel(UsageError):
    """No model is set, or models are switched off; everything else works without."""

    code = "no_model"


class BadImport(UsageError):
    """A file that does not hold what it should; nothing was imported."""

    code = "bad_import"


class RefusedError(SegueError):
    """Understood, and not allowed in this state."""

    code = "refused"
    exit_code = 65
    http_status = 409


class SessionOver(RefusedError):
    """The session is completed or abandoned and takes no more work."""

    code = "session_over"


class NothingToUndo(RefusedError):
    """The journal holds no command that could be taken back."""

    code = "nothing_to_undo"


class OtherWorkflow(RefusedError):
    """The interrupted handover has steps that this workflow does not have."""

    code = "other_workflow"


class StepUncertain(RefusedError):
    """A step that must not be done twice died in the middle, and nobody knows whether it happened."""

    code = "step_uncertain"
    step = ""

    def facts(self) -> dict[str, object]:
        return {"step": self.step}


class FeatureExists(RefusedError):
    """There is a feature of this id, with other steps, checks or covered paths."""

    code = "feature_exists"


class UnverifiedFeatures(RefusedError):
    """Not every feature is proven, so the session is not completed."""

    code = "unverified_features"
    counts: dict[str, int] = {}
    features: tuple[dict[str, str], ...] = ()

    def facts(self) -> dict[str, object]:
        return {"counts": self.counts, "features": list(self.features)}


class OverBudget(RefusedError):
    """Asking the model could cost more than a cap allows; it was not asked."""

    code = "over_budget"


class Paused(RefusedError):
    """A PAUSE file is in force: nothing writes until it is gone."""

    code = "paused"


class ConflictError(SegueError):
    """Somebody else was faster; read again, then decide again."""

    code = "conflict"
    exit_code = 66
    http_status = 409


class StaleVersion(ConflictError):
    """The stream moved on between reading and writing, and the command cannot be merged."""

    code = "stale_version"

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(
            f"{stream} is at version {actual}, not {expected}: somebody else wrote in between",
            hint="look at what changed with `segue log`, then run the command again",
        )
        self.stream, self.expected, self.actual = stream, expected, actual

    def facts(self) -> dict[str, object]:
        return {"stream": self.stream, "expected": self.expected, "actual": self.actual}


class AlreadyDone(ConflictError):
    """A request took effect already, and its answer is not known any more."""

    code = "already_done"

    def __init__(self, stream: str) -> None:
        super().__init__("this request was carried out already", hint="look at what is there now")
        self.stream = stream


class HandoffSettled(ConflictError):
    """The offer was taken by somebody else, declined, withdrawn, or ran out."""

    code = "handoff_settled"


class SessionHeld(ConflictError):
    """Another living run holds the session."""

    code = "session_held"

    def __init__(self, session: str, by: str, since: str, until: str) -> None:
        super().__init__(
            f"session {session} is held by {by} since {since} (lease until {until})",
            hint="wait for it, start another session, or share on purpose with --share",
        )
        self.session, self.by, self.since, self.until = session, by, since, until

    def facts(self) -> dict[str, object]:
        return {"session": self.session, "by": self.by, "since": self.since, "until": self.until}


class StoreError(SegueError):
    """The store did not take the write, or cannot be read; nothing was half-written."""

    code = "store"
    exit_code = 74
    http_status = 503


class StoreBusy(StoreError):
    """Other writers held the store for longer than we wait."""

    code = "store_busy"
    retryable = True


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached."""

    code = "store_unavailable"
    retryable = True
    doubt = False
    """Whether a write was under way that may have happened all the same."""


class StoreFull(StoreError):
    """No space is left for the store, or for a file that was to be written."""

    code = "store_full"
    retryable = True


class SchemaTooNew(StoreError):
    """A newer Segue wrote this store, in a way that this one cannot read."""

    code = "schema_too_new"


class DamagedError(SegueError):
    """Bytes are not what was written: (source, where, reason)."""

    code = "damaged"

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            f"{source} is damaged at {where}: {reason}",
            hint="`segue recover` brings back what is readable; the damaged file is kept",
        )
        self.source, self.where, self.reason = source, where, reason

    def facts(self) -> dict[str, object]:
        return {"source": self.source, "where": self.where, "reason": self.reason}


class HandoverPending(SegueError):
    """A step of a handover failed and stays pending; everything before it is done."""

    code = "handover_pending"
    exit_code = 75
    http_status = 502
    retryable = True

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(
            f"step {step} is pending: {reason}",
            hint="what came before it is done; `segue handover run` goes on with this step",
        )
        self.step, self.reason = step, reason

    def facts(self) -> dict[str, object]:
        return {"step": self.step, "reason": self.reason}


class AccessError(SegueError):
    """A folder or a file that may not be read or written by this user."""

    code = "access"
    exit_code = 77
    http_status = 503


class NotKnown(AccessError):
    """No key was given, or one that this server does not know, or no longer."""

    code = "not_known"
    http_status = 401


class NotAllowed(AccessError):
    """The key is known, and its role, its project or its agent is another one."""

    code = "not_allowed"
    http_status = 403


class RateLimited(AccessError):
    """Too many requests with this key; it says when to come back."""

    code = "rate_limited"
    http_status = 429
    retryable = True

    def __init__(self, message: str, *, hint: str = "", retry_after_seconds: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_seconds = retry_after_seconds

    def facts(self) -> dict[str, object]:
        return {"retry_after_seconds": self.retry_after_seconds}


class AgentError(SegueError):
    """An agent, or what it left on disk, is at fault."""

    code = "agent"
    exit_code = 69
    http_status = 502


class TranscriptUnreadable(AgentError):
    """The transcript is gone, or no agent that we know wrote it."""

    code = "transcript_unreadable"


class NotInstalled(AgentError):
    """A program or a package that is wanted is not on this machine."""

    code = "not_installed"


def extra(name: str) -> str:
    """How to have a part of Segue that is not installed: from where Segue itself came, since an index may
    know another package of this name."""
    return f"install Segue again with this extra, where it came from: pip install '.[{name}]'"


class ModelFailed(AgentError):
    """No model of the ladder gave an answer that can be used."""

    code = "model_failed"
    retryable = True


class NotWritable(AgentError):
    """A file of an agent cannot be understood or written; nothing was written at all."""

    code = "not_writable"


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
