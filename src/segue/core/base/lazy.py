"""Regular expressions that cost nothing until they are used.

Compiling all of ours takes longer than most commands do; a command uses a few of them. ``regex`` stands for
``re.compile`` where a pattern has a name of its own in a module.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Later:
    """Has what a compiled pattern has; compiles when it is asked for anything."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)  # from now on this is not called for it
        return found


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern, compiled at its first use. A wrong one raises only then: tests compile all."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
