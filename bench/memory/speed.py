"""What memories cost: add and recall at several sizes, bytes on the disk, a cold process; beside others.

Texts are made up, with words as common and as rare as in prose, and names in between. Vectors of the model
are made once for some texts and varied, because embedding 100,000 texts would take an hour; queries are
embedded anew each time.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.common import table, timed
from bench.memory.quality import pairs

from segue.api.segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.effects.vectors import minilm
from segue.effects.vectors.embedder import HashEmbedder
from segue.effects.vectors.static import StaticEmbedder

QUERIES = 60
ADDS = 200
BATCH = 500


def corpus(count: int, seed: int = 7) -> list[str]:
    """So many different texts of some 18 words."""
    chance = random.Random(seed)
    prose = [word for memory, _ in pairs("paraphrases.tsv") for word in memory.split()]
    rare = [f"module{n}_{chance.choice(prose).strip('.,;:').lower()}" for n in range(5_000)]
    return [
        " ".join([*chance.choices(prose, k=chance.randint(8, 24)), chance.choice(rare), f"case{place}"])
        for place in range(count)
    ]


class Varied:
    """The model for queries; for memories, vectors like its own at no cost."""

    def __init__(self, inner: Any) -> None:
        import numpy

        self.name, self.semantic, self.ready = inner.name, True, True
        self._inner, self._chance = inner, numpy.random.default_rng(3)
        self._seeds = numpy.array([inner.embed([memory])[0] for memory, _ in pairs("paraphrases.tsv")])
        self.asked: set[str] = set()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if len(texts) == 1 and texts[0] in self.asked:
            return self._inner.embed(texts)
        picks = self._seeds[self._chance.integers(0, len(self._seeds), len(texts))]
        noise = self._chance.normal(0, 0.03, picks.shape)
        return (picks + noise).tolist()


class SegueSide:
    name = "Segue"

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._segue = Segue(home=folder, folder=folder, embedder=embedder, backup_events=10**9)
        self.folder = folder

    def fill(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), BATCH):
            self._segue.memories.remember_many([{"content": text} for text in texts[start : start + BATCH]])

    def add(self, text: str) -> None:
        self._segue.remember(text)

    def recall(self, query: str) -> int:
        return len(self._segue.recall(query, top_k=10))

    def count(self) -> int:
        return len(self._segue.memories.store.listing(self._segue.memories.reader(), MemoryFilter(), "9"))

    def close(self) -> None:
        self._segue.close()


class AegisSide:
    """aegis-memory in its local mode, with our embedder."""

    name = "aegis-memory, local"

    def __init__(self, folder: Path, embedder: Any) -> None:
        import numpy
        from aegis_memory import local_client

        class Provider:
            dimensions = getattr(embedder, "dim", 384)

            def embed(self, texts: list[str]) -> Any:
                return numpy.array([embedder.embed([text])[0] for text in texts], dtype=numpy.float32)

            def embed_single(self, text: str) -> Any:
                return self.embed([text])[0]

        self._client = local_client(db_path=str(folder / "aegis.db"), embedding_provider=Provider())
        self.folder = folder

    def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._client.add(text, agent_id="bench", scope="global")

    def add(self, text: str) -> None:
        self._client.add(text, agent_id="bench", scope="global")

    def recall(self, query: str) -> int:
        return len(self._client.query(query, agent_id="bench", top_k=10))

    def close(self) -> None:
        pass


class LangGraphSide:
    """LangGraph's InMemoryStore, with our embedder: gone with its process, and so without a disk to wait for.
    (Its SqliteStore needs a Python whose sqlite3 loads extensions.)"""

    name = "LangGraph InMemoryStore"

    def __init__(self, folder: Path, embedder: Any) -> None:
        from langgraph.store.memory import InMemoryStore

        dims = len(embedder.embed(["x"])[0])

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [embedder.embed([text])[0] for text in texts]

        self._store = InMemoryStore(index={"dims": dims, "embed": embed, "fields": ["text"]})
        self._next = 0
        self.folder = folder

    def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        self._next += 1
        self._store.put(("bench",), f"k{self._next}", {"text": text})

    def recall(self, query: str) -> int:
        return len(self._store.search(("bench",), query=query, limit=10))

    def close(self) -> None:
        pass


def measured(make: Callable[[Path, Any], Any], embedder: Any, size: int, queries: list[str]) -> list[str]:
    """size, add, recall p50 and p95, bytes a memory."""
    texts = corpus(size + ADDS)
    with tempfile.TemporaryDirectory() as folder:
        side = make(Path(folder), embedder)
        began = time.perf_counter()
        side.fill(texts[:size])
        filled = time.perf_counter() - began
        adds = [timed(lambda text=text: side.add(text)) for text in texts[size:]]  # type: ignore[misc]
        side.recall(queries[0])
        recalls = sorted(timed(lambda q=query: side.recall(q)) for query in queries)  # type: ignore[misc]
        size_bytes = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        side.close()
    return [
        f"{size:,}", f"{1000 * filled / size:.2f}", f"{1000 * statistics.median(adds):.2f}",
        f"{1000 * statistics.median(recalls):.2f}", f"{1000 * recalls[int(0.95 * len(recalls))]:.2f}",
        f"{size_bytes / size:,.0f}",
    ]  # fmt: skip


HEAD = ["", "memories", "add, many at once, ms", "add one, ms", "recall p50, ms", "p95, ms", "bytes each"]


def show(sizes: Sequence[int], *, peers: bool) -> None:
    queries = [query for _, query in pairs("paraphrases.tsv")][:QUERIES]
    embedders: list[Any] = [HashEmbedder(), StaticEmbedder()]
    if minilm.installed():
        varied = Varied(minilm.MiniLM())
        varied.asked = set(queries)
        embedders.append(varied)
    for embedder in embedders:
        rows = [["Segue", *measured(SegueSide, embedder, size, queries)] for size in sizes]
        if peers:
            for side in (AegisSide, LangGraphSide):
                rows += _peer(side, embedder, [size for size in sizes if size <= 10_000], queries[:15])
        table(f"{embedder.name}", HEAD, rows)
    cold(sizes)


def _peer(side: Any, embedder: Any, sizes: Sequence[int], queries: list[str]) -> list[list[str]]:
    try:
        return [[side.name, *measured(side, embedder, size, queries)] for size in sizes]
    except ImportError as fault:
        print(f"{side.name}: not measured ({fault})")
        return []


def cold(sizes: Sequence[int], rounds: int = 9) -> None:
    """The first recall of a process, beside ``python -c pass``; MiniLM at the smallest size alone, because it
    embeds every text."""
    bare = [_started([sys.executable, "-c", "pass"], {}) for _ in range(rounds * 3)]
    rows = []
    for size in sizes:
        embedders: dict[str, Any] = {"hash": HashEmbedder(), "static": StaticEmbedder()}
        if size == min(sizes) and minilm.installed():
            embedders["minilm"] = minilm.MiniLM()
        for kind, embedder in embedders.items():
            with tempfile.TemporaryDirectory() as folder:
                seconds = _first_recall(Path(folder), kind, embedder, corpus(size), rounds)
            ratio = seconds / statistics.median(bare)
            rows.append([f"{size:,}", kind, f"{1000 * seconds:.0f}", f"{ratio:.1f}"])
    table("a cold process", ["memories", "embedder", "ms", "times `python -c pass`"], rows)


def _first_recall(folder: Path, kind: str, embedder: Any, texts: Sequence[str], rounds: int) -> float:
    side = SegueSide(folder, embedder)
    side.fill(texts)
    side.close()
    query = "users rejected by the login"
    command = [
        sys.executable,
        "-m",
        "segue",
        "recall",
        query,
        "--home",
        str(folder),
        "-C",
        str(folder),
        "--json",
    ]
    environment = {"SEGUE_EMBEDDER": kind}
    found = subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True).stdout
    assert len(json.loads(found)) >= 5, "a recall that finds nothing is no recall"
    return statistics.median(_started(command, environment) for _ in range(rounds))


def _started(command: list[str], environment: dict[str, str]) -> float:
    whole = {**os.environ, **environment}
    return timed(lambda: subprocess.run(command, env=whole, check=True, stdout=subprocess.DEVNULL))
