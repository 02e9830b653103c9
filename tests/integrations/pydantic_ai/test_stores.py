"""Conversations of Pydantic AI are alike in a file, in Postgres and on a Segue server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from tests.integrations.places import Place
from tests.integrations.pydantic_ai.test_conversations import Stopped, model, texts, turn

from segue.integrations.pydantic_ai import SegueConversations


async def steps(store: Any) -> list[Any]:
    """What a store answers to a number of calls."""
    first = Conversation(conversation_id="one", messages=turn(1))
    seen: list[Any] = [await store.load("one"), len(await store.save(first, scope="me"))]
    again = await store.load("one", scope="me")
    again.messages += turn(2)
    seen += [len(await store.save(again)), await store.load("one", scope="you")]
    with pytest.raises(ConversationConflict):
        first.messages += turn(9)
        await store.save(first)
    branched = await store.branch("one", at=2, expected_revision=again.revision)
    branched.messages += turn(3)
    await store.save(branched)
    fork = await store.fork("one", new_conversation_id="two")
    fork.messages += turn(4)
    await store.save(fork)
    seen += [texts((await store.load(name)).messages) for name in ("one", "two")]
    await store.delete("one")
    seen += [await store.load("one"), texts((await store.load("two")).messages)]
    return [*seen, [one.conversation_id for one in await store.list_conversations()]]


def test_a_store_answers_as_pydantics_own_in_memory_does(place: Place) -> None:
    ours = asyncio.run(steps(SegueConversations(place.segue())))
    assert ours == asyncio.run(steps(InMemoryConversationStore()))


def test_a_run_that_was_cut_off_goes_on_in_another_process_and_calls_no_tool_again(place: Place) -> None:
    calls: list[str] = []
    agent = Agent(model("first", "second"))

    @agent.tool_plain
    def first() -> str:
        calls.append("first")
        return "one"

    @agent.tool_plain
    def second() -> str:
        calls.append("second")
        if calls.count("second") == 1:
            raise Stopped
        return "two"

    async def go() -> tuple[str, list[str], str]:
        keeper = SegueConversations(place.segue()).keeper()
        with pytest.raises(Stopped):
            new = Conversation(conversation_id="User 1")
            await agent.run("Do both.", conversation=new, capabilities=[keeper])
        store = SegueConversations(place.segue())
        begun = await store.load("User 1")
        assert begun is not None and store.is_cut_off(begun)
        result = await agent.run(conversation=begun, capabilities=[store.keeper()])
        await store.save(result)
        saved = await SegueConversations(place.segue()).load("User 1")
        assert saved is not None
        return result.output, texts(saved.messages), await store.brief("User 1")

    output, said, brief = asyncio.run(go())
    assert calls == ["first", "second", "second"] and output == "All is done."
    assert said == ["Do both.", "one", "two", "All is done."]
    assert "Do both." in brief
