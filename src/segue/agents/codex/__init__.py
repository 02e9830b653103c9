"""Codex CLI: rollouts under ``$CODEX_HOME/sessions``, JSON lines, versions 0.34 to 0.166.

``wire.py`` is the format and ``reader.py`` turns it into steps, with the help of ``words.py`` (who wrote a
text), ``calls.py`` and ``script.py`` (what a call does), ``outcome.py`` (its result), ``flight.py`` (which
calls are pending), ``turns.py`` (the course of a turn) and ``kept.py`` (state between records).
``discover.py`` finds the files.
"""

from __future__ import annotations

from .discover import Codex

AGENT = Codex()
