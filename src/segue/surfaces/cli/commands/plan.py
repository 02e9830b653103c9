"""`segue plan`: a plan is proposed for a task, edited and accepted by the user."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from ...._files import read_text
from ....core.models.plan_proposal import PlanDraft
from ....errors import UsageError
from ....services.models import plan as planning
from ....services.models.plan import Accepted
from ...render import count, is_terminal, one_line
from ..command import argument, command, flag, optional
from ..context import CommandContext, read_file, text_or_stdin, write
from ..progress import model_progress
from ..views.models import dollars, show_sent


@command(
    "plan",
    optional("task", "TASK", "the task; `-` reads it from stdin"),
    flag("--with-model", "let the configured model propose the plan; this may cost money"),
    flag("--dry-run", "show exactly what would be sent to the model, and send nothing"),
    argument("--out", "FILE", "write the proposal to this file, so that you can edit it"),
    argument("--accept", "FILE", "declare the plan in this file; `-` reads stdin"),
    session="flag",
    json="`{plan, strategies, dropped, asked, fell_back, file}`; with --accept what was declared",
    shape={"": "ProposedPlan", "--dry-run": "list[RequestPreview]", "--accept": "Accepted"},
    examples=(
        'segue plan "Refactor auth to JWT" --out plan.yaml',
        'segue plan "Refactor auth to JWT" --with-model --out plan.yaml',
        "segue plan --accept plan.yaml",
    ),
)  # fmt: skip
def plan(context: CommandContext) -> int:
    """Propose a plan for a task, or declare one that was accepted."""
    args = context.args
    if args.accept and (args.task or args.with_model):
        raise UsageError(
            "--accept takes a plan from a file, and no task", hint="segue plan --accept plan.yaml"
        )
    if args.accept:
        return _accepted(context, planning.read(read_file(args.accept)))
    if not args.task:
        raise UsageError("which task?", hint='for example: segue plan "Refactor auth to JWT"')
    task = text_or_stdin(args.task)
    if args.dry_run:
        return show_sent(context, planning.sent_for(context.segue.workspace, task))

    found = planning.propose(
        context.segue.workspace, task, with_model=args.with_model, say=model_progress(context)
    )
    if not args.with_model and not found.plan.items and not found.plan.features:
        context.warn(
            "no model was asked, so the plan is empty: fill it in, or let one propose it with --with-model"
        )
    if found.fell_back:
        context.warn(f"planned without a model: {found.fell_back}")
    if found.asked is not None:
        asked = found.asked
        summary = f"{asked.model}: {asked.seconds:.1f} s, {asked.input:,} + {asked.output:,} tokens"
        out = "; ".join(f"{number} {reason}" for reason, number in found.dropped.items())
        write(sys.stderr, f"{summary}, {dollars(asked.cost)}" + (f"; removed: {out}" if out else ""))
    text = planning.written(found)
    if args.out:
        context.write_file(args.out, text.encode())
    context.emit({"plan": found.plan, "strategies": found.strategies, "dropped": found.dropped,
                  "asked": found.asked, "fell_back": found.fell_back, "file": args.out or ""})  # fmt: skip
    if not args.out:
        context.say(text.rstrip())
        return _asked(context, text)
    context.say(f"proposed: {args.out}; edit it, then run segue plan --accept {shlex.quote(args.out)}")
    return 0


def _asked(context: CommandContext, text: str) -> int:
    """On a terminal, ask whether to accept, edit or leave a plan; elsewhere nothing is declared."""
    if context.json or not (is_terminal(sys.stdin) and is_terminal(sys.stderr) and is_terminal(sys.stdout)):
        return 0
    while True:
        print("\n[a]ccept the plan, [e]dit it, or leave it? [a/e/N] ", end="", file=sys.stderr, flush=True)
        wish = sys.stdin.readline().strip().lower()
        if wish in ("a", "accept"):
            return _accepted(context, planning.read(text.encode()))
        if wish not in ("e", "edit"):
            context.say("nothing was declared")
            return 0
        text = _edited(context, text)
        context.say(text.rstrip())


def _edited(context: CommandContext, text: str) -> str:
    editor = context.environment.get("VISUAL") or context.environment.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=False)
        except OSError as fault:
            raise UsageError(f"{editor} cannot be started: {fault.strerror}", hint="set EDITOR") from fault
        return read_text(path, encoding="utf-8", errors="replace")


def _accepted(context: CommandContext, draft: PlanDraft) -> int:
    done: Accepted = planning.accept(context.segue.workspace, draft, session=context.session_id())
    return context.report(
        done,
        f"declared in session {one_line(done.session)}: {count(done.items, 'item')},"
        f" {count(len(done.features), 'feature')}, {count(done.risks, 'risk')}",
        *(["`segue verify` runs their checks"] if done.features else []),
    )
