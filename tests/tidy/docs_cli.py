"""Writes docs/reference/cli.md from the parsers: ``python -m tests.tidy.docs_cli``.

A test holds the file to this, so that the reference cannot say what the commands do not do.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from segue.core.journal import histories
from segue.core.sessions import holds as hold, state, status
from segue.services.brief import overview
from segue.services.sessions import repository
from segue.services.upkeep import archive_places, rebuild, scrub
from segue.services.upkeep.doctor import finding
from segue.services.upkeep.recover import result
from segue.services.workspace import backups
from segue.surfaces.cli.command import find
from segue.surfaces.cli.parser import flags, shown, usage
from segue.surfaces.cli.table import GROUPS

TARGET = Path("docs") / "reference" / "cli.md"

_INTRO = """\
# Commands

<!-- Written by `make docs` from the parsers. Do not edit: a test compares. -->

`segue COMMAND [options]`. `segue --help` lists the everyday commands, `segue help --all` every one,
`segue help COMMAND` or `segue COMMAND --help` explains one, `segue --version` shows the version
(with `--json` [as an object](json/version.json)).
`python -m segue` is the same.

**`segue` alone** shows where the work in this folder stands, and exits with 0: the current session with
what is under way, next and blocked, the last run and how it ended, what is waiting for you, and the commands
that fit; with `--json` an Overview ([schema](json/segue.json)).

**Nothing yet is no error.** Where there is no session or run to look at, `status`, `brief`, `since`, `show`,
`log`, `checkpoints`, `feature list`, `agent list`, and `budget` and `hold` without further words say so on
standard error and exit with 0; with `--json` they print `null`.

**Other names** do the same: `ls` and `sessions` are `list`, `new` is `start`, `history` is `log`, `ps` is
`runs`, `cost` is `usage`, `find` is `search`, `watch` is `status --watch`, `tail` is `log --follow`,
`dashboard` is `ui`, `settings` is `config`.

**Which session** a command means: the ID that is given (as an argument or with `--session`), else
`SEGUE_SESSION`, else the current one of the working tree.

**Text** of `-` is read from standard input. An item may be named by its text, in any case and
spacing, or by its number as `segue status` shows it: `#3`.

**People and programs.** Without `--json` the output is for people and may change. With it,
standard output holds one JSON value of the shape that is named with each command; the JSON Schema that is
linked there says what is in it. Every field is always there, and an array is one even if it is empty.
Fields may be added, and none is renamed or removed within a major version. Commands that keep running print a
value on each line. Times are UTC in ISO 8601; durations are in seconds and sizes in bytes, unless their
name says otherwise. `session` is the session that a command worked on; an object that is itself a session,
a run or a memory has an `id`.
Warnings and errors are on standard error, as `segue: warning: …` and `segue: …`.
"""

_EXITS = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | it worked |
| 1 | the answer is no: `verify`: not everything is proven; `bootstrap`: not as it was; `budget --spent`: at \
the limit; `handover check`: resume needed |
| 2 | `handover check`: completed |
| 64 | the command line is wrong, or names something that does not exist |
| 65 | refused in this state: the session is over, nothing to undo, a PAUSE file |
| 66 | somebody else changed it first, or holds the session |
| 69 | an agent, a model or a transcript failed, or a package or program is not installed |
| 70 | damage, a fault that `doctor` or `rebuild --check` found, or an unexpected error (`SEGUE_DEBUG=1`) |
| 74 | the store cannot be reached, is busy or full |
| 75 | a step of a handover failed and stays pending |
| 77 | no permission to read or write a file or folder |
| 130 | Ctrl-C |
| 141 | the program reading the output stopped reading |

`segue hold -- COMMAND` exits with the exit code of the command: 128 and the signal's number if it was
killed, 127 if there is no such command, 126 if it cannot be run.

With `--json` an error is also an object on standard output ([schema](json/error.json)):

```json
{"error": {"code": "unknown_session", "message": "…", "hint": "…", "retryable": false}}
```

with more fields where there are facts: `stream`, `expected` and `actual` of `stale_version`; `session`,
`by`, `since` and `until` of `session_held`; `source`, `where` and `reason` of `damaged`.
"""

_SHAPES: tuple[type[Any], ...] = (
    overview.Overview, overview.LastRun, overview.Suggestion,
    repository.Saved, status.SessionStatus, status.Card, status.Progress, status.Blocked, status.Lifecycle,
    status.Hints, state.Decision, state.Question, state.Thread, state.Finding, state.Trouble, state.Focus,
    state.Metrics, state.AgentState, state.Mark, state.Handing, hold.Holder, backups.Backup,
    archive_places.Archived, rebuild.Rebuilt, result.Recovery, result.Rung, histories.Missing,
    result.KeptHistory, scrub.Scrubbed, finding.Diagnosis,
)  # fmt: skip
_EVENT = (
    "version: int", "kind: str", "at: str", "actor: str", "run: str", "format: int", "left: int",
    "erased: bool", "known: bool", "words: str", "body: object", "hash: str", "prev: str",
)  # fmt: skip


def reference() -> str:
    """The reference of all commands, as Markdown."""
    parts = [_INTRO, "## Options of every command\n", _rows(find("status").parser().options(shared=True))]
    parts += ["They may stand before or after the command.\n"]
    for group, names in GROUPS.items():
        parts.append(f"## {group[0].upper()}{group[1:]}\n")
        parts += [_command(name) for name in names]
    return "\n".join([*parts, _EXITS, _shapes()])


def _command(name: str) -> str:
    command = find(name)
    parser = command.parser()
    about = f"{command.about[0].upper()}{command.about[1:]}."
    lines = [f"### segue {name}\n", f"{about}\n", f"```\n{usage(parser)}\n```\n"]
    actions = [*parser.positionals(), *parser.options()]
    if actions:
        lines.append(_rows(actions))
    lines.append("```console\n" + "\n".join(f"$ {example}" for example in command.examples) + "\n```\n")
    lines.append(f"`--json`: {command.json} ([schema](json/{name}.json)).\n")
    return "\n".join(lines)


def _rows(actions: list[argparse.Action]) -> str:
    rows = [(flags(a) if a.option_strings else shown(a), a.help or "") for a in actions]
    body = "\n".join(f"| `{name.replace('|', chr(92) + '|')}` | {about} |" for name, about in rows)
    return f"| | |\n|---|---|\n{body}\n"


def _shapes() -> str:
    parts = ["## Shapes\n", "Every field is always present; what is not known is empty, zero or false.\n"]
    for shape in _SHAPES:
        name = "Check" if shape is finding.Diagnosis else shape.__name__
        fields = ", ".join(
            f"`{field}: {shape.__annotations__[field]}`"
            for field in shape.__struct_fields__
            if (shape.__name__, field) != ("AgentState", "pieces")
        )
        parts.append(f"**{name}**: {fields}.\n")
    listed = ", ".join(f"`{field}`" for field in _EVENT)
    parts.append(
        f"**Event**: {listed}. `body` is as in the journal; `words` puts it into words for people.\n"
    )
    return "\n".join(parts)


def main() -> None:
    """Write the page into the checkout that this file is in."""
    target = Path(__file__).parents[2] / TARGET
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(reference(), encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
