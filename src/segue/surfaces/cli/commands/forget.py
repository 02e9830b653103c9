"""`segue forget`: erase what a memory says."""

from __future__ import annotations

from ..command import argument, command
from ..context import CommandContext


@command(
    "forget",
    argument("id", "MEMORY", "the id of the memory, or the beginning of it"),
    argument("--reason", "TEXT", "the reason; it is kept in place of the memory"),
    json="`{id, forgotten}`",
    shape="ForgottenMemory",
    examples=("segue forget m3f9a1", 'segue forget m3f9a1 --reason "it was wrong"'),
)  # fmt: skip
def forget(context: CommandContext) -> int:
    """Erase what a memory says."""
    service = context.segue.memories
    before = service.get(context.args.id)
    memory = service.forget(before.id, reason=context.args.reason or "")
    context.emit({"id": memory.id, "forgotten": memory.forgotten})
    done = f"forgotten: {memory.id}; backups still contain it until they are replaced"
    context.say(f"nothing changed: {memory.id} had been forgotten already" if before.forgotten else done)
    return 0
