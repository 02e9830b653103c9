"""The model of the extra ``semantic``: the right weights, the right pieces, and search by meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.api.segue import Segue
from segue.effects.vectors import minilm
from segue.effects.vectors.weights_file import shipped
from segue.effects.vectors.wordpiece import encode
from segue.errors import DamagedError
from segue.stores.vectors import cosine, packed

INSTALLED = minilm.installed
"""Read before the tests are told that it is not, as all but these are."""
needs_the_model = pytest.mark.skipif(
    not minilm.installed(), reason="NOT TESTED: the extra `semantic` is not installed"
)


@pytest.fixture(autouse=True)
def _with_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "installed", INSTALLED)


def test_pieces_are_those_of_the_model_that_was_trained() -> None:
    assert len(set(shipped().pieces())) == 30522
    assert encode("unaffable, café!") == [101, 14477, 20961, 3468, 1010, 7668, 999, 102]
    assert encode("日本") == encode("日 本") and len(encode("word " * 900)) == 256
    assert encode("x" * 200) == [101, 100, 102] and encode("") == [101, 102]


@needs_the_model
def test_texts_that_mean_the_same_lie_near_each_other() -> None:
    model = minilm.MiniLM()
    assert not model.ready
    one, two, three = map(packed, model.embed(["the tests fail", "unit checks are broken", "a red balloon"]))
    assert model.ready and cosine(one, two) > cosine(one, three) + 0.2
    alone = packed(model.embed(["unit checks are broken"])[0])
    assert alone == two


@needs_the_model
def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "MODEL_SHA256", "0" * 64)
    with pytest.raises(DamagedError):
        minilm.MiniLM().embed(["x"])


@needs_the_model
def test_a_question_finds_its_answer_without_a_word_in_common(tmp_path: Path) -> None:
    with Segue(home=tmp_path, folder=tmp_path, embedder=minilm.MiniLM()) as seg:
        seg.remember("pytest needs JWT_SECRET set, otherwise every login is rejected")
        seg.remember("thumbnails are made by libvips")
        seg.remember("the cron job runs in UTC")
        assert "JWT_SECRET" in seg.recall("why do the auth checks break")[0].content
        assert seg.memories.store.unembedded("minilm-l6-v2-int8", 5) == []
