"""The embedding can be made again: sentences are gathered, and training makes it better than it began."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.effects.vectors.static import StaticEmbedder
from segue.effects.vectors.weights_file import WeightsFile

numpy = pytest.importorskip("numpy", reason="NOT TESTED: numpy is not installed")
ROOT = Path(__file__).parents[3]
HELD_OUT = 400


def test_sentences_are_prose_and_the_same_every_time(tmp_path: Path) -> None:
    from tools.embedding.gather import gathered

    (tmp_path / "a.md").write_text("# A title\n\nThe cache is emptied when a worker starts. {x: 1, y: 2}\n")
    (tmp_path / "b.py").write_text('"""Reads the settings of a project."""\n')
    (tmp_path / "c.jsonl").write_text('{"text": "why does the login fail on CI"}\nnot json\n')
    (tmp_path / "secret.md").write_text("This must not be gathered at all.\n")
    found = gathered([tmp_path], without=["secret"])
    assert found == gathered([tmp_path], without=["secret"])
    assert sorted(found) == [
        "Reads the settings of a project.", "The cache is emptied when a worker starts.",
        "why does the login fail on CI",
    ]  # fmt: skip


def test_training_makes_it_better_than_it_began(tmp_path: Path) -> None:
    from tools.embedding.evaluate import agreement
    from tools.embedding.gather import gathered
    from tools.embedding.train import trained

    teacher = StaticEmbedder()
    texts = gathered([ROOT / "docs", ROOT / "src" / "segue" / "core"])[:3_000]
    held_out = texts[-HELD_OUT:]
    student, begun = trained(
        texts[:-HELD_OUT], teacher, width=32, steps=60, batch=256, rate=2e-2, log=lambda line: None
    )
    scores = []
    for name, made in (("begun", begun), ("trained", student)):
        path = tmp_path / f"{name}.bin"
        path.write_bytes(made.file())
        assert WeightsFile(path).width == 32
        scores.append(agreement(teacher.embed(held_out), StaticEmbedder(path).embed(held_out)))
    assert len(texts) == 3_000 and scores[1][1] > scores[0][1] + 0.02, scores
