"""`segue export`: a session as a file."""

from __future__ import annotations

from ....services.handoff.export import export_session, left_out_of_yaml
from ...render import count, one_line
from ..command import argument, command
from ..context import CommandContext, write_bytes


@command(
    "export",
    argument(
        "--format", None, "by default json, or yaml if the name of the file says so",
        choices=("json", "yaml"),
    ),
    argument("-o --output", "FILE", "the file to write; by default stdout"),
    session="id", json="with `-o`: `{session, file, format, bytes, left_out}`; without it the export itself",
    examples=("segue export > session.json", "segue export leak-hunt -o leak-hunt.yaml"),
)  # fmt: skip
def export(context: CommandContext) -> int:
    """A session as a file, or on standard output."""
    args, session = context.args, context.session()
    name = args.output or "-"
    format = args.format or ("yaml" if name.endswith((".yaml", ".yml")) else "json")
    body = export_session(context.segue.workspace, session.id, format)
    lost = left_out_of_yaml(session) if format == "yaml" else []
    if lost:
        context.warn(f"YAML has no place for {', '.join(lost)}; `--format json` leaves nothing out")
    if name == "-":
        write_bytes(context.out, body)
        return 0
    context.write_file(name, body)
    return context.report(
        {"session": session.id, "file": name, "format": format, "bytes": len(body), "left_out": lost},
        f"exported {session.id} to {one_line(name)}: {count(len(body), 'byte')}",
    )
