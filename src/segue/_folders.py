"""The path of the data folder as text. Imports nothing, for code that must be quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def data_path(environment: Mapping[str, str]) -> str:
    """``$SEGUE_HOME``, else the platform's data folder."""
    given = environment.get("SEGUE_HOME")
    if given:
        return os.path.abspath(os.path.expanduser(given))
    home = environment.get("HOME") or os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "segue")
    if os.name == "nt":
        return os.path.join(
            environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "segue"
        )
    return os.path.join(environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "segue")
