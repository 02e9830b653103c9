"""Completion scripts, made from the parsers: commands, options, choices, and session ids.

Ids are asked for while one types, with `segue list --all --ids`; all else is in the script.
"""

from __future__ import annotations

from .command import find
from .table import TABLE


class Words:
    """What a command can be completed with."""

    def __init__(self, name: str) -> None:
        parser = find(name).parser()
        actions = [*parser.options(), *parser.options(shared=True)]
        self.name = name
        self.about = TABLE[name][1]
        self.options = [flag for action in actions for flag in action.option_strings]
        self.explained = [(action.option_strings, action.help or "", action.nargs != 0) for action in actions]
        self.choices = {
            flag: [str(choice) for choice in action.choices]
            for action in actions
            if action.choices is not None
            for flag in action.option_strings
        }
        self.arguments = [
            str(choice) for action in parser.positionals() if action.choices for choice in action.choices
        ]
        self.takes_id = any(action.dest == "id" for action in parser.positionals())


def all_words() -> list[Words]:
    """Of every command."""
    return [Words(name) for name in TABLE]


def script(shell: str) -> str:
    """The script for a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


_BASH = """\
# segue completion for bash: eval "$(segue completion bash)"
_segue() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${COMP_WORDS[i]}" in
            -C|--folder|--home|--actor) ((i++)) ;;
            -*) ;;
            *) command="${COMP_WORDS[i]}"; break ;;
        esac
    done
    COMPREPLY=()
    case "$before" in
        -s|--session|--restore)
            COMPREPLY=($(compgen -W "$(segue list --all --ids 2>/dev/null)" -- "$word")); return ;;
        -C|--folder|--home) COMPREPLY=($(compgen -d -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    esac
    case "$command" in
        "") COMPREPLY=($(compgen -W "@COMMANDS@ help --version --help @GLOBALS@" -- "$word")) ;;
        help) COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word")) ;;
@CASES@
    esac
}
complete -o default -F _segue segue
"""


def _bash() -> str:
    cases = []
    for words in all_words():
        values = [*words.options, *words.arguments]
        inner = "".join(
            f'                {flag}) COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$word")); return ;;\n'
            for flag, choices in words.choices.items()
        )
        chosen = f'            case "$before" in\n{inner}            esac\n' if inner else ""
        ids = " $(segue list --all --ids 2>/dev/null)" if words.takes_id else ""
        listing = f'"$( [[ $word == -* ]] || echo "{ids.strip()}") {" ".join(values)}"' if ids else ""
        listing = listing or f'"{" ".join(values)}"'
        cases.append(
            f'        {words.name})\n{chosen}            COMPREPLY=($(compgen -W {listing} -- "$word")) ;;'
        )
    globals_ = "--json --folder --home --actor --no-color"
    text = _BASH.replace("@CASES@", "\n".join(cases)).replace("@COMMANDS@", " ".join(TABLE))
    return text.replace("@GLOBALS@", globals_)


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")


def _zsh() -> str:
    lines = [
        "#compdef segue",
        "# segue completion for zsh: segue completion zsh > a folder of $fpath, as _segue",
        '_segue_ids() { local -a ids; ids=(${(f)"$(segue list --all --ids 2>/dev/null)"}); compadd -a ids }',
        "_segue() {",
        "  local -a commands; local command i",
        "  commands=(",
        *(f"    '{name}:{_quoted(about).replace(':', ' -')}'" for name, (_, about) in TABLE.items()),
        "  )",
        "  for ((i = 2; i < CURRENT; i++)); do",
        '    case "${words[i]}" in',
        "      -C|--folder|--home|--actor) ((i++)) ;;",
        "      -*) ;;",
        '      *) command="${words[i]}"; break ;;',
        "    esac",
        "  done",
        '  case "${words[CURRENT-1]}" in',
        "    -s|--session|--restore) _segue_ids; return ;;",
        "    -C|--folder|--home) _files -/; return ;;",
        "  esac",
        '  case "$command" in',
        "    '') _describe command commands",
        "      compadd -- --json --folder --home --actor --no-color --version --help ;;",
        "    help) _describe command commands ;;",
    ]
    for words in all_words():
        ids = "_segue_ids; " if words.takes_id else ""
        lines.append(f"    {words.name}) {ids}compadd -- {' '.join([*words.arguments, *words.options])} ;;")
    return "\n".join(
        [
            *lines,
            "  esac",
            "}",
            '[[ "${funcstack[1]}" == _segue ]] && _segue "$@" || compdef _segue segue',
            "",
        ]
    )


def _fish() -> str:
    names = " ".join(TABLE)
    unseen = '"not __fish_seen_subcommand_from $commands"'
    lines = [
        "# segue completion for fish: segue completion fish > ~/.config/fish/completions/segue.fish",
        f"set -l commands {names}",
        "complete -c segue -f",
        *(
            f"complete -c segue -n {unseen} -a {name} -d '{_fish_text(about)}'"
            for name, (_, about) in TABLE.items()
        ),
        "complete -c segue -s s -l session -x -a '(segue list --all --ids 2>/dev/null)'",
    ]
    for words in all_words():
        seen = f'-n "__fish_seen_subcommand_from {words.name}"'
        if words.takes_id:
            lines.append(f"complete -c segue {seen} -a '(segue list --all --ids 2>/dev/null)'")
        lines += [f"complete -c segue {seen} -a {argument}" for argument in words.arguments]
        for flags, about, valued in words.explained:
            if "--session" in flags:
                continue
            named = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in flags)
            choices = next((words.choices[f] for f in flags if f in words.choices), [])
            value = f" -x -a '{' '.join(choices)}'" if choices else " -r" if valued else ""
            lines.append(f"complete -c segue {seen} {named}{value} -d '{_fish_text(about)}'")
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
