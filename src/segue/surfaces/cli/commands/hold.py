"""`segue hold`: who holds a session; or run a command while holding it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import UsageError
from ...render import ago, one_line
from ..command import argument, command, flag
from ..context import CommandContext

if TYPE_CHECKING:
    from ....core.sessions.holds import Holder

NOT_FOUND, NOT_RUNNABLE = 127, 126


@command(
    "hold",
    flag("--share", "hold it even if another run does"),
    argument("--lease", "SECONDS", "how long the hold lasts without being renewed", type=float),
    argument("--run", "ID", "the id of the run; by default a new one"),
    session="id",
    json="`{session, holders, crashed}`, arrays of Holders; nothing of its own while a command runs",
    more="[-- COMMAND...]",
    shape="Holds",
    examples=(
        "segue hold", "segue hold -- make test", "segue hold --share --run review-7 -- claude",
        "segue hold --lease 60 -- ./long-job",
    ),
)  # fmt: skip
def hold(context: CommandContext) -> int:
    """Show who holds the session, or run the command after ``--`` while holding it."""
    return _run(context) if context.behind else _show(context)


def _show(context: CommandContext) -> int:
    args = context.args
    if args.share or args.lease is not None or args.run:
        raise UsageError("there is no command to run", hint="segue hold -- COMMAND …")
    session = context.session()
    holds = context.segue.workspace.holds
    living, crashed = holds.living(session.id), holds.crashed(session.id)
    lines = [*map(_words, living)] or [f"no run holds {session.id}"]
    lines += [f"{_words(holder)}: ended without releasing it" for holder in crashed]
    return context.report({"session": session.id, "holders": living, "crashed": crashed}, *lines)


def _words(holder: Holder) -> str:
    where = f"{one_line(holder.run)}, pid {holder.pid} on {one_line(holder.host)}"
    shared = ", shared" if holder.share else ""
    fence = f"fencing number {holder.fence}"
    return f"{one_line(holder.holder)} ({where}) since {ago(holder.since)}{shared}, {fence}"


def _run(context: CommandContext) -> int:
    args = context.args
    if args.lease is not None and args.lease <= 0:
        raise UsageError("a lease must be longer than 0 seconds", hint="for example --lease 900")
    session = context.session()
    held = session.hold(run=args.run or "", share=args.share, lease_seconds=args.lease)
    with held:
        variables = {**context.environment, "SEGUE_SESSION": session.id, "SEGUE_RUN": held.run}
        return _wait_for(context.behind, variables, str(context.folder))


def _wait_for(command: list[str], variables: dict[str, str], folder: str) -> int:
    """Run a command to its end, passing signals on, and return its exit code."""
    import signal
    import subprocess

    try:
        child = subprocess.Popen(command, env=variables, cwd=folder)
    except OSError as fault:
        missing = isinstance(fault, FileNotFoundError)
        raise _NotStarted(command[0], fault, NOT_FOUND if missing else NOT_RUNNABLE) from fault
    previous: dict[int, Any] = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            # Ctrl-C reaches the child by itself: the terminal sends it to both.
            ignore = signal.SIG_IGN if name == "SIGINT" else lambda n, _: child.send_signal(n)
            previous[number] = signal.signal(number, ignore)
    try:
        code = child.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


class _NotStarted(UsageError):
    """The command could not be run; the exit code is that of a shell."""

    def __init__(self, name: str, fault: OSError, exit_code: int) -> None:
        super().__init__(f"cannot run {name}: {fault.strerror}", hint="check the command after `--`")
        self.exit_code = exit_code  # type: ignore[misc]
