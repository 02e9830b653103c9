"""The truth check finds no lie in a true brief, and each planted one, on made transcripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.resume import truth
from bench.resume.truth.__main__ import check, choose, table
from bench.resume.truth.shell import is_check, is_hidden, simple_commands
from bench.resume.truth.sources import Source, source_of, sources
from bench.resume.truth.statements import KINDS, read_brief
from bench.resume.truth.words import stands
from tests.support.judged_briefs import judged, made
from tests.support.long_story import story

from segue.services.brief.brief import brief_of_transcript
from segue.testing.transcripts import placed, written

STORY = """
folder /home/ann/shop
branch main
user Keep all amounts in cents, and never touch the exporter
plan [>] parse cents; [ ] round rates; [ ] document rounding
edit /home/ann/shop/src/parser.py | a = float(x) | amount = round(float(x) * 100)
ok The file has been updated
run git add src/parser.py && git commit -m "Keep cents"
ok [main 1a2b3c4] Keep cents\\n 1 file changed
run git push
ok To github.com:ann/shop.git\\n   0a1b2c3..1a2b3c4  main -> main
edit /home/ann/shop/src/rates.py | b = 1 | rate = Decimal("1.07")
ok The file has been updated
run npm run dev
process b12 ready on :3000
run pytest -q tests/test_rates.py
exit 1 E   AssertionError: assert 107 == 106\\n1 failed in 0.10s
run ruff check .
ok All checks passed!
plan [x] parse cents; [>] round rates; [ ] document rounding
say The rates are still rounded down, because Decimal is made from a float.
user Then make the rates from strings, please
edit /home/ann/shop/src/money.py | c = 1 | cents = Decimal(text)
ok The file has been updated
say The rates are made from strings now. Shall I run all the tests?
end
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return made(STORY, tmp_path)


@pytest.fixture
def brief(source: Source) -> str:
    return brief_of_transcript(source.path, source.agent)


def test_a_true_brief_has_no_false_statement_and_all_kinds_of_true_ones(brief: str, source: Source) -> None:
    found = judged(brief, source)
    assert [one for one in found if one.verdict != "true"] == []
    kinds = {one.kind for one in found}
    assert kinds >= {
        "outcome", "commit", "uncommitted", "open item", "running", "check", "user", "ending", "place",
        "request",
    }  # fmt: skip
    assert len(found) > 20


LIES = [
    ("outcome", r"test_rates.py → FAILED", "test_rates.py → ok"),
    ("outcome", r"→ ok: \"All checks passed!", '→ ok: "No checks passed!'),
    ("outcome", r"edited src/money.py(.*): \+ cents", r"edited src/money.py\1: + euros"),
    ("outcome", r"edited src/money.py", "edit FAILED on src/money.py"),
    ("commit", r"Last commit: 1a2b3c4 Keep", "Last commit: 1a2b3c4 Lose"),
    ("commit", r"Last commit: 1a2b3c4", "Last commit: 2b3c4d5"),
    ("commit", r"\(pushed\)", "(no push seen since)"),
    ("commit", r"\(pushed\)", "(2 in this run, pushed)"),
    ("uncommitted", r"committed: src/money.py", "committed: src/parser.py, src/money.py"),
    ("uncommitted", r"committed: src/money.py, src/rates.py", "committed: src/money.py"),
    ("uncommitted", r"committed: src/money.py", "committed: src/money.py (new)"),
    ("uncommitted", r"committed: src/money.py", "committed: src/cart.py, src/money.py"),
    ("open item", r"now round rates", "now parse cents"),
    ("open item", r"document rounding", "now document rounding"),
    ("open item", r"document rounding", "translate rounding"),
    ("open item", r"1 of 3 done", "2 of 3 done"),
    ("running", r"background: b12", "background: b13"),
    ("check", r"`ruff check \.` passed", "`ruff check .` FAILED"),
    ("check", r"FAILING(.*): `pytest -q tests/test_rates.py`", r"FAILING\1: `ruff check .`"),
    ("check", r"1 failed in 0.10s\"", '2 failed in 0.10s"'),
    ("user", r"Then make the rates from strings", "Then make the rates from floats"),
    ("user", r"1 call before the end", "3 calls before the end"),
    ("ending", r"its turn was over\.\n", "the user stopped it.\n"),
    ("ending", r"Shall I run all the tests\?", "Shall I commit?"),
    ("place", r"branch main", "branch cents"),
    ("place", r"in ~/shop", "in ~/till"),
    ("outcome", r"\$ git push → ok", "$ git push → FAILED"),
    ("outcome", r"→ ok: \"All checks passed!\"", "→ NO RESULT YET"),
    ("commit", r"- committed 1a2b3c4", "- committed 9a9b9c9"),
    ("place", r"after \d+ calls", "after 99 calls"),
]


@pytest.mark.parametrize(("kind", "true", "false"), LIES, ids=lambda text: re.sub(r"\W+", " ", text))
def test_a_planted_lie_is_reported_and_nothing_else(
    kind: str, true: str, false: str, brief: str, source: Source
) -> None:
    lie = re.sub(true, false, brief, count=1)
    assert lie != brief, brief
    wrong = [one for one in judged(lie, source) if one.verdict == "false"]
    assert [one.kind for one in wrong] == [kind], wrong
    assert wrong[0].line not in brief.split("\n") and wrong[0].line in lie.split("\n")


COMMITS = (
    'run git commit -am "Keep cents"\nok [main 1a2b3c4] Keep cents\\n 1 file changed\n'
    'run git commit -am "fixup! Keep cents"\nok [main 2b3c4d5] fixup! Keep cents\\n 1 file changed\n'
)
REBASED = "Successfully rebased and updated refs/heads/main."
ONCE_TRUE = [
    (
        "a failure that a longer line mended",
        "run pytest -q\nexit 1 1 failed\nrun ruff check . && pytest -q\nok 3 passed",
        'TREE: FAILING: `pytest -q`: "1 failed"',
    ),
    (
        "a check before the last edit",
        "run pytest -q\nok 3 passed\nedit a.py | x | y\nok done",
        "TREE: Checked since the last edit: `pytest -q` passed.",
    ),
    (
        "a check after the last edit",
        "edit a.py | x | y\nok done\nrun pytest -q\nok 3 passed",
        "TREE: No known test, check or build was run after the edits.",
    ),
    (
        "the status of a pipe",
        "run pytest -q 2>&1 | tail -3\nok 1 failed, 2 passed",
        'TRAIL (oldest first):\n- $ pytest -q → ok: "1 failed, 2 passed"',
    ),
    (
        "a file that was committed",
        "edit a.py | x | y\nok done\nrun git add -A && git commit -m z\nok [main 1a2b3c4] z",
        "TREE: Changed and not committed: a.py.",
    ),
    (
        "a file that was removed",
        "create a.py | x\nok File created\nrun rm a.py\nok",
        "TREE: Changed and not committed: a.py (new).",
    ),
    (
        "a file that was stashed",
        "edit a.py | x | y\nok done\nrun git stash\nok Saved working directory",
        "TREE: Changed and not committed: a.py.",
    ),
    (
        "a file that the status does not have",
        "edit a.py | x | y\nok done\nrun git status\nok nothing to commit, working tree clean",
        "TREE: Changed and not committed: a.py.",
    ),
    (
        "a stash that was dropped",
        "edit a.py | x | y\nok done\nrun git stash\nok Saved\nrun git stash drop\nok Dropped refs/stash@{0}",
        "TREE: Changes were put into git's stash and not taken out again.",
    ),
    (
        "no change since the commit",
        "run git commit -am z\nok [main 1a2b3c4] z\nedit a.py | x | y\nok done",
        "TREE: Nothing changed since the last commit, as far as is known.",
    ),
    (
        "a commit that was refused",
        'run git commit -m "Keep cents"\nrefused not yet',
        "TREE: Last commit: Keep cents (no push seen since).",
    ),
    (
        "a push before the commit",
        "run git push\nok a..b main -> main\nrun git commit -am z\nok [main 1a2b3c4] z",
        "TREE: Last commit: 1a2b3c4 z (pushed).",
    ),
    (
        "a process that has ended",
        "run npm run dev\nprocess b12 ready\nsettled b12",
        "TREE: Was running in the background: b12: npm run dev.",
    ),
    (
        "a message before the last",
        "say Done.\nuser And the rates?",
        'USER (nothing came after it): "Keep cents"',
    ),
    ("words before a call", "say I look at it now.\nrun ls\nok a", 'LAST WORDS: "I look at it now."'),
    (
        "the end of a turn before the last",
        "say Done.\nend\nuser And the rates?\nrun ls",
        "[segue] Where the last run stopped; its turn was over.",
    ),
    (
        "an open call that was answered",
        "run ls\nok a",
        "[segue] Where the last run stopped; its last call has no result.",
    ),
    (
        "an item that is done",
        "plan [x] parse; [>] round",
        "OPEN (0 of 2 done): parse; now round",
    ),
    (
        "a refusal of what was done later",
        "run rm old.py\nrefused not yet\nrun rm old.py\nok",
        'FACTS:\n- the user refused `rm old.py`: "not yet"',
    ),
    (
        "a fixup that was squashed",
        f"{COMMITS}run GIT_SEQUENCE_EDITOR=true git rebase -i --autosquash HEAD~2\nok {REBASED}",
        "TREE: Last commit: 2b3c4d5 fixup! Keep cents (2 in this run, no push seen since).",
    ),
    (
        "the hash of a commit that was rebased",
        f"{COMMITS}run git rebase main\nok {REBASED}",
        "TREE: Last commit: 2b3c4d5 fixup! Keep cents (2 in this run, no push seen since).",
    ),
    (
        "the push of a commit that was rebased",
        f"{COMMITS}run git push\nok a..b main -> main\nrun git rebase main\nok {REBASED}",
        "TREE: Last commit: fixup! Keep cents (2 in this run, pushed).",
    ),
    (
        "a commit that was reset",
        f"{COMMITS}run git reset --hard HEAD~1\nok HEAD is now at 1a2b3c4 Keep cents",
        "TREE: Last commit: 2b3c4d5 fixup! Keep cents (2 in this run, no push seen since).",
    ),
    (
        "commits that were squashed by a reset",
        f"{COMMITS}run git reset --soft HEAD~2 && git commit -m One\nok [main 3c4d5e6] One\\n 2 files",
        "TREE: Last commit: 3c4d5e6 One (3 in this run, no push seen since).",
    ),
    (
        "a commit that was amended",
        f"{COMMITS}run git commit --amend -m Cents\nok [main 3c4d5e6] Cents",
        "TREE: Last commit: 2b3c4d5 fixup! Keep cents (2 in this run, no push seen since).",
    ),
    (
        "a commit that was reverted",
        f'{COMMITS}run git revert --no-edit HEAD\nok [main 3c4d5e6] Revert "fixup! Keep cents"',
        "TREE: Last commit: 2b3c4d5 fixup! Keep cents (2 in this run, no push seen since).",
    ),
    (
        "a commit before one that a script made",
        f"{COMMITS}run ./release\nok [main 3c4d5e6] Release\\n 1 file changed",
        "TREE: Last commit: 2b3c4d5 fixup! Keep cents (2 in this run, no push seen since).",
    ),
    (
        "a commit in a pipe that only was tried",
        'run git commit -m "Keep cents" | tail -1\nok  1 file changed, 2 insertions(+)',
        "TRAIL (oldest first):\n- tried to commit Keep cents",
    ),
    (
        "a commit that failed, though only what came after it did",
        'run git commit -m "Keep cents" && git push\nexit 1 [main 1a2b3c4] Keep cents\\nfatal: no upstream',
        "TRAIL (oldest first):\n- commit FAILED Keep cents",
    ),
    (
        "a file that a commit took before the line failed",
        "edit a.py | x | y\nok done\nrun git add a.py && git commit -m z && git push\n"
        "exit 1 [main 1a2b3c4] z\\nfatal: no upstream",
        "TREE: Changed and not committed: a.py.",
    ),
    (
        "a file in a stash that was dropped",
        "edit a.py | x | y\nok done\nrun git stash\nok Saved\nrun git stash drop\nok Dropped refs/stash",
        "TREE: Changed and not committed: a.py.",
    ),
    (
        "a stash that was taken out by a line that failed",
        "edit a.py | x | y\nok done\nrun git stash; git stash pop; ./check\n"
        "exit 1 Saved working directory and index state\\nDropped refs/stash@{0}",
        "TREE: Changes were put into git's stash and not taken out again.",
    ),
    (
        "a folder that was removed after git listed it",
        "run git status --short\nok ?? spike/\nrun rm -rf spike\nok",
        "TREE: Not committed, by git status: spike/.",
    ),
    (
        "a file that git cleaned away",
        "run git status --short\nok ?? notes.txt\nrun git clean -fd\nok Removing notes.txt",
        "TREE: Not committed, by git status: notes.txt.",
    ),
    (
        "a file that was restored after git listed it",
        "run git status --short\nok MM a.py\nrun git restore --staged --worktree a.py\nok",
        "TREE: Not committed, by git status: a.py.",
    ),
    (
        "a file that a line restored before it failed",
        "edit a.py | x | y\nok done\nrun git checkout -- a.py && ./check\nexit 1 no",
        "TREE: Changed and not committed: a.py.",
    ),
    (
        "a file that git threw away",
        "edit a.py | x | y\nok done\nrun git reset --hard\nok HEAD is now at 1a2b3c4 z",
        "TREE: Changed and not committed: a.py.",
    ),
    (
        "a new file that was renamed",
        "create a.py | x\nok File created\nrun git add a.py && git mv a.py b.py\nok",
        "TREE: Changed and not committed: a.py (new).",
    ),
    (
        "a status that is older than is said",
        "run git status --short\nok MM a.py\n8 times run ./step-# ;; ok done",
        "TREE: Not committed, by git status 3 calls ago: a.py.",
    ),
    (
        "an old status that is told as of now",
        "run git status --short\nok MM a.py\n8 times run ./step-# ;; ok done",
        "TREE: Not committed, by git status: a.py.",
    ),
    (
        "a process that is older than is said",
        "run npm run dev\nprocess b12 ready\n8 times run ./step-# ;; ok done",
        "TREE: Was running in the background: b12: npm run dev (started 3 calls ago).",
    ),
    (
        "a poll of a process that has ended",
        "run npm run dev\nprocess b12 ready\npoll b12\nok GET\nsettled b12",
        'TRAIL (oldest first):\n- $ npm run dev (in the background as b12) → still runs: "GET"',
    ),
    (
        "a poll under a command that did not start it",
        "run npm run dev\nprocess b12 ready\npoll b12\nok GET",
        'TRAIL (oldest first):\n- $ npm test (in the background as b12) → still runs: "GET"',
    ),
    (
        "what a poll did not give",
        "run npm run dev\nprocess b12 ready\npoll b12\nok GET",
        'TRAIL (oldest first):\n- $ npm run dev (in the background as b12) → still runs: "POST"',
    ),
    (
        "hits that a search did not have",
        "run rg -n cents src\nok src/a.py:1: cents\\nsrc/b.py:2: cents\\nsrc/c.py:3: cents",
        'TRAIL (oldest first):\n- grep "cents" in src (3 lines found: "src/z.py:1: cents")',
    ),
    (
        "a look that did not fail",
        "read a.py\nok text",
        'TRAIL (oldest first):\n- looked at a.py (failed: "text")',
    ),
    (
        "a command that printed something",
        "run ./sync | tee log\nok 3 rows",
        "TRAIL (oldest first):\n- $ ./sync → ended without output",
    ),
    (
        "a verdict that is told twice",
        "run ruff check . | head\nok\nrun mypy . | head\nok",
        "TREE: Checked: `ruff check .` ended, verdict unclear, `mypy .` ended, verdict unclear.",
    ),
    (
        "a check that is named twice",
        "run mypy .\nok Success",
        "TREE: Checked: `mypy .` passed, `mypy .` passed.",
    ),
]


@pytest.mark.parametrize(
    ("steps", "lines"), [case[1:] for case in ONCE_TRUE], ids=[case[0] for case in ONCE_TRUE]
)
def test_what_was_true_once_is_false(steps: str, lines: str, tmp_path: Path) -> None:
    source = made(f"user Keep cents\n{steps}", tmp_path)
    assert [one for one in judged(lines, source) if one.verdict == "false"]


@pytest.mark.parametrize("steps", [case[1] for case in ONCE_TRUE], ids=[case[0] for case in ONCE_TRUE])
def test_what_our_brief_says_of_the_same_is_true(steps: str, tmp_path: Path) -> None:
    source = made(f"user Keep cents\n{steps}", tmp_path)
    brief = brief_of_transcript(source.path, source.agent)
    assert [one for one in judged(brief, source) if one.verdict == "false"] == [], brief


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "gemini-cli", "copilot-cli"])
def test_briefs_of_made_transcripts_hold_at_every_cut(agent: str, tmp_path: Path) -> None:
    ending = "json" if agent == "opencode" else "jsonl"
    (tmp_path / f"made.{ending}").write_bytes(written(agent, story(3, calls=60, compact_every=40)))
    outcome = check(choose(sources([tmp_path]), 12, seed=1))
    assert len(outcome.cuts) == 12 and outcome.cuts[0].source.agent == agent
    assert [(str(cut), one) for cut, one in outcome.with_verdict("false")] == []
    assert outcome.unknown == []
    assert len(outcome.with_verdict("true")) > 12 * 6


@pytest.mark.parametrize("agent", ["cline", "roo"])
def test_a_task_is_cut_where_its_two_files_agree(agent: str, tmp_path: Path) -> None:
    placed(agent, story(3, calls=60), home=tmp_path)
    [source] = sources([tmp_path])
    assert source.agent == agent
    cuts = source.cuts()
    assert cuts and all(source.records[cut - 1]["say"] == "api_req_started" for cut in cuts)
    copy = source.copy(tmp_path, cuts[-1])
    again = source_of(copy)
    assert again is not None and len(again.records) == cuts[-1]
    assert {call.tool for call in again.read(cuts[-1]).calls} >= {"execute_command"}


def test_cuts_are_the_same_for_the_same_seed_and_include_compactions(tmp_path: Path) -> None:
    (tmp_path / "made.jsonl").write_bytes(written("codex", story(1, calls=80, compact_every=30)))
    found = sources([tmp_path])
    chosen = [cut.records for cut in choose(found, 10, seed=7)]
    assert chosen == [cut.records for cut in choose(found, 10, seed=7)]
    assert chosen != [cut.records for cut in choose(found, 10, seed=8)]
    compactions = found[0].read(len(found[0].records)).compactions
    assert compactions and set(compactions) <= set(chosen)


def test_the_table_counts_what_was_checked_and_what_is_false(tmp_path: Path, source: Source) -> None:
    outcome = check(choose([source], 5, seed=1))
    rows = table(outcome).split("\n")
    assert rows[0].startswith("| kind | checked | a brief") and "| **all** |" in rows[len(KINDS) + 2]
    assert rows[len(KINDS) + 3] == "5 briefs of 1 transcripts: 5 of claude-code."


def test_the_check_shares_nothing_with_what_it_checks() -> None:
    folder = Path(truth.__file__).parent
    imports = [
        line.strip()
        for path in folder.glob("*.py")
        for line in path.read_text().split("\n")
        if re.match(r"\s*(?:from|import) (?:segue|bench\.resume\.(?!truth))", line)
    ]
    assert imports == ["from segue.services.brief.brief import brief_of_transcript"]


def test_a_line_that_no_form_fits_is_reported(brief: str) -> None:
    lines = brief.split("\n")
    strange = "\n".join([*lines[:-1], "MOOD: cheerful", lines[-1]])
    assert read_brief(strange).unknown == ["MOOD: cheerful"]


def test_a_pipe_hides_the_status_of_what_stands_before_it() -> None:
    commands = simple_commands("cd api && CI=1 pytest -q 2>&1 | tail -5; echo 'a && b'")
    assert [one.bare for one in commands] == ["cd api", "pytest -q", "tail -5", "echo 'a && b'"]
    assert [is_hidden(commands, at) for at in range(4)] == [True, True, True, False]
    assert commands[1].folder == "api"
    assert (
        is_check("CI=1 uv run pytest -q")
        and not is_check("pytest --version")
        and not is_check("cat pytest.ini")
    )


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("keep the amounts… in cents", True),
        ("Keep the amounts; round the rates", True),
        ("keep the rates", False),
        ("round the amounts", False),
        ("see the guide, then", True),
    ],
)
def test_quoted_words_must_stand_in_the_text(quote: str, there: bool) -> None:
    text = (
        "1. **Keep the amounts** of shops in cents\n2. round the rates\n3. see [the guide](x.md), then stop"
    )
    assert stands(quote, text) is there
