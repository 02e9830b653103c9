"""Help, version, completion and the written reference."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli
from tests.tidy.docs_cli import TARGET, reference

import segue
from segue.surfaces.cli.command import find
from segue.surfaces.cli.main import _split
from segue.surfaces.cli.table import GROUPS, TABLE

ROOT = Path(__file__).parents[2]


def test_every_command_is_in_a_group_once_and_its_module_has_it() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(TABLE)
    assert all(find(name).name == name for name in TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_every_command_has_two_to_four_examples_that_its_parser_takes(name: str) -> None:
    command = find(name)
    assert 2 <= len(command.examples) <= 4
    for example in command.examples:
        line = example.partition(" > ")[0].partition(" < ")[0].rpartition(" | ")[2].removeprefix('eval "$(')
        words = shlex.split(line.removesuffix(')"'))
        assert words[:1] == ["segue"], example
        before, named, rest = _split(words[1:])
        assert named == name
        own = rest[: rest.index("--")] if command.more and "--" in rest else rest
        command.parser().read([*before, *own])


@pytest.mark.parametrize("name", TABLE)
def test_help_of_a_command_is_the_same_by_both_ways_and_needs_no_store(
    cli: Cli, home: Path, name: str
) -> None:
    text = cli("help", name).out
    assert cli(name, "--help").out == cli("--json", name, "-h").out == text
    assert text.startswith(f"usage: segue {name}")
    assert "examples:\n  " in text
    assert all(example in text for example in find(name).examples)
    assert max(map(len, text.splitlines())) <= 130
    assert not (home / "segue").exists()


def test_the_overview_names_every_command(cli: Cli) -> None:
    text = cli("--help").out
    assert cli("help").out == cli("-h").out == text
    assert all(f"  {name:12} {about}\n" in text for name, (_, about) in TABLE.items())


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"segue {segue.__version__}\n"


def test_the_committed_reference_is_what_the_parsers_say() -> None:
    committed = (ROOT / TARGET).read_text(encoding="utf-8")
    assert committed == reference(), "run `make docs`"
    assert all(f"### segue {name}\n" in committed for name in TABLE)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_has_every_command_and_option(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).out
    assert cli("completion", shell, "--json").value["script"].strip() == script.strip()
    assert "segue list --all --ids" in script
    for name in TABLE:
        assert f" {name}" in script
        for action in find(name).parser().options():
            for flag in action.option_strings:
                long = f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag
                assert (f"-s {flag[1:]}" if shell == "fish" and not flag.startswith("--") else long) in script
    binary = shutil.which(shell)
    if binary:
        subprocess.run([binary, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="NOT TESTED: completion needs bash")
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("segue st", {"start", "status", "statusline"}),
        ("segue --home x sta", {"start", "status", "statusline"}),
        ("segue list --sta", {"--status"}),
        ("segue list --status pa", {"paused"}),
        ("segue status jw", {"jwt"}),
        ("segue note -s jw", {"jwt"}),
        ("segue completion fi", {"fish"}),
        ("segue help unb", {"unblock"}),
        ("segue checkpoint --un", {"--unblock"}),
    ],
)
def test_bash_completes(cli: Cli, line: str, wanted: set[str]) -> None:
    words = line.split()
    quoted = " ".join(shlex.quote(word) for word in words)
    ask = (
        "segue() { [[ $1 == list ]] && echo jwt; }\n"
        f"{cli('completion', 'bash').out}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        '$(complete -p segue | sed "s/.*-F \\([^ ]*\\).*/\\1/")\n'
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == wanted, done.stderr


def test_the_overview_names_every_option_that_all_commands_have(cli: Cli) -> None:
    shared = find("status").parser().options(shared=True)
    overview = cli("--help").out
    names = [one.option_strings[-1] for one in shared]
    assert [name for name in names if name not in overview and name != "--help"] == []
