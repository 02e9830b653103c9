"""Steps in words, as tables of a call and the line that tells it."""

from __future__ import annotations

from typing import Any

import pytest

from segue.core.brief.trail_words import (
    Folder,
    became,
    command_line,
    edits_line,
    folder_of,
    is_commit,
    is_look,
    look_outcome,
    look_words,
    looks_line,
    message_words,
    other_line,
    repeats,
    result_words,
    same_thing,
    step_line,
)
from segue.core.runs.model import TrailStep
from segue.core.runs.steps import Change

HERE = Folder("/home/ann/shop", "/home/ann")
NOWHERE = Folder()


def ran(command: str, output: str = "", *, exit: int = 0, **more: Any) -> TrailStep:
    return TrailStep(
        "run", 1, tool="Bash", id="c", command=command, done=2, ok=exit == 0, exit=exit, output=output, **more
    )


def called(kind: str, text: str = "", output: str = "", **more: Any) -> TrailStep:
    given: dict[str, Any] = {"tool": "Tool", "id": "c", "done": 2, "ok": True, **more}
    return TrailStep(kind, 1, text, output=output, **given)


def edited(*changes: Change, **more: Any) -> TrailStep:
    return called("edit", changes=changes, **more)


# -- folders


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/home/ann/shop", "."),
        ("/home/ann/shop/src/a.py", "src/a.py"),
        ("/home/ann/shopping/a.py", "~/shopping/a.py"),
        ("/home/anna/a.py", "/home/anna/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src\\a.py", "src/a.py"),
    ],
)
def test_a_path_is_told_from_the_folder_of_the_work_or_from_home(path: str, short: str) -> None:
    assert HERE.short(path) == short


@pytest.mark.parametrize(
    ("cwd", "home"),
    [
        ("/home/ann/shop", "/home/ann"),
        ("/Users/ann/shop/", "/Users/ann"),
        ("/home/ann", ""),
        ("/srv/shop", ""),
        ("", ""),
    ],
)
def test_the_home_is_known_by_the_folder(cwd: str, home: str) -> None:
    assert folder_of(cwd) == Folder(cwd.rstrip("/"), home)


def test_paths_in_a_text_are_told_from_there() -> None:
    assert HERE.within("/home/ann/shop/a.py and /home/ann/b.py") == "a.py and ~/b.py"
    assert NOWHERE.within("/home/ann/b.py") == "/home/ann/b.py"


# -- looks


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (called("read", paths=("/home/ann/shop/a.py",)), ["a.py"]),
        (called("read", "a.py\n10\n20", paths=("a.py",)), ["a.py:10-29"]),
        (called("read", "a.py\n10", paths=("a.py",)), ["a.py"]),
        (called("read", paths=("/tmp/x/tasks/b7.output",)), ["the output of background task b7"]),
        (called("read", "some page", tool="Fetch"), ['grep "some page"']),
        (called("search", "float"), ['grep "float"']),
        (called("search", "src/a.py\nfloat"), ['grep "float"']),
        (called("search", "src/a.py\nlib/b.py"), ['grep "src/a.py"']),
        (
            called("search", "float\n/home/ann/shop/src", paths=("/home/ann/shop/src",)),
            ['grep "float" in src'],
        ),
        (called("search", tool="Glob", paths=("src",)), ["Glob in src"]),
        (called("search", "y" * 70), [f'grep "{"y" * 57}…"']),
        (ran("cat a.py"), ["a.py"]),
        (ran("head -n 20 a.py && tail b.py"), ["a.py", "b.py"]),
        (ran("sed -n '1,20p' a.py"), ["a.py:1-20"]),
        (ran("nl a.py | sed -n '1,20p'"), ["a.py:1-20"]),
        (ran("nl a.py | sort"), ["a.py"]),
        (ran("cd src && ls"), ["ls"]),
        (ran("cat /home/ann/shop/a.py"), ["a.py"]),
        (ran("cd src"), ["cd src"]),
        (ran("grep -rn float src lib"), ['grep "float" in src lib']),
        (ran("grep -A 3 float src"), ['grep "float" in src']),
        (ran("rg -t py 'two words'"), ['grep "two words"']),
        (ran("rg float -g '*.py'"), ['grep "float" in *.py']),
        (ran("rg -e"), ["rg -e"]),
        (ran("rg --files"), ["rg --files"]),
        (ran(f"grep {'p' * 70} {'f' * 70}"), [f'grep "{"p" * 57}…" in {"f" * 57}…']),
    ],
)
def test_a_look_is_told_by_what_it_was_at(step: TrailStep, words: list[str]) -> None:
    assert look_words(step, HERE) == words


@pytest.mark.parametrize(
    ("step", "looks"),
    [
        (called("read"), True),
        (called("search"), True),
        (called("edit"), False),
        (called("run"), False),
        (ran("ls"), True),
        (ran("cd src && ls | wc -l"), True),
        (ran("cat a | grep b"), True),
        (ran("ls && make"), False),
        (ran("ls > out.txt"), False),
        (ran("git status"), True),
        (ran("git push"), False),
        (ran("cd src"), False),
    ],
)
def test_a_look_changes_nothing(step: TrailStep, looks: bool) -> None:
    assert is_look(step) is looks


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (called("read", done=0), "NO RESULT YET"),
        (called("read", output="text"), ""),
        (called("read", output="File not found\nmore", ok=False), 'failed: "File not found"'),
        (called("search", output=""), "no hits"),
        (called("search", output="No matches found"), "no hits"),
        (called("search", output="Found 1 file\nsrc/a.py"), '1 hit: "src/a.py"'),
        (called("search", output="src/a.py\nsrc/b.py"), '2 hits: "src/a.py | src/b.py"'),
        (called("search", output="src/a.py\nsrc/b.py\nsrc/c.py"), "3 lines found"),
        (ran("grep a b", "b.py:1: a\nb.py:1: a\nb.py:2: a"), "3 lines found: b.py:1, b.py:2"),
        (ran("grep a b", "\n".join(f"b.py:{number}: a" for number in range(1, 7))),
         "6 lines found: b.py:1, b.py:2, b.py:3, b.py:4, b.py:5, b.py:6"),
        (ran("grep a b", "\n".join(f"b.py:{number}: a" for number in range(1, 8))), "7 lines found"),
        (ran("cat b | grep a", "a"), ""),
        (ran("git status", "on main"), '"on main"'),
        (ran("git diff", "+ on main"), ""),
        (ran("git show", "+ on main"), ""),
        (ran("git status", ""), ""),
        (ran("ls src", "a.py"), ""),
        (ran("ls src", "ls: cannot access src", exit=2), '"ls: cannot access src"'),
    ],
)  # fmt: skip
def test_what_a_look_found_is_told_if_it_is_short(step: TrailStep, found: str) -> None:
    assert look_outcome(step) == found


def test_looks_in_a_row_are_told_with_all_that_they_found_where_there_is_room() -> None:
    steps = [ran(f"grep word{number} src", f"src/{number}.py:1: found here") for number in range(4)]
    line = looks_line(steps, NOWHERE, 400)
    assert line.count("1 hit") == 4
    line = looks_line(steps, NOWHERE, 220)
    assert line.count("1 hit") == 2 and 'grep "word0"' in line


def newest_look(step: TrailStep) -> str:
    return looks_line([step], NOWHERE, 400, [step])


def test_the_first_hits_of_the_last_search_are_told() -> None:
    hits = "\n".join(f"src/{number}.py: x{' word' * 30}" for number in range(5))
    line = newest_look(ran("grep x src", hits))
    assert line.startswith('grep "x" in src (5 lines found: "src/0.py: x word')
    assert line.count("word…") == 3 and "src/3.py" not in line
    assert looks_line([ran("grep x src", hits)], NOWHERE, 400) == 'grep "x" in src (5 lines found)'


def test_the_names_that_a_file_defines_are_told_six_at_most() -> None:
    text = "\n".join(["# Heading", *(f"{number}\tdef name_{number}():" for number in range(1, 9))])
    line = newest_look(called("read", output=text, paths=("a.py",)))
    assert line == "looked at a.py (defines name_1, name_2, name_3, name_4, name_5, name_6)"


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (ran("ls src", "a.py\nb.py"), 'ls src ("a.py / b.py")'),
        (ran("ls src", ""), "ls src"),
        (ran("cat notes", "one\ntwo"), 'looked at notes ("one / two")'),
        (ran("cat notes", "\n".join(f"line {number}" for number in range(9))), "looked at notes"),
        (ran("git diff", "+ on main\n- on next"), 'git diff ("+ on main / on next")'),
        (ran("rg x src", "", exit=1), 'grep "x" in src (no hits)'),
        (called("read", output="No file here.", paths=("a.py",), ok=False),
         'looked at a.py (failed: "No file here.")'),
        (called("search", "x", output="Found 2 files\na.py"), 'grep "x" (1 hit: "a.py")'),
    ],
)  # fmt: skip
def test_what_one_of_the_newest_looks_showed_is_told(step: TrailStep, line: str) -> None:
    assert newest_look(step) == line


# -- edits


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([edited(Change("a.py", "edit", "x", "y"))], "edited a.py: + y"),
        ([edited(Change("a.py", "edit", "gone_name = 1", ""))], "edited a.py: − gone_name = 1"),
        ([edited(Change("a.py", "edit", "x", "y"), done=0)], "edit a.py: + y → NO RESULT YET"),
        ([edited(Change("a.py", "create", "", "x"), done=0)], "write a.py → NO RESULT YET"),
        ([edited(Change("a.py", "delete"), done=0)], "delete a.py → NO RESULT YET"),
        ([edited(Change("a.py", "create", "", "x"))], "wrote a.py"),
        ([edited(Change("a.py", "create", "", "x\ny"))], "wrote a.py (2 lines)"),
        ([edited(Change("g.md", "edit", "x", "y", "# Rounding"))], "edited g.md under # Rounding: + y"),
        ([edited(Change("a.py", "edit", "x", "y", "line 12"))], "edited a.py at line 12: + y"),
        ([edited(Change("a.py", "edit", "x", "def one():\ndef two():\ndef three():"))],
         "edited a.py in one: adds two, three"),
        ([edited(Change("src/a.py", "edit", "x", "y"), Change("src/b.py", "edit", "x", "y"))],
         "edited 2 files: src/a.py, b.py"),
        ([edited(Change("a.py", "edit", "x", "y"), Change("b.py", "edit", "x", "y"))],
         "edited 2 files: a.py, b.py"),
        ([edited(Change("a.py", "edit", "x", "y"), Change("b.py", "delete"))],
         "patched 2 files: a.py, b.py (deleted)"),
        ([edited(Change("a.py", "edit", "x", "y"), Change("b.py", "create", "", "y"), done=0)],
         "patch 2 files: a.py, b.py → NO RESULT YET"),
        ([called("edit", paths=("a.py",))], "edited a.py"),
        ([called("edit", tool="Patch")], "edited Patch"),
        ([edited(Change("a.py"), ok=False, output="not found")], 'edit FAILED on a.py: "not found"'),
        ([edited(Change("a.py"), ok=False)], "edit FAILED on a.py"),
        ([edited(*(Change(name) for name in "abcd"), ok=False)], "edit FAILED on a, b, c"),
        ([edited(*(Change(name) for name in "abcd"), refused=True, output="no")],
         'the user refused the edit of a, b, c: "no"'),
    ],
)  # fmt: skip
def test_edits_are_told_by_file_place_and_what_is_new(steps: list[TrailStep], line: str) -> None:
    assert edits_line(steps, NOWHERE, 200) == line


def test_of_an_edit_the_new_line_goes_first_where_there_is_little_room() -> None:
    step = edited(Change("src/parser.py", "edit", "x", "the_amount = cents_of(row, rates)"))
    assert edits_line([step], NOWHERE, 60) == "edited src/parser.py: + the_amount = cents_of(row, rates)"
    assert edits_line([step], NOWHERE, 50) == "edited src/parser.py"
    more = edited(Change("src/parser.py", "edit", "x", "the amount of every row is kept in cents"))
    assert edits_line([more], NOWHERE, 50) == "edited src/parser.py: + the amount of every…"
    assert edits_line([more], NOWHERE, 45) == "edited src/parser.py"


# -- commands


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        (ran("make"), "ok"),
        (ran("make", exit=1), "failed"),
        (called("run", command="make", done=0), "open"),
        (called("run", command="make", refused=True), "refused"),
        (called("other"), "ok"),
        (called("other", ok=False), "failed"),
        (called("other", ok=None, exit=1), "failed"),
        (called("other", ok=None), "ok"),
        (ran("pytest | tail", "1 failed"), "failed"),
        (ran("pytest; ls", "nothing"), "unknown"),
        (ran("pytest; mypy", "nothing"), "unknown"),
    ],
)
def test_what_became_of_a_call_is_known(step: TrailStep, outcome: str) -> None:
    assert became(step) == outcome


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (called("run", command="make", done=0), "NO RESULT YET"),
        (ran("make", "no", refused=True), 'REFUSED by the user: "no"'),
        (ran("make", refused=True), "REFUSED by the user"),
        (ran("make", process="b7", runs_on=True), "runs on in the background as b7"),
        (ran("make", "ready", process="b7", runs_on=True), 'runs on as b7: "ready"'),
        (ran("make", "3 passed"), 'ok: "3 passed"'),
        (ran("make"), "ok"),
        (ran("make", "error: a\n1 failed", exit=1), 'FAILED: "error: a / 1 failed"'),
        (ran("make", "\n".join(f"row {number}" for number in range(8))),
         'ok: "row 0 / row 1 / row 2 / row 3 / row 4 / row 5 / row 6 / row 7"'),
        (ran("make", "\n".join(f"row {number}" for number in range(9))), "ok, 9 lines"),
        (called("agent", output="Great, here it is. All rows are read.\n<usage>9</usage>"),
         'ok: "All rows are read."'),
        (ran("make", "/home/ann/shop/a.py:1: error: x", exit=1), 'FAILED: "a.py:1: error: x"'),
    ],
)  # fmt: skip
def test_a_result_is_told_by_its_outcome_and_its_telling_lines(step: TrailStep, words: str) -> None:
    assert result_words(step, 200, HERE) == words


def test_where_there_is_much_room_a_longer_output_is_told_too() -> None:
    step = ran("make", "\n".join(f"row {number}" for number in range(9)))
    assert result_words(step, 299, NOWHERE) == "ok, 9 lines"
    assert result_words(step, 300, NOWHERE).startswith('ok: "row 0 / ')


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (ran("cd src && make all 2>&1"), "$ make all (in src) → ok"),
        (ran("cd /home/ann/shop && make all"), "$ make all → ok"),
        (ran("cd .. && make all"), "$ make all (in ..) → ok"),
        (ran("git commit -am 'Keep cents'", "[main 1a2b3c4] Keep cents"), "committed 1a2b3c4 Keep cents"),
        (ran("git commit -am 'Keep cents'"), "committed Keep cents"),
        (ran("git commit -am 'Keep cents' && git push"), "committed and pushed Keep cents"),
        (ran("git commit -am 'Keep cents' && git push", "[main 1a2b3c4] Keep cents\nfatal: no", exit=1),
         "committed 1a2b3c4 Keep cents"),
        (ran("git commit", exit=1), "$ git commit → FAILED"),
        (ran("git commit -am 'Keep cents' | tail", "odd"), 'tried to commit Keep cents: "odd"'),
        (ran(f"./convert {'x' * 80}", note="Convert all rows"), f"$ ./convert {'x' * 80} → ok"),
        (ran(f"./convert {'x' * 300}", note="Convert all rows"),
         f"$ ./convert {'x' * 104}…{'x' * 56} (Convert all rows) → ok"),
        (ran("python - <<EOF\nprint()\nEOF", note="Count the rows"),
         "$ python - <<EOF (Count the rows) → ok"),
    ],
)  # fmt: skip
def test_a_command_is_told_with_its_folder_and_what_became_of_it(step: TrailStep, line: str) -> None:
    assert command_line(step, HERE, 200) == line


def test_a_note_stands_for_a_command_that_has_no_room() -> None:
    step = ran(f"./convert {'x' * 300}", note="Convert all rows of the table")
    assert command_line(step, NOWHERE, 70) == "$ (Convert all rows of the table) → ok"


def test_only_git_commits() -> None:
    assert is_commit(ran("make && git -C src commit -m x")) and not is_commit(ran("git log --grep commit"))
    assert not is_commit(called("search", command="git commit"))


# -- other tools


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (called("agent", note="find the rows", output="They are in a.py."),
         'sub-agent "find the rows" → ok: "They are in a.py."'),
        (called("agent", "find the rows", done=0), 'sub-agent "find the rows" → NO RESULT YET'),
        (called("ask", note="Which one?", output='"Which one?"="the first"'),
         'asked the user "Which one?" → answer: "the first"'),
        (called("ask", note="Which one?", done=0), 'asked the user "Which one?" → no answer yet'),
        (called("ask", note="Which one?", ok=False, output="gone"),
         'asked the user "Which one?" → FAILED: "gone"'),
        (called("plan", "intro # Keep cents", tool="ExitPlanMode", done=0),
         'showed the user a plan "Keep cents" → waits for approval'),
        (called("plan", "Keep cents", tool="ExitPlanMode"), 'showed the user a plan "Keep cents" → approved'),
        (called("plan", "Keep cents", tool="ExitPlanMode", refused=True, output="not so"),
         'showed the user a plan "Keep cents" → REFUSED by the user: "not so"'),
        (called("other", "http://a", tool="mcp__browser__open", output="Page"),
         'browser.open http://a → ok: "Page"'),
        (called("other", tool="Sleep"), "Sleep → ok"),
    ],
)  # fmt: skip
def test_any_other_call_is_told_with_its_arguments_and_what_it_gave(step: TrailStep, line: str) -> None:
    assert other_line(step, NOWHERE, 200) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("npm run dev ended", "npm run dev ended"),
        ("npm run dev failed: exit 1", 'npm run dev failed: "exit 1"'),
        ("sub-agent reported: all is done", 'sub-agent reported: "all is done"'),
        ("the user interrupted the agent", "the user interrupted the agent"),
    ],
)
def test_what_befell_the_run_is_told(text: str, line: str) -> None:
    assert step_line([TrailStep("notice", 1, text)], NOWHERE, 200) == line


# -- the agent's words


def test_a_message_that_fits_is_told_whole() -> None:
    assert message_words("One. Two.\n- three\n- four", 100) == "One. Two. three; four"
    assert message_words("One::shown{a=1}. Two.", 100) == "One. Two."
    assert message_words("One long sentence without an end", 20) == "One long…"


def test_of_a_message_that_does_not_fit_the_end_comes_first_then_what_was_asked_about() -> None:
    said = "I looked at all of it. Rates of that bank are old and stale. The parser of amounts rounds. "
    said += "Nothing else is odd. I mend it next."
    assert message_words(said, 14) == "I mend it…"
    assert message_words(said, 30) == "… I mend it next."
    assert (
        message_words(said, 70, {"parser", "amounts"}) == "… The parser of amounts rounds. … I mend it next."
    )
    assert message_words(said, 75) == "I looked at all of it. … Nothing else is odd. I mend it next."
    assert (
        message_words(said, 110)
        == "I looked at all of it. … The parser of amounts rounds. Nothing else is odd. I mend it next."
    )


# -- the same again


@pytest.mark.parametrize(
    ("first", "second", "same", "again"),
    [
        (ran("pytest -q a.py"), ran("cd src && pytest -q a.py"), True, True),
        (ran("pytest -q a.py"), ran("pytest -q b.py"), False, False),
        (ran("pytest -q a.py"), ran("ls"), False, False),
        (ran("./convert --all"), ran("./convert --all | tail"), True, True),
        (ran("git push"), ran("git push --force"), True, False),
        (edited(Change("a.py")), edited(Change("a.py")), True, True),
        (edited(Change("a.py")), edited(Change("b.py")), False, False),
        (edited(Change("a.py")), edited(Change("a.py"), tool="Other"), False, False),
        (called("edit", paths=("a.py",)), edited(Change("a.py")), True, True),
        (called("read", paths=("a.py",)), called("read", paths=("a.py",)), False, False),
    ],
)
def test_a_later_call_does_the_same_or_repeats(
    first: TrailStep, second: TrailStep, same: bool, again: bool
) -> None:
    assert (same_thing(first, second), repeats(first, second)) == (same, again)
