"""The benchmark of the map: which files a run touched, and which a text names within its tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.map.__main__ import TOKENS, named, within
from bench.map.cuts import cuts, in_tree
from tests.support.git import Repository

from segue.core.base.token_estimate import estimate
from segue.core.runs.steps import Call, Prompt, Start, Step
from segue.testing.transcripts import written

TREE = {"src/a.py", "src/b.py", "README.md"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("/home/ana/shop/src/a.py", "src/a.py"), ("src/a.py", "src/a.py"), ("README.md", "README.md"),
        ("/elsewhere/copy/src/b.py", "src/b.py"), ("/elsewhere/README.md", ""), ("src/gone.py", ""),
    ],
)  # fmt: skip
def test_a_path_of_another_machine_is_found_in_the_tree(name: str, wanted: str) -> None:
    assert in_tree(name, "/home/ana/shop", TREE) == wanted


def test_only_files_in_the_first_tokens_and_at_the_beginning_of_a_line_are_named() -> None:
    text = "\n".join(["src/a.py: Cart 4", "see src/b.py", *["x" * 90] * 400, "README.md"])
    assert named(text, sorted(TREE)) == {"src/a.py"}
    assert estimate("\n".join(within(text.split("\n"), TOKENS))) <= TOKENS


def test_a_run_is_cut_into_what_was_touched_and_what_comes_next(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "shop")
    repository.commit("one", {f"src/m{n}.py": "x = 1\n" for n in range(40)}, at=1_700_000_000)
    steps: list[Step] = [
        Start(1_700_000_100.0, "start", native="run-1", cwd="/home/ana/shop"),
        Prompt(1_700_000_100.0, "change everything"),
        *(
            Call(1_700_000_101.0 + n, f"c{n}", "shell", "run", command=f"cat src/m{n}.py")
            for n in range(40)
        ),
    ]  # fmt: skip
    path = tmp_path / "rollout-1.jsonl"
    path.write_bytes(written("codex", steps))
    [cut] = cuts(repository.folder, [path], 1)
    assert cut.touched[:2] == ["src/m19.py", "src/m18.py"]
    assert cut.next_files == {f"src/m{n}.py" for n in range(20, 40)}
    assert "change everything" in cut.task
