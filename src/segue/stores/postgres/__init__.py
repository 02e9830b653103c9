"""The store for teams: one Postgres database, many servers and machines.

``address`` where it is, and what may be shown of it · ``schema`` the tables and how they came to be ·
``database`` work that happens once · ``sql`` shared SQL · ``journal`` the store, ``memories`` · ``upkeep``
the doctor's look, moving in, compacting.
The driver (extra ``postgres``) is loaded when a store is used, not before.
"""

from .address import Address, is_postgres, shown
from .journal import PostgresStore

__all__ = ["Address", "PostgresStore", "is_postgres", "shown"]
