"""What a session may spend, and why it was paused, from the command line."""

from __future__ import annotations

import pytest
from tests.surfaces.conftest import Cli

CAUSES = ("user", "budget", "timeout", "error", "system", "unknown")


def test_without_limits_a_budget_says_what_was_spent(started: Cli) -> None:
    assert started("budget").out == "spent: 0 USD, 0 tokens\n"
    value = started("budget", "jwt", "--json").value
    assert value == {
        "current_spend": 0.0, "limit": 0.0, "tokens_used": 0, "tokens_limit": 0, "limited": False,
        "exceeded": False, "options": [], "session": "jwt", "share": 0.0,
    }  # fmt: skip


def test_limits_are_set_and_taken_away_again(started: Cli) -> None:
    assert "0 of 5 USD, 0 of 9,000 tokens" in started("budget", "--limit", "5", "--limit-tokens", "9000").out
    value = started("budget", "--limit", "0", "--json", "--session", "jwt").value
    assert (value["limit"], value["tokens_limit"]) == (0.0, 9000)


def test_what_is_spent_adds_up_and_is_told_as_a_share_of_the_limit(started: Cli) -> None:
    started("budget", "--limit", "2", "--limit-tokens", "1000")
    started("budget", "--spent", "0.5", "--tokens", "300")
    value = started("budget", "--spent", "0.25", "--tokens", "300", "--json").value
    assert (value["current_spend"], value["tokens_used"], value["share"]) == (0.75, 600, 0.6)
    assert value["exceeded"] is False


def test_a_limit_that_is_reached_pauses_and_offers_three_ways_to_go_on(started: Cli) -> None:
    started("budget", "--limit", "1")
    out = started("budget", "--spent", "1.5", code=1).out
    assert out.startswith("paused: jwt: 1.5 of 1 USD spent")
    assert [line.split()[0] for line in out.splitlines()[2:]] == [
        "continue_limited", "pause", "increase_budget",
    ]  # fmt: skip
    assert started("status", "--json").value["status"] == "paused"
    assert "a limit has been reached; to continue:" in started("budget").out


def test_a_limit_of_tokens_pauses_too_and_says_so_in_json(started: Cli) -> None:
    started("budget", "--limit-tokens", "100")
    value = started("budget", "--tokens", "101", "--json", code=1).value
    assert (value["cause"], value["tokens_used"], value["tokens_limit"]) == ("budget", 101, 100)
    assert value["resume_command"] == "segue resume jwt" and value["manifest"]
    assert {one["name"] for one in value["options"]} == {"continue_limited", "pause", "increase_budget"}


def test_who_goes_on_sparingly_is_not_paused_again(started: Cli) -> None:
    started("budget", "--limit", "1")
    started("budget", "--spent", "2", code=1)
    assert "the session continues sparingly" in started("budget", "--go-on").out
    started("resume")
    value = started("budget", "--spent", "1", "--json").value
    assert value["limited"] is True and value["exceeded"] is True
    assert started("status", "--json").value["status"] == "active"


def test_a_budget_is_shown_wherever_the_session_is(started: Cli) -> None:
    assert "Budget" not in started("status").out
    started("budget", "--limit", "5", "--spent", "6", code=1)
    assert "Budget 6 of 5 USD, a limit has been reached" in " ".join(started("status").out.split())
    assert "`segue budget jwt --go-on`" in started("brief").out
    ways = {one["name"]: one["command"] for one in started("status", "--json").value["budget"]["options"]}
    assert ways["pause"] == "segue status jwt" and ways["continue_limited"].endswith("segue resume jwt")
    out = started("resume").out
    assert "the budget is spent: 6 of 5 USD" in out and "--go-on" in out
    started("budget", "--go-on")
    for words in (("resume",), ("brief",), ("resume", "--budget", "minimal")):
        assert "the budget is spent: 6 of 5 USD; continue sparingly" in started(*words).out
    for words in (("status",), ("show",)):
        assert "a limit has been reached, it continues sparingly" in started(*words).out
    assert started("status", "--json").value["budget"]["limited"]


@pytest.mark.parametrize(
    "words", [("--limit", "-1"), ("--limit-tokens", "-5"), ("--spent", "much"), ("nobody",)]
)
def test_a_budget_that_cannot_be_meant_is_refused(started: Cli, words: tuple[str, ...]) -> None:
    assert started("budget", *words, code=64).err
    assert started("budget").out == "spent: 0 USD, 0 tokens\n"


@pytest.mark.parametrize("cause", CAUSES)
def test_a_pause_says_its_cause_and_how_to_go_on(started: Cli, cause: str) -> None:
    out = started("pause", "jwt", "--cause", cause, "--reason", f"because of {cause}").out
    assert out.splitlines()[0] == "paused: jwt; resume with `segue resume jwt`"
    assert f"because of {cause}" in started("status").out
    assert started("resume", "--json").value["status"] == "active"
    value = started("pause", "--cause", cause, "--reason", f"because of {cause}", "--json").value
    assert (value["cause"], value["reason"], value["status"]) == (cause, f"because of {cause}", "paused")
    assert value["resume_command"] == "segue resume jwt" and value["manifest"]


def test_a_pause_of_an_unknown_cause_or_session_changes_nothing(started: Cli) -> None:
    assert "--cause: 'boredom' is not one of " in started("pause", "--cause", "boredom", code=64).err
    assert "nobody" in started("pause", "nobody", "--cause", "user", code=64).err
    assert started("status", "--json").value["status"] == "active"


def test_a_second_pause_says_that_nothing_changed(started: Cli) -> None:
    started("pause", "--cause", "user")
    assert "nothing changed" in started("pause", "--cause", "user").out
