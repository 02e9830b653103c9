"""A conversation of Pydantic AI is a run for everybody who looks: on the command line and on the pages."""

from __future__ import annotations

import asyncio
import re

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from tests.integrations.pydantic_ai.test_conversations import model
from tests.integrations.shown import Shown

from segue.integrations.pydantic_ai import SegueConversations

ASKED, ANSWERED = "Water the plants in the hall.", "All is done."


def converse(shown: Shown) -> None:
    """A program whose agent called a tool and answered, and is over."""
    agent = Agent(model("water"))

    @agent.tool_plain
    def water() -> str:
        return "three litres"

    async def go() -> None:
        with shown.segue() as segue:
            store = SegueConversations(segue)
            new = Conversation(conversation_id="plants")
            result = await agent.run(ASKED, conversation=new, capabilities=[store.keeper()])
            await store.save(result)

    asyncio.run(go())


def test_the_commands_show_a_conversation_with_its_calls(shown: Shown) -> None:
    converse(shown)
    listed = shown.command("list")
    assert ASKED in listed and "pydantic-ai  plants" in listed
    brief = shown.command("brief", "plants")
    assert ASKED in brief and "water → ok" in brief and ANSWERED in brief
    assert "[plants]" in shown.command("search", "plants hall")


def test_the_pages_show_a_conversation_with_its_calls(shown: Shown) -> None:
    converse(shown)
    [link] = set(re.findall(r'href="/ui(/run/[0-9a-f]+)"', shown.page("/runs")))
    run = shown.page(link)
    assert ASKED in run and "three litres" in run and ANSWERED in run
    assert f"/ui{link}" in shown.page("/search", q="plants")
