"""Shell lines taken apart, plainly: which commands they have, and whose exit status is seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from bench.resume.truth.words import words

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_REDIRECT = re.compile(r"\s*(?:\d|&)?>>?\s*(?:&\d|[^\s;|&()]+)|\s*<\s*[^\s<;|&()]+")
_ENVIRONMENT = re.compile(
    r"^(?:(?:env|time|command|exec|nohup|sudo|rtk|!)\s+(?:-\S+\s+)*|timeout\s+(?:-\S+\s+)*\S+\s+"
    r"|[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\$\([^)]*\)|\S*)\s+)+"
)
_FOLDER = re.compile(r"^(?:cd|pushd)\s+(\"[^\"]*\"|'[^']*'|\S+)")


@dataclass(slots=True)
class Simple:
    """A simple command, and the operator before it."""

    joint: str
    text: str
    folder: str = ""

    @property
    def bare(self) -> str:
        """Without redirections and without what is set up for it."""
        text = _REDIRECT.sub(" ", without_heredocs(self.text)).strip().strip("()").strip()
        return " ".join(_ENVIRONMENT.sub("", text).split())


def without_heredocs(command: str) -> str:
    """The command without the bodies of its here-documents."""
    lines, kept, end = command.split("\n"), [], ""
    for line in lines:
        if end:
            if line.strip() == end:
                end = ""
            continue
        kept.append(line)
        if match := _HEREDOC.search(line):
            end = match[2]
    return "\n".join(kept)


@lru_cache(maxsize=20_000)
def simple_commands(command: str) -> list[Simple]:
    """The simple commands of a line in their order. Many rules ask for them, and nobody changes them."""
    text = without_heredocs(command).replace("\\\n", " ")
    found: list[Simple] = []
    joint, start, at, quote, depth, folder = "", 0, 0, "", 0, ""

    def end(upto: int) -> None:
        nonlocal folder
        part = text[start:upto].strip()
        if part and not part.startswith("#"):
            if match := _FOLDER.match(part):
                folder = match[1].strip("'\"")
            found.append(Simple(joint, part, folder))

    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\" and quote == '"':
                at += 1
            elif char == quote:
                quote = ""
        elif char == "\\":
            at += 1
        elif char in "'\"`":
            quote = char
        elif text.startswith("$(", at) or text.startswith("<(", at):
            depth += 1
            at += 1
        elif char == "(" and depth:
            depth += 1
        elif char == ")" and depth:
            depth -= 1
        elif not depth:
            operator = next((one for one in ("&&", "||", ";", "|", "\n") if text.startswith(one, at)), "")
            if (
                not operator
                and char == "&"
                and text[at - 1 : at] not in (">", "<")
                and text[at + 1 : at + 2] != ">"
            ):
                operator = "&"
            if operator:
                end(at)
                joint, at = operator, at + len(operator)
                start = at
                continue
        at += 1
    end(len(text))
    return found


def is_hidden(commands: list[Simple], at: int) -> bool:
    """Whether the exit status of the line is not that of this command: it was piped, or something else came
    after it that was run in any case."""
    return any(later.joint in ("|", ";", "||", "\n", "&") for later in commands[at + 1 :])


def shown_form(text: str) -> str:
    """A command as a reader would compare it with another."""
    return words(Simple("", text).bare).strip()


_CHECKS = re.compile(
    r"^(?:(?:npx|bunx|pnpm exec|pnpm dlx|yarn|uv run|uvx|poetry run|pipenv run|python3? -m|rye run|hatch run"
    r"|bundle exec|\S*/bin/)\s*(?:-\S+\s+)*)*(?:\S*/)?"
    r"(?:pytest|py\.test|jest|vitest|mocha|playwright test|tsc|eslint|ruff check|mypy|pyright|flake8|pylint"
    r"|black --check|prettier --check|phpunit|rspec|rubocop|ctest|tox|nox|unittest|golangci-lint|ty check"
    r"|biome check|cargo (?:test|build|check|clippy|nextest)|go (?:test|build|vet)|swift (?:build|test)"
    r"|dotnet (?:test|build)|(?:npm|pnpm|yarn|bun)\b(?: --?\S+(?: (?!run|test)\S+)?)*(?: run)?"
    r" (?:test|lint|build|check|typecheck|type-check|compile)\b\S*|make (?:test|check|lint|build)\S*"
    r"|(?:\./)?gradlew?\b.*\b(?:test|build|check)|mvn\b.*\b(?:test|package|verify)|vite build|next build"
    r"|webpack)\b"
)


def is_check(command: str) -> bool:
    """Whether a simple command is certainly a test, a check or a build."""
    bare = Simple("", command).bare
    return bool(_CHECKS.match(bare)) and not re.search(r"--(?:version|help)\b", bare)


_FAILURE = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^\s*(?:FAILED|FAIL)\b|BUILD FAILED|error TS\d+"
    r"|^Traceback \(most recent|^error(?:\[\w+\])?: |npm ERR!|npm error|ELIFECYCLE|\bcommand not found\b"
    r"|^fatal: |^E  +\w|\bpanicked at\b|^\s*✖ [1-9]\d* problem|Found [1-9]\d* error|^SyntaxError|^\w*Error: "
    r"|error Command failed|^\S+:\d+:\d+:? (?:error|E\d+|F\d+)\b|^error\b|Failed to compile|Tests? failed"
    r"|^\s*\d+:\d+\s+error\b|ERR_PNPM|No such file or directory|Permission denied|cannot open|^ERROR\b"
    r"|\bERROR:|✘|× |✗|not ok \d",
    re.M,
)
_PASSED = re.compile(
    r"\b\d+ pass(?:ed|ing)?\b|All checks passed|Success: no issues|\b0 (?:errors?|failed|failures|problems)\b"
    r"|^ok\b|✓|✔|BUILD SUCCESS|Build success|[Cc]ompiled successfully|built in|Done in"
    r"|no (?:errors|issues) found|^PASS\b|Finished ",
    re.M,
)


def tells_failure(output: str) -> bool:
    return bool(_FAILURE.search(output))


def tells_success(output: str) -> bool:
    return bool(_PASSED.search(output))
