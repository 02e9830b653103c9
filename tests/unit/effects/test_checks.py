"""Real commands: how they end, what they leave, what they see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from segue.core.features.checks import Check
from segue.effects.processes.checks import CheckOutcome, Runner, compiled, environment_of
from segue.errors import UsageError

PYTHON = sys.executable


def run(
    tmp_path: Path, check: Check, *, bytes_max: int = 100_000, grace: float = 0.3
) -> tuple[CheckOutcome, bytes]:
    out = tmp_path / "out"
    environment = environment_of(os.environ, (), check.environment)
    with Runner(grace_seconds=grace) as runner:
        runner.start("1", check, root=tmp_path, environment=environment, out=out, bytes_max=bytes_max)
        [outcome] = runner.wait(60)
    return outcome, out.read_bytes() if out.exists() else b""


def python(code: str, **more: object) -> Check:
    return Check((PYTHON, "-c", code), **more)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_a_command_ends_with_its_code_and_its_output(tmp_path: Path, code: int) -> None:
    outcome, said = run(
        tmp_path, python(f"import sys; print('out'); sys.stderr.write('err'); sys.exit({code})")
    )
    assert (outcome.exit_code, outcome.signal, outcome.fault) == (code, 0, "")
    assert sorted(said.split()) == [b"err", b"out"] and outcome.bytes == len(said)


def test_a_command_that_is_not_there_and_a_folder_that_is_gone_are_faults(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, Check(("no-such-command", "x")))
    assert (outcome.exit_code, outcome.fault) == (None, "no-such-command: No such file or directory")
    outcome, _ = run(tmp_path, Check(("true",), folder="gone"))
    assert outcome.fault == f"{tmp_path}/gone: No such file or directory"


def test_a_command_that_was_killed_has_a_signal_and_no_exit_code(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, python("import os; os.kill(os.getpid(), 9)"))
    assert (outcome.exit_code, outcome.signal) == (None, 9)


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    code = "import subprocess, time; print(subprocess.Popen(['sleep', '99']).pid, flush=True); time.sleep(99)"
    start = time.monotonic()
    outcome, said = run(tmp_path, python(code, limit_seconds=0.5))
    assert outcome.timed_out and time.monotonic() - start < 20
    assert not alive(int(said))


def test_one_that_ignores_term_is_killed(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(99)"
    outcome, _ = run(tmp_path, python(code, limit_seconds=0.5))
    assert outcome.timed_out and outcome.signal == signal.SIGKILL


def test_words_are_not_for_a_shell_unless_it_is_asked_for(tmp_path: Path) -> None:
    _, said = run(tmp_path, Check(("echo", "$HOME", ";", "a*")))
    assert said == b"$HOME ; a*\n"
    outcome, said = run(tmp_path, Check(("echo a | tr a b; exit 4",), shell=True))
    assert (said, outcome.exit_code) == (b"b\n", 4)


def test_only_variables_on_the_list_are_seen(tmp_path: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "AWS_SECRET_ACCESS_KEY": "x", "LC_ALL": "C", "MORE": "1"}
    found = environment_of(variables, ["MORE"], {"OWN": "2"})
    assert found == {"PATH": variables["PATH"], "LC_ALL": "C", "MORE": "1", "OWN": "2"}
    _, said = run(tmp_path, Check(("env",), environment={"OWN": "2"}))
    assert b"OWN=2" in said and b"PYTEST" not in said


def test_nothing_can_be_typed_and_no_files_are_inherited(tmp_path: Path) -> None:
    code = "import sys, os; print(repr(sys.stdin.read()), sorted(os.listdir('/proc/self/fd')))"
    _, said = run(tmp_path, python(code))
    assert said.startswith(b"'' ['0', '1', '2', ")
    assert len(said.split(b",")) == 4, "the fourth is the listing itself"


def test_of_too_much_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('begin' + 'x' * 3_000_000 + 'end')"
    outcome, said = run(tmp_path, python(code), bytes_max=10_000)
    assert outcome.bytes == 3_000_008 and outcome.cut
    assert said.startswith(b"begin") and said.endswith(b"end") and b"bytes left out" in said
    assert len(said) < 10_100


def test_binary_output_is_kept_as_it_is(tmp_path: Path) -> None:
    body = bytes(range(256)) * 40
    outcome, said = run(tmp_path, python("import sys; sys.stdout.buffer.write(bytes(range(256)) * 40)"))
    assert said == body and not outcome.cut


def test_a_daemon_that_a_check_leaves_is_ended_though_the_check_passed(tmp_path: Path) -> None:
    outcome, said = run(tmp_path, Check(("setsid sleep 99 & echo $!",), shell=True))
    assert (outcome.exit_code, outcome.left) == (0, 1)
    assert not alive(int(said))


def test_checks_run_beside_each_other_and_can_be_stopped(tmp_path: Path) -> None:
    with Runner(grace_seconds=0.2) as runner:
        for name in ("a", "b"):
            check = Check(("sleep", "99" if name == "a" else "0.2"))
            runner.start(
                name,
                check,
                root=tmp_path,
                environment={"PATH": os.defpath},
                out=tmp_path / name,
                bytes_max=1000,
            )
        assert runner.running == 2
        [first] = runner.wait(30)
        assert (first.id, first.exit_code) == ("b", 0)
        runner.stop("a")
        [second] = runner.wait(30)
        assert (second.id, second.stopped, runner.running) == ("a", True, 0)


def gathered(runner: Runner, count: int) -> dict[str, CheckOutcome]:
    found: dict[str, CheckOutcome] = {}
    while len(found) < count:
        found |= {outcome.id: outcome for outcome in runner.wait(30)}
    return found


def queue(runner: Runner, tmp_path: Path, commands: list[str], slots: int) -> None:
    for number, command in enumerate(commands):
        runner.start(
            str(number), Check((command,), shell=True), root=tmp_path, environment={"PATH": os.defpath},
            out=tmp_path / f"out{number}", bytes_max=1000, slots=slots,
        )  # fmt: skip


def test_no_more_run_at_once_than_there_are_slots_and_all_have_their_turn(tmp_path: Path) -> None:
    crowd = "mkdir here.$$; ls -d here.* 2>/dev/null | wc -l; sleep 0.05; rmdir here.$$"
    with Runner() as runner:
        queue(runner, tmp_path, [crowd] * 8, 2)
        found = gathered(runner, 8)
    assert all(outcome.exit_code == 0 for outcome in found.values())
    counts = [int((tmp_path / f"out{number}").read_text()) for number in range(8)]
    assert 1 <= max(counts) <= 2


def test_what_waits_for_its_turn_does_not_run_when_it_is_stopped_or_segue_goes(tmp_path: Path) -> None:
    with Runner(grace_seconds=0.2) as runner:
        queue(runner, tmp_path, ["sleep 99", "touch ready", "touch waiting", "touch last"], 1)
        for number in ("1", "2"):
            runner.stop(number)
        found = gathered(runner, 2)
        assert {id: outcome.stopped for id, outcome in found.items()} == {"1": True, "2": True}
    assert not any((tmp_path / name).exists() for name in ("ready", "waiting", "last"))


def test_commands_that_are_over_at_once_are_never_waited_for(tmp_path: Path) -> None:
    with Runner() as runner:
        queue(runner, tmp_path, ["true"] * 150, 2)
        began = time.monotonic()
        found = gathered(runner, 150)
    assert all(outcome.exit_code == 0 for outcome in found.values())
    assert time.monotonic() - began < 100, "one of them was waited for until its time was over"


def test_a_folder_that_the_check_before_makes_is_there_for_the_next(tmp_path: Path) -> None:
    with Runner() as runner:
        queue(runner, tmp_path, ["sleep 0.2; mkdir made"], 1)
        check = Check(("true",), folder="made")
        runner.start("next", check, root=tmp_path, environment={"PATH": os.defpath}, out=tmp_path / "o",
                     bytes_max=99, slots=1)  # fmt: skip
        assert gathered(runner, 2)["next"].exit_code == 0


def test_nothing_runs_on_when_segue_is_killed(tmp_path: Path) -> None:
    script = f"""
import sys, time
from pathlib import Path
from segue.core.features.checks import Check
from segue.effects.processes.checks import Runner
runner = Runner()
code = "import os, time; os.setsid() if os.fork() == 0 else 0; "
code += "open('pids', 'a').write(str(os.getpid()) + chr(10)); time.sleep(99)"
top = Path({str(tmp_path)!r})
check = Check((sys.executable, "-c", code))
runner.start("1", check, root=top, environment={{}}, out=top / "o", bytes_max=99)
time.sleep(99)
"""
    process = subprocess.Popen([PYTHON, "-c", script])
    pids = tmp_path / "pids"
    deadline = time.monotonic() + 20
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    while any(alive(int(pid)) for pid in pids.read_text().split()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pattern_that_is_none_is_refused() -> None:
    assert compiled("^done$").search(b"x\ndone\n")
    with pytest.raises(UsageError, match="not a regular expression"):
        compiled("(")
