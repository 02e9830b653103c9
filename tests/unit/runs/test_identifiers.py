"""Names in texts, and short names of runs."""

from __future__ import annotations

import pytest

from segue.core.runs.identifiers import short_run


@pytest.mark.parametrize(
    ("native", "short"),
    [
        ("3f2b8c1e-77aa-4d3e-9f00-0123456789ab", "3f2b8c1e"),
        ("01a1dca9-3c11-7d3e-9f00-0123456789ab", "01a1dca9-3c11-7d3e"),
        ("ses_5d1c0e1a2ffeZk3TqGf3Jm8cLw", "ses_5d1c0e1a2ffeZk3TqGf3Jm8cLw"),
        ("task-7", "task-7"),
    ],
)
def test_a_short_name_of_a_run_tells_it_from_those_of_the_same_minute(native: str, short: str) -> None:
    assert short_run(native) == short
