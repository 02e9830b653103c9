"""Habits are counted from runs and commits; what did not hold lately fades."""

from __future__ import annotations

from tests.support.told_runs import ToldRun

from segue.core.habits.learn import learn
from segue.core.habits.model import HOLDS_MIN, HabitTable
from segue.core.habits.next_moves import expected_commands, hits, next_commands, next_files
from segue.core.habits.trace import RunTrace, form_of, trace_of

TEST, LINT, COMMIT = "pytest -q tests", "ruff check .", "git commit -am x"
MADE = "[main 1234567] x\n 1 file changed"


def trace(*checks: str, path: str = "shop/cart.py", at: float = 1.0, flaky: bool = False) -> RunTrace:
    run = ToldRun(at=at).asked("Mend the cart").edited(path)
    for check in checks:
        if flaky:
            run.ran(check, "E   OSError: the port 'http' is in use\n1 failed")
        run.ran(check, seconds=4.0)
    return trace_of(run.ran(COMMIT, output=MADE).over().steps)


def after_edit(table: HabitTable) -> list[str]:
    moves = trace_of(ToldRun().edited("shop/cart.py").steps).moves
    return [one.form for one in expected_commands(table, moves, HOLDS_MIN)]


def test_a_command_is_told_by_its_form_without_the_files_that_it_is_run_on() -> None:
    assert form_of("cd api && FOO=1 npx jest src/a.test.ts")[0] == form_of("npx jest src/b.test.ts")[0]
    assert form_of("git commit -am 'one'") == form_of("git commit -m two") == ("git commit", "vcs")
    assert form_of("ls -la") == ("ls", "look")


def test_the_checks_between_an_edit_and_a_commit_are_told_in_their_order() -> None:
    table = learn([trace(TEST, LINT, at=float(n)) for n in range(5)])
    assert [(one.form, one.held, one.of) for one in table.order] == [("pytest", 5, 5), ("ruff check", 5, 5)]
    tests = next(one for one in table.commands if one.group == "test")
    assert (tests.runs, tests.of, tests.count, tests.failed) == (5, 5, 5, 0)
    assert tests.seconds == tests.seconds_most == 4.0


def test_what_usually_comes_next_has_its_counts() -> None:
    table = learn([trace(TEST, LINT, at=float(n)) for n in range(5)])
    moves = trace_of(ToldRun().edited("shop/tax.py").ran(TEST).steps).moves
    [expected] = expected_commands(table, moves, HOLDS_MIN)
    assert (expected.form, expected.before, expected.count, expected.of) == ("ruff check", "pytest+", 5, 5)
    assert next_commands(table, moves)[0] == "ruff check"


def test_a_run_that_goes_its_own_way_is_soon_believed_more_than_the_habits() -> None:
    table = learn([trace(*[TEST, LINT] * 10, at=float(n)) for n in range(20)])
    run = ToldRun().edited("shop/tax.py")
    assert next_commands(table, trace_of(run.steps).moves)[0] == "pytest"
    for _ in range(4):
        run.ran("cargo nextest run").edited("shop/tax.py")
    assert next_commands(table, trace_of(run.steps).moves)[0] == "cargo nextest run"


def test_of_the_run_itself_what_it_did_lately_counts_most() -> None:
    run = ToldRun()
    for command in ("npm test", "npm test", "npm test", "cargo build", "cargo build"):
        run.edited("a.rs").ran(command)
    assert next_commands(HabitTable(), trace_of(run.edited("a.rs").steps).moves)[0] == "cargo build"


def test_what_was_seen_twice_is_no_habit_yet() -> None:
    assert after_edit(learn([trace(TEST), trace(TEST)])) == []


def test_a_habit_that_did_not_hold_on_later_runs_fades() -> None:
    old, new = (
        [trace("npm test", at=float(n)) for n in range(8)],
        [trace("vitest run", at=9.0 + n) for n in range(8)],
    )
    assert after_edit(learn(old)) == ["npm test"]
    assert "npm test" in after_edit(learn([*old, *new[:2]]))
    later = learn([*old, *new])
    assert after_edit(later) == ["vitest run"]
    faded = next(one for one in later.commands if one.form == "npm test")
    assert faded.runs == 8 and faded.share < HOLDS_MIN


def test_a_check_that_passes_again_with_nothing_changed_is_flaky() -> None:
    table = learn([trace(TEST, at=float(n), flaky=n < 2) for n in range(4)])
    assert next(one for one in table.commands if one.form == "pytest").flaky == 2


def test_files_that_change_together_are_told_with_their_counts() -> None:
    commits = [["shop/cart.py", "tests/test_cart.py"]] * 4 + [["shop/cart.py"], ["README.md"]]
    table = learn([], commits)
    found = {(one.path, one.other): (one.both, one.of) for one in table.together}
    assert found == {
        ("shop/cart.py", "tests/test_cart.py"): (4, 5), ("tests/test_cart.py", "shop/cart.py"): (4, 4),
    }  # fmt: skip
    alone = [["shop/cart.py"]] * 12
    assert ("shop/cart.py", "tests/test_cart.py") not in {
        (one.path, one.other) for one in learn([], [*commits, *alone]).together
    }


def test_a_commit_of_very_many_files_says_nothing() -> None:
    many = [[f"part{n}.py" for n in range(40)]] * 5
    assert learn([], many).together == []


def test_the_next_file_is_one_that_went_with_it_before() -> None:
    runs = [trace_of(ToldRun(at=float(n)).edited("a.py").edited("b.py").steps) for n in range(3)]
    assert next_files(learn(runs), trace_of(ToldRun().edited("a.py").steps).moves) == ["b.py"]
    assert next_files(HabitTable(), trace_of(ToldRun().edited("a.py").steps).moves) == []


def test_what_users_said_in_more_than_one_run_is_offered_as_a_rule_and_once_is_not() -> None:
    said = [
        "Never touch the legacy ledger tables.", "Always use cents as integers for money.",
        "Please never touch the legacy ledger tables.",
    ]  # fmt: skip
    runs = [
        trace_of(ToldRun(at=float(n)).asked(f"Mend it. {text}").edited("a.py").steps)
        for n, text in enumerate(said)
    ]
    [rule] = learn(runs).rules
    assert "legacy ledger" in rule.text and (rule.runs, rule.of) == (2, 3)


def test_how_well_habits_told_the_commands_of_a_run_is_counted() -> None:
    table = learn([trace(TEST, LINT, at=float(n)) for n in range(5)])
    assert hits(table, trace(TEST, LINT).moves) == (3, 3)
    assert hits(HabitTable(), trace(TEST, LINT).moves) == (0, 3)
