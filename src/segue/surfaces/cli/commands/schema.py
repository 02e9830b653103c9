"""`segue schema`: the tables of a Postgres store, and the roles that own, write and read them."""

from __future__ import annotations

from ....services.upkeep.postgres_schema import SchemaState, look, roles_sql
from ...render import one_line
from ..command import argument, command, flag
from ..context import CommandContext

BEHIND = 1


@command(
    "schema",
    flag("--upgrade", "create or upgrade the tables, with the role named in the store's address"),
    argument("--roles", "DATABASE", "print the SQL that creates the roles for a database, for a superuser"),
    argument("--owner", "NAME", "with --roles: the role that owns the tables; by default segue_owner"),
    argument("--writer", "NAME", "with --roles: the role that servers use; by default segue_writer"),
    argument("--reader", "NAME", "with --roles: the role that only reads; by default segue_reader"),
    json="`{store, database, schema, newest, role, may_change}`; with --roles `{sql}`",
    shape={"": "SchemaState", "--roles": "RolesSql"},
    examples=(
        "segue schema --roles segue",
        "segue --store postgresql://segue_owner@db.example/segue schema --upgrade",
        "segue schema",
    ),
)  # fmt: skip
def schema(context: CommandContext) -> int:
    """Show the tables; exit 1 if they are older than this Segue."""
    args = context.args
    if args.roles:
        made = roles_sql(args.roles, args.owner or "", args.writer or "", args.reader or "")
        return context.report({"sql": made}, *(f"{statement};" for statement in made))
    if args.upgrade:
        context.check_paused()
    found = look(context.own_settings(), upgrade=args.upgrade)
    return context.report(found, *_lines(found), code=BEHIND if found.schema < found.newest else 0)


def _lines(found: SchemaState) -> list[str]:
    lines = [f"{one_line(found.store)}: schema {found.schema}; this Segue expects {found.newest}"]
    may = "may change the tables" if found.may_change else "may not change the tables, which is right"
    lines.append(f"the role {one_line(found.role)} {may}")
    if found.may_change and found.schema == found.newest:
        lines.append("servers should use another role: `segue schema --roles DATABASE` creates one")
    if found.schema < found.newest:
        lines.append("to upgrade them, run `segue schema --upgrade` as the role that owns them")
    return lines
