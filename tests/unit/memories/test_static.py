"""The embedder that comes with Segue: its file, its vectors, and what happens when the file is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.api.segue import Segue
from segue.effects.vectors import weights_file
from segue.effects.vectors.embedder import HashEmbedder, choose
from segue.effects.vectors.static import StaticEmbedder
from segue.effects.vectors.weights_file import SHIPPED, WeightsFile, laid_out
from segue.errors import DamagedError
from segue.services.upkeep.doctor.checkup import examine
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.vectors import cosine, packed


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the weights, which is what is loaded, with one byte of the header changed."""
    body = bytearray(SHIPPED.read_bytes())
    body[12] ^= 1
    path = tmp_path / "static-128.bin"
    path.write_bytes(body)
    monkeypatch.setattr(weights_file, "SHIPPED", path)
    return path


def test_the_shipped_weights_are_whole_and_small() -> None:
    weights = WeightsFile(SHIPPED)
    weights.check()
    assert (weights.width, weights.count) == (128, 30522)
    assert SHIPPED.stat().st_size < 2_700_000


def test_texts_that_mean_the_same_lie_near_each_other() -> None:
    one, two, three = map(
        packed, choose("static").embed(["the tests fail", "unit checks broke", "a balloon"])
    )
    assert cosine(one, two) > cosine(one, three) + 0.2


def test_a_text_has_the_same_vector_on_every_machine_and_next_to_any_other() -> None:
    [alone] = StaticEmbedder().embed(["pytest needs JWT_SECRET set"])
    assert StaticEmbedder().embed(["x", "pytest needs JWT_SECRET set"])[1] == alone
    assert packed(alone)[:12].hex() == "f5530dc236e681fdd1faddfe"


def test_a_text_without_words_is_like_no_other() -> None:
    empty, other = map(packed, StaticEmbedder().embed(["", "pytest"]))
    assert not any(empty) and cosine(empty, other) == 0.0


def test_what_is_laid_out_is_read_back(tmp_path: Path) -> None:
    pieces = ["[UNK]", "login", "##s", "é"]
    rows = [bytes([1, 2]), bytes([15, 0]), bytes(2), bytes([5, 6])]
    levels = [-127, *range(-7, 7), 127]
    path = tmp_path / "some.bin"
    path.write_bytes(laid_out(pieces, rows, [0.5, 0.25, 1.0, 0.5], [0.0, -1.5], levels))
    weights = WeightsFile(path)
    assert weights.pieces() == pieces
    assert [weights.number(piece) for piece in (*pieces, "nothing")] == [0, 1, 2, 3, None]
    assert [value - 128 for value in weights.row(1)] == [127, -127]
    assert list(weights.bias) == [0.0, -1.5]
    assert weights.scales[1] * weights.unit == pytest.approx(0.25, rel=1e-4)


@pytest.mark.parametrize("place", [0, 8, 12, 40, 60, 70_000, 400_000])
def test_a_changed_byte_is_noticed_when_the_weights_are_opened(tmp_path: Path, place: int) -> None:
    body = bytearray(SHIPPED.read_bytes())
    body[place] ^= 1
    (tmp_path / "changed.bin").write_bytes(body)
    with pytest.raises(DamagedError, match="the embedding is damaged"):
        WeightsFile(tmp_path / "changed.bin")


def test_a_changed_byte_of_a_row_is_noticed_when_the_row_is_used(tmp_path: Path) -> None:
    body = bytearray(SHIPPED.read_bytes())
    body[-1] ^= 1
    (tmp_path / "changed.bin").write_bytes(body)
    weights = WeightsFile(tmp_path / "changed.bin")
    weights.row(weights.count - 2)
    with pytest.raises(DamagedError, match="checksum"):
        weights.row(weights.count - 1)


@pytest.mark.parametrize("body", [None, b"", b"SEGUEVEC", b"x" * 500])
def test_weights_that_are_missing_or_cut_short_are_said_to_be_damaged(
    tmp_path: Path, body: bytes | None
) -> None:
    path = tmp_path / "weights.bin"
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(DamagedError, match="the embedding is damaged"):
        WeightsFile(path)


def test_half_of_the_weights_are_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "half.bin").write_bytes(SHIPPED.read_bytes()[:1_500_000])
    with pytest.raises(DamagedError, match="is incomplete"):
        WeightsFile(tmp_path / "half.bin")


def test_a_question_finds_its_answer_without_a_word_in_common(tmp_path: Path) -> None:
    with Segue(home=tmp_path, folder=tmp_path) as seg:
        assert seg.memories.embedder.name == "static-128-2"
        seg.remember("pytest needs JWT_SECRET set, otherwise every login is rejected")
        seg.remember("thumbnails are made by libvips")
        seg.remember("the cron job runs in UTC")
        assert "JWT_SECRET" in seg.recall("why are sign-ins refused")[0].content


def test_with_damaged_weights_memories_are_kept_and_found_by_their_words(
    tmp_path: Path, damaged: Path
) -> None:
    with Segue(home=tmp_path, folder=tmp_path) as seg:
        seg.remember("the cron job runs in UTC")
        assert [one.content for one in seg.recall("cron job")] == ["the cron job runs in UTC"]
        assert seg.memories.damage.startswith("the embedding is damaged at ")
        assert "\n" not in seg.memories.damage
        assert seg.memories.embed_some(10) == []


def test_memories_get_their_vectors_when_the_weights_are_whole_again(
    tmp_path: Path, damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Segue(home=tmp_path, folder=tmp_path) as seg:
        seg.remember("the cron job runs in UTC")
    monkeypatch.setattr(weights_file, "SHIPPED", SHIPPED)
    with Segue(home=tmp_path, folder=tmp_path) as seg:
        seg.recall("timezone")
        assert seg.memories.store.unembedded("static-128-2", 5) == []


def test_the_doctor_names_damaged_weights(tmp_path: Path, damaged: Path) -> None:
    found = examine(DataFolder(tmp_path / "home"), resolve(), {})
    [told] = [one for one in found if one.name == "embedding"]
    assert told.status == "bad" and str(damaged) in told.detail and "install" in told.hint


def test_a_sync_gives_vectors_to_memories_of_another_embedder(tmp_path: Path) -> None:
    with Segue(home=tmp_path, folder=tmp_path, embedder=HashEmbedder()) as seg:
        seg.memories.remember_many([{"content": f"fact {number}"} for number in range(80)])
    with Segue(home=tmp_path, folder=tmp_path) as seg:
        assert len(seg.memories.store.unembedded("static-128-2", 100)) == 80
        assert seg.recall("fact 7")[0].content == "fact 7"
        seg.sync()
        assert seg.memories.store.unembedded("static-128-2", 100) == []
