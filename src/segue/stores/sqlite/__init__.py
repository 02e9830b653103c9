"""The embedded store: one SQLite file, many processes.

``schema`` the tables and how they came to be, ``schema_check`` · ``database`` connections and their safety,
``opening``, ``openers``, ``file_system`` · ``sql`` shared SQL · ``journal`` the store, ``memories`` ·
``upkeep`` backups and checks · ``salvage`` what is broken.
"""

from .database import Database
from .journal import SqliteStore
from .openers import alone

__all__ = ["Database", "SqliteStore", "alone"]
