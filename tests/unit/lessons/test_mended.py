"""What was mended in a run, and what shows that."""

from __future__ import annotations

import pytest
from tests.support.told_runs import ToldRun

from segue.core.lessons.mended import Lesson, MendedFailures
from segue.core.lessons.signature import normalised, of_lines, same_failure, signatures

SECRET_MISSING = "E   KeyError: 'JWT_SECRET'\nFAILED tests/test_auth.py::test_login\n1 failed in 0.12s"
TEST = "pytest tests/test_auth.py"


def mended(run: ToldRun) -> MendedFailures:
    found = MendedFailures()
    for step in run.steps:
        found.take(step)
    return found


def lesson(run: ToldRun) -> Lesson:
    [one] = mended(run).lessons
    return one


def test_a_lesson_says_the_error_the_change_and_the_steps_that_show_it() -> None:
    run = ToldRun().ran(TEST, SECRET_MISSING)
    run.edited("shop/auth.py", 'os.environ["JWT_SECRET"]', 'os.environ.get("JWT_SECRET", "")').ran(TEST)
    one = lesson(run)
    assert one.text == (
        "`pytest tests/test_auth.py` failed: E KeyError: 'JWT_SECRET'"
        " / FAILED tests/test_auth.py::test_login."
        ' Mended by shop/auth.py (`os.environ["JWT_SECRET"]` became `os.environ.get("JWT_SECRET", "")`).'
    )
    assert (one.failed, one.changed, one.passed, one.files) == (4, (6,), 8, ("shop/auth.py",))


def test_a_variable_that_was_set_is_what_mended_it_and_its_value_is_not_told() -> None:
    one = lesson(ToldRun().ran(TEST, SECRET_MISSING).ran(f"JWT_SECRET=hunter2 {TEST}"))
    assert one.approach == "running it with JWT_SECRET set"
    assert "hunter2" not in one.text


def test_an_installation_is_what_mended_it() -> None:
    missing = "ModuleNotFoundError: No module named 'jwt'\n1 error"
    one = lesson(ToldRun().ran("pytest", missing).ran("pip install pyjwt", output="done").ran("pytest"))
    assert one.approach == "`pip install pyjwt`"


def test_only_what_came_after_the_failure_was_last_seen_counts() -> None:
    run = ToldRun().ran(TEST, SECRET_MISSING).edited("shop/wrong.py").ran(TEST, SECRET_MISSING)
    one = lesson(run.edited("shop/right.py").ran(TEST))
    assert one.files == ("shop/right.py",) and one.count == 2


def test_each_of_two_failures_of_a_command_has_its_own_mend() -> None:
    other = "E   TypeError: expected str, got 'None'\n1 failed"
    run = (
        ToldRun().ran(TEST, SECRET_MISSING).edited("shop/a.py").ran(TEST, other).edited("shop/b.py").ran(TEST)
    )
    assert [one.files for one in mended(run).lessons] == [("shop/a.py",), ("shop/b.py",)]


def test_what_passes_again_with_nothing_done_is_flaky_and_no_lesson() -> None:
    found = mended(ToldRun().ran(TEST, SECRET_MISSING).ran(TEST))
    assert found.lessons == [] and found.flaky == {TEST: 1}


def test_what_was_never_mended_is_no_lesson() -> None:
    assert mended(ToldRun().ran(TEST, SECRET_MISSING).edited("a.py").ran(TEST, SECRET_MISSING)).lessons == []


def test_a_pass_of_other_tests_mends_nothing() -> None:
    run = ToldRun().ran(TEST, SECRET_MISSING).edited("a.py").ran("pytest tests/test_cart.py")
    assert mended(run).lessons == []
    assert lesson(run.ran("pytest tests"))


def test_a_change_of_very_many_files_that_the_error_does_not_name_teaches_nothing() -> None:
    run = ToldRun().ran(TEST, SECRET_MISSING)
    for number in range(9):
        run.edited(f"shop/part{number}.py")
    assert mended(run.ran(TEST)).lessons == []


@pytest.mark.parametrize("output", ["exit code 1", "2 failed", "FAILED", "Process exited with code 1"])
def test_an_output_that_any_failure_could_have_teaches_nothing(output: str) -> None:
    assert mended(ToldRun().ran(TEST, output).edited("a.py").ran(TEST)).lessons == []


def test_a_signature_leaves_out_what_differs_from_one_time_to_the_next() -> None:
    first = "/home/ann/shop/auth.py:41:7: error: cannot find name 'token' (0x7f3a9c, 12 ms)"
    second = "/srv/ci/7/shop/auth.py:52:1: error: cannot find name 'token' (0x11aa2b, 340 ms)"
    assert normalised(first) == normalised(second) == "auth.py: error: cannot find name 'token' (#, # ms)"
    assert normalised("E   KeyError: 'JWT_SECRET'") != normalised("E   KeyError: 'DB_URL'")


def test_failures_are_the_same_by_a_line_that_names_something_or_by_two_lines() -> None:
    known = signatures(SECRET_MISSING)
    assert same_failure(known, of_lines(["KeyError: 'JWT_SECRET'"]))
    assert not same_failure(known, of_lines(["KeyError: 'DB_URL'"]))
    vague = of_lines(["AssertionError: expected values to be equal"])
    assert vague and not same_failure(vague, vague)
    assert same_failure((*vague, "one more line"), (*vague, "one more line"))
