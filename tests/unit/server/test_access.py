"""Keys, roles, projects and rates, as values."""

from __future__ import annotations

import pytest

from segue.core.server.access import (
    ALL_PROJECTS,
    Access,
    Bucket,
    KeyRecord,
    clean_project,
    draw,
    granted,
    hashed,
    id_in,
    seconds_of,
    token_of,
)
from segue.errors import BadName, NotAllowed, NotKnown, UsageError

TOKEN = token_of("0123456789ab", "s" * 43)
NOW = "2026-11-15T12:00:00.000000Z"


def record(**more: str) -> KeyRecord:
    fields = {"id": "0123456789ab", "hash": hashed(TOKEN), "role": "writer", "project": "web", **more}
    return KeyRecord(**fields)


def test_a_key_gives_its_role_in_its_project() -> None:
    assert granted(record(), TOKEN, "", NOW) == Access("0123456789ab", "writer", "web")
    assert granted(record(), TOKEN, "web", NOW).project == "web"


def test_what_is_kept_of_a_token_does_not_hold_it() -> None:
    assert "s" * 43 not in record().hash and len(record().hash) == 64


@pytest.mark.parametrize(
    ("kept", "token"),
    [
        (None, TOKEN),
        (record(), token_of("0123456789ab", "t" * 43)),
        (record(expires="2026-11-15T11:59:59.999999Z"), TOKEN),
        (record(expires=NOW), TOKEN),
        (record(revoked=NOW), TOKEN),
    ],
)
def test_a_key_that_is_unknown_wrong_expired_or_revoked_is_not_known(
    kept: KeyRecord | None, token: str
) -> None:
    with pytest.raises(NotKnown):
        granted(kept, token, "", NOW)


def test_a_key_that_is_revoked_later_holds_until_then() -> None:
    assert granted(record(revoked="2026-11-15T12:00:01.000000Z"), TOKEN, "", NOW)


def test_a_key_of_one_project_is_refused_in_another() -> None:
    with pytest.raises(NotAllowed):
        granted(record(), TOKEN, "shop", NOW)


def test_a_key_of_all_projects_is_of_the_default_one_unless_it_says_which() -> None:
    every = record(project=ALL_PROJECTS)
    assert granted(every, TOKEN, "", NOW).project == "default"
    assert granted(every, TOKEN, "shop", NOW).project == "shop"
    with pytest.raises(BadName):
        granted(every, TOKEN, "../etc", NOW)


@pytest.mark.parametrize("text", ["", "sgk_", "Bearer x", "sgk_0123456789ab_short", TOKEN + "x", TOKEN[:-1]])
def test_a_text_that_is_no_token_has_no_id(text: str) -> None:
    with pytest.raises(NotKnown):
        id_in(text)


def test_each_role_may_do_what_those_below_it_may() -> None:
    allowed = {
        role: [need for need in ("reader", "writer", "admin") if _may(Access("k", role, "p"), need)]
        for role in ("reader", "writer", "admin")
    }
    assert allowed == {
        "reader": ["reader"], "writer": ["reader", "writer"], "admin": ["reader", "writer", "admin"],
    }  # fmt: skip


def _may(access: Access, need: str) -> bool:
    try:
        access.demand(need)
    except NotAllowed:
        return False
    return True


def test_a_key_of_an_agent_acts_as_that_agent_only() -> None:
    bound = Access("k", "writer", "p", "ci")
    assert bound.act_as("") == bound.act_as("ci") == "ci"
    with pytest.raises(NotAllowed):
        bound.act_as("claude")
    assert Access("k", "writer", "p").act_as("claude") == "claude"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "-x", "x" * 65, "ü", "a\n"])
def test_a_project_is_a_name_that_cannot_lead_anywhere(name: str) -> None:
    with pytest.raises(BadName):
        clean_project(name)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90d", 7_776_000), ("12h", 43_200), ("30m", 1_800), ("2", 172_800)]
)
def test_a_time_is_a_number_with_a_unit(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0d", "-1d", "1y", "d", "99999999d", "1d1h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        seconds_of(text)


def test_a_bucket_lets_a_burst_pass_then_the_rate_and_says_when_to_come_back() -> None:
    bucket: Bucket | None = None
    waits = []
    for _ in range(4):
        bucket, wait = draw(bucket, 100.0, rate=2.0, burst=3.0)
        waits.append(wait)
    assert waits == [0.0, 0.0, 0.0, 0.5]
    bucket, wait = draw(bucket, 100.5, rate=2.0, burst=3.0)
    assert wait == 0.0
    assert draw(bucket, 1000.0, rate=2.0, burst=3.0)[0].left == 2.0
