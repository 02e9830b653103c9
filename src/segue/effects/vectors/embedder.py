"""Embedders: texts to vectors. One is always there; none of them downloads anything.

``hash`` counts pieces of words and needs nothing: it forgives typing errors and endings and knows no
meanings. ``minilm`` knows meanings and needs the extra ``semantic``. An endpoint that speaks OpenAI's form
can be named in the settings; only then does a text leave the machine. A vector is kept with the name of what
made it, and compared only with vectors of the same name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol
from zlib import crc32

from ...core.memories.words import words
from ...errors import AgentError, BadSettings

ENDPOINT_TIMEOUT_SECONDS = 30
HASH_CHARS_MAX = 4_000


class Embedder(Protocol):
    """What makes vectors. Others may be handed to ``Segue(embedder=…)``."""

    @property
    def name(self) -> str:
        """Which model; vectors of two names are never compared."""
        ...

    @property
    def semantic(self) -> bool:
        """Whether texts that mean the same come out near each other, not only those spelt alike."""
        ...

    @property
    def ready(self) -> bool:
        """Whether a text can be embedded at once, without loading or asking anything."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of one length."""
        ...


class TextOnly:
    """No vectors at all: full text alone, for who cannot wait."""

    name = ""
    semantic = False
    ready = True

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Nothing is compared."""
        return [[] for _ in texts]


class HashEmbedder:
    """Pieces of words, hashed to places of a vector."""

    name = "hash-256"
    semantic = False
    ready = True
    dim = 256

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A unit vector for each text."""
        return [self._one(text[:HASH_CHARS_MAX]) for text in texts]

    def _one(self, text: str) -> list[float]:
        vector = [0.0] * self.dim
        for word in dict.fromkeys(words(text)):
            framed = f"<{word}>".encode(errors="replace")
            for at in range(max(1, len(framed) - 3)):
                code = crc32(framed[at : at + 4])
                vector[code % self.dim] += 1.0 if code & 0x10000 else -1.0
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [x / length for x in vector]


class EmbeddingServer:
    """A server that speaks the form of OpenAI's embeddings."""

    semantic = True
    ready = False

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self.url = url.rstrip("/")
        self.model = model
        self.name = f"endpoint:{model}"
        self._key = key

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Ask the server, all texts in one request."""
        import json
        from urllib import error, request

        body = json.dumps({"model": self.model, "input": list(texts)}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        asked = request.Request(f"{self.url}/embeddings", body, headers)
        try:
            with request.urlopen(asked, timeout=ENDPOINT_TIMEOUT_SECONDS) as answer:
                rows = json.load(answer)["data"]
            found = [[float(x) for x in row["embedding"]] for row in sorted(rows, key=lambda r: r["index"])]
        except (error.URLError, OSError, ValueError, KeyError, TypeError) as fault:
            raise AgentError(
                f"the endpoint for embeddings did not answer: {fault}",
                hint="check `embedder_url`, or use `hash`",
            ) from fault
        if len(found) != len(texts):
            raise AgentError("the endpoint for embeddings left out some", hint="check `embedder_model`")
        return found


def choose(kind: str, *, url: str = "", model: str = "", key: str = "") -> Embedder:
    """The embedder that the settings name; ``auto``: the best that is installed."""
    if kind == "endpoint" or (kind == "auto" and url):
        if not url.startswith(("http://", "https://")):
            raise BadSettings(
                "an endpoint needs `embedder_url`", hint="for example http://localhost:11434/v1"
            )
        return EmbeddingServer(url, model or "text-embedding-3-small", key)
    if kind == "hash":
        return HashEmbedder()
    if kind not in ("auto", "minilm"):
        raise BadSettings(f"unknown embedder: {kind}", hint="auto, hash, minilm or endpoint")
    from . import minilm

    if kind == "minilm" or minilm.installed():
        return minilm.MiniLM()
    return HashEmbedder()
