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
from segue.surfaces.cli.table import DAILY, GROUPS, LOOKING, LOOKING_ALONE, MEANT, OTHER_NAMES, TABLE, split

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
        before, named, rest = split(words[1:])
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


def test_help_shows_the_commands_of_a_day_and_how_to_see_all(cli: Cli) -> None:
    text = cli("--help").out
    assert cli("help").out == cli("-h").out == text
    shown = [name for name, (_, about) in TABLE.items() if f"  {name:12} {about}\n" in text]
    assert sorted(shown) == sorted(DAILY) and len(DAILY) == 10
    assert "segue help --all" in text and len(text.splitlines()) < 40


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_name_that_people_try_does_what_they_mean(name: str) -> None:
    assert name not in TABLE
    command, *options = OTHER_NAMES[name]
    known = {flag for names, _ in find(command).arguments for flag in names}
    assert set(options) <= known


def test_ls_version_and_help_of_another_name_lead_on(started: Cli) -> None:
    assert started("ls").out == started("list").out
    assert started("version").out == started("--version").out
    assert started("help", "ps").out == started("runs", "--help").out


@pytest.mark.parametrize("name", MEANT)
def test_a_name_with_several_meanings_points_to_a_command(cli: Cli, name: str) -> None:
    assert MEANT[name] in TABLE and name not in TABLE
    assert f"did you mean `segue {MEANT[name]}`?" in cli(name, code=64).err


@pytest.mark.parametrize("name", sorted(LOOKING | LOOKING_ALONE))
def test_where_there_is_nothing_yet_looking_is_no_error(cli: Cli, name: str) -> None:
    ran = cli(*name.split())
    assert ran.out == "" and ran.err and not ran.err.startswith("segue:")
    assert cli(*name.split(), "--json").value is None


@pytest.mark.parametrize(
    "line", ["budget --limit 5", "hold -- true", "feature show x", "agent load x", "verify"]
)
def test_where_there_is_nothing_yet_what_does_something_is_refused(cli: Cli, line: str) -> None:
    assert cli(*line.split(), code=64).err.startswith("segue: no session is current")


def test_two_letters_swapped_are_the_likeliest_slip(cli: Cli) -> None:
    assert "did you mean `segue status`?" in cli("stauts", code=64).err


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("model", "set|show|test|unset"),
        ("forget", "MEMORY"),
        ("search", "WORDS"),
        ("answer", "QUESTION ANSWER"),
    ],
)
def test_a_missing_word_is_named_and_nothing_that_may_be_left_out(cli: Cli, line: str, missing: str) -> None:
    assert cli(line, code=64).err.splitlines()[0] == f"segue: missing: {missing}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_where_the_shell_looks(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    done = cli("completion", "--install", "--json").value
    assert done["shell"] == shell
    assert Path(done["file"]).read_text() == cli("completion", shell, "--json").value["script"]


def test_the_overview_of_all_names_every_command(cli: Cli) -> None:
    text = cli("help", "--all").out
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
        ("segue st", {"start", "stats", "status", "statusline"}),
        ("segue --home x sta", {"start", "stats", "status", "statusline"}),
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
