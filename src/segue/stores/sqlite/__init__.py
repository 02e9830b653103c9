"""The embedded store: one SQLite file, many processes.

``schema`` the tables and how they came to be · ``database`` connections and their safety ·
``journal`` the port · ``upkeep`` backups, checks, vacuum · ``salvage`` reading what is broken.
"""

from .database import Database, alone
from .journal import SqliteJournal

__all__ = ["Database", "SqliteJournal", "alone"]
