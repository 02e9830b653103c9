"""How many examples a property is tested with: the number that it declares, times a factor for the kind of
test run.

``SEGUE_EXAMPLES`` is the factor: a half by default, few for ``make test-quick``, ten times as many for ``make
soak``, which alone draws others each time.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

SHARE = float(os.environ.get("SEGUE_EXAMPLES", "0.5"))
"""Read at import, because tests do not see your environment."""
IS_SOAK = SHARE > 1 or "SEGUE_KILLS" in os.environ
USUAL = 100


def share_of(count: int) -> int:
    """The number of examples in this kind of test run."""
    return max(1, round(count * SHARE))


def examples(count: int, **more: Any) -> settings:
    """A decorator for a property that needs another number of examples than usual."""
    return settings(max_examples=share_of(count), **more)


def use() -> None:
    """Set the default for every property without a number of its own."""
    settings.register_profile(
        "segue", deadline=None, print_blob=True, max_examples=share_of(USUAL), derandomize=not IS_SOAK
    )
    settings.load_profile("segue")
