"""When something is wrong: recover, scrub, doctor. Recover and doctor work without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import UsageError
from ...render import Style, count, one_line
from ..command import CliCommand
from ..context import CommandContext, confirm, stdin_text
from ..progress import ProgressBar

if TYPE_CHECKING:
    from ....services.workspace.data_folder import DataFolder
    from ....settings import Settings
    from ..parser import Parser

BAD = 70
_COLOURS = {"ok": "green", "used": "green", "none": "dim", "warn": "yellow", "bad": "red", "damaged": "red"}


def _surroundings(context: CommandContext) -> tuple[DataFolder, Settings]:
    """The data folder and the settings, without opening the store."""
    from ....services.workspace.data_folder import DataFolder
    from ....settings import data_folder, resolve, user_file

    variables = context.environment
    settings = resolve(
        flags={"actor": context.args.actor or None}, environment=variables, user_config=user_file(variables)
    )
    return DataFolder(data_folder(variables)), settings


def recover(context: CommandContext) -> int:
    """Bring back what is readable."""
    from ....services.upkeep.recover.ladder import recover as run

    home, settings = _surroundings(context)
    if not context.args.dry_run:
        check_paused(context)
    with ProgressBar(context) as progress:
        found = run(
            home, settings, dry_run=context.args.dry_run, progress=progress, folder=context.folder,
            memory_dir=context.args.memory_dir,
        )  # fmt: skip
    context.emit(found)
    context.say(*(_line(context.style, rung) for rung in found.rungs))
    more = f", {count(found.memories, 'memory', 'memories')}" if found.doubt else ""
    context.say(f"{count(found.sessions, 'session')}, {count(found.events, 'event')}{more}")
    context.say(*_missing(context.style, found.missing))
    if found.doubt:
        context.say(context.style.paint(found.doubt, "yellow"))
    if found.kept:
        context.say(f"the damaged original is kept: {one_line(found.kept)}")
    if found.backup:
        context.say(f"a backup was made of what came back: {one_line(found.backup)}")
    if not found.changed:
        context.say("a dry run: nothing was changed" if context.args.dry_run else "nothing had to be changed")
    return 0


def check_paused(context: CommandContext) -> None:
    """PAUSE brakes what works without a store, too: in the data folder, and in the project."""
    from ....services.workspace.working_tree import check_pause

    home, settings = _surroundings(context)
    check_pause(context.folder, home.path, settings.text("pause_file"))


def _missing(style: Style, missing: list[Any]) -> list[str]:
    lines = []
    for gap in missing:
        which = f"versions {gap.first}-{gap.last}" if gap.last > gap.first else f"version {gap.first}"
        text = f"missing: {one_line(gap.stream.removeprefix('session/'))}, {which}: {one_line(gap.reason)}"
        lines.append(style.paint(text if gap.last else text.replace(f", {which}", ""), "red"))
    return lines


def scrub(context: CommandContext) -> int:
    """Erase a text from journal, archive and backups."""
    from ....services.upkeep.scrub import scrub as run

    args = context.args
    text = stdin_text().rstrip("\r\n") if args.text == "-" else args.text
    if not args.dry_run and not args.yes:
        found = run(context.segue.workspace, text, dry_run=True)
        question = f"Erase it for good from {_places(found)}?"
        if _found(found) and (context.json or args.text == "-" or not confirm(question)):
            hint = "`--dry-run` shows where it is; erasing is for whoever owns the text to confirm"
            raise UsageError(f"not erased: it is in {_places(found)}, and nobody said yes", hint=hint)
    with ProgressBar(context) as progress:
        found = run(context.segue.workspace, text, dry_run=args.dry_run, progress=progress)
    verb = "would erase it from" if args.dry_run else "erased it from"
    return _scrubbed(
        context, found, f"{verb} {_places(found)}" if _found(found) else "nothing holds this text"
    )


def _found(found: Any) -> bool:
    return bool(found.events or found.pieces or found.files or found.runs or found.memories)


def _places(found: Any) -> str:
    parts = (
        (found.events, "event", ""), (found.pieces, "piece", ""), (found.runs, "run", ""),
        (found.memories, "memory", "memories"), (len(found.files), "file", ""),
    )  # fmt: skip
    return ", ".join(count(number, noun, plural) for number, noun, plural in parts if number)


def _scrubbed(context: CommandContext, found: Any, line: str) -> int:
    context.emit(found)
    context.say(line, *(f"  session {one_line(id)}" for id in found.sessions))
    context.say(*(f"  file {one_line(str(name))}" for name in found.files))
    context.say(*(f"it stays in {one_line(name)}: names cannot be erased" for name in found.stays))
    context.say(*(f"it stays in {one_line(name)}: an agent's own file" for name in found.originals))
    context.say(*(f"it stays in {one_line(name)}" for name in found.beyond))
    return 0


def doctor(context: CommandContext) -> int:
    """Look whether all is well."""
    from ....services.upkeep.doctor.checkup import examine, prove

    home, settings = _surroundings(context)
    if context.args.prove:
        with ProgressBar(context) as progress:
            findings = prove(home, progress, settings)
    else:
        findings = examine(home, settings, context.environment, context.folder)
    context.emit(findings)
    for finding in findings:
        context.say(_line(context.style, finding))
        if finding.hint and finding.status != "ok":
            context.say(f"{'':9}hint: {one_line(finding.hint)}")
    bad = sum(finding.status == "bad" for finding in findings)
    warnings = sum(finding.status == "warn" for finding in findings)
    context.say(
        "", f"{count(bad, 'fault')}, {count(warnings, 'warning')}" if bad or warnings else "all is well"
    )
    return BAD if bad else 0


def _line(style: Style, row: Any) -> str:
    word = style.paint(f"{row.status:8}", _COLOURS.get(row.status, "bold"))
    return f"{word} {one_line(row.name)}" + (f": {one_line(row.detail)}" if row.detail else "")


def _recover_arguments(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would come back, and change nothing")
    parser.add_argument(
        "--memory-dir", default="memory", metavar="DIR", help="where handovers write to here; else `memory`"
    )


def _scrub_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("text", metavar="TEXT", help="the text; `-` reads it from stdin, so that no shell history keeps it")
    add("--dry-run", action="store_true", help="say where it is, and change nothing")
    add("--yes", action="store_true", help="do not ask")


def _doctor_arguments(parser: Parser) -> None:
    parser.add_argument("--prove", action="store_true", help="damage a copy of the store and recover it")


COMMANDS = (
    CliCommand(
        "recover", recover, _recover_arguments,
        json="`{rungs, sessions, events, missing, kept, changed, memories, doubt, backup}`",
        examples=("segue recover --dry-run", "segue recover"),
    ),
    CliCommand(
        "scrub", scrub, _scrub_arguments,
        json="`{events, pieces, files, sessions, stays, runs, originals, memories, beyond}`",
        examples=("segue scrub - --dry-run < secret.txt", "segue scrub - --yes < secret.txt"),
    ),
    CliCommand(
        "doctor", doctor, _doctor_arguments, json="an array of Checks",
        examples=("segue doctor", "segue doctor --prove", "segue doctor --json"),
    ),
)  # fmt: skip
