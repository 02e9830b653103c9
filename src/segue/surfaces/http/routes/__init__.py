"""Our own routes, in a file by what is under a path: `/v1/sessions/{id}/hold/renew` is in `holds.py`.

A module only translates: it says what comes in, calls the library, and says what goes out. What every request
passes is in `../server`.
"""

from . import (
    agents,
    audit,
    briefs,
    budget,
    commands,
    events,
    features,
    handoffs,
    handovers,
    health,
    holds,
    keys,
    lifecycle,
    memories,
    runs,
    sessions,
    store,
)

MODULES = (
    health, keys, audit, store, sessions, commands, lifecycle, events, runs, briefs, features, memories,
    handoffs, handovers, holds, agents, budget,
)  # fmt: skip
"""Those that declare operations; `mcp.py` is an application of its own."""
