"""`segue feature`: criteria of success, declared and looked at. Nothing here says that one passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....core.base.values import parse_digits
from ....errors import UsageError
from ...render import Style, ago, count, one_line, table
from ..command import CliCommand
from ..context import CommandContext, read_file, text_or_stdin, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....core.features.checks import Check
    from ....core.features.verdict import Verdict
    from ..parser import Parser

COLOURS = {"passing": "green", "failing": "red", "stale": "yellow", "blocked": "yellow", "testing": "cyan"}
FORMATS = ("feature_list", "progress", "pytest", "junit")


def feature(context: CommandContext) -> int:
    """Add, change, remove, show, list, import, export, attest, begin, block, fail."""
    return _ACTIONS[context.args.action](context)


def _named(context: CommandContext) -> str:
    if not context.args.name:
        raise UsageError("which feature?", hint=f"segue feature {context.args.action} NAME")
    return str(context.args.name)


def checks_of(args: Any) -> list[Check]:
    """The checks that the options declare."""
    from ....services.features.features import as_check, parsed

    proves = tuple(_numbers(args.proves)) if args.proves else ()
    more: dict[str, Any] = {
        "folder": args.in_folder or "", "limit_seconds": args.limit, "proves": proves,
        "exit_code": args.exit, "pattern": args.pattern or "",
        "environment": dict(_pair(one) for one in args.env),
    }  # fmt: skip
    if args.shell:
        from ....core.features.checks import Check

        return [as_check(Check((command,), shell=True, **more)) for command in args.check]
    return [as_check(parsed(command, **more)) for command in args.check]


def _numbers(text: str) -> Iterable[int]:
    for part in text.replace(",", " ").split():
        if parse_digits(part) < 0:
            raise UsageError(f"{part[:99]} is no number of a step", hint="for example --proves 1,2")
        yield parse_digits(part)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text} is not NAME=VALUE", hint="for example --env MODE=test")
    return name, value


# -- declaring ---------------------------------------------------------------------------------


def _add(context: CommandContext) -> int:
    args, features = context.args, context.session().features
    id, text = _named(context), text_or_stdin(args.text or "")
    if not text.strip():
        raise UsageError("a feature needs a description", hint='segue feature add NAME "what must work"')
    saved = features.add(
        id, text, category=args.category or "", steps=args.step, checks=checks_of(args), covers=args.covers
    )
    found = features.feature(id)
    if args.covers and not context.json and saved.events:
        covers = [one for one in found.covers if not features.look().covered((one,))[1]]
        for one in covers:
            context.warn(f"{one_line(one)} covers no file so far")
    told = f"feature {one_line(id)}: {count(len(found.steps), 'step')}, {count(len(found.checks), 'check')}"
    lines = [told + ", not proven" if saved.events else "nothing changed: it was so already"]
    return context.saved(saved, *lines, feature=features.get(id))


def _change(context: CommandContext) -> int:
    args, features, id = context.args, context.session().features, _named(context)
    old = features.feature(id)
    checks = _without(
        [(check.text, check) for check in old.checks], args.drop_check, "check"
    ) + checks_of(args)  # fmt: skip
    steps = _without([(step, step) for step in old.steps], args.drop_step, "step") + args.step
    covers = _without([(one, one) for one in old.covers], args.drop_covers, "covered path") + args.covers
    text = text_or_stdin(args.text) if args.text else None
    saved = features.change(
        id, description=text, category=args.category, steps=steps, checks=checks, covers=covers,
        reason=args.reason or "",
    )  # fmt: skip
    verdict = features.get(id)
    line = f"changed: {one_line(id)} is {verdict.status}" if saved.events else "nothing changed"
    return context.saved(saved, line, feature=verdict)


def _without(rows: list[tuple[str, Any]], drops: list[str], what: str) -> list[Any]:
    """The values that are not dropped; dropped by text, or by number as in ``#2``."""
    numbers = {f"#{place}": text for place, (text, _) in enumerate(rows, 1)}
    gone = {numbers.get(one, one) for one in drops}
    for one in gone - {text for text, _ in rows}:
        raise UsageError(f"there is no {what} {one_line(one)}", hint="see `segue feature show`")
    return [value for text, value in rows if text not in gone]


def _remove(context: CommandContext) -> int:
    id = _named(context)
    saved = context.session().features.remove(id, context.args.reason or "")
    return context.saved(saved, f"removed: {one_line(id)}; `segue complete` will tell of it")


def _attest(context: CommandContext) -> int:
    args, features, id = context.args, context.session().features, _named(context)
    note = text_or_stdin(args.note or args.text or "")
    saved = features.attest(id, note, who=args.by or "", step=args.step[0] if args.step else "")
    verdict = features.get(id)
    return context.saved(saved, f"attested: {one_line(id)} is {verdict.status}", feature=verdict)


def _begin(context: CommandContext) -> int:
    features, id = context.session().features, _named(context)
    return context.saved(features.begin(id, implemented_by=context.args.by or ""), f"begun: {one_line(id)}")


def _reason(context: CommandContext) -> str:
    return text_or_stdin(context.args.reason or context.args.text or "")


def _block(context: CommandContext) -> int:
    id = _named(context)
    return context.saved(context.session().features.block(id, _reason(context)), f"blocked: {one_line(id)}")


def _fail(context: CommandContext) -> int:
    features, id = context.session().features, _named(context)
    return context.saved(features.mark_failed(id, _reason(context)), f"failing: {one_line(id)}")


# -- looking -----------------------------------------------------------------------------------


def verdict_lines(verdicts: Iterable[Verdict], style: Style) -> list[str]:
    """A table of verdicts."""
    shown = list(verdicts)
    rows = [
        (one.id, one.status, ago(one.proven_at) if one.proven_at else "-", _why(one)) for one in shown
    ]  # fmt: skip
    lines = table(("feature", "status", "proven", "why"), rows, style)
    return [lines[0], *(_painted(line, one, style) for line, one in zip(lines[1:], shown, strict=True))]


def _why(verdict: Verdict) -> str:
    if verdict.passes:
        return "attested by " + verdict.verified_by if verdict.attested else verdict.description
    return verdict.reason or verdict.description


def _painted(line: str, verdict: Verdict, style: Style) -> str:
    colour = COLOURS.get(verdict.status)
    return (
        line.replace(f" {verdict.status}", f" {style.paint(verdict.status, colour)}", 1) if colour else line
    )


def _list(context: CommandContext) -> int:
    found = context.session().features.list(context.args.status or "")
    context.emit(found)
    if not found.total:
        context.say('no features yet; `segue feature add NAME "what must work" --check COMMAND` adds one')
    elif not context.json:
        context.say(*verdict_lines(found.features, context.style), f"{found.passing} of {found.total} proven")
    return 0


def _show(context: CommandContext) -> int:
    from .verify import show_feature

    return show_feature(context, _named(context))


def _import(context: CommandContext) -> int:
    from ....services.features.import_export import import_features

    name = _named(context)
    done = import_features(context.session(), read_file(name), name, context.args.format or "")
    context.emit(done)
    context.say(*done.words())
    for note in done.notes:
        context.warn(one_line(note))
    return 0


def _export(context: CommandContext) -> int:
    from ....services.features.import_export import export_features

    body = export_features(context.session(), context.args.format or "feature_list")
    if context.args.name and context.args.name != "-":
        write_file(context.args.name, body)
        context.emit({"file": context.args.name, "bytes": len(body)})
        context.say(f"written: {one_line(context.args.name)}")
        return 0
    import sys

    sys.stdout.write(body.decode())
    return 0


_ACTIONS = {
    "add": _add, "change": _change, "remove": _remove, "show": _show, "list": _list, "attest": _attest,
    "begin": _begin, "block": _block, "fail": _fail, "import": _import, "export": _export,
}  # fmt: skip


def _arguments(parser: Parser) -> None:
    from ....core.features.checks import SECONDS_DEFAULT
    from ....core.features.verdict import STATUSES

    add = parser.add_argument
    add("action", choices=tuple(_ACTIONS), help="what to do")
    add("name", nargs="?", metavar="NAME", help="the feature's id; with import and export a file")
    add("text", nargs="?", metavar="TEXT", help="with add, change: what must work; block, fail: why")
    add("--step", action="append", default=[], metavar="TEXT", help="a test step; with attest the one meant")
    add("--check", action="append", default=[], metavar="COMMAND", help="a command that proves steps")
    add("--covers", action="append", default=[], metavar="GLOB", help="covered files; else the whole tree")
    add("--category", metavar="TEXT", help="with add, change: a word to sort by")
    add("--proves", metavar="N,N", help="of --check: the steps it proves; else all")
    add("--shell", action="store_true", help="of --check: give it to sh")
    add("--in", dest="in_folder", metavar="DIR", help="of --check: where it runs, from the top of the tree")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="of --check: a variable for it")
    add("--limit", type=float, default=SECONDS_DEFAULT, metavar="SECONDS", help="of --check: its time limit")
    add("--exit", type=int, default=0, metavar="N", help="of --check: the exit code that means passed")
    add("--pattern", metavar="RE", help="of --check: what its output must hold, too")
    add("--drop-step", action="append", default=[], metavar="STEP", help="with change: its text, or `#2`")
    add("--drop-check", action="append", default=[], metavar="CHECK", help="with change: its text, or `#1`")
    add("--drop-covers", action="append", default=[], metavar="GLOB", help="with change: a covered path")
    add("--reason", metavar="TEXT", help="with change, remove, block, fail: why")
    add("--note", metavar="TEXT", help="with attest: what was looked at")
    add("--by", metavar="NAME", help="with attest: who looked; with begin: who implements it")
    add("--status", choices=STATUSES, help="with list: only these")
    add("--output", action="store_true", help="with show: the whole output of the last run")
    add("--format", choices=FORMATS, help="with import, export: the kind of file")


COMMANDS = (
    CliCommand(
        "feature", feature, _arguments, session="flag",
        json="add, change, attest: Saved with `feature` (a Verdict); remove, begin, block, fail: Saved; "
        "list: a FeatureList; show: the Feature with `verdict` and `evidence`; import: what was done; "
        "export: the file itself",
        examples=(
            'segue feature add jwt "Users log in with a JWT" --check "pytest tests/test_auth.py -q" '
            '--covers "src/auth/**"',
            'segue feature attest design --note "looked at every screen" --by ana',
            "segue feature show jwt --output", "segue feature import feature_list.json",
        ),
    ),
)  # fmt: skip
