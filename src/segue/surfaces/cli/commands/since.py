"""`segue since`: what changed since the work was left."""

from __future__ import annotations

from ...render import delta_object
from ..command import argument, command
from ..context import CommandContext


@command(
    "since",
    argument("--from", "WHEN", "a time, an age such as 2h or 3d, or a commit", dest="start"),
    session="id", json="Delta (docs/reference/library.md), with `nothing`",
    shape="ShownDelta",
    examples=("segue since", "segue since --from 2d", "segue since --from HEAD~3 --json"),
)  # fmt: skip
def since(context: CommandContext) -> int:
    """What changed since the work was left."""
    delta = context.look().since(context.session_id(), start=context.args.start or "")
    from ..views.since import since_lines  # git looks at the tree while the rest is loaded

    return context.report(delta_object(delta), *since_lines(delta, context.style))
