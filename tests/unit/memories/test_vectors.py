"""The scan over vectors: bits choose, bytes decide, and numpy changes nothing but the time."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator

import pytest
from bench.memory.quality import pairs

from segue.effects.vectors.embedder import Embedder, HashEmbedder
from segue.effects.vectors.static import StaticEmbedder
from segue.stores import vectors
from segue.stores.vectors import ScanIndex, bits_of, by_bytes, cosine, joined, numpy_or_none, packed, signs_of

SUBJECTS = "the login, a test, the cache, our server, this parser, the build, a worker, the queue".split(", ")
VERBS = "fails after, waits for, is slower than, depends on, breaks without, hides, retries".split(", ")
OBJECTS = "a restart, the token, new keys, an old index, the deadline, large files, the lock".split(", ")


@pytest.fixture(params=["plain", "numpy"])
def _counting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy" and numpy_or_none() is None:
        pytest.skip("NOT TESTED: numpy is not installed")
    chosen = numpy_or_none() if request.param == "numpy" else None
    monkeypatch.setattr(vectors, "_loaded_numpy", lambda: chosen)
    return str(request.param)


def random_bodies(count: int, width: int, seed: int = 5) -> dict[int, bytes]:
    chance = random.Random(seed)
    return {no: packed([chance.gauss(0, 1) for _ in range(width)]) for no in range(1, count + 1)}


def _signed(body: bytes) -> array[int]:
    return array("b", body)


def sentences() -> Iterator[str]:
    for one in SUBJECTS:
        for two in VERBS:
            for three in OBJECTS:
                for four in SUBJECTS:
                    yield f"{one} {two} {three}, and so does {four}"


@pytest.mark.usefixtures("_counting")
@pytest.mark.parametrize("width", [64, 100, 384])
def test_cosines_are_those_of_each_pair(width: int) -> None:
    bodies = random_bodies(40, width)
    asked = random_bodies(1, width, seed=9)[1]
    bodies[41], bodies[42] = bytes(width), b"\x01\x02"
    for no, found in by_bytes(asked, bodies, 50):
        assert found == pytest.approx(cosine(asked, bodies[no]), abs=1e-12)


@pytest.mark.usefixtures("_counting")
@pytest.mark.parametrize("width", [64, 100])
def test_the_nearest_come_first_and_only_of_the_groups_asked_for(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(vectors, "SHORTLIST_MIN", 60)
    bodies, made = random_bodies(900, width), ScanIndex()
    made.add(joined((no, no % 3, bits_of(body)) for no, body in bodies.items() if no <= 500))
    made.add(joined((no, no % 3, bits_of(body)) for no, body in bodies.items() if no > 500))
    asked = packed(
        [(one + other / 2) for one, other in zip(_signed(bodies[403]), _signed(bodies[1]), strict=True)]
    )
    among = {no: body for no, body in bodies.items() if no % 3 != 2}
    for only in (None, range(1, 700, 2)):
        wanted = {no: body for no, body in among.items() if only is None or no in only}
        found = made.near(asked, {0, 1}, only, 10, lambda numbers: {no: bodies[no] for no in numbers})
        assert found[:2] == by_bytes(asked, wanted, 2) and found[0][0] == 403
        assert {no for no, _ in found} <= wanted.keys()


def test_numpy_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    if (numpy := numpy_or_none()) is None:
        pytest.skip("NOT TESTED: numpy is not installed")
    monkeypatch.setattr(vectors, "SHORTLIST_MIN", 20)
    bodies, results = random_bodies(400, 64), []
    asked = random_bodies(1, 64, seed=9)[1]
    for chosen in (None, numpy):
        monkeypatch.setattr(vectors, "_loaded_numpy", lambda chosen=chosen: chosen)
        made = ScanIndex()
        made.add(joined((no, no % 3, bits_of(body)) for no, body in bodies.items()))
        results.append(made.near(asked, {0, 1}, None, 10, lambda ns: {no: bodies[no] for no in ns}))
    assert results[0] == results[1] and len(results[0]) == 10


def test_the_first_ten_are_the_nearest_ten_of_sentences() -> None:
    texts = list(sentences())
    bodies = {no: packed(vector) for no, vector in enumerate(StaticEmbedder().embed(texts))}
    made = ScanIndex()
    made.add(joined((no, 0, bits_of(body)) for no, body in bodies.items()))
    hits = asked = 0
    for no in range(0, len(texts), 131):
        exact = by_bytes(bodies[no], bodies, 10)
        found = made.near(bodies[no], {0}, None, 10, lambda ns: {one: bodies[one] for one in ns})
        hits += sum(score >= exact[-1][1] - 1e-9 for _, score in found)
        asked += 10
    assert len(texts) > 4 * vectors.SHORTLIST_MIN and hits / asked >= 0.98


def test_nothing_is_found_among_nothing() -> None:
    assert ScanIndex().near(packed([1.0] * 16), {0}, None, 10, lambda numbers: {}) == []


@pytest.mark.parametrize("embedder", [StaticEmbedder(), HashEmbedder()], ids=lambda one: one.name)
def test_questions_find_the_nearest_ten_of_texts_of_all_lengths(embedder: Embedder) -> None:
    chance, known = random.Random(4), [text for text, _ in pairs("restated.tsv")]
    words = [word for text in known for word in text.split()]
    texts = known + [" ".join(chance.choices(words, k=chance.randint(2, 40))) for _ in range(4_000)]
    bodies = {no: packed(vector) for no, vector in enumerate(embedder.embed(texts))}
    made = ScanIndex()
    made.add(joined((no, 0, bits_of(body)) for no, body in bodies.items()))
    hits = asked = 0
    for _, question in pairs("restated.tsv")[:40]:
        vector = packed(embedder.embed([question])[0])
        exact = by_bytes(vector, bodies, 10)
        found = made.near(vector, {0}, None, 10, lambda ns: {one: bodies[one] for one in ns})
        hits += sum(score >= exact[-1][1] - 1e-9 for _, score in found)
        asked += 10
    assert hits / asked >= 0.98


def test_vectors_that_were_kept_with_one_bit_a_dimension_are_found_beside_the_others() -> None:
    texts = list(sentences())[:1_500]
    bodies = {no: packed(vector) for no, vector in enumerate(StaticEmbedder().embed(texts))}
    made = ScanIndex()
    made.add(joined((no, 0, signs_of(body) if no % 2 else bits_of(body)) for no, body in bodies.items()))
    for no in range(0, len(texts), 101):
        exact = by_bytes(bodies[no], bodies, 5)
        found = made.near(bodies[no], {0}, None, 5, lambda ns: {one: bodies[one] for one in ns})
        assert [score for _, score in found] == pytest.approx([score for _, score in exact])


def test_bits_say_what_is_well_below_and_well_above_zero() -> None:
    assert bits_of(array("b", [100, -100, 1, -1, 0, 90, -90, 2]).tobytes()) == bytes([0b01000010, 0b10000100])
    assert bits_of(b"") == b"" and bits_of(bytes(8)) == bytes(2)
