"""A run as it is listed and stored: facts of its digest, how it ended, and its key.

One transcript is one run. Segments (a start, resume, clear or fork within the transcript) are counted as
``stretches`` and have no rows of their own: agents append to the same file when they continue, and a brief
needs the fold of the whole file. If an agent begins a new file for the same conversation, that file is a run
of its own with the same id, and the id then means the newest.
"""

from __future__ import annotations

import msgspec

from ...agents.base import UNKNOWN_LEAD, Found, Sign
from ...core.base.canonical import sha256
from ...core.base.lazy import msgpack_decoder
from ...core.base.values import Value, iso, seconds_of
from ...core.language.sentences import clip, is_assent
from ...core.runs.brief_text import users_part
from ...core.runs.digest import FORMAT
from ...core.runs.model import RunDigest
from ...core.usage.counted_responses import RunUsage
from ...effects.processes.identity import host_name, start_of
from ...stores.base import RunRow
from .cursor import FileStamp
from .read_transcript import Reading

ALIVE_SECONDS = 120.0
"""A transcript that was written to so recently may still grow."""
WAITING_SECONDS = 86_400.0
"""A run that has waited longer than this for the user counts as ended."""
WENT_ON_SECONDS = 10.0
"""A run that did something so long after the next one began had not stopped then."""
OVER = ("ended", "crashed")
"""The statuses that stay until the transcript changes."""
GOAL_CHARS, OPENING_CHARS = 160, 600
SUBSTANTIAL_CHARS = 12
DIGEST_FIELDS = ("branch", "model", "context", "window", "stretches", "compactions", "steps", "calls")
"""The fields of a run that are the same in its digest."""


class Run(Value):
    """One stretch of an agent's work, as its transcript describes it."""

    id: str
    """The agent's own id."""
    agent: str
    key: str
    host: str = ""
    project: str = ""
    session: str = ""
    path: str = ""
    """Where the agent keeps the transcript."""
    cwd: str = ""
    branch: str = ""
    began: str = ""
    last: str = ""
    """When it was last active."""
    ended: str = ""
    """alive, recent (written to a moment ago; whether its process is there is not known), waiting (for the
    user), ended, interrupted or crashed."""
    left: str = ""
    """How the transcript ends: middle, turn, ended, interrupted or crashed."""
    model: str = ""
    context: int = 0
    """Tokens in the window at the last response."""
    window: int = 0
    """Size of the window; 0 if unknown."""
    goal: str = ""
    """The beginning of the first prompt that says something, masked."""
    opening: str = ""
    """The beginning of the very first prompt, masked."""
    parent: str = ""
    """The id of the run that it was forked from, or whose sub-agent it is."""
    side: bool = False
    """Whether it is a sub-agent's."""
    stretches: int = 0
    compactions: int = 0
    steps: int = 0
    calls: int = 0
    malformed: int = 0
    """How many records could not be read."""
    pid: int = 0
    """Its process, as far as it is known: the one that lives, or that was last seen."""
    pid_start: str = ""
    """When that process started, in a form of the platform's own."""
    archived: bool = False
    shared: bool = False
    """Whether a shared store has a copy; looked up for a single run only, not in lists."""
    present: bool = True
    """Whether the transcript is still where the agent keeps it."""
    written: bool = True
    """Whether its agent wrote a transcript; of a run without one only prompts are known, from hooks."""
    empty: bool = False
    """Whether nothing was asked, said or done in it, as in other files that lie beside transcripts."""

    @property
    def used(self) -> str:
        """How full the window is: a percentage, or thousands of tokens if its size is unknown."""
        if self.window and self.context:
            return f"{min(999, round(100 * self.context / self.window))} %"
        return f"{self.context / 1000:.0f}k" if self.context else ""


class RunEnd(msgspec.Struct, gc=False):
    """The part of a stored run that says how it stands: lists of sessions decode nothing else."""

    id: str
    agent: str
    host: str = ""
    last: str = ""
    ended: str = ""
    left: str = ""
    side: bool = False
    pid: int = 0
    pid_start: str = ""


def key_of(agent: str, native: str, path: str) -> str:
    """The key of a run in store and archive. The host is not part of it: a container gets a new host name at
    every start, but finds the same transcripts."""
    name = "\0".join((agent, native, path))
    return sha256(name.encode(errors="surrogateescape")).hexdigest()[:20]


def lead_of(run: Run) -> str:
    """The id of the run whose sub-agent this is, ``UNKNOWN_LEAD`` where that is not known; empty for one that
    is no sub-agent's."""
    return (run.parent or UNKNOWN_LEAD) if run.side else ""


def run_of(
    found: Found, reading: Reading, digest: RunDigest, *, host: str, now: float, before: Run | None = None
) -> Run:
    """The run that a reading describes, still without project, session and archive. ``before`` is the run as
    it was stored when less of it was known."""
    last, left = digest.last or found.changed, left_of(digest)
    sign, pid, pid_start = _process(found, before, host)
    parent = (found.parent if found.parent != UNKNOWN_LEAD else "") or digest.parent
    run = Run(
        id=found.native or digest.native,
        agent=found.agent,
        key=key_of(found.agent, found.native, found.path),
        host=host,
        path=found.path,
        cwd=found.cwd or digest.cwd,
        began=iso(digest.began or last),
        last=iso(last),
        ended=ending(left, sign, now - _active(left, found, digest.last), side=bool(found.parent)),
        left=left,
        goal=goal_of(digest),
        opening=opening_of(digest),
        parent=parent,
        side=bool(found.parent),
        malformed=reading.malformed,
        empty=is_empty(digest),
        pid=pid,
        pid_start=pid_start,
        **{field: getattr(digest, field) for field in DIGEST_FIELDS},
    )
    if before is None or (before.last, before.steps) != (run.last, run.steps):
        return run
    known = {"ended": before.ended, "pid": before.pid, "pid_start": before.pid_start}
    return refreshed(msgspec.structs.replace(run, **known), found, now=now)  # others share its file


def goal_of(digest: RunDigest) -> str:
    """The first prompt of the user with some content, as one line; if all only say to go on, what the run
    was told of, or that word; if the user said nothing, the title that the agent gave it."""
    first = [digest.first_prompt.text] if digest.first_prompt else []
    typed = (*first, *(words.text for words in digest.prompts))
    prompts = [text for said in typed if (text := " ".join(users_part(said).split()))]
    named = [text for text in prompts if not is_assent(text)]
    wanted = [text for text in named if len(text) >= SUBSTANTIAL_CHARS and " " in text]
    told = " ".join((digest.told or "").split()) if typed else ""
    text = next(filter(None, (*wanted, *named, told, *prompts, digest.title)), "")
    return _beginning(text, GOAL_CHARS)


def opening_of(digest: RunDigest) -> str:
    """The beginning of the first prompt of the user, in its lines: a list is known by them."""
    first = digest.first_prompt.text if digest.first_prompt else ""
    return clip(users_part(first).strip(), OPENING_CHARS)


def _beginning(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rpartition(" ")[0] or text[:most]


def is_empty(digest: RunDigest) -> bool:
    """Whether nothing was asked, said or done in a run."""
    asked_or_said = digest.first_prompt or digest.prompts or digest.says or digest.reports or digest.thought
    return not (asked_or_said or digest.calls or digest.context or digest.compactions or digest.faults)


def left_of(digest: RunDigest) -> str:
    """How a transcript ends: interrupted, crashed, ended, after a turn, or in the middle of one."""
    if digest.interrupted and digest.interrupted.at >= max(_last_prompt(digest), digest.steps - 2):
        return "interrupted"
    how = digest.ended.text if digest.ended else ""
    if how in ("error", "aborted"):
        return "crashed" if how == "error" else "interrupted"
    if how in ("exit", "complete"):
        return "ended"
    return "middle" if not how and _mid_turn(digest) else "turn"


def ending(left: str, sign: Sign, age_seconds: float, *, side: bool = False) -> str:
    """The status of a run, from what is known of its process, from how its transcript ends and from its
    age."""
    if sign in ("alive", "crashed"):
        return sign
    if left == "middle":
        return "recent" if age_seconds < ALIVE_SECONDS and sign != "ended" else "crashed"
    if left == "turn":
        return "ended" if side or sign == "ended" or age_seconds > WAITING_SECONDS else "waiting"
    return left


def _active(left: str, found: Found, last: float) -> float:
    """When a run was last active. Of one whose turn is over its last record tells that: the file may have
    been copied since. One in the middle of a turn is at work as long as its file is written to."""
    return last if left == "turn" and last else max(found.changed, last)


def refreshed(run: Run, found: Found, *, now: float, present: bool = True) -> Run:
    """A stored run with its status as of now. Its transcript has not changed, so that it is over if its
    process is gone or if it was over before."""
    sign, pid, pid_start = _process(found, run, host_name())
    status = _ended_now(run, sign, pid, now - _active(run.left, found, seconds_of(run.last)))
    return msgspec.structs.replace(run, ended=status, present=present, pid=pid, pid_start=pid_start)


def ended_now(run: RunEnd, *, changed: float, now: float, host: str) -> str:
    """The status of a stored run as of now, if its transcript has not changed since and its agent says
    nothing of its process: the same as that of the ``refreshed`` run."""
    if run.ended in OVER and not run.pid_start:
        return run.ended
    sign, pid, _ = _process_seen(run, host)
    return _ended_now(run, sign, pid, now - changed)


def _ended_now(run: Run | RunEnd, sign: Sign, pid: int, age_seconds: float) -> str:
    if not sign and pid:
        sign = "ended"
    is_over = not sign and run.ended in OVER
    return run.ended if is_over else ending(run.left, sign, age_seconds, side=run.side)


def _process(found: Found, before: Run | None, host: str) -> tuple[Sign, int, str]:
    """What is known of a run's process: the sign, the pid and when that process started. The process that a
    hook saw before counts where the agent itself says nothing; if it is gone, another one may have gone on,
    so that there is no sign."""
    if found.sign:
        is_alive = found.sign == "alive" and found.pid
        return found.sign, found.pid if is_alive else 0, start_of(found.pid) if is_alive else ""
    return _process_seen(before, host) if before is not None else ("", 0, "")


def _process_seen(before: Run | RunEnd, host: str) -> tuple[Sign, int, str]:
    if not before.pid_start or before.host != host:
        return "", 0, ""
    is_alive = start_of(before.pid) == before.pid_start
    return "alive" if is_alive else "", before.pid, before.pid_start


def _last_prompt(digest: RunDigest) -> int:
    """The step at which the user spoke last; what was open before that is over."""
    return digest.prompts[-1].at if digest.prompts else 0


def _mid_turn(digest: RunDigest) -> bool:
    """Whether the last turn is unfinished: a call without a result, a fault, or a prompt without an
    answer."""
    if any(call.at > _last_prompt(digest) for call in digest.pending.values()):
        return True
    if digest.fault is not None and digest.fault.at >= digest.steps - 1:
        return True
    return bool(digest.trail) and digest.trail[-1].kind not in ("say", "notice")


class RunFacts(msgspec.Struct):
    """The part of a row that is not in columns."""

    run: Run
    stamp: FileStamp = FileStamp()
    format: int = FORMAT
    """The format of the digest."""
    usage: bytes = b""
    """What the run used, see ``stored_usage``; empty if a version wrote it that did not count that."""
    unsaid: bool = False
    """Whether something that was said in it waits for the ledger of a session."""


class _Ending(msgspec.Struct, gc=False):
    run: RunEnd


_facts = msgpack_decoder(RunFacts)
_ending = msgpack_decoder(_Ending)
_usage = msgpack_decoder(RunUsage)


def stored_usage(usage: RunUsage) -> bytes:
    """What a run used as rows have it, so that it is known without the digest: all but single responses."""
    return msgspec.msgpack.encode(msgspec.structs.replace(usage, recent=[], recent_keys=[], responses=[]))


def usage_in(stored: bytes) -> RunUsage | None:
    """What a run used, from its row; None if that is not known."""
    if not stored:
        return None
    try:
        return _usage.decode(stored)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def row_of(
    run: Run, stamp: FileStamp, reading: bytes | None, usage: bytes = b"", *, unsaid: bool = False
) -> RunRow:
    """The row under which a run is stored; ``usage`` is what it used, see ``stored_usage``."""
    facts = msgspec.msgpack.encode(RunFacts(run, stamp, usage=usage, unsaid=unsaid))
    last = seconds_of(run.last)
    return RunRow(
        run.key, run.agent, run.id, run.project, run.session, run.path, run.cwd, last, facts, reading
    )


def facts_of(row: RunRow) -> RunFacts | None:
    """The facts in a row; None if another version of Segue wrote it in another format."""
    try:
        facts = _facts.decode(row.facts)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if (facts.run.session, facts.run.project) != (row.session, row.project):
        facts.run = msgspec.structs.replace(facts.run, session=row.session, project=row.project)
    return facts


def run_in(row: RunRow) -> Run | None:
    """The run in a row; None if another version of Segue wrote it in another format."""
    facts = facts_of(row)
    return facts.run if facts is not None else None


def end_in(row: RunRow) -> RunEnd | None:
    """How the run in a row stands; None if another version of Segue wrote it in another format."""
    try:
        return _ending.decode(row.facts).run
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
