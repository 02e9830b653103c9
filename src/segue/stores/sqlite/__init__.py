"""The embedded store: one SQLite file, many processes.

``schema`` the tables and how they came to be · ``database`` connections and their safety · ``sql`` shared SQL
· ``journal`` the store, ``memories`` · ``upkeep`` backups, checks, vacuum · ``salvage`` what is broken.
"""

from .database import Database, alone
from .journal import SqliteStore

__all__ = ["Database", "SqliteStore", "alone"]
