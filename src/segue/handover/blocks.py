"""What agents are told about handovers, and the block between markers in which they are told."""

from __future__ import annotations

from ..effects.blocks import put_block as put_block

FIRST_THING = """\
Before anything else in a session, run `segue handover check`.
- Exit 1: the last handover was interrupted. Run `segue handover run` first: it finishes what is left.
- Exit 0 or 2: read `memory/layer2/current-state.md` if it is there, and go on.
At the end of a session, run `segue handover run --note "what was done, and what is next"`.
"""
"""What any agent should be told, for the block that `segue init` manages in AGENTS.md."""
