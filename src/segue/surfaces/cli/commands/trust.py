"""`segue trust`: accept this project's segue.toml as it is now."""

from __future__ import annotations

from ...._files import read_bytes
from ....effects.clock import now
from ....errors import UsageError
from ....handover.declared import workflow
from ....settings import content_hash, resolve, table_of
from ...render import safe
from ..command import command, flag
from ..context import CommandContext, confirm


@command(
    "trust",
    flag("--yes", "do not ask for confirmation"),
    json="`{file, hash, trusted, content}`",
    shape="TrustedFile",
    examples=("segue trust", "segue trust --yes"),
)  # fmt: skip
def trust(context: CommandContext) -> int:
    """Accept this project's segue.toml as it is now."""
    segue = context.segue
    file = segue.workspace.working_tree.project_file
    hash = content_hash(file)
    if not hash:
        raise UsageError(f"there is no {file}", hint="there is nothing to trust here")
    content = read_bytes(file).decode("utf-8", "replace")
    if segue.workspace.working_tree.trusted():
        return _trusted(context, content, f"{file} is already trusted")
    segue.workspace.pause_file.check()
    resolve(project_file=file, project_trusted=True)
    workflow(*table_of("handover", file))
    context.say(f"{file}:", "", *(f"  {line}" for line in safe(content).splitlines()), "")
    if not context.args.yes and not confirm("Trust this file as it is now?"):
        raise UsageError(
            "not trusted: this was not confirmed",
            hint="you have to decide whether it can be trusted: run `segue trust` on a terminal",
        )
    if content_hash(file) != hash:
        raise UsageError(f"{file} changed while you were reviewing it", hint="review it again")
    segue.workspace.working_tree.trust(
        segue.workspace.pause_file, at=now(), actor=segue.workspace.repository.actor
    )
    return _trusted(context, content, f"trusted until its content changes: {file}")


def _trusted(context: CommandContext, content: str, line: str) -> int:
    file = context.segue.workspace.working_tree.project_file
    return context.report(
        {"file": str(file), "hash": content_hash(file), "trusted": True, "content": content}, line
    )
