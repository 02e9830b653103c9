"""Every kind of event, re-exported from one module for code that reads whole journals.

Bodies are defined with their capability (``<capability>/events.py``). Importing this module registers all.
"""

from __future__ import annotations

from .features.events import *  # noqa: F403
from .graphs.events import *  # noqa: F403
from .handover.events import *  # noqa: F403
from .journal.event import *  # noqa: F403
from .journal.event import Body
from .ledger.events import *  # noqa: F403
from .models.spending import SpendReserved as SpendReserved, SpendSettled as SpendSettled
from .runs.events import *  # noqa: F403
from .sessions.events import *  # noqa: F403

BODIES: dict[str, type[Body]] = {body.KIND: body for body in Body.__subclasses__()}
