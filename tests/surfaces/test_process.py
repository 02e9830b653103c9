"""The command line as a real process: entry points, pipes, encodings, and what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.hooks import Agent
from tests.support.runs import work

from segue.testing.transcripts import placed

PYTHON = sys.executable


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [PYTHON, "-m", "segue", *words]
    return subprocess.run(
        command, capture_output=True, env={**os.environ, **environment}, check=False, timeout=60
    )


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_one_process_wrote_another_reads() -> None:
    assert run("start", "Refactor", "--id", "a", "--item", "one").returncode == 0
    assert run("done", "one").returncode == 0
    done = run("status")
    assert done.returncode == 0
    assert "✓ one".encode() in done.stdout
    assert done.stderr == b""


def test_exit_codes_reach_the_shell() -> None:
    assert run("status").returncode == 0, "nothing yet is no error"
    assert run("status", "nosuch").returncode == 64
    assert run("--no-such-option").returncode == 64
    assert run("--version").returncode == 0
    run("start", "g", "--id", "a")
    Path("PAUSE").touch()
    assert run("note", "x").returncode == 65
    assert run("status").returncode == 0


def shown_on_a_terminal(words: list[str], columns: int) -> list[str]:
    """The lines of a command on a terminal of this width."""
    controller, terminal = os.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    subprocess.run(
        [PYTHON, "-m", "segue", *words], stdout=terminal, stderr=terminal, env=environment, timeout=60
    )
    os.close(terminal)
    said = b""
    with suppress(OSError):
        while part := os.read(controller, 65_536):
            said += part
    os.close(controller)
    return said.decode().replace("\r", "").splitlines()


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["help"], "start a session and make it the"),
        (["help", "status"], "the session; by default the"),
        (["show", "nowhere"], "there is no session 'nowhere'"),
        (["doctor"], "every chain verified"),
        (["list"], "Refactor the whole shop"),
    ],
)
def test_no_line_is_wider_than_a_narrow_terminal(words: list[str], whole: str) -> None:
    run("start", "Refactor the whole shop so that it can be understood", "--id", "a", "--item", "one")
    lines = shown_on_a_terminal(words, 40)
    long = [line for line in lines if len(line) > 40 and " " in line.strip()]
    assert not long and whole in " ".join(line.strip() for line in lines)


def test_help_keeps_its_second_column_in_a_narrow_terminal() -> None:
    lines = shown_on_a_terminal(["help"], 60)
    at = next(place for place, line in enumerate(lines) if line.startswith("  init "))
    column = lines[at].index("set up")
    assert lines[at + 1][:column].strip() == "" and lines[at + 1][column:] == "with Segue"


def test_an_encoding_that_cannot_say_it_gets_plain_marks() -> None:
    run("start", "Größe 日本", "--id", "a", "--item", "ä")
    run("done", "ä")
    done = run("status", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert b"x ?" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: pipes of POSIX")
def test_a_pipe_that_nobody_reads_is_no_noise() -> None:
    run("start", "g", "--id", "a", *(f"--item=item {n} {'x' * 200}" for n in range(800)))
    command = [PYTHON, "-m", "segue", "log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="NOT TESTED: needs /dev/full")
def test_output_that_cannot_be_written_is_told_and_the_work_is_kept() -> None:
    run("start", "g", "--id", "a")
    with open("/dev/full", "wb") as full:
        command = [PYTHON, "-m", "segue", "note", "kept"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 74
    assert done.stderr.startswith(b"segue: the output could not be written: No space left on device\n")
    assert b"kept" in run("status").stdout


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: needs a shell")
def test_a_closed_stdout_is_no_fault() -> None:
    run("start", "g", "--id", "a")
    done = subprocess.run(["sh", "-c", f"{PYTHON} -m segue status >&-"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="NOT TESTED: needs a pseudo terminal")
@pytest.mark.parametrize(("said", "code"), [(b"y\n", 0), (b"n\n", 64), (b"\n", 64)])
def test_trust_asks_on_a_terminal(said: bytes, code: int) -> None:
    Path("segue.toml").write_text('type = "review"\n')
    ours, theirs = os.openpty()
    command = [PYTHON, "-m", "segue", "trust"]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE) as child:
        os.close(theirs)
        os.write(ours, said)
        assert child.stdout is not None
        assert b'type = "review"' in child.stdout.read()
        assert child.wait(timeout=30) == code
    os.close(ours)
    assert run("config", "type").stdout == (b"review\n" if code == 0 else b"coding\n")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="NOT TESTED: needs a pseudo terminal")
def test_a_terminal_gets_colours_and_a_pipe_does_not() -> None:
    run("start", "g", "--id", "a", "--item", "one")
    assert b"\x1b[" not in run("status").stdout
    assert b"\x1b[" in _on_terminal()
    assert b"\x1b[" not in _on_terminal(NO_COLOR="1")
    assert b"\x1b[" not in _on_terminal("--no-color")


def _on_terminal(*words: str, **environment: str) -> bytes:
    ours, theirs = os.openpty()
    env = {**os.environ, "TERM": "xterm", **environment}
    with subprocess.Popen([PYTHON, "-m", "segue", "status", *words], stdout=theirs, env=env):
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:
            pass
    os.close(ours)
    return shown


def _modules(*words: str) -> set[str]:
    run_it = f"from segue.surfaces.cli.main import main; main({list(words)!r})"
    code = f"import sys; {run_it}; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_help_and_version_import_nothing_heavy() -> None:
    for words in (["--version"], ["--help"]):
        assert not _modules(*words) & {"msgspec", "apsw", "argparse", "segue.api.segue", "json"}
    assert not _modules("status", "--help") & {"apsw", "segue.api.segue"}


def test_status_imports_nothing_that_it_does_not_need() -> None:
    run("start", "g", "--id", "a")
    heavy = {
        "json",
        "logging",
        "tomllib",
        "ruamel",
        "asyncio",
        "http",
        "email",
        "unittest",
        "sqlite3",
    }
    loaded = _modules("status")
    assert "segue.api.segue" in loaded
    assert not loaded & heavy
    assert not {name for name in loaded if name.startswith("segue.surfaces.cli.")} - {
        f"segue.surfaces.cli.{name}"
        for name in (
            "main",
            "table",
            "command",
            "context",
            "parser",
            "commands",
            "commands.status",
            "views",
            "views.session",
        )
    }


def _ended(before: str, *words: str) -> subprocess.CompletedProcess[str]:
    start = "from segue.surfaces.cli.main import run; run()"
    code = f"import sys; sys.argv[1:] = {list(words)!r}\n{before}\n{start}"
    return subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_what_was_to_be_done_at_the_end_is_done_although_the_process_just_ends() -> None:
    done = _ended("import atexit; atexit.register(print, 'at the end')", "--version")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "at the end")
    assert _ended("", "no-such-command").returncode == 64


def test_a_process_ends_only_when_its_threads_have_done_their_work() -> None:
    work = "import threading, time; threading.Thread(target=lambda: (time.sleep(0.3), print('done'))).start()"
    assert _ended(work, "--version").stdout.splitlines()[-1] == "done"


def test_no_file_of_an_open_store_is_left_when_a_command_is_over(home: Path) -> None:
    for words in (("start", "g", "--id", "a"), ("status",), ("resume",), ("since",), ("brief",), ("runs",)):
        assert run(*words).returncode in (0, 66), words
        assert not [path.name for path in home.rglob("*") if path.name.endswith(("-wal", "-shm"))], words


def test_a_note_of_ten_megabytes_through_a_pipe_is_refused() -> None:
    run("start", "g", "--id", "a")
    command = [PYTHON, "-m", "segue", "note", "-"]
    done = subprocess.run(command, input=b"x" * 10_000_000, capture_output=True, check=False)
    assert done.returncode == 64
    assert b"the limit is 262,144" in done.stderr


def test_a_hook_that_tells_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "home", tmp_path / "shop")
    steps = work(at=time.time() - 30, native="gone-1", cwd=str(agent.project), ends=False)
    placed("claude-code", steps, home=agent.home, native="gone-1", cwd=str(agent.project))
    told = json.dumps({"session_id": "now-1", "cwd": str(agent.project), "prompt": "go on"})
    code = (
        "import sys; from segue.surfaces.hook.entry import answered\n"
        f"said = answered({str(agent.data)!r}, 'claude-code', 'UserPromptSubmit', {told!r}.encode())\n"
        "print(len(said), *sys.modules)"
    )
    done = subprocess.run([PYTHON, "-S", "-c", code], capture_output=True, check=True, env=_with_paths(agent))
    size, *loaded = done.stdout.decode().split()
    assert int(size) > 200 and "segue.services.brief.for_hooks" in loaded
    never = {
        "argparse", "asyncio", "email", "http", "json", "logging", "numpy", "random", "secrets", "shutil",
        "sqlite3", "subprocess", "tempfile", "tomllib", "unittest", "ruamel",
    }  # fmt: skip
    unused = {
        "segue.agents.cline.wire", "segue.agents.codex.wire", "segue.agents.opencode.reader",
        "segue.effects.vectors.embedder",
        "segue.services.memories.service", "segue.services.resume.restore",
    }  # fmt: skip
    assert not sorted((never | unused) & set(loaded))


def _with_paths(agent: Agent) -> dict[str, str]:
    """The environment of an agent's hook, which finds packages without the start-up of others."""
    return {**agent.env, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
