"""`segue key`: the keys of a server: on its own machine, or over HTTP with an admin's key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import UsageError
from ...render import one_line
from ..command import argument, command, optional
from ..context import CommandContext

if TYPE_CHECKING:
    from ....services.server.keys import Keys as Local
    from ....services.server.remote_keys import RemoteKeys

    Keys = Local | RemoteKeys

ACTIONS = ("create", "list", "rotate", "revoke", "audit")
WRITING = ("create", "rotate", "revoke")


@command(
    "key",
    argument("action", "ACTION", ", ".join(ACTIONS), choices=ACTIONS),
    optional("key", "ID", "with rotate and revoke: the key"),
    argument("--project", "NAME", "the project that the key is for, or `*` for all; by default `default`"),
    argument("--role", "ROLE", "reader, writer or admin; by default writer"),
    argument("--agent", "NAME", "the only agent that the key may act as"),
    argument("--name", "TEXT", "what it is for"),
    argument("--expires", "TIME", "how long the key is valid, as in 90d or 12h; by default forever"),
    argument("--grace", "TIME", "with rotate: how long the old key stays valid; by default not at all"),
    argument("--limit", "N", "with audit: how many entries", type=int, default=100),
    json="create, rotate: the key, shown once, with `id`, `role`, `project`, `agent`, `expires`;"
    " list: keys without their tokens; audit: lines, the newest first",
    shape={
        "create": "NewKey", "list": "list[ShownKey]", "rotate": "NewKey", "revoke": "RevokedKey",
        "audit": "list[AuditLine]",
    },
    examples=(
        "segue key create --project web --role writer --agent ci --expires 90d",
        "segue key list", "segue key rotate 3f2a9c01b4de --grace 1h", "segue key revoke 3f2a9c01b4de",
    ),
)  # fmt: skip
def key(context: CommandContext) -> int:
    """Make a key, list them, replace one, revoke one, or show what was done."""
    from ....services.server.startup import managing

    if context.args.action in WRITING:
        context.check_paused()
    with managing(context.environment) as keys:
        return _DOES[context.args.action](context, keys)


def _create(context: CommandContext, keys: Keys) -> int:
    args = context.args
    made = keys.create(
        project=args.project or "", role=args.role or "writer", agent=args.agent or "",
        name=args.name or "", expires=args.expires or "",
    )  # fmt: skip
    return _shown_once(context, made)


def _rotate(context: CommandContext, keys: Keys) -> int:
    args = context.args
    return _shown_once(context, keys.rotate(_id(args), grace=args.grace or "", expires=args.expires or ""))


def _shown_once(context: CommandContext, made: Any) -> int:
    until = f", until {made.expires[:10]}" if made.expires else ""
    whose = f" for {made.agent}" if made.agent else ""
    return context.report(
        made, f"key {made.id}: {made.role} of project {made.project}{whose}{until}",
        "it is shown only once, keep it safe:", f"  {made.key}",
    )  # fmt: skip


def _list(context: CommandContext, keys: Keys) -> int:
    from ....effects.clock import now

    found, at = keys.list(), now()
    lines, objects = [], []
    for one in found:
        words = [one.id, f"{one.role:6}", one.project, one.agent, one.state(at), one_line(one.name)]
        lines.append("  ".join(word for word in words if word))
        fields = {name: getattr(one, name) for name in one.__struct_fields__ if name != "hash"}
        objects.append({**fields, "state": one.state(at)})
    return context.report(objects, *(lines or ["no keys yet; `segue key create` makes one"]))


def _revoke(context: CommandContext, keys: Keys) -> int:
    record = keys.revoke(_id(context.args))
    return context.report({"id": record.id, "revoked": record.revoked}, f"revoked key {record.id}")


def _audit(context: CommandContext, keys: Keys) -> int:
    found = keys.audit(project=context.args.project or "", limit=context.args.limit)
    lines = []
    for line in found:
        status = f"  {line.status}" if line.status else ""
        lines.append(f"{line.at[:19]}  {line.key}  {one_line(line.project)}  {one_line(line.act)}{status}")
    return context.report(found, *(lines or ["no key has been used yet"]))


_DOES = {"create": _create, "list": _list, "rotate": _rotate, "revoke": _revoke, "audit": _audit}


def _id(args: Any) -> str:
    if not args.key:
        raise UsageError(f"which key? `segue key {args.action} ID`", hint="`segue key list` lists the keys")
    return str(args.key)
