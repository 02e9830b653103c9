"""`segue prepare`: the manifest of where the work stands, with or without a model."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....core.runs.identifiers import short_run
from ....errors import ModelFailed, UsageError
from ...render import one_line, prepared_object
from ..command import argument, command, flag
from ..context import CommandContext

if TYPE_CHECKING:
    from ....core.brief.facts import Claim

SETTLE_SECONDS = 2.0
"""How long before its end a model is no longer waited for, so that what it cost is noted."""


@command(
    "prepare",
    flag("--with-model", "let the configured model refine it; this may cost money"),
    flag("--dry-run", "show exactly what would be sent to the model, and send nothing"),
    argument("--reason", "TEXT", "the reason, recorded in the manifest", default="user request"),
    flag("--here", "write session_recovery_latest.json into the project instead of the data folder"),
    argument("--transcript", "FILE", "the conversation to use, from an agent or another program"),
    argument(
        "--agent", "NAME",
        "who wrote it: an agent, messages (a JSON list) or log; without FILE: whose newest run",
    ),
    argument("--run", "RUN", "its id, where several conversations share a file"),
    argument("--within", "SECONDS", "with a model: stop after this long, finished or not", type=float),
    session="id",
    json="path, reason, session, run, bytes, tokens, seconds; with a model also claims, dropped, cost, …",
    shape={
        "": "WrittenManifest", "--with-model": "RefinedManifest", "--dry-run": "list[RequestPreview]",
    },
    examples=('segue prepare --reason "before exit"', "segue prepare --here", "segue prepare --with-model",
              "segue prepare --transcript session.log --agent log"),
)  # fmt: skip
def prepare(context: CommandContext) -> int:
    """Write the manifest now. If the file that was named cannot be read, the manifest stays as it was."""
    args = context.args
    transcript = context.folder / Path(args.transcript).expanduser() if args.transcript else None
    about: dict[str, Any] = {"transcript": transcript, "agent": args.agent or "", "run": args.run or ""}
    if args.with_model or args.dry_run:
        return _with_model(context, about)
    done = context.segue.prepare(context.session_id(), reason=args.reason, here=args.here, **about)
    whose = f"session {done.session}" if done.session else "no session"
    run = f", run {short_run(done.run)}" if done.run else f", {one_line(args.transcript or 'no run')}"
    return context.report(
        prepared_object(done),
        f"prepared: {done.path}",
        f"{whose}{run}; {done.bytes:,} bytes, about {done.tokens} tokens, in {done.seconds:.2f} s",
        "the next run starts with `segue bootstrap`",
    )


def _with_model(context: CommandContext, about: dict[str, Any]) -> int:
    """The same, refined by a model; or what would be sent to it."""
    from ....services.models import refine
    from ..progress import model_progress
    from ..views.models import dollars, show_sent

    args = context.args
    if args.dry_run:
        return show_sent(context, refine.sent_for(context.segue.workspace, context.session_id(), **about))
    if args.within is not None:
        _end_after(args.within)
    done = refine.refine(
        context.segue.workspace,
        context.session_id(),
        reason=args.reason,
        here=args.here,
        say=model_progress(context),
        within_seconds=math.inf if args.within is None else args.within - SETTLE_SECONDS,
        **about,
    )
    if done.fell_back:
        context.warn(f"prepared without a model: {done.fell_back}")
    refined = {name: getattr(done, name) for name in done.__struct_fields__ if name != "prepared"}
    context.emit({**prepared_object(done.prepared), **refined})
    less = f", {100 * done.compression:.2f} % less than the transcript" if done.compression else ""
    context.say(
        f"prepared: {done.prepared.path}",
        f"{done.prepared.bytes:,} bytes{less}, in {done.seconds:.1f} s",
    )
    if done.model:
        dropped = sum(done.dropped.values())
        why = "; ".join(f"{number} {reason}" for reason, number in sorted(done.dropped.items()))
        context.say(
            f"{done.model}: {done.model_seconds:.1f} s, {done.input:,} + {done.output:,} tokens,"
            f" {dollars(done.cost)}",
            f"claims kept: {len(done.claims)}; dropped: {dropped}" + (f" ({why})" if why else ""),
            *map(_claim, done.claims),
        )
    return 0


def _end_after(seconds: float) -> None:
    """End this process when the time is over, even if it is reading or waiting."""
    if not SETTLE_SECONDS < seconds <= 86_400:
        raise UsageError(f"{seconds:g} seconds is not a time", hint=f"more than {SETTLE_SECONDS:g}, as in 60")
    timer = threading.Timer(seconds, os._exit, (ModelFailed.exit_code,))
    timer.daemon = True
    timer.start()


def _claim(one: Claim) -> str:
    return f"  {one.kind}: {one_line(one.text)} [{one.trust}, {', '.join(one.evidence)}]"
