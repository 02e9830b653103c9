"""Very large plans, transcripts, lines and settings: no command takes much longer than with small ones, and
memory stays bounded.

The sizes are a tenth of those that are promised, so the time is one as well, and a margin for a busy machine.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from segue import Segue
from segue.core.runs import steps as s
from segue.core.sessions import commands as do
from segue.testing.transcripts import placed

NATIVE = {
    "claude-code": "11111111-1111-4111-8111-111111111111",
    "codex": "0193a7c4-1111-7111-8111-111111111199",
}
STARTS_MORE_MAX = 150
"""How much more a command may take with a hundred times as much, in starts of a bare Python: some 2.5 s."""
BYTES_MORE_MAX = 60 << 20
MEASURED = """
import json, resource, subprocess, sys
words = [sys.executable, "-m", "segue", *sys.argv[1:]]
done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
print(json.dumps([done.returncode, seconds, used.ru_maxrss * 1024, done.stderr.decode()]))
"""


class Cost(NamedTuple):
    """What a command took: seconds of work, and bytes of memory."""

    seconds: float
    memory: int


def cost_of(command: str, home: Path) -> Cost:
    own = {"HOME": str(home), "SEGUE_HOME": str(home / "data"), "SEGUE_EMBEDDER": "hash"}
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CODEX_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *shlex.split(command)], cwd=home / "shop", env=environment | own,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, seconds, memory, told = json.loads(done.stdout)
    assert code == 0, f"segue {command}: {told}"
    return Cost(seconds, memory)


def bare_start() -> float:
    """Seconds of work for the start of a Python that does nothing, the median of three, at this moment:
    beside other tests a processor does less in a second."""
    return statistics.median(_bare_start() for _ in range(3))


def _bare_start() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def dearer(commands: tuple[str, ...], small: Path, large: Path) -> list[str]:
    """The commands that take much more with the large one, run with both."""
    faults = []
    for command in commands:
        before = bare_start()
        few, many = cost_of(command, small), cost_of(command, large)
        if many.seconds - few.seconds > STARTS_MORE_MAX * max(before, bare_start()):
            faults.append(f"{command}: {many.seconds:.2f} s, and {few.seconds:.2f} s with a hundredth of it")
        if many.memory - few.memory > BYTES_MORE_MAX:
            faults.append(
                f"{command}: {many.memory >> 20} MB, and {few.memory >> 20} MB with a hundredth of it"
            )
    return faults


def story(shop: Path, plan: int = 0, prompts: int = 1, text: str = "Mend the parser") -> Iterator[s.Step]:
    yield s.Start(cwd=str(shop))
    for number in range(prompts):
        yield s.Prompt(1.7e9 + number, f"{text} {number}" if prompts > 1 else text)
    if plan:
        items = [s.PlanItem(f"Convert part {number} of the table", "pending") for number in range(plan)]
        yield s.Plan(1.7e9 + prompts, tuple(items))
    yield s.Say(1.7e9 + prompts + 1, "I am at it.")


def home_of(folder: Path, agent: str, **options: object) -> Path:
    (folder / "shop").mkdir(parents=True)
    steps = story(folder / "shop", **options)  # type: ignore[arg-type]
    placed(agent, steps, native=NATIVE.get(agent, "ses_1"), cwd=str(folder / "shop"), home=folder)
    return folder


@pytest.mark.timeout(300)
@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_a_plan_of_very_many_items_is_as_quick_as_a_short_one(tmp_path: Path, agent: str) -> None:
    homes = []
    for count in (50, 5_000):
        home = home_of(tmp_path / str(count), agent, plan=30)
        with Segue(home=home / "data", folder=home / "shop") as seg:
            session = seg.start("Convert the table", id="one")
            items = [f"Convert part {number} of the big table" for number in range(count)]
            for at in range(0, count, 1_000):
                session.apply(*(do.Add(item) for item in items[at : at + 1_000]))
            session.checkpoint("c")
        homes.append(home)
    commands = (
        "status", "brief", "list", "show one", "log", "since", "done 'Convert part 7 of the big table'",
        "undo", "resume", "resume --budget balanced", "note x", "bootstrap", "prepare", "doctor",
        "rebuild --check", "rewind c", "pause",
    )  # fmt: skip
    assert dearer(commands, *homes) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("agent", ["claude-code", "opencode", "codex", "gemini-cli", "cline"])
def test_very_many_prompts_are_read_in_time_that_grows_with_their_number(tmp_path: Path, agent: str) -> None:
    homes = [home_of(tmp_path / str(count), agent, prompts=count) for count in (60, 6_000)]
    assert dearer(("runs", "brief", "sync", "brief", "status", "resume", "doctor"), *homes) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("agent", ["claude-code", "opencode", "codex", "gemini-cli", "cline"])
def test_a_very_long_line_is_read_in_bounded_memory(tmp_path: Path, agent: str) -> None:
    words = 'Mend the parser \\ "of" the invoices\n'
    homes = [
        home_of(tmp_path / str(size), agent, text=words * (size // len(words)))
        for size in (200_000, 20_000_000)
    ]
    assert dearer(("runs", "brief", "sync", "brief", "resume"), *homes) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_transcript_is_recognised_by_its_first_line_however_long_that_is(
    tmp_path: Path, agent: str
) -> None:
    homes = []
    for size in (200_000, 20_000_000):
        home = home_of(tmp_path / str(size), agent, text="Mend the parser " * (size // 16))
        path = next(file for file in home.rglob("*.jsonl") if file.is_file())
        record = json.loads(max(path.read_bytes().split(b"\n"), key=len))
        longest = max(record, key=lambda name: len(str(record[name])))
        first = {longest: record.pop(longest), **record}  # what tells whose it is comes after the text
        (home / "shop" / "first.jsonl").write_text(json.dumps(first) + "\n")
        homes.append(home)
    assert dearer(("brief first.jsonl",), *homes) == []


@pytest.mark.timeout(300)
def test_settings_of_very_many_lines_are_edited_as_quickly_as_few(tmp_path: Path) -> None:
    for count in (80, 8_000):
        home = tmp_path / str(count)
        (home / "shop" / ".claude").mkdir(parents=True)
        rules = [f"Bash(command number {number} with words of it:*)" for number in range(count)]
        hooks = [
            {"hooks": [{"type": "command", "command": f"echo {number}"}]} for number in range(count // 50)
        ]
        settings = json.dumps({"permissions": {"allow": rules}, "hooks": {"Stop": hooks}}, indent=2)
        for path in (home / "shop/.claude/settings.local.json", home / ".gemini/settings.json",
                     home / ".config/opencode/opencode.json"):  # fmt: skip
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(settings)
        tables = (f'[mcp_servers.s{number}]\ncommand = "echo {number}"\n' for number in range(count))
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text("".join(tables))
    agents = ("claude-code", "opencode", "gemini-cli", "codex")
    commands = (*(f"init --yes --agent {agent}" for agent in agents), "doctor", "uninit --yes")
    assert dearer(commands, tmp_path / "80", tmp_path / "8000") == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("torn", ['{"type":"user","x":[', '{"a":"', "[[[[", '{"type":"user"'])
def test_a_long_line_that_is_torn_in_very_many_places_is_given_up_soon(tmp_path: Path, torn: str) -> None:
    for size in (60_000, 6_000_000):
        home = home_of(tmp_path / str(size), "claude-code")
        path = next(home.glob(".claude/projects/*/*.jsonl"))
        path.write_text(path.read_text() + torn * (size // len(torn)) + "\n")
    assert dearer(("brief", "sync"), tmp_path / "60000", tmp_path / "6000000") == []
