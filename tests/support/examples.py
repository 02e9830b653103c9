"""How many examples a property is tried with: as it says, times a share that the kind of run chooses.

``SEGUE_EXAMPLES`` is the share: a half by default (each run draws others), a tenth for ``make test-quick``,
ten times as many for ``make soak``.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

SHARE = float(os.environ.get("SEGUE_EXAMPLES", "0.5"))
"""Read when it is imported, because tests see no settings of yours."""
USUAL = 100


def share_of(count: int) -> int:
    """So many examples in a run of this kind."""
    return max(1, round(count * SHARE))


def examples(count: int, **more: Any) -> settings:
    """For a property that wants another number than the usual one."""
    return settings(max_examples=share_of(count), **more)


def use() -> None:
    """Make it so for every property that says nothing."""
    settings.register_profile("segue", deadline=None, print_blob=True, max_examples=share_of(USUAL))
    settings.load_profile("segue")
