"""The store for teams: one Postgres database, many servers and machines.

``address`` where it is, and what may be shown of it · ``schema`` the tables and how they came to be ·
``pool`` connections · ``database`` work that happens once · ``journal``, ``runs``, ``memories`` the ports ·
``words`` full text · ``upkeep`` the doctor's look, moving in, compacting.
The driver (extra ``postgres``) is loaded when a store is used, not before.
"""

from .address import Address, is_postgres, shown
from .journal import PostgresJournal

__all__ = ["Address", "PostgresJournal", "is_postgres", "shown"]
