"""Embedders make vectors of texts. Two are always available; none of them downloads anything.

``static`` knows what words mean and comes with Segue. ``hash`` counts pieces of words: it tolerates typing
errors and inflection but knows no meanings. ``minilm`` knows what sentences mean and needs the extra
``semantic``. An endpoint with OpenAI's API can be set; only then does a text leave the machine. A vector is
stored with the name of its embedder, and compared only with vectors of the same name.
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
    """Makes vectors of texts. You can pass your own to ``Segue(embedder=…)``."""

    @property
    def name(self) -> str:
        """The name of the model; vectors of different names are never compared."""

    @property
    def semantic(self) -> bool:
        """Whether texts with similar meanings get similar vectors, not only texts with similar spelling."""

    @property
    def ready(self) -> bool:
        """Whether a text can be embedded at once, without loading a model or calling a server."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of the same length."""


class TextOnly:
    """No vectors: full-text search alone, for callers that cannot wait."""

    name = ""
    semantic = False
    ready = True

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """An empty vector for each text."""
        return [[] for _ in texts]


class HashEmbedder:
    """Counts pieces of words, each hashed to a position of the vector."""

    name = "hash-256"
    semantic = False
    ready = True
    dim = 256

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A unit vector for each text."""
        return [self._vector(text[:HASH_CHARS_MAX]) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dim
        for word in dict.fromkeys(words(text)):
            framed = f"<{word}>".encode(errors="replace")
            for at in range(max(1, len(framed) - 3)):
                code = crc32(framed[at : at + 4])
                vector[code % self.dim] += 1.0 if code & 0x10000 else -1.0
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [x / length for x in vector]


class EmbeddingServer:
    """A server with OpenAI's API for embeddings."""

    semantic = True
    ready = False

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self.url = url.rstrip("/")
        self.model = model
        self.name = f"endpoint:{model}"
        self._key = key

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The server's vector for each text, in one request; AgentError if it does not answer properly."""
        import json
        from urllib import error, request

        body = json.dumps({"model": self.model, "input": list(texts)}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        post = request.Request(f"{self.url}/embeddings", body, headers)
        try:
            with request.urlopen(post, timeout=ENDPOINT_TIMEOUT_SECONDS) as answer:
                rows = json.load(answer)["data"]
            vectors = [[float(x) for x in row["embedding"]] for row in sorted(rows, key=lambda r: r["index"])]
        except (error.URLError, OSError, ValueError, KeyError, TypeError) as fault:
            told = f"the embedding endpoint did not answer as expected: {fault}"
            raise AgentError(told, hint="check `embedder_url`, or use `hash`") from fault
        if len(vectors) != len(texts):
            hint = "check `embedder_model`"
            raise AgentError("the embedding endpoint left out some of the texts", hint=hint)
        return vectors


def choose(kind: str, *, url: str = "", model: str = "", key: str = "") -> Embedder:
    """The embedder of this kind; ``auto`` is the best that is available. BadSettings for wrong settings."""
    if kind == "endpoint" or (kind == "auto" and url):
        if not url.startswith(("http://", "https://")):
            hint = "for example http://localhost:11434/v1"
            raise BadSettings("an endpoint needs `embedder_url`", hint=hint)
        return EmbeddingServer(url, model or "text-embedding-3-small", key)
    if kind == "hash":
        return HashEmbedder()
    if kind not in ("auto", "static", "minilm"):
        raise BadSettings(f"unknown embedder: {kind}", hint="auto, static, hash, minilm or endpoint")
    if kind != "static":
        from . import minilm

        if kind == "minilm" or minilm.installed():
            return minilm.MiniLM()
    from .static import StaticEmbedder

    return StaticEmbedder()
