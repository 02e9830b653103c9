"""What a shell command is about, without running or fully understanding it."""

from __future__ import annotations

import pytest

from segue.core.runs.shell_commands import kind_of, parse_shell


@pytest.mark.parametrize(
    ("command", "short", "kind"),
    [
        ("cd api && FOO=1 npm run build -- -q", "npm run build", "build"),
        ("pytest -q tests/unit", "pytest", "test"),
        ("cd x && bash -n install.sh && echo ok", "bash -n install.sh", "check"),
        ("php -l index.php", "php -l index.php", "check"),
        ("node --check a.js", "node --check a.js", "check"),
        ("python -m py_compile a.py", "python -m py_compile", "check"),
        ("python -m pytest tests", "python -m pytest", "test"),
        ("timeout 60 .venv/bin/python -m mypy src", ".venv/bin/python -m mypy", "check"),
        ("/usr/local/bin/python3 -m mypy src", "python3 -m mypy", "check"),
        ("test/bats/bin/bats test/push.bats", "test/bats/bin/bats test/push.bats", "test"),
        ("npm test || exit 1", "npm test", "test"),
        ("python3 -B test_cart.py", "python3 test_cart.py", "test"),
        ("uv run python -m pytest -q", "uv run python -m pytest", "test"),
        ("poetry run python tests.py", "poetry run python tests.py", "test"),
        ("bash -eux scripts/run-tests.sh", "bash scripts/run-tests.sh", "test"),
        ("./cart_test.rb", "./cart_test.rb", "test"),
        ("node --no-warnings src/cart.spec.mjs", "node src/cart.spec.mjs", "test"),
        ("node --test src", "node --test", "test"),
        ("python latest.py", "python latest.py", "run"),
        ("vim test_cart.py", "vim test_cart.py", "other"),
        ("nvm use 20 && npm test", "npm test", "test"),
        ('eval "$(mise env)"; npm test', "npm test", "test"),
        ("rtk npm run build", "rtk npm run build", "build"),
        ("rtk git status", "git status", "look"),
        ("Set-Location api; Get-ChildItem -Recurse | Select-String x", "Get-ChildItem", "look"),
        ("dir /s /b", "dir", "look"),
        ("@'\nimport re; don't\n'@ | python -; go vet", "go vet", "check"),
        ("Remove-Item a.txt; go test ./...", "go test ./...", "test"),
        ("exit 1", "exit", "look"),
        ("git -C api status", "git status", "look"),
        ("git push origin main", "git push origin", "vcs"),
        ("rg -n load_rows src | head", "rg", "look"),
        ("cat a.py; make test", "make test", "test"),
        ("for f in *.py; do ruff check $f; done", "ruff check", "check"),
        ('case "$f" in\n  a.lua) marker=1 ;;\n  *) make lint ;;\nesac', "make lint", "check"),
        ("(cd api && make)", "make", "build"),
        ("for f in a b; do git diff $f; done", "git diff", "look"),
        ("if grep -q x a.py; then make test; fi", "make test", "test"),
        ("echo done", "", "other"),
        ("", "", "other"),
        ("sudo docker compose up -d", "docker compose up", "run"),
        ("alembic upgrade head", "alembic upgrade head", "change"),
        ("cargo clippy --all", "cargo clippy", "check"),
        ("cat <<'EOF' > notes.md\nrm -rf everything\nEOF\nnpm test", "npm test", "test"),
    ],
)
def test_a_command_has_a_short_form_and_a_kind(command: str, short: str, kind: str) -> None:
    seen = parse_shell(command)
    assert (seen.short, seen.kind) == (short, kind)


@pytest.mark.parametrize(
    ("command", "reads", "writes"),
    [
        ("sed -n 1,80p src/app.py", ("src/app.py",), ()),
        ("cat a.py b.py > both.txt", ("a.py", "b.py"), ("both.txt",)),
        ("echo x | tee -a log.txt", (), ("log.txt",)),
        ("sed -i s/a/b/ src/app.py", (), ("src/app.py",)),
        ("git log main...HEAD", (), ()),
        ("jq .comments.nodes out.json", ("out.json",), ()),
        ("curl https://example.org/x.json", (), ()),
    ],
)
def test_the_files_in_a_command_are_read_or_written(
    command: str, reads: tuple[str, ...], writes: tuple[str, ...]
) -> None:
    seen = parse_shell(command)
    assert (seen.reads, seen.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("command", "subject"),
    [
        ('git commit -m "Add the parser"', "Add the parser"),
        ("git add . && git commit -am 'Fix rows'", "Fix rows"),
        ("git commit -m \"$(cat <<'EOF'\nMove rows\n\nbody\nEOF\n)\"", "Move rows"),
        ("git commit --amend", ""),
        ("grep commit log.txt", ""),
    ],
)
def test_a_commit_tells_its_subject(command: str, subject: str) -> None:
    assert parse_shell(command).subject == subject


def test_the_kind_is_known_by_the_short_form_alone() -> None:
    assert kind_of("git") == "look"
    assert kind_of("make build") == "build"
    assert kind_of("latest-news") == "other"


def test_an_endless_command_takes_no_endless_time() -> None:
    assert len(parse_shell("x " * 500_000).short) <= 100
    assert parse_shell("a;" * 300_000).kind == "other"
    assert parse_shell('git commit -m "' + "\\" * 100_000).subject == ""
