"""The embedded store: one SQLite file, many processes.

``schema`` the tables and how they came to be · ``database`` connections and their safety · ``sql`` shared SQL
· ``journal``, ``memories`` the ports, and ``store`` all of them · ``upkeep`` backups, checks,
vacuum · ``salvage`` reading what is broken.
"""

from .database import Database, alone
from .store import SqliteStore

__all__ = ["Database", "SqliteStore", "alone"]
