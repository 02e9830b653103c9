"""What kinds of texts can be found, and the names that people have for them."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal[
    "prompt", "answer", "thought", "command", "output", "file", "goal", "item", "decision", "note", "memory",
    "handover",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
GROUPS: dict[str, tuple[Kind, ...]] = {
    "prompts": ("prompt", "goal"),
    "answers": ("answer", "thought"),
    "commands": ("command",),
    "output": ("output",),
    "files": ("file",),
    "notes": ("note", "item", "decision", "memory", "handover", "goal"),
}
"""The kinds that a user may choose, by the names that they have for them."""
