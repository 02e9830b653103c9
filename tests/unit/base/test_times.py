"""Times of transcripts: read whole, or from the minute that was seen before."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, strategies as some

from segue.agents.common import seconds


@given(some.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9000, 1, 1)))
def test_a_time_is_the_same_whether_or_not_its_minute_was_seen_before(moment: datetime) -> None:
    stamp = moment.isoformat(timespec="milliseconds") + "Z"
    expected = datetime.fromisoformat(stamp).timestamp()
    assert seconds(stamp) == expected
    seconds(stamp[:17] + "59.999Z")
    assert seconds(stamp) == expected


@pytest.mark.parametrize(
    "wrong", ["2026-11-15T02:34: 5.000Z", "2026-11-15T02:34:61.000Z", "2026-11-15T02:34:", ""]
)
def test_what_is_no_time_is_none_also_behind_a_minute_that_is_one(wrong: str) -> None:
    assert seconds("2026-11-15T02:34:17.000Z") > 0
    assert seconds(wrong) == 0.0
