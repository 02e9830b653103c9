"""`segue export`: a session as a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...render import count, one_line
from ..command import CliCommand
from ..context import CommandContext, write_file

if TYPE_CHECKING:
    from ..parser import Parser


def export(context: CommandContext) -> int:
    """A session as a file, or on standard output."""
    from ....services.handoff.export import export_session

    args, session = context.args, context.session()
    name = args.output or "-"
    format = args.format or ("yaml" if name.endswith((".yaml", ".yml")) else "json")
    body = export_session(context.segue.workspace, session.id, format)
    if name == "-":
        sys.stdout.flush()
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is not None:
            buffer.write(body)
            buffer.flush()
        else:
            sys.stdout.write(body.decode())
        return 0
    write_file(name, body)
    context.say(f"exported {session.id} to {one_line(name)}: {count(len(body), 'byte')}")
    context.emit({"session": session.id, "file": name, "format": format, "bytes": len(body)})
    return 0


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "--format", choices=("json", "yaml"), help="by default json, or yaml if the name of the file says so"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write; by default stdout")


COMMANDS = (
    CliCommand(
        "export", export, _arguments, session="id",
        json="with `-o`: `{session, file, format, bytes}`; without it the export itself",
        examples=("segue export > session.json", "segue export leak-hunt -o leak-hunt.yaml"),
    ),
)  # fmt: skip
