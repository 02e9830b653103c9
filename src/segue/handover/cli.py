"""``agent-handover check | status | run``: agent-handover's command line, also as ``python -m
segue.handover.cli``.

The exit codes of ``check`` are 0 nothing to resume, 1 interrupted and 2 completed, and nothing else exits
with 1 or 2: a bad command line is 64, a refusal (PAUSE, another workflow, an uncertain step) 65, a missing
file 66, a failed step 69.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ..core.base.text import harmless_text
from ..core.handover.record import Record, pending_in
from ..errors import SegueError
from .checkpoint import RESUME_NEEDED, Checkpoint
from .engine import PauseError, StepError, UncertainStep, WorkflowError

DEFAULT_CHECKPOINT = Path(".agent-handover/checkpoint.json")
AGENTS = ("cline", "codex", "opencode")
"""The agents that have an adapter."""
USAGE, REFUSED, NO_FILE, FAILED, UNFORESEEN = 64, 65, 66, 69, 70


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def _parser() -> _Parser:
    parser = _Parser(prog="agent-handover", description="hand over at the end of a session, step by step")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    check = commands.add_parser("check", help="0 nothing to resume, 1 interrupted, 2 completed")
    status = commands.add_parser("status", help="show the progress of the handover")
    for command in (check, status):
        command.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT)
    run = commands.add_parser(
        "run", help="hand over as a TOML file or an agent's adapter describes, or resume"
    )
    described = run.add_mutually_exclusive_group(required=True)
    described.add_argument("--config", type=Path, help="a TOML file that describes the handover")
    described.add_argument(
        "--agent", choices=AGENTS, help="without a file: as the adapter of this agent does"
    )
    run.add_argument(
        "--note", help="what happened; overrides session in [note]; without one --agent only resumes"
    )
    run.add_argument("--current-state", help="where things stand; overrides current_state in [note]")
    run.add_argument("--no-push", action="store_true", help="do not push; with --agent, do not commit either")
    run.add_argument("--checkpoint", type=Path, help="overrides checkpoint in [handover]")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    args = _parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _warn  # type: ignore[assignment]
        try:
            return int(_COMMANDS[args.command](args))
        except FileNotFoundError as fault:
            return _fail(NO_FILE, f"{fault.filename}: no such file")
        except (PauseError, WorkflowError, UncertainStep) as fault:
            return _fail(REFUSED, str(fault))
        except StepError as fault:
            left = "the step stays pending; `run` tries it again, or leaves publishing out with --no-push"
            return _fail(FAILED, f"{fault}; {left}")
        except SegueError as fault:
            return _fail(fault.exit_code, fault.message)
        except (ValueError, OSError) as fault:
            return _fail(USAGE if isinstance(fault, ValueError) else UNFORESEEN, str(fault))


def _check(args: argparse.Namespace) -> int:
    return Checkpoint(args.checkpoint).resume_code()


def _status(args: argparse.Namespace) -> int:
    for line in status_lines(Checkpoint(args.checkpoint).load()):
        print(harmless_text(line))
    return 0


def status_lines(record: Record) -> list[str]:
    """The progress of a handover, in agent-handover's words."""
    lines = [f"status: {record['status']}"]
    lines += [f"  [{'x' if state == 'done' else ' '}] {name}" for name, state in record["steps"].items()]
    pending = pending_in(record)
    if record["status"] == "in_progress" and pending:
        lines.append(f"pending: {', '.join(pending)}")
    return lines


def _run(args: argparse.Namespace) -> int:
    from ..services.workspace.working_tree import check_pause
    from ..settings import data_folder, resolve, user_file

    settings = resolve(environment=os.environ, user_config=user_file(os.environ))
    check_pause(Path.cwd(), data_folder(os.environ), settings.text("pause_file"))
    executed = _run_by_adapter(args) if args.agent else _run_by_file(args)
    print("handover steps executed:", harmless_text(", ".join(executed)) or "(none)")
    return 0


def _run_by_file(args: argparse.Namespace) -> list[str]:
    from .config import build_engine_from_config, load_config

    engine = build_engine_from_config(
        load_config(args.config), note=args.note, current_state=args.current_state,
        push=False if args.no_push else None, checkpoint=args.checkpoint,
    )  # fmt: skip
    return engine.run()


def _run_by_adapter(args: argparse.Namespace) -> list[str]:
    from .agents_md import engine_builder

    checkpoint = args.checkpoint or DEFAULT_CHECKPOINT
    if args.note is None and Checkpoint(checkpoint).resume_code() != RESUME_NEEDED:
        raise ValueError("no session note: pass one with --note; there is nothing to resume")
    note = args.note or ""
    state = note if args.current_state is None else args.current_state
    engine = engine_builder(args.agent)(
        session_note=note, current_state=state, push=not args.no_push, checkpoint=checkpoint,
        pause_file="PAUSE",
    )  # fmt: skip
    return engine.run(only=args.note is None)


_COMMANDS = {"check": _check, "status": _status, "run": _run}


def _warn(message: Warning | str, *_: object) -> None:
    print(f"agent-handover: warning: {harmless_text(str(message))}", file=sys.stderr)


def _fail(code: int, text: str) -> int:
    print(f"agent-handover: {harmless_text(text)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
