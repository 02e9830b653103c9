"""`segue handover`: run, check, status, score, compact."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ....errors import StepUncertain, UsageError
from ....handover.compaction import Condense
from ....handover.flow import Handover, HandoverRan, HandoverStatus, status_of_file
from ...render import ago, bytes_words, count, handover_check_object, one_line
from ..command import argument, command, flag, many
from ..context import CommandContext, can_ask, text_or_stdin
from ..progress import ProgressBar

_MARKS = {
    "done": ("x", "green"),
    "skipped": ("-", "dim"),
    "pending": (" ", ""),
    "failed": ("!", "red"),
    "uncertain": ("?", "yellow"),
}
CLEAN, RESUME, COMPLETED = 0, 1, 2


def _handover(context: CommandContext) -> Handover:
    return Handover(context.segue, context.args.session or "")


def _run(context: CommandContext) -> int:
    args, own = context.args, _handover(context)
    if args.checkpoint:
        raise UsageError(
            "--checkpoint is for check and status only", hint="run uses the checkpoint of this folder"
        )
    note, state = text_or_stdin(args.note or ""), text_or_stdin(args.state or "")
    answers = {**dict.fromkeys(args.done, "done"), **dict.fromkeys(args.again, "again")}
    ran: HandoverRan | None = None
    while ran is None:
        try:
            with ProgressBar(context) as progress:
                ran = own.run(
                    note=note, state=state, anew=args.anew, commit=not args.no_commit, answers=answers,
                    progress=progress,
                )  # fmt: skip
        except StepUncertain as asked:
            said = "" if context.json else _ask(asked.step)
            if not said:
                raise
            answers = {asked.step: said}
    context.warn_all(ran.said)
    return context.report(ran, *_ran_lines(context, ran))


def _ask(step: str) -> str:
    """The answer of somebody at a terminal, `done` or `again`; empty without one."""
    if not can_ask():
        return ""
    print(
        f"It is not known whether step {one_line(step)} was done. Check, then choose: ",
        file=sys.stderr,
        end="",
    )
    print("[d]one already, do it [a]gain, or [s]top? ", end="", file=sys.stderr, flush=True)
    return {"d": "done", "a": "again"}.get(sys.stdin.readline().strip().lower()[:1], "")


def _ran_lines(context: CommandContext, ran: HandoverRan) -> list[str]:
    if not ran.executed:
        return ["there was nothing left to do"]
    lines = ["resumed and finished" if ran.resumed else "handed over"]
    steps = dict.fromkeys(ran.executed)
    return lines + [_step_line(context, name, "done", ran.outputs.get(name)) for name in steps]


def _step_line(context: CommandContext, name: str, state: str, output: Any, reason: str = "") -> str:
    """A step with its mark, and what came of it."""
    if state == "done" and isinstance(output, dict) and "skipped" in output:
        state = "skipped"
    mark, colour = _MARKS.get(state, (" ", ""))
    box = context.style.paint(f"[{mark}]", colour) if colour else f"[{mark}]"
    tail = _output(output) if state in ("done", "skipped") else one_line(reason)
    return f"  {box} {one_line(name)}{f'  {tail}' if tail else ''}"


def _output(given: Any) -> str:
    """The output of a step, in a few words."""
    if not isinstance(given, dict):
        return ""
    if "brief" in given:
        return one_line(str(given["session"] or "no session"))
    if "skipped" in given:
        return one_line(str(given["skipped"]))
    if "path" in given:
        return one_line(str(given["path"]))
    if "commit" in given:
        return _commit_words(str(given["commit"])[:10], len(given.get("files") or ()), given.get("pushed"))
    return ", ".join(f"{key} {one_line(str(value))[:60]}" for key, value in given.items())


def _commit_words(commit: str, files: int, pushed: object) -> str:
    if not files:
        return f"nothing new to commit{'; pushed' if pushed else ''}"
    done = f"committed{' and pushed' if pushed else ''} {count(files, 'file')} ({commit})"
    return f"{done}; undo it with `git revert {commit}`"


def _check(context: CommandContext) -> int:
    """The check by the journal, for a damaged file or options that the quick check does not know."""
    standing = _standing(context)
    context.warn_all(standing.said)
    return context.report(handover_check_object(standing), code=standing.code)


def _status(context: CommandContext) -> int:
    standing = _standing(context)
    context.warn_all(standing.said)
    context.emit(standing)
    words = {CLEAN: "no handover yet", RESUME: "interrupted: `segue handover run` continues it"}
    if standing.theirs:
        context.say(f"the handover of agent-handover in {one_line(standing.theirs)}:")
        words[RESUME] = "interrupted: the program that began it finishes it, as `agent-handover run` does"
    when = f" {ago(standing.finished)}" if standing.finished else ""
    context.say(words.get(standing.code, f"completed{when}"))
    if standing.session:
        context.say(f"session {one_line(standing.session)}")
    for name, state in standing.steps.items():
        reason = standing.reasons.get(name, "")
        context.say(_step_line(context, name, state, standing.outputs.get(name), reason))
    return 0


def _standing(context: CommandContext) -> HandoverStatus:
    if not context.args.checkpoint:
        context.look()
        return _handover(context).standing()
    return status_of_file(context.folder / Path(context.args.checkpoint))


def _condenser(context: CommandContext) -> Condense:
    """A function with which a model adds to an archive. Raises NoModel."""
    from ....services.models import config, refine
    from ..progress import model_progress

    config.load_required(context.segue.workspace)
    return lambda notes: refine.condensed_notes(context.segue.workspace, notes, say=model_progress(context))


def _compact(context: CommandContext) -> int:
    args = context.args
    condense = _condenser(context) if args.with_model else None
    done = _handover(context).compact(
        months=args.months, keep=args.keep, dry_run=args.dry_run, condense=condense
    )
    if not done.notes and not done.removed:
        return context.report(done, "no notes are old enough to be archived")
    would = "would be moved" if args.dry_run else "moved"
    lines = [f"{count(done.notes, 'note')} {would} into {count(len(done.archives), 'archive')}"]
    lines += [f"  {one_line(path)}" for path in done.archives]
    sizes = f"{bytes_words(done.bytes_before)} of notes, {bytes_words(done.bytes_after)} of archive"
    kept = "the notes are kept" if done.kept else f"{count(done.removed, 'note')} removed"
    return context.report(done, *lines, f"{sizes}; {kept}")


def _score(context: CommandContext) -> int:
    from ....core.handover.usefulness import chart
    from ....handover.scoring import by_kind, score, scores

    segue = context.segue
    with ProgressBar(context) as progress:
        progress(0, 1, "runs that came after handovers")
        score(segue, again=context.args.again_all)
    kept = scores(segue)
    used = by_kind(kept)
    counts = {kind: {"given": given, "used": n} for kind, (given, n) in used.items()}
    fields = {"scores": kept, "kinds": counts}
    if not kept:
        return context.report(fields, "no run has followed a handover yet: there is nothing to score")
    last = kept[-1]
    context.say(f"{last.score:g} of 100, by {one_line(last.by)}, {ago(last.at)}")
    context.say(*(f"  - {one_line(reason)}" for reason in last.reasons))
    if len(kept) > 1:
        line = chart([one.score for one in kept[-60:]], unicode=context.style.unicode)
        low, high = min(one.score for one in kept), max(one.score for one in kept)
        context.say(f"trend of {count(len(kept), 'handover')}: {line}  ({low:g} to {high:g})")
    shown = ", ".join(f"{kind} {n} of {given}" for kind, (given, n) in used.items())
    return context.report(fields, f"facts that were used, by kind: {shown}")


command(
    "handover",
    argument("--note", "TEXT", "run: what happened; `-` reads it from stdin"),
    argument("--state", "TEXT", "run: where things stand, in addition to what Segue knows"),
    flag("--no-commit", "run: write the notes into memory/, and leave the commit to you"),
    flag("--anew", "run: start over and leave an interrupted handover as it is"),
    many("--done", "STEP", "run: this uncertain or failed step is done, or not wanted"),
    many("--again", "STEP", "run: this uncertain step was not done; do it again"),
    flag("--again-all", "score: also score again what already has a score"),
    argument("--checkpoint", "FILE", "check, status: a checkpoint file, also one from agent-handover"),
    argument(
        "--months", "N", "compact: keep the newest N months as they are; by default 1", type=int, default=1,
    ),
    flag("--with-model", "compact: let the configured model add what matters"),
    flag("--keep", "compact: keep the notes as well, so that nothing is lost"),
    flag("--dry-run", "compact: only show what would happen"),
    session="flag",
    json="run: a HandoverRan; status: a HandoverStatus; check: `{code, status, steps}`; "
    "score: `{scores, kinds}`; compact: a CompactionReport",
    shape={
        "run": "HandoverRan", "check": "HandoverCheck", "status": "HandoverStatus", "score": "HandoverScores",
        "compact": "CompactionReport",
    },
    examples=(
        'segue handover run --note "JWT works; OAuth waits for credentials"',
        'segue handover run --note "OAuth waits" --no-commit', "segue handover check",
        "segue handover compact --keep",
    ),
    actions={"run": _run, "check": _check, "status": _status, "score": _score, "compact": _compact},
)  # fmt: skip
