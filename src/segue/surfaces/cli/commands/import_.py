"""`segue import`: a session from a file."""

from __future__ import annotations

from ....services.handoff.import_file import import_file
from ...render import count
from ..command import argument, command
from ..context import CommandContext, read_file


@command(
    "import",
    argument("file", "FILE", "a file that `segue export` or `handoff --to-file` wrote; `-` reads stdin"),
    argument("--format", None, "by default recognised from the content", choices=("json", "yaml")),
    argument("--as", "ID", "import it under this id", dest="as_id"),
    json="`{session, version, status, changed, offer, sha256, memories}`, the last three of a bundle",
    shape="ImportedSession",
    examples=(
        "segue import session.json", "segue import leak-hunt.yaml --as leak-hunt-2",
        "segue import work.segue",
    ),
)  # fmt: skip
def import_(context: CommandContext) -> int:
    """Import a session, and say how to continue it."""
    args = context.args
    found = import_file(
        context.segue.workspace, read_file(args.file), format=args.format, as_id=args.as_id or ""
    )
    id, status = found.session, found.status
    word = "imported" if found.changed else "nothing changed, it is already here"
    first = f"{word}: {id} ({status}, {count(found.version, 'event')})"
    fields = {
        "session": id, "version": found.version, "status": status, "changed": found.changed,
        "offer": found.offer, "sha256": found.sha256, "memories": found.memories,
    }  # fmt: skip
    if found.offer:
        return context.report(
            fields,
            first,
            f"sha256 {found.sha256}: compare this with what you were told",
            f"accept it here with `segue handoff --accept {found.offer}`",
        )
    is_over = status in ("completed", "abandoned")
    then = f"look at it with `segue show {id}`" if is_over else f"continue it here with `segue switch {id}`"
    return context.report(fields, first, then)
