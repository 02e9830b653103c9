"""Set up: config, trust, completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import SegueError, UsageError
from ...render import one_line, safe, table
from ..command import CliCommand
from ..context import CommandContext, confirm

if TYPE_CHECKING:
    from ....settings import Origin
    from ..parser import Parser

_SECRET = ("api_key", "embedder_key")


def config(context: CommandContext) -> int:
    """Every setting, or one."""
    origins = [_shown(origin) for origin in _origins(context)]
    wanted = context.args.name
    if not wanted:
        context.emit(origins)
        if not context.json:
            rows = [(o["name"], _text(o["value"]), o["origin"], o["about"]) for o in origins]
            context.say(*table(("setting", "value", "origin", "about"), rows, context.style))
        return 0
    found = next((o for o in origins if o["name"] == wanted), None)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(wanted, [o["name"] for o in origins], n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`segue config` lists them all"
        raise UsageError(f"there is no setting {wanted!r}", hint=hint)
    context.emit(found)
    context.say(one_line(_text(found["value"])))
    return 0


def _origins(context: CommandContext) -> list[Origin]:
    """The settings; without the project's file if the store, which knows what is trusted, is ill."""
    from ....errors import BadSettings, UsageError
    from ....settings import resolve, user_file

    try:
        return context.segue.workspace.settings.origins()
    except (BadSettings, UsageError):
        raise
    except SegueError as fault:
        context.warn(f"{fault.message}; without this project's segue.toml:")
        variables = context.environment
        flags = {"actor": context.args.actor or None}
        return resolve(flags=flags, environment=variables, user_config=user_file(variables)).origins()


def _shown(origin: Origin) -> dict[str, Any]:
    value = "(set)" if origin.name in _SECRET and origin.value else origin.value
    if origin.name == "store" and "@" in str(value):
        from ....services.workspace.open_store import shown

        value = shown(value)
    return {"name": origin.name, "value": value, "origin": origin.origin, "about": origin.about}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def trust(context: CommandContext) -> int:
    """Accept this project's segue.toml as it is now."""
    from ....effects.clock import now
    from ....handover.declared import workflow
    from ....settings import content_hash, resolve, table_of

    segue = context.segue
    file = segue.workspace.working_tree.project_file
    hash = content_hash(file)
    if not hash:
        raise UsageError(f"there is no {file}", hint="nothing to trust here")
    content = file.read_bytes().decode("utf-8", "replace")
    if segue.workspace.working_tree.trusted():
        return _trusted(context, content, f"{file} is trusted already")
    segue.workspace.pause_file.check()
    resolve(project_file=file, project_trusted=True)
    workflow(*table_of("handover", file))
    context.say(f"{file}:", "", *(f"  {line}" for line in safe(content).splitlines()), "")
    if not context.args.yes and not confirm("Trust this file as it is now?"):
        raise UsageError(
            "not trusted: nobody said yes",
            hint="whether it can be trusted is for its owner to say: run `segue trust` on a terminal",
        )
    if content_hash(file) != hash:
        raise UsageError(f"{file} changed while it was looked at", hint="look at it again")
    segue.workspace.working_tree.trust(
        segue.workspace.pause_file, at=now(), actor=segue.workspace.repository.actor
    )
    return _trusted(context, content, f"trusted, until its content changes: {file}")


def _trusted(context: CommandContext, content: str, line: str) -> int:
    from ....settings import content_hash

    file = context.segue.workspace.working_tree.project_file
    context.emit({"file": str(file), "hash": content_hash(file), "trusted": True, "content": content})
    context.say(line)
    return 0


def completion(context: CommandContext) -> int:
    """A script for a shell."""
    from ..completion import script

    text = script(context.args.shell)
    context.emit({"shell": context.args.shell, "script": text})
    context.say(text.rstrip("\n"))
    return 0


def _config_arguments(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this setting's value")


def _trust_arguments(parser: Parser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask: I have looked at it")


def _completion_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


COMMANDS = (
    CliCommand(
        "config", config, _config_arguments,
        json="an array of `{name, value, origin, about}`; with NAME one of them; a key is never shown",
        examples=("segue config", "segue config cleanup_days", "segue config --json"),
    ),
    CliCommand(
        "trust", trust, _trust_arguments, json="`{file, hash, trusted, content}`",
        examples=("segue trust", "segue trust --yes"),
    ),
    CliCommand(
        "completion", completion, _completion_arguments, json="`{shell, script}`",
        examples=(
            'eval "$(segue completion bash)"', "segue completion zsh > ~/.zfunc/_segue",
            "segue completion fish > ~/.config/fish/completions/segue.fish",
        ),
    ),
)  # fmt: skip
