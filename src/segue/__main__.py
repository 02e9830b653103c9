"""``python -m segue`` is the command line."""

from __future__ import annotations

from .surfaces.cli.main import run

if __name__ == "__main__":
    run()
