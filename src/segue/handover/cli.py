"""``python -m segue.handover.cli check | status | run``: agent-handover's command line.

The exit codes of ``check`` are 0 nothing to resume, 1 interrupted and 2 completed, and nothing else exits
with 1 or 2: a bad command line is 64, a refusal (PAUSE, another workflow, an uncertain step) 65, a missing
file 66, a failed step 69.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ..errors import SegueError
from .checkpoint import Checkpoint
from .engine import PauseError, StepError, UncertainStep, WorkflowError
from .record import Record, pending_in

DEFAULT_CHECKPOINT = Path(".agent-handover/checkpoint.json")
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
    run = commands.add_parser("run", help="hand over as described in a TOML file, or resume")
    run.add_argument("--config", type=Path, required=True)
    run.add_argument("--note", help="what happened; overrides session in [note]")
    run.add_argument("--current-state", help="where things stand; overrides current_state in [note]")
    run.add_argument("--no-push", action="store_true", help="commit without pushing")
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
            return _fail(FAILED, f"{fault}; the step stays pending, and `run` tries it again")
        except SegueError as fault:
            return _fail(fault.exit_code, fault.message)
        except (ValueError, OSError) as fault:
            return _fail(USAGE if isinstance(fault, ValueError) else UNFORESEEN, str(fault))


def _check(args: argparse.Namespace) -> int:
    return Checkpoint(args.checkpoint).resume_code()


def _status(args: argparse.Namespace) -> int:
    for line in status_lines(Checkpoint(args.checkpoint).load()):
        print(line)
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
    from .config import build_engine_from_config, load_config

    engine = build_engine_from_config(
        load_config(args.config), note=args.note, current_state=args.current_state,
        push=False if args.no_push else None, checkpoint=args.checkpoint,
    )  # fmt: skip
    print("handover steps executed:", ", ".join(engine.run()) or "(none)")
    return 0


_COMMANDS = {"check": _check, "status": _status, "run": _run}


def _warn(message: Warning | str, *_: object) -> None:
    print(f"agent-handover: warning: {message}", file=sys.stderr)


def _fail(code: int, text: str) -> int:
    print(f"agent-handover: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
