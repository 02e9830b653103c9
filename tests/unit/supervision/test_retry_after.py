"""What agents print when they are limited, and how long that is to wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest

from segue.agents import agent
from segue.core.supervision.decide import trouble_of
from segue.core.supervision.retry_after import told_wait

NOW = datetime(2026, 11, 15, 11, 33, 0, tzinfo=UTC)
PACIFIC = timezone(timedelta(hours=-8))
HOUR = 3_600.0
CODEX = "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), or try again at "


def zones(name: str) -> tzinfo | None:
    return {"America/Los_Angeles": PACIFIC}.get(name)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("You've hit your 5-hour limit · resets 1:33pm (UTC)", 2 * HOUR),
        ("You've hit your session limit · resets 4am (America/Los_Angeles)", 27 * 60),
        ("You've hit your weekly limit · resets Nov 17, 3pm (UTC)", 51 * HOUR + 27 * 60),
        ("spend limit reached · resets Jan 3, 2027, 12am (UTC)", 48 * 24 * HOUR + 12 * HOUR + 27 * 60),
        ("usage limit reached · resets Jan 3, 12am (UTC)", 48 * 24 * HOUR + 12 * HOUR + 27 * 60),
        ("Your limit resets Nov 16", 12 * HOUR + 27 * 60),
        ("usage limit reached · resets 11:33am (UTC)", 24 * HOUR),
        ("usage limit reached · resets 12pm (UTC)", 27 * 60),
        ("usage limit reached · resets 12:33am (UTC)", 13 * HOUR),
        ("usage limit reached · resets 23:33 (UTC)", 12 * HOUR),
        ("usage limit reached · resets Nov 15, 11:33am (UTC)", 0.0),
        ("usage limit reached · resets May 19, 11:33am (UTC)", 0.0),
        ("usage limit reached · resets May 18, 11:33am (UTC)", 184 * 24 * HOUR),
        ("usage limit reached · resets Jan 3, 2026, 12am (UTC)", 0.0),
        ("usage limit reached · resets Dec 1, 11:33am (UTC)", 16 * 24 * HOUR),
        ("Claude AI usage limit reached|1794000000", 0.0),
        ("Claude AI usage limit reached|1794749593000", 7213.0),
        ("Claude AI usage limit reached|1794749593", 7213.0),
        ('"rate_limit_info":{"status":"rejected","resetsAt":1794749593}', 7213.0),
        (f"{CODEX}12:32 PM.", 59 * 60.0),
        (f"{CODEX}11:32 AM.", 24 * HOUR - 60),
        (f"{CODEX}Nov 17th, 2026 7:06 PM.", 55 * HOUR + 33 * 60),
        ("Rate limit reached for gpt-5. Please try again in 20s.", 20.0),
        ("Rate limit reached. Please try again in 1.5s. Visit https://x.org", 1.5),
        ("Rate limit reached. Please try again in 6m0s.", 360.0),
        ("try again in 3 days 4 hours 5 minutes", 3 * 24 * HOUR + 4 * HOUR + 300),
        ("try again in 350ms", 0.35),
        ("try again in 2 milliseconds", 0.002),
        ("try again in 1 week and 1 minute", 7 * 24 * HOUR + 60),
        ("try again in 1 hour, and bring 5 minutes", HOUR),
        ("Attempt 1 failed: quota. Please retry in 20.5s.. Retrying after 23758ms...", 20.5),
        ("Your quota will reset after 3h25m10s.", 3 * HOUR + 25 * 60 + 10),
        ('{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}', 30.0),
        ("Access resets at 12:00 PM GMT.", 27 * 60.0),
        ("429 Too Many Requests, retry-after: 20", 20.0),
        ("429 retry after 20 seconds", 20.0),
        ('{"resets_in_seconds": 3600}', 3600.0),
        ("exceeded retry limit, last status: 429 Too Many Requests", 0.0),
        ("Rate limited: wait a moment", 0.0),
        ("Overloaded. Try again later. 529", 0.0),
        ("resets at 25:99", 0.0),
        ("resets Feb 30, 3pm", 0.0),
        ("The limit reset Nov 14, 2026, 3pm (UTC)", 0.0),
        ("try again at 5", 0.0),
        ("", 0.0),
    ],
)  # fmt: skip
def test_what_is_told_is_waited_for(text: str, seconds: float) -> None:
    assert told_wait(text, NOW, zones) == pytest.approx(seconds)


def test_a_time_without_a_zone_is_meant_here() -> None:
    here = NOW.astimezone(timezone(timedelta(hours=2)))
    assert told_wait("try again at 2:33 PM", here) == HOUR


def test_a_time_of_the_day_is_waited_for_to_the_second() -> None:
    later = NOW + timedelta(seconds=30, microseconds=500_000)
    assert told_wait("resets 1:33pm (UTC)", later) == 2 * HOUR - 30.5


def test_a_zone_that_is_not_known_here_is_taken_for_this_one() -> None:
    assert told_wait("resets 1:33pm (Mars/Olympus)", NOW, zones) == 2 * HOUR


INIT = '{"type":"init","session_id":"n"}\n'


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("Attempt 1 failed: Quota exceeded. Please retry in 20.5s.. Retrying after 23758ms...", 20.5),
        ('Attempt 3 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,'
         '"message":"Rate limit reached. Please try again in 7s."}}\n    at process {\n}', 7.0),
    ],
)  # fmt: skip
def test_gemini_cli_prints_why_it_tries_again_until_it_goes_on(line: str, seconds: float) -> None:
    heard = agent("gemini-cli").launcher.parse_output(f"YOLO\n{INIT}{line}\n")  # type: ignore[attr-defined]
    assert trouble_of(heard.retrying) == "rate" and told_wait(heard.retrying, NOW) == seconds
    gone_on = agent("gemini-cli").launcher.parse_output(f"{INIT}{line}\n{INIT}")  # type: ignore[attr-defined]
    assert gone_on.retrying == ""
    assert agent("gemini-cli").launcher.parse_output(INIT).retrying == ""  # type: ignore[attr-defined]


def test_claude_code_and_opencode_say_when_a_limit_ends() -> None:
    limit = '{"type":"rate_limit_event","rate_limit_info":{"status":"%s","resetsAt":1794749593}}\n'
    claude = agent("claude-code").launcher  # type: ignore[attr-defined]
    assert claude.parse_output(limit % "rejected").resets_at == 1794749593
    assert claude.parse_output(limit % "allowed").resets_at == 0
    error = '{"type":"error","error":{"data":{"message":"m","responseHeaders":{"retry-after":"%s"}}}}\n'
    opencode = agent("opencode").launcher  # type: ignore[attr-defined]
    assert [opencode.parse_output(error % text).retry_seconds for text in ("20", "soon")] == [20.0, 0.0]
