"""Told by what is asked: nothing of the future is told or shown, copies are no cases, and readers are counted
right."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from bench.told import score
from bench.told.__main__ import main
from bench.told.cases import Case, Plan, candidates, cases
from bench.told.pages import TOLD, CaseKey, Key
from bench.told.placed import Relocation, moved
from bench.told.runs import PublicRun, is_typed, root_among, runs_of
from tests.support.told_runs import ToldRun

from segue.testing.transcripts import written

AGENTS = ("claude-code", "codex")
BEGAN = 1_760_000_000.0
HOUR = 3_600.0
FIRST, SECOND, THIRD = (f"{n}a1b2c3d-0000-4000-8000-000000000000" for n in range(3))
NEXT = "## What the agent and the user did next"


def put(corpus: Path, run: ToldRun, agent: str = "claude-code", repository: str = "acme__shop") -> Path:
    path = corpus / agent / repository / "sessions" / f"{run.native}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = written(agent, run.steps, native=run.native, cwd=run.cwd)
    path.write_bytes(data.replace(b'"source": "exec"', b'"source": "cli"'))  # what a user began, no script
    return path


def worked(native: str = FIRST, at: float = BEGAN, cwd: str = "/src/shop") -> ToldRun:
    """A run that did something, and whose turn is over."""
    run = ToldRun(cwd, native=native, at=at).asked("Move the prices in the cart to cents, never use floats.")
    return run.edited("cart.py").edited("tests/test_cart.py").ran("pytest -q past-mark").over()


def followed(native: str = SECOND, at: float = BEGAN + HOUR, prompt: str = "") -> ToldRun:
    """A run that begins with a prompt, and its next call."""
    run = ToldRun("/src/shop", native=native, at=at)
    return run.asked(prompt or "Also round the prices in the cart to cents.").ran("pytest -q next-mark")


def round_of(corpus: Path, out: Path) -> tuple[str, CaseKey]:
    """The only case of a round: its page, and what is behind it."""
    main(["cases", str(corpus), "--out", str(out)])
    [key] = Key.read(out).cases
    return (out / "cases" / f"{key.case}.md").read_text(), key


def natives(corpus: Path) -> list[str]:
    return [case.later.native for case in candidates(runs_of(corpus))]


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_of_after_a_runs_beginning_is_told_or_shown(agent: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    early = worked()
    early.at = BEGAN + 2 * HOUR  # it was taken up again, after the later run began
    early.asked("Now the future-mark of the shop.").ran("make future-mark").over()
    put(corpus, early, agent)
    put(corpus, worked(THIRD, BEGAN + 3 * HOUR), "codex").write_text("future-mark")
    put(corpus, followed(), agent)
    text, key = round_of(corpus, tmp_path / "out")
    assert key.earlier == [FIRST] and key.kind == "full"
    assert "future-mark" not in text and "next-mark" not in text[: text.index(NEXT)]
    told = text[text.index(TOLD) :]
    assert "past-mark" in told and "never use floats" in told and "next-mark" in text


def test_a_run_is_told_as_if_it_began_now_and_its_own_folder_is_named(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    put(corpus, worked())
    put(corpus, followed())
    text, key = round_of(corpus, tmp_path / "out")
    assert "2025-" not in text and key.began.startswith("2025-10-09")
    assert "in /src/shop" in text and str(tmp_path) not in text
    assert key.shown == "Segue: told where the last run stopped" and key.shown in text
    assert not key.faults and key.bytes == len(
        re.findall(r"(?s)`text\n(\[segue\].*)\n```", text)[-1].encode()
    )
    assert (tmp_path / "out" / "cases" / "words.md").exists()


def test_a_run_of_another_agent_and_one_below_the_folder_are_known_but_none_of_another_folder(
    tmp_path: Path,
) -> None:
    put(tmp_path, worked(FIRST, cwd="/src/shop/web"), "codex")
    put(tmp_path, worked(THIRD, cwd="/src/other"))
    put(tmp_path, followed())
    [case] = candidates(runs_of(tmp_path))
    assert [run.native for run in case.earlier] == [FIRST] and case.later.root == "/src/shop"


def test_a_run_that_goes_on_while_another_begins_is_told_as_at_work(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    busy = ToldRun("/src/shop", native=FIRST, at=BEGAN).asked("Move the prices in the cart to cents.")
    for _ in range(4):
        busy.edited("cart.py")
    busy.ran("make slow", seconds=1_000).over()
    put(corpus, busy)
    put(corpus, followed(at=BEGAN + 500))
    text, key = round_of(corpus, tmp_path / "out")
    assert key.kind == "notice" and "is at work here now" in text
    assert "still open when the new run began" in text


def test_a_run_that_begins_with_the_history_of_another_is_no_case(tmp_path: Path) -> None:
    put(tmp_path, worked(THIRD))
    original = followed(FIRST)
    put(tmp_path, original)
    copy = followed(SECOND)
    copy.at = BEGAN + 5 * HOUR
    put(tmp_path, copy.asked("And now something else.").ran("pytest -q").over())
    assert natives(tmp_path) == [FIRST]
    later = followed("3a1b2c3d-0000-4000-8000-000000000000", BEGAN + 2 * HOUR)
    put(tmp_path, later)
    known = {
        case.later.native: [run.native for run in case.earlier] for case in candidates(runs_of(tmp_path))
    }
    assert known[later.native] == [THIRD, FIRST], "the copy was made later, though its history is older"


def test_runs_that_no_user_began_are_no_cases(tmp_path: Path) -> None:
    put(tmp_path, worked())
    put(tmp_path, followed(prompt="/review the cart"))
    put(tmp_path, followed(THIRD, prompt="This session is being continued from a previous conversation."))
    assert natives(tmp_path) == []
    assert is_typed("continue") and is_typed("mend the cart") and is_typed("/src/shop/cart.py is wrong here")
    assert not any(map(is_typed, ("hello", "/clear", "<task-notification> it is done", "ok do")))


def test_repositories_take_turns_and_scripts_are_taken_once() -> None:
    found = [
        Case(
            0, PublicRun(name, "codex", f"{name}{n}", Path(), "/s", "", 0.0, (0.0,), (), f"{name} do {n}"), []
        )
        for name, count in (("a", 9), ("b", 2), ("c", 5))
        for n in range(count)
    ]
    picked = cases(found, Plan(seed=3, cases=60))
    assert Counter(case.later.repository for case in picked) == {"a": 4, "b": 2, "c": 4}
    assert [case.later.native for case in picked] == [c.later.native for c in cases(found, Plan(3, 60))]
    assert Counter(c.later.repository for c in cases(found, Plan(3, 6))) == {"a": 2, "b": 2, "c": 2}
    for case in found:
        case.later.prompt = "Answer the question of the test without any tool, in one line."
    assert len(cases(found, Plan(3, 60))) == 1


def test_a_folder_is_replaced_wherever_it_is_named_and_put_back() -> None:
    there = Relocation("/src/shop", Path("/new"))
    assert there.in_json('{"cwd":"/src/shop","x":"cat /src/shop/a.py /src/shop-2/b"}') == (
        '{"cwd":"/new/shop","x":"cat /new/shop/a.py /src/shop-2/b"}'
    )
    assert there.back("in /new/shop: /new/sh…/cart.py") == "in /src/shop: /src/sh…/cart.py"
    windows = Relocation(r"C:\src\shop", Path("/new"))
    line = json.dumps({"cwd": r"C:\src\shop", "x": "c:\\src\\shop\\web\\a.py\nnot /c/src/shopping"})
    assert json.loads(windows.in_json(line)) == {
        "cwd": "/new/shop",
        "x": "/new/shop/web/a.py\nnot /c/src/shopping",
    }
    assert windows.in_text(r"see C:\src\shop\web.") == "see /new/shop/web."


def test_times_are_moved_in_records_and_not_in_texts() -> None:
    line = json.dumps(
        {"timestamp": "2026-01-01T00:00:00.500Z", "text": '{"timestamp":"2026-01-01T00:00:00Z"}'}
    )
    assert json.loads(moved(line, 86_400)) == {
        "timestamp": "2026-01-02T00:00:00.500Z", "text": '{"timestamp":"2026-01-01T00:00:00Z"}',
    }  # fmt: skip


def test_a_project_ends_at_a_home_and_at_a_worktree() -> None:
    folders = ["/home/ann", "/home/ann/shop", "/home/ann/shop/web", "/home/ann/shop/.worktrees/tax"]
    assert root_among("/home/ann/shop/web", folders) == "/home/ann/shop"
    assert root_among("/home/ann/shop/.worktrees/tax", folders) == "/home/ann/shop/.worktrees/tax"


# -- points


def a_round(out: Path, sizes: dict[str, int]) -> None:
    keys = [
        CaseKey(case, "acme__shop", "codex", FIRST, [], "", size, "full", "", "", 1.0)
        for case, size in sizes.items()
    ]
    Key(1, keys).write(out)


def table(path: Path, *rows: str) -> Path:
    head = "| case | refers | told | words |\n|---|---|---|---|\n"
    path.write_text(head + "\n".join(f"| {row.replace(' ', ' | ', 3)} |" for row in rows))
    return path


def test_points_are_of_the_cases_on_which_both_readers_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_round(tmp_path, {"00": 900, "01": 2_000, "02": 100, "03": 500, "04": 0})
    one = table(tmp_path / "1.md", "00 yes useful rules", "01 yes useful x", "02 no neutral x",
                "03 no distracting false words", "04 yes missing nothing")  # fmt: skip
    two = table(tmp_path / "2.md", "00 yes useful rules", "01 yes neutral x", "02 no neutral x",
                "03 no neutral x", "04 no neutral x")  # fmt: skip
    rows = score.judged(tmp_path, [one, two])
    found = {name: score.figures(rows, holds) for name, holds in score.READERS.items()}
    assert {name: (str(f.distracting)[:6], f.useful.count, f.useful.of) for name, f in found.items()} == {
        "reader 1": ("1 of 5", 2, 2), "reader 2": ("0 of 5", 1, 2),
        "both": ("0 of 5", 1, 2), "either": ("1 of 5", 2, 2),
    }  # fmt: skip
    assert score.other_bytes(rows) == 300
    main(["score", str(tmp_path), str(one), str(two)])
    said = capsys.readouterr().out
    assert "median of 2: 300 (at most 400)" in said and "distracting, by either: 1" in said
    assert "agree on refers: 4 of 5" in said and "agree on told: 2 of 5" in said
    assert "- 03 (full, 500 bytes, acme__shop): distracting: false words / neutral: x" in said


@pytest.mark.parametrize(
    "rows",
    [
        ["00 yes useful x"],
        ["00 yes fine x", "01 no neutral x"],
        ["00 yes useful x", "01 no neutral x", "02 no neutral x"],
    ],
)
def test_a_table_that_lacks_a_row_or_has_a_wrong_one_is_refused(rows: list[str], tmp_path: Path) -> None:
    a_round(tmp_path, {"00": 1, "01": 1})
    whole = table(tmp_path / "1.md", "00 yes useful x", "01 no neutral x")
    with pytest.raises(score.AnswersIncomplete):
        score.judged(tmp_path, [whole, table(tmp_path / "2.md", *rows)])
