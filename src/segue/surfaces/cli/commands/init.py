"""`segue init` and `segue uninit`: what will be written is shown first, and a user at a terminal is asked.

Scripts and agents cannot be asked: they say --yes, and are told what was written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from .... import __version__
from ....errors import UsageError, extra
from ....services.hooks import install as installing
from ....services.hooks.install import InstallReport, InstallTarget, PlannedWrite, Scope
from ....services.workspace.data_folder import DataFolder
from ....services.workspace.open_workspace import for_looking
from ....services.workspace.working_tree import check_pause
from ....settings import data_folder
from ...render import count, one_line, safe
from ..command import argument, command, flag, many
from ..context import CommandContext, can_ask, confirm, write

_COMMON = (
    argument("--agent", "NAME", "only this agent; repeatable", action="append"),
    flag("--user", "for all projects of this user"),
    flag("--dry-run", "show the differences, and write nothing"),
    flag("--yes", "do not ask for confirmation"),
)  # fmt: skip


@command(
    "init",
    *_COMMON,
    many("--except", "NAME", "not in this agent"),
    flag("--shared", "write to files that are shared with colleagues; harmless where Segue is not installed"),
    flag("--live", "also hook into tool calls, to watch the context window during a turn"),
    flag("--status-line", "a status line in Claude Code, even in the place of yours; uninit gives it back"),
    flag("--no-status-line", "no status line; by default Claude Code gets one if you have none of your own"),
    flag("--no-mcp", "install hooks only, without the MCP server"),
    flag("--trust-hooks", "tell Codex that you trust these hooks; asks first"),
    argument("--plugin", "FOLDER", "write a plugin for Claude Code and Codex to this folder instead"),
    json="`{agents, scope, dry_run, changes, notes, refused}`",
    shape={"": "Installed", "--plugin": "WrittenPlugin"},
    examples=(
        "segue init", "segue init --except cline --dry-run", "segue init --agent codex --user",
        "segue init --agent claude --live --status-line",
    ),
)  # fmt: skip
def init(context: CommandContext) -> int:
    """Write hooks and the MCP server into the files of agents."""
    args = context.args
    home, where = _where(context)
    without = not where.mcp and not args.no_mcp
    optional = [f"the MCP tools are optional; to add them, {extra('mcp')}, then run init again"] * without
    agents = installing.chosen(args.agent or [], where, without=getattr(args, "except"))
    if args.plugin:
        return _plugin(context, home, where, optional)
    if not agents:
        return context.report(
            _object(installing.InstallReport([], where.scope, [], [])),
            f"found no agent that Segue knows; name one with --agent: {', '.join(installing.known_agents())} "
            "(agents-md writes a block for any agent into AGENTS.md)",
        )
    _check_pause(context)
    agents, changes, refused = installing.planned_for_each(agents, where)
    names = [one.name for one in agents]
    plan = installing.InstallReport(names, where.scope, changes, [], dry=True, refused=refused)
    if args.dry_run:
        done = plan
    else:
        _ask(context, plan, "would be written", "Write this?")
        done = replace(installing.install(home, agents, where, changes), refused=refused)
    told = replace(done, notes=[*done.notes, *optional])
    context.report(_object(told), *_lines(done, "would be written" if args.dry_run else "written"))
    for one in refused:
        context.warn(f"{one.agent} was left out: {one_line(one.reason)}")
    if args.trust_hooks and not args.dry_run:
        _trust(context, home, where)
    elif args.trust_hooks:
        context.say("Codex would then be told to trust these hooks: it notes that in its config.toml itself")
    elif not args.dry_run:
        context.say(*done.notes)
    if not args.dry_run:
        context.say("start your agent as always: the run after it is told where it stopped")
    context.say(*optional)
    return 0


@command(
    "uninit",
    *_COMMON,
    flag("--shared", "remove it from files that are shared with colleagues"),
    flag("--all", "remove it for every project and for the user"),
    json="`{agents, scope, dry_run, changes, notes, refused}`",
    shape="Installed",
    examples=("segue uninit", "segue uninit --all", "segue uninit --agent codex --user --dry-run"),
)  # fmt: skip
def uninit(context: CommandContext) -> int:
    """Remove what init wrote."""
    args = context.args
    home, where = _where(context)
    _check_pause(context)
    if not args.dry_run:
        plan = installing.take_out(home, where, args.agent or [], everywhere=args.all, dry=True)
        _ask(context, plan, "would be cleared of Segue", "Remove this?")
    done = installing.take_out(home, where, args.agent or [], everywhere=args.all, dry=args.dry_run)
    verb = "would be cleared of Segue" if args.dry_run else "cleared of Segue"
    lines = _lines(done, verb, left=done.notes)
    if not args.dry_run and any(one.is_one for one in done.changes):
        lines += [f"sessions and copies of transcripts are still in {one_line(str(home.path))}"]
    lines += _notes_lines(where.root, context.environment)
    return context.report(_object(done), *lines, *done.notes)


def _notes_lines(root: Path, environment: Mapping[str, str]) -> list[str]:
    from ....handover.flow import notes_folder

    folder = notes_folder(root, environment)
    if not folder:
        return []
    return [f"the notes of handovers in {one_line(folder)}/ belong to your repository, and stay"]


def _where(context: CommandContext) -> tuple[DataFolder, InstallTarget]:
    args = context.args
    if getattr(args, "status_line", False) and args.no_status_line:
        raise UsageError("--status-line and --no-status-line exclude each other", hint="give only one")
    if args.user and args.shared:
        raise UsageError("--user and --shared exclude each other", hint="give only one of them")
    home = DataFolder(data_folder(context.environment))
    workspace = for_looking(context.folder, context.environment) or context.open().workspace
    with workspace:
        root = workspace.working_tree.root
    scope: Scope = "user" if args.user else "shared" if args.shared else "project"
    mcp = not getattr(args, "no_mcp", False) and installing.can_serve()
    where = installing.where_of(
        home, root, context.environment, scope, mcp=mcp, live=getattr(args, "live", False),
        status_line=getattr(args, "status_line", False),
        offers_status_line=scope != "shared" and not getattr(args, "no_status_line", True),
    )  # fmt: skip
    return home, where


def _check_pause(context: CommandContext) -> None:
    """Raise Paused while there is a PAUSE file, which protects the files of agents, too."""
    if not context.args.dry_run:
        check_pause(context.folder, data_folder(context.environment))


def _ask(context: CommandContext, plan: InstallReport, verb: str, question: str) -> None:
    """Show what would be changed and ask, unless the answer was given. Raises UsageError if nobody can be
    asked."""
    files = sum(one.is_one for one in plan.changes)
    if context.args.yes or not files:
        return
    if not can_ask():
        raise UsageError(
            f"{count(files, 'file')} {verb}, and there is no terminal to ask you on",
            hint="`--dry-run` shows them, `--yes` goes ahead",
        )
    for line in _lines(plan, verb):
        write(context.err if context.json else context.out, line)
    context.out.flush()
    if not confirm(question):
        raise UsageError("nothing was changed: you did not confirm", hint="`--dry-run` shows it again")


def _lines(done: InstallReport, verb: str, left: list[str] | None = None) -> list[str]:
    """The files, with their differences while nothing is written yet; ``left`` is what stays in other
    places."""
    lines = []
    changes = [one for one in done.changes if one.is_one]
    for change in changes:
        lines.append(f"{change.agent}: {one_line(change.path)} ({change.about})")
        if done.dry:
            lines += [*(safe(line) for line in change.diff().splitlines()), ""]
    summed = f"{count(len(changes), 'file')} {verb}"
    if changes:
        return [*lines, summed]
    if left is None:
        return [*lines, "nothing to do: everything is in place"]
    return [*lines, "nothing is installed here" if left else "nothing to do: nothing is installed"]


def _object(done: InstallReport) -> dict[str, Any]:
    return {
        "agents": done.agents, "scope": done.scope, "dry_run": done.dry, "notes": done.notes,
        "changes": [_change(one) for one in done.changes if one.is_one],
        "refused": done.refused,
    }  # fmt: skip


def _change(change: PlannedWrite) -> dict[str, str]:
    kind = "created" if change.before is None else "removed" if change.after is None else "changed"
    return {
        "path": change.path, "agent": change.agent, "about": change.about, "kind": kind, "diff": change.diff()
    }  # fmt: skip


def _trust(context: CommandContext, home: DataFolder, where: InstallTarget) -> None:
    """Tell Codex that its user trusts our hooks: only on an explicit yes."""
    from ....services.hooks.codex_trust import trust_hooks

    if not context.args.yes and not confirm("Trust the hooks that Segue wrote, in Codex?"):
        raise UsageError(
            "the hooks were written, but not trusted: you did not confirm",
            hint="review them with /hooks in codex",
        )
    trusted = trust_hooks(home, where)
    context.say(f"Codex now trusts {count(trusted, 'hook')} of Segue")


def _plugin(context: CommandContext, home: DataFolder, where: InstallTarget, optional: list[str]) -> int:
    from ....services.hooks.plugin import render_plugin

    folder = Path(context.args.plugin).expanduser().absolute()
    _check_pause(context)
    files = render_plugin(folder, where, home, __version__)
    context.emit({"folder": str(folder), "files": [str(one) for one in files]})
    context.say(
        f"a plugin for Claude Code and Codex is in {one_line(str(folder))}",
        f"  claude plugin marketplace add {one_line(str(folder))} && claude plugin install segue@segue-local",
        f"  codex plugin marketplace add {one_line(str(folder))} && codex plugin add segue@segue-local",
        "  Codex runs the hooks once you trust them: /hooks in codex, or run this again with --trust-hooks",
    )
    if context.args.trust_hooks:
        _trust(context, home, where)
    context.say(*optional)
    return 0
