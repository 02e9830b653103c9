"""`segue feature`: declare and show criteria of success. Nothing here makes one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....core.base.values import parse_digits
from ....core.event_kinds import CheckRan
from ....core.features.checks import SECONDS_DEFAULT, Check
from ....core.features.verdict import STATUSES
from ....errors import UsageError
from ....services.features.features import Features, as_check, parsed
from ...render import count, feature_object, one_line, safe
from ..command import argument, command, flag, many, optional
from ..context import CommandContext, read_file, text_or_stdin, write_bytes
from ..views.features import feature_lines, verdict_lines

FORMATS = ("feature_list", "progress", "pytest", "junit")


def _named(context: CommandContext) -> str:
    return context.needed("name", "feature")


def _checks(args: Any) -> list[Check]:
    """The checks that the options declare."""
    proves = tuple(_numbers(args.proves)) if args.proves else ()
    more: dict[str, Any] = {
        "folder": args.in_folder or "", "limit_seconds": args.limit, "proves": proves,
        "exit_code": args.exit, "pattern": args.pattern or "",
        "environment": dict(_pair(one) for one in args.env),
    }  # fmt: skip
    if args.shell:
        return [as_check(Check((command,), shell=True, **more)) for command in args.check]
    return [as_check(parsed(command, **more)) for command in args.check]


def _numbers(text: str) -> Iterable[int]:
    for part in text.replace(",", " ").split():
        if parse_digits(part) < 0:
            raise UsageError(f"{part[:99]} is not the number of a step", hint="for example --proves 1,2")
        yield parse_digits(part)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text} is not NAME=VALUE", hint="for example --env MODE=test")
    return name, value


def _add(context: CommandContext) -> int:
    args, features = context.args, context.session().features
    id, text = _named(context), text_or_stdin(args.text or "")
    if not text.strip():
        raise UsageError("a feature needs a description", hint='segue feature add NAME "what must work"')
    saved = features.add(
        id, text, category=args.category or "", steps=args.step, checks=_checks(args), covers=args.covers
    )
    found = features.feature(id)
    if args.covers and not context.json and saved.events:
        covers = [one for one in found.covers if not features.look().covered((one,))[1]]
        context.warn_all(f"{one_line(one)} does not match any file yet" for one in covers)
    summary = (
        f"feature {one_line(id)}: {count(len(found.steps), 'step')}, {count(len(found.checks), 'check')}"
    )
    lines = [summary + ", not proven" if saved.events else "nothing changed"]
    return context.saved(saved, *lines, feature=features.get(id))


def _change(context: CommandContext) -> int:
    from ....services.features.edit import FeatureEdit, edit

    args, features, id = context.args, context.session().features, _named(context)
    change = FeatureEdit(
        text_or_stdin(args.text) if args.text else None, args.category, tuple(args.step),
        tuple(_checks(args)), tuple(args.covers), tuple(args.drop_step), tuple(args.drop_check),
        tuple(args.drop_covers), args.reason or "",
    )  # fmt: skip
    saved = edit(features, id, change)
    verdict = features.get(id)
    line = f"changed: {one_line(id)} is {verdict.status}" if saved.events else "nothing changed"
    return context.saved(saved, line, feature=verdict)


def _remove(context: CommandContext) -> int:
    id = _named(context)
    saved = context.session().features.remove(id, context.args.reason or "")
    return context.saved(saved, f"removed: {one_line(id)}; `segue complete` will mention it")


def _attest(context: CommandContext) -> int:
    args, features, id = context.args, context.session().features, _named(context)
    note = text_or_stdin(args.note or args.text or "")
    saved = features.attest(id, note, who=args.by or "", step=args.step[0] if args.step else "")
    verdict = features.get(id)
    return context.saved(saved, f"attested: {one_line(id)} is {verdict.status}", feature=verdict)


def _move(context: CommandContext) -> int:
    """Declare that a feature is under way, blocked or failing."""
    args, features, id = context.args, context.session().features, _named(context)
    if args.action == "begin":
        return context.saved(features.begin(id, implemented_by=args.by or ""), f"begun: {one_line(id)}")
    reason = text_or_stdin(args.reason or args.text or "")
    if args.action == "block":
        return context.saved(features.block(id, reason), f"blocked: {one_line(id)}")
    return context.saved(features.mark_failed(id, reason), f"failing: {one_line(id)}")


def _list(context: CommandContext) -> int:
    found = context.session().features.list(context.args.status or "")
    if not found.total:
        empty = 'no features yet; `segue feature add NAME "what must work" --check COMMAND` adds one'
        return context.report(found, empty)
    lines = verdict_lines(found.features, context.style)
    return context.report(found, *lines, f"{found.passing} of {found.total} proven")


def _show(context: CommandContext) -> int:
    features, id = context.session().features, _named(context)
    history = features.history(id)
    if context.args.output:
        return _show_output(context, features, history)
    lines = feature_lines(features.feature(id), features.get(id), history, context.style)
    return context.report(feature_object(features, id), *lines)


def _show_output(context: CommandContext, features: Features, history: Sequence[Any]) -> int:
    """The whole output of the newest run of a check."""
    output = next((body.output for _, body in reversed(history) if isinstance(body, CheckRan)), "")
    kept = features.outputs.read(output) if output else b""
    text = (kept or b"").decode("utf-8", "replace")
    return context.report(
        {"output": text, "kept": kept is not None},
        safe(text.rstrip("\n")) if kept is not None else "the output is no longer kept",
    )


def _import(context: CommandContext) -> int:
    from ....services.features.import_export import import_features

    name = _named(context)
    done = import_features(context.session(), read_file(name), name, context.args.format or "")
    context.warn_all(map(one_line, done.notes))
    return context.report(done, *done.words())


def _export(context: CommandContext) -> int:
    from ....services.features.import_export import export_features

    body = export_features(context.session(), context.args.format or "feature_list")
    if context.args.name and context.args.name != "-":
        context.write_file(context.args.name, body)
        return context.report(
            {"file": context.args.name, "bytes": len(body)}, f"written: {one_line(context.args.name)}"
        )
    write_bytes(context.out, body)
    return 0


command(
    "feature",
    optional("name", "NAME", "the id of the feature; with import and export, a file"),
    optional("text", "TEXT", "with add, change: what must work; with block, fail: the reason"),
    many("--step", "TEXT", "a test step; with attest, the step you looked at"),
    many("--check", "COMMAND", "a command that proves steps"),
    many("--covers", "GLOB", "files that it covers; by default the whole tree"),
    argument("--category", "TEXT", "with add, change: a category"),
    argument("--proves", "N,N", "with --check: the steps that it proves; by default all"),
    flag("--shell", "with --check: run it with sh"),
    argument(
        "--in", "DIR", "with --check: where to run it, relative to the top of the tree", dest="in_folder",
    ),
    many("--env", "NAME=VALUE", "with --check: a variable of its environment"),
    argument("--limit", "SECONDS", "with --check: its time limit", type=float, default=SECONDS_DEFAULT),
    argument("--exit", "N", "with --check: the exit code that counts as passed", type=int, default=0),
    argument("--pattern", "RE", "with --check: a pattern that its output must also match"),
    many("--drop-step", "STEP", "with change: its text, or `#2`"),
    many("--drop-check", "CHECK", "with change: its text, or `#1`"),
    many("--drop-covers", "GLOB", "with change: a pattern of covered files"),
    argument("--reason", "TEXT", "with change, remove, block, fail: the reason"),
    argument("--note", "TEXT", "with attest: what you looked at"),
    argument("--by", "NAME", "with attest: who looked at it; with begin: who implements it"),
    argument("--status", None, "with list: only features with this status", choices=STATUSES),
    flag("--output", "with show: the full output of the last check that ran"),
    argument("--format", None, "with import, export: the kind of file", choices=FORMATS),
    session="flag",
    json="add, change, attest: Saved with `feature` (a Verdict); remove, begin, block, fail: Saved; "
    "list: a FeatureList; show: the Feature with `verdict` and `evidence`; import: what was done; "
    "export: the file itself",
    shape={
        "add": "SavedFeature", "change": "SavedFeature", "remove": "Saved", "show": "ShownFeature",
        "show --output": "KeptOutput", "list": "FeatureList", "attest": "SavedFeature", "begin": "Saved",
        "block": "Saved", "fail": "Saved", "import": "ImportedFeatures", "export": "Any",
        "export FILE": "WrittenFile",
    },
    examples=(
        'segue feature add jwt "Users log in with a JWT" --check "pytest tests/test_auth.py -q" '
        '--covers "src/auth/**"',
        'segue feature attest design --note "looked at every screen" --by ana',
        "segue feature show jwt --output", "segue feature import feature_list.json",
    ),
    actions={
        "add": _add, "change": _change, "remove": _remove, "show": _show, "list": _list, "attest": _attest,
        "begin": _move, "block": _move, "fail": _move, "import": _import, "export": _export,
    },
)  # fmt: skip
