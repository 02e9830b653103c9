"""The hook that agents run: `segue init` copies ``installed_file.py``, which calls ``answered``.

Files that earlier versions installed import ``answered`` from here, so that name must stay.
"""

from __future__ import annotations


def answered(home: str, agent: str, event: str, payload: bytes) -> bytes:
    """The reply to the agent; see ``entry.py``, and ``status_line.py`` for what is asked most often."""
    if event == "StatusLine":
        from .status_line import answered as line

        return line(home, agent, payload)
    from .entry import answered

    return answered(home, agent, event, payload)
