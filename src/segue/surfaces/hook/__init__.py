"""What agents run: ``installed_file.py``, copied next to them by `segue init`, calls ``answered``.

Files that earlier versions installed import ``answered`` from here; that name stays.
"""

from __future__ import annotations


def answered(home: str, agent: str, event: str, payload: bytes) -> bytes:
    """What the agent is told; see ``entry.py``."""
    from .entry import answered

    return answered(home, agent, event, payload)
