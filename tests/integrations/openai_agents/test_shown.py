"""A session of the SDK is a run for everybody who looks: on the command line and on the pages."""

from __future__ import annotations

import asyncio
import re

from tests.integrations.shown import Shown

from segue.integrations.openai_agents import SegueSession

ASKED, ANSWERED = "Sort the letters by date.", "They are in the blue folder."


def converse(shown: Shown) -> None:
    """A program that asked and was answered, and is over."""
    items = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": ANSWERED}]
    with shown.segue() as segue:
        asyncio.run(SegueSession("letters", segue).add_items(items))


def test_the_commands_show_a_session_of_the_sdk_with_what_was_said(shown: Shown) -> None:
    converse(shown)
    listed = shown.command("list")
    assert ASKED in listed and "openai-agents  letters" in listed
    assert ASKED in shown.command("runs")
    brief = shown.command("brief", "letters")
    assert ASKED in brief and ANSWERED in brief
    assert "in the [blue] folder" in shown.command("search", "blue")


def test_the_pages_show_a_session_of_the_sdk_with_what_was_said(shown: Shown) -> None:
    converse(shown)
    assert ASKED in shown.page("")
    [link] = set(re.findall(r'href="/ui(/run/[0-9a-f]+)"', shown.page("/runs")))
    run = shown.page(link)
    assert ASKED in run and ANSWERED in run
    assert f"/ui{link}" in shown.page("/search", q="blue")
