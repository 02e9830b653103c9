"""What a forked child must not do: touch what its parent has open.

A child inherits the parent's files and sockets. Closing a database drops the parent's locks, and speaking on
its connection breaks into its conversation. So whoever keeps connections remembers the ``count`` at which
they were opened; when another one is found, they are the parent's: put into ``left_open``, and opened anew.
"""

from __future__ import annotations

import os

count = 0
"""How many forks lie between the first process and this one."""
left_open: list[object] = []
"""What the parent has open, kept so that nothing closes it when the last name for it is gone."""


def _forked() -> None:
    global count
    count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
