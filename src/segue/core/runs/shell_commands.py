"""Analysis of shell commands: the short form, the kind, the files in it, and the commit that it makes.

Nothing is executed, and the analysis is approximate: agents write shell in every dialect, and a brief only
needs to show ``cd api && FOO=1 npm run build -- -q`` as "npm run build", a build.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from ..base.lazy import regex
from ..base.values import Value

Kind = Literal["test", "build", "check", "run", "change", "vcs", "look", "other"]

_SEGMENT = regex(r"&&|\|\||[;\n]")
_QUOTED = regex(r'"(?:[^"\\]|\\.)*"|' + r"'[^']*'", re.S)
_ASSIGNED = regex(r"^[A-Za-z_][A-Za-z0-9_]*=")
_OPENING = regex(r"^(?:[({!]\s*|do\s+|then\s+|else\s+)+")
_OPENINGS = ("(", "{", "!", "d", "t", "e")  # the first characters that _OPENING can match
_SKIPPED = (
    "cd ", "echo ", "export ", "#", "set ", "source ", ". ", "sleep ", "pushd ", "popd", "done", "fi",
    "eval ", "nvm ", "Set-Location ", "Push-Location ", "Pop-Location",
)  # fmt: skip
_KEYWORDS = frozenset(
    {"do", "done", "then", "else", "fi", "esac", "{", "}", "(", ")", "break", "continue", "EOF"}
)
_PREFIXES = frozenset({"sudo", "time", "nohup", "command", "exec", "env", "if", "elif", "while", "until"})
_WRAPPERS = frozenset({"rtk"})
"""Programs that run another one. They are part of its short form, unless it only looks at something."""
_HEADS = frozenset({"for", "case", "select"})
_STOPS = ("-", '"', "'", "<", ">", "$", "2>", "`", "{", "(", "\\", "*", "|", "&", "1>")
_NO_PROGRAM = (*_STOPS, "@{", "@'", '@"')
_OPTIONS_WITH_VALUE = {
    "git": ("-C", "-c"),
    "make": ("-C",),
    "npm": ("--prefix",),
    "pnpm": ("--filter", "-C", "-F"),
    "yarn": ("--cwd",),
}
_RUNNERS = frozenset({("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run")})
_PLAIN_OPTIONS = {
    "python": regex(r"-[BbdEIiOPqsSuvx]+$"),
    "bash": regex(r"-[aefuvx]+$"),
    "sh": regex(r"-[aefuvx]+$"),
    "zsh": regex(r"-[aefuvx]+$"),
    "ruby": regex(r"-(?:w|I\S+)$"),
    "node": regex(r"--(?!test|check|eval|print)[\w-]+(?:=\S+)?$"),
}
"""Options of an interpreter that leave the script where it is."""
_SYNTAX_OPTIONS = {
    "bash": "-n", "sh": "-n", "zsh": "-n", "php": "-l", "ruby": "-c", "perl": "-c", "node": "--check",
    "nginx": "-t",
}  # fmt: skip
"""Options with which a program only checks what it is given."""
_TEST_FILE = regex(
    r"^(?:\S+ run )?(?:(?:npx )?(?:\S*/)?"
    r"(?:python[\d.]*|node|tsx|ts-node|bun|deno|ruby|perl|php|lua|bash|sh|zsh)(?: run| test)? )?(?:\S*/)?"
    r"(?:(?:run[_-])?tests?|tests?[_-][\w-]+|[\w-]+[_-]tests?|[\w-]+\.(?:test|spec|e2e))"
    r"\.(?:py|[cm]?[jt]sx?|rb|pl|php|lua|sh|bash|bats)(?: |$)"
)
"""A script that is named as tests are, run by itself or by its interpreter."""
_HEREDOC = regex(r"<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2\s*$", re.S | re.M)
_HERE_STRING = regex(r"""@(['"])\s*\n.*?\n\s*\1@""", re.S)  # in PowerShell
_MESSAGE = regex(
    r"commit\b[^\n]*?(?:-[a-z]*m|--message)[ =]*"
    r"(?:\"\$\(cat <<-?\s*['\"]?\w+['\"]?\s*\n\s*([^\n]+)|\"((?:[^\"\\]|\\.)+)\"|'([^']+)')"
)
_PATH = regex(
    r"(?<![\w$=:/@-])(?:[~.]{0,2}/)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/(=-])"
)
_URL = regex(r"\w+://\S*")
_FILE = r"([^\s;|&<>()$\"']+\.[A-Za-z0-9]+)"
_TARGET = regex(rf"(?:^|[^0-9&>])>{{1,2}}\s*{_FILE}|\btee (?:-a )?{_FILE}")

_LOOKS = frozenset(
    "ls cat grep egrep sed head tail find rg fd wc pwd which awk nl less more tree stat file du df sort uniq "
    "diff jq cut tr xargs printf type env date whoami ps true test [ read basename dirname realpath readlink "
    "tac od hexdump echo cd sleep for if while case export set source tee touch chmod mkdir rm cp mv ln kill "
    "pkill pgrep wait foreach exit return trap mktemp".split()
)
_CMDLETS = frozenset(
    "select-string select-object where-object foreach-object measure-object sort-object format-table "
    "format-list out-string out-null get-content get-childitem get-item get-itemproperty get-command "
    "get-date get-location get-filehash get-process get-help get-member test-path resolve-path "
    "join-path split-path write-host write-output start-sleep new-item remove-item copy-item move-item "
    "rename-item stop-process dir findstr del erase copy move ren rd rmdir md cls where gci gc".split()
)
"""The same for PowerShell and cmd, which ignore case."""
_GIT_LOOKS = frozenset(
    "status diff log show branch remote rev-parse blame ls-files config describe reflog add".split()
)


def _any_of(*words: str) -> re.Pattern[str]:
    return regex(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])")


_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "test",
        _any_of(
            "pytest", "jest", "vitest", "mocha", "playwright", "cypress", "unittest", "tox", "nox", "ctest",
            "rspec", "phpunit", "cargo nextest", "node --test", r"(?:\w+[:-])*tests?(?:[:-]\w+)*", "e2e",
        ),
    ),
    (
        "check",
        _any_of(
            r"(?:\w+[:-])*(?:check|lint|types|verify)(?:[:-]\w+)*", "eslint", "ruff", "mypy",
            "pyright", "ty", "tsc", "clippy", "flake8", "black", "prettier", "typecheck",
            "vet", "fmt", "format", "biome", "golangci-lint", "shellcheck", "py_compile", "compileall",
            "validate", "(?:ba|z)?sh -n", "php -l", "(?:ruby|perl) -c", "node --check", "nginx -t",
        ),
    ),
    ("build", _any_of(r"build(?::\w+)?", "make", "compile", "webpack", "gradle", "mvn", "cmake")),
    (
        "change",
        _any_of(r"migrat\w+", "install", "uninstall", "upgrade", "deploy", "apply", "alembic", "publish"),
    ),
    (
        "run",
        _any_of(
            "run", "start", "dev", "serve", "up", r"python[\d.]*", "node", "uv", "npx", "tsx", "bun", "deno",
            "docker", "curl", "gh", "psql", "sqlite3",
        ),
    ),
)  # fmt: skip


class ShellCommand(Value, gc=False):
    """What is known about a shell command."""

    short: str = ""  # empty if nothing in it is worth showing
    kind: Kind = "other"
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    subject: str = ""  # the subject of the commit that it makes


@lru_cache(maxsize=512)
def parse_shell(command: str) -> ShellCommand:
    """The short form, the kind, the files and the commit subject of a command line."""
    command = command[:20_000]
    body = _HEREDOC.sub(" ", command) if "<<" in command else command
    body = _HERE_STRING.sub(" ", body) if "@'" in body or '@"' in body else body
    body = body[:4_000].replace("\\\n", " ")
    quoted = '"' in body or "'" in body
    short, kind = _short_form(_QUOTED.sub("''", body) if quoted else body)
    targets = _TARGET.findall(body) if ">" in body or "tee " in body else ()
    writes = tuple(dict.fromkeys(redirected or teed for redirected, teed in targets))
    files = _files_in(body[:2_000], writes) if kind in ("look", "run", "test", "check") else []
    if short == "sed" and " -i" in body:
        writes += tuple(files)
        files = []
    reads = tuple(dict.fromkeys(files))
    return ShellCommand(short, kind, reads[:8], writes[:8], _subject(command))


def _files_in(text: str, writes: tuple[str, ...]) -> list[str]:
    """The files in a command, except those that it writes."""
    if "." not in text:
        return []
    if "://" in text:
        text = _URL.sub(" ", text)
    return [path for path in _PATH.findall(text) if path not in writes and _is_file(path)]


_EXTENSIONS = frozenset(
    "astro bats bash c cc cfg clj conf cpp cs css csv dart db ejs env erl ex exs fish go gradle graphql "
    "h hcl hpp hs html ini ipynb java jl js json jsonl jsx kt kts less lock lua m md mdx mjs cjs ml mm "
    "nix php pkl pl prisma proto ps1 py pyi r rb rs rst sass scala scss sh sol sql svelte swift tf toml "
    "ts tsx txt vue xml yaml yml zig zsh".split()
)


def _is_file(token: str) -> bool:
    """Whether a token is a file and not something like ``comments.nodes`` or ``main...HEAD``."""
    name = token.rsplit("/", 1)[-1]
    return ".." not in name and name.rsplit(".", 1)[-1].lower() in _EXTENSIONS


def _short_form(command: str) -> tuple[str, Kind]:
    """The short form and the kind of the first part that does more than look, else of the first part."""
    short = ""
    kind: Kind = "other"
    for segment in _SEGMENT.split(command):
        part = segment.partition("|")[0].strip()
        part_short = _short(_OPENING.sub("", part) if part[:1] in _OPENINGS else part)
        if part_short:
            part_kind = kind_of(part_short)
            if part_kind != "look":
                return part_short, part_kind
            if not short:
                short, kind = part_short, part_kind
    return short, kind


def _short(part: str) -> str:
    if not part or part.startswith(_SKIPPED) or part in _KEYWORDS:
        return ""
    words = part.split()[:12]
    if len(words) > 1 and words[0].endswith(")") and "(" not in words[0]:
        words = words[1:]  # the pattern of a case
    words = [word for word in words if "=" not in word or not _ASSIGNED.match(word)]
    while words and (words[0] in _PREFIXES or words[0] == "timeout"):
        words = words[2:] if words[0] == "timeout" else words[1:]
    if (
        not words
        or words[0] in _HEADS
        or words[0].startswith(_NO_PROGRAM)
        or (words[0][0] == "[" and words[0] != "[")
    ):
        return ""
    if words[0] in _WRAPPERS:
        inner = _short(" ".join(words[1:]))
        return inner if not inner or kind_of(inner) == "look" else f"{words[0]} {inner}"
    if tuple(words[:2]) in _RUNNERS and len(words) > 2 and words[2].startswith("python"):
        return f"{words[0]} {words[1]} {_short(' '.join(words[2:]))}"[:100]
    base = words[0].rsplit("/", 1)[-1] if "bin/" in words[0] else words[0]
    if _looks(base):
        return base
    head = base if words[0].startswith(("/", "~", "$")) else words[0]
    return " ".join([head, *_arguments(base, words)]).rstrip(")")[:100]


def _arguments(head: str, words: list[str]) -> list[str]:
    """The first two words after the program that say what it does."""
    options = _OPTIONS_WITH_VALUE.get(head, ())
    plain = _PLAIN_OPTIONS.get("python" if head.startswith("python") else head)
    keep: list[str] = []
    at = 1
    while at < len(words) and len(keep) < 2:
        word = words[at]
        if word in options:
            at += 2
            continue
        if word == "-m" and head.startswith("python"):
            return words[at : at + 2]
        if word == "--test" and head == "node":
            return [word]
        if word == _SYNTAX_OPTIONS.get(head):
            return words[at : at + 2]
        if plain is not None and plain.match(word):
            at += 1
            continue
        if word.startswith(_STOPS):
            break
        keep.append(word)
        at += 1
    return keep


def _looks(program: str) -> bool:
    return program in _LOOKS or program.lower() in _CMDLETS


@lru_cache(maxsize=512)
def kind_of(short: str) -> Kind:
    """The kind of a command, given its short form."""
    head, _, rest = short.partition(" ")
    if head == "git":
        return "look" if rest.split(" ")[0] in _GIT_LOOKS or not rest else "vcs"
    if _looks(head):
        return "look"
    if _TEST_FILE.search(short):
        return "test"
    for kind, pattern in _KINDS:
        if pattern.search(short):
            return kind
    return "other"


def _subject(command: str) -> str:
    if "commit" not in command:
        return ""
    message = _MESSAGE.search(command)
    if not message:
        return ""
    text = next(group for group in message.groups() if group)
    return text.split("\\n")[0].split("\n")[0].strip()[:120]
