"""Sessions as files: export, import."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...render import count, one_line
from ..command import CliCommand
from ..context import CommandContext, read_file, write_file

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


def import_(context: CommandContext) -> int:
    """A session from a file."""
    from ....services.handoff.export import import_session

    args = context.args
    body = read_file(args.file)
    if args.format is None and body[:2] == b"\x1f\x8b":
        return _import_bundle(context, body)
    before = dict(context.segue.workspace.store.streams("session/"))
    session = import_session(context.segue.workspace, body, args.format, args.as_id or "")
    state = session.state
    anew = before.get(f"session/{session.id}") != state.version
    word = "imported" if anew else "nothing changed, it was here already"
    context.say(f"{word}: {session.id} ({state.status}, {count(state.version, 'event')})")
    if state.status in ("completed", "abandoned"):
        context.say(f"look at it with `segue show {session.id}`")
    else:
        context.say(f"take it up here with `segue switch {session.id}`")
    told = {"id": session.id, "session": session.id, "version": state.version, "status": state.status}
    context.emit({**told, "changed": anew})
    return 0


def _import_bundle(context: CommandContext, body: bytes) -> int:
    from ....services.handoff.bundle import unpack

    found = unpack(context.segue.workspace, body, as_id=context.args.as_id or "")
    state = context.segue.session(found.session).state
    context.say(f"imported: {found.session} ({state.status}, {count(state.version, 'event')})")
    context.say(f"sha256 {found.sha256}: compare it with what you were told")
    context.say(f"take it up here with `segue handoff --accept {found.offer}`")
    told = {"id": found.session, "session": found.session, "version": state.version, "status": state.status}
    context.emit({**told, "offer": found.offer, "sha256": found.sha256, "memories": found.memories})
    return 0


def _export_arguments(parser: Parser) -> None:
    parser.add_argument("--format", choices=("json", "yaml"), help="json, unless the file's name says yaml")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to; stdout if not given")


def _import_arguments(parser: Parser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="what `segue export` or `handoff --to-file` wrote; `-`: stdin"
    )
    parser.add_argument("--format", choices=("json", "yaml"), help="found from the content if not given")
    parser.add_argument("--as", dest="as_id", metavar="ID", help="give it this id")


COMMANDS = (
    CliCommand(
        "export", export, _export_arguments, session="id",
        json="with `-o`: `{session, file, format, bytes}`; without it the export itself",
        examples=("segue export > session.json", "segue export leak-hunt -o leak-hunt.yaml"),
    ),
    CliCommand(
        "import", import_, _import_arguments,
        json="`{id, session, version, status, changed}`; of a bundle with `offer`, `sha256` and `memories`",
        examples=(
            "segue import session.json", "segue import leak-hunt.yaml --as leak-hunt-2",
            "segue import work.segue",
        ),
    ),
)  # fmt: skip
