"""The block for agents that read AGENTS.md, byte for byte as agent-handover writes it."""

from __future__ import annotations

from pathlib import Path

from ..blocks import put_block
from ..steps import DEFAULT_CHECKPOINT as DEFAULT_CHECKPOINT

BEGIN_MARKER = "<!-- agent-handover:begin -->"
END_MARKER = "<!-- agent-handover:end -->"


def render_block(checkpoint: str, example_hint: str, unit: str = "session", where: str = "") -> str:
    """The block; ``unit`` is what the agent calls its work."""
    return f"""{BEGIN_MARKER}
## Session handover (agent-handover)

At the START of every {unit}, before anything else, run{where}:

```bash
agent-handover check --checkpoint {checkpoint}
```

- exit `1` -> a previous handover was interrupted; finish it (re-run the end-of-session handover) before starting new work.
- exit `0`/`2` -> clean; read `memory/layer2/current-state.md` to recover context, then proceed.

At the END of the {unit}, run the end-of-session handover (see `{example_hint}`).
{END_MARKER}"""  # noqa: E501


def install(path: Path | str, block: str) -> bool:
    """Have the block in a file; whether that changed it."""
    return put_block(Path(path), block, BEGIN_MARKER, END_MARKER)
