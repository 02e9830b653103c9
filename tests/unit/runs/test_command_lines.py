"""Command lines taken apart: which commands are in one, and how it is shown."""

from __future__ import annotations

import pytest

from segue.core.runs.command_lines import (
    Part,
    bare,
    folder_of,
    here_documents,
    is_silent,
    is_trimming,
    parts,
    shown,
    writes_file,
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pytest -q", [("", "pytest -q")]),
        ("  pytest -q  ", [("", "pytest -q")]),
        ("", []),
        (" ; ", []),
        ("a && b || c; d | e", [("", "a"), ("&&", "b"), ("||", "c"), (";", "d"), ("|", "e")]),
        ("a\nb", [("", "a"), (";", "b")]),
        ("a &&\nb", [("", "a"), ("&&", "b")]),
        ("a |\nb", [("", "a"), ("|", "b")]),
        ("a;\n| b", [("", "a"), ("|", "b")]),
        ("\n&& a", [("", "a")]),
        ("a \\\n  -b", [("", "a    -b")]),
        ("serve & test", [("", "serve & test")]),
        ("serve 2>&1 | tail", [("", "serve 2>&1"), ("|", "tail")]),
        ("echo 'a; b' && c", [("", "echo 'a; b'"), ("&&", "c")]),
        ('echo "a; \\" b" ; c', [("", 'echo "a; \\" b"'), (";", "c")]),
        ("echo 'a\\' ; c", [("", "echo 'a\\'"), (";", "c")]),
        ("echo `a; b` ; c", [("", "echo `a; b`"), (";", "c")]),
        ("echo a\\; b ; c", [("", "echo a\\; b"), (";", "c")]),
        ("echo $(a; b) ; c", [("", "echo $(a; b)"), (";", "c")]),
        ("a; echo $(b (c; d); e) && f", [("", "a"), (";", "echo $(b (c; d); e)"), ("&&", "f")]),
        ("cat <<EOF\na; b\nEOF\nc", [("", "cat <<EOF"), (";", "c")]),
        ("cat <<'EOF' > x\na && b\nEOF", [("", "cat <<EOF > x")]),
    ],
)
def test_a_line_is_split_where_a_shell_would_split_it(line: str, found: list[tuple[str, str]]) -> None:
    assert [(part.joint, part.text) for part in parts(line)] == found


def test_of_an_endless_line_the_beginning_counts() -> None:
    assert [part.text for part in parts(f"{'a' * 19_998};b;c")] == ["a" * 19_998, "b"]
    assert here_documents(f"{'a' * 20_000} <<EOF\nb\nEOF") == []


def test_here_documents_are_told_with_what_stands_around_them() -> None:
    [first, second] = here_documents(
        "cd src\ncat <<'EOF' > a.py\nx = 1\ny = 2\nEOF\npython - <<END\nprint()\nEND"
    )
    assert (first.head, first.rest, first.body) == ("cat", "> a.py", "x = 1\ny = 2")
    assert (second.head, second.rest, second.body) == ("python -", "", "print()")


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("pytest -q", "pytest -q"),
        ("CI=1 DEBUG='a b' pytest", "pytest"),
        ("CI=1", "CI=1"),
        ("sudo time pytest", "pytest"),
        ("timeout 60 env CI=1 nice pytest", "pytest"),
        ("(pytest)", "pytest"),
        ("( pytest -k 'a(b)'", "pytest -k 'a(b)'"),
        ("{ pytest", "pytest"),
        ("pytest > /dev/null 2>&1", "pytest"),
        ("pytest 2>/dev/null", "pytest"),
        ("pytest < /dev/null", "pytest"),
        ("pytest > out.txt", "pytest > out.txt"),
    ],
)
def test_a_command_is_known_without_what_stands_around_it(command: str, left: str) -> None:
    assert bare(command) == left


@pytest.mark.parametrize(
    ("command", "silent"),
    [
        ("cd src", True),
        ("echo done", True),
        ("CI=1", True),
        ("(cd src)", True),
        ("> /dev/null", True),
        ("true", True),
        ("echo done > log.txt", False),
        ("pytest", False),
        ("CI=1 pytest", False),
        ("cdk deploy", False),
    ],
)
def test_a_command_that_says_nothing_about_the_work_is_silent(command: str, silent: bool) -> None:
    assert is_silent(command) is silent


def test_only_behind_a_pipe_does_a_command_shorten_output() -> None:
    assert is_trimming(Part("|", "tail -5"))
    assert not is_trimming(Part(";", "tail -5"))
    assert not is_trimming(Part("|", "python -m json.tool"))


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("echo a > out.txt", "out.txt"),
        ("echo a >> out.txt", "out.txt"),
        ("echo a > 'my file.txt'", "my file.txt"),
        ('echo "a > b"', ""),
        ("echo a", ""),
        ("make 2> errors.txt", ""),
        ("make > /dev/null", ""),
        ("make 2>&1", ""),
        ("a -> b", ""),
        ('echo "long text" > out.txt', "out.txt"),
    ],
)
def test_the_file_that_a_command_writes_is_known(command: str, file: str) -> None:
    assert writes_file(command) == file


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("cd src && make", "src"),
        ("cd 'my src' ; make", "my src"),
        ("make && cd src", ""),
        ("cdk list", ""),
        ("", ""),
    ],
)
def test_a_line_works_in_the_folder_that_it_changes_to_first(line: str, folder: str) -> None:
    assert folder_of(line) == folder


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("cd src && echo testing && pytest -q 2>&1 | tail -5", "pytest -q"),
        ("a && b || c; d | e", "a && b || c; d | e"),
        ("a\nb", "a; b"),
        ("cat rows.csv | cut -d, -f2 | ./sum", "cat rows.csv | ./sum"),
        ("ls | echo", "ls | echo"),
        ("CI=1   pytest   -q", "CI=1 pytest -q"),
        ("sudo pytest", "pytest"),
        ("cd src", "cd src"),
        ("  cd   src ", "cd src"),
        (f"git commit -m '{'a' * 58}'", f"git commit -m '{'a' * 58}'"),
        (f"git commit -m '{'a' * 59}'", f"git commit -m '{'a' * 39}…'"),
        (f"A={'a' * 197} pytest", f"A={'a' * 197} pytest"),
        (f"A={'a' * 198} pytest", "pytest"),
    ],
)
def test_a_line_is_shown_without_what_says_nothing(line: str, text: str) -> None:
    assert shown(line) == text
