"""Named places where a test may kill the process: failpoints.

Everything may import this module. In production ``_hook`` is None and a trip is one global
look-up; ``segue.testing.failpoints`` installs a hook that kills at a chosen name and count.
Names read ``room.action.when``; each one stands directly before or after a durable write.
"""

from __future__ import annotations

from collections.abc import Callable

_hook: Callable[[str], None] | None = None


def trip(name: str) -> None:
    """Let a test kill the process here."""
    if _hook is not None:
        _hook(name)


def install(hook: Callable[[str], None] | None) -> None:
    """Set, or with None remove, what happens at every failpoint of this process."""
    global _hook
    _hook = hook
