"""Conversations of Pydantic AI in Segue's store do what its own store in memory does, and survive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturn,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.integrations.guides import release

from segue import Segue
from segue.integrations.pydantic_ai import TESTED, SegueConversations
from segue.integrations.pydantic_ai.keeper import restored, storable


@pytest.fixture
def segue(tmp_path: Path) -> Iterator[Segue]:
    with Segue(home=tmp_path / "segue", folder=tmp_path) as opened:
        yield opened


def turn(number: int) -> list[ModelMessage]:
    asked = ModelRequest(parts=[UserPromptPart(f"question {number}")])
    return [asked, ModelResponse(parts=[TextPart(f"answer {number}")])]


def texts(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for message in messages for part in message.parts if hasattr(part, "content")]


def on_both(segue: Segue, steps: Any) -> tuple[Any, Any]:
    """What the same calls give on their store and on ours."""
    return asyncio.run(steps(InMemoryConversationStore())), asyncio.run(steps(SegueConversations(segue)))


def test_the_installed_version_is_not_older_than_the_one_that_is_named_as_tested() -> None:
    assert release("pydantic-ai-slim") >= tuple(map(int, TESTED.split(".")))


def test_saves_loads_branches_and_deletions_give_the_same_as_the_store_in_memory(segue: Segue) -> None:
    async def steps(store: Any) -> Any:
        seen: list[Any] = [await store.load("one")]
        first = Conversation(conversation_id="one", messages=turn(1))
        seen.append(len(await store.save(first, scope="me")))
        again = await store.load("one", scope="me")
        seen += [texts(again.messages), await store.load("one", scope="you")]
        again.messages += turn(2)
        seen.append(len(await store.save(again)))
        seen.append(texts((await store.load("one", limit=1)).messages))
        with pytest.raises(ConversationConflict):
            first.messages += turn(9)
            await store.save(first)
        with pytest.raises(UserError):
            await store.branch("one", at=77, expected_revision=again.revision)
        branched = await store.branch("one", at=2, expected_revision=again.revision)
        branched.messages += turn(3)
        await store.save(branched)
        seen.append(texts((await store.load("one")).messages))
        [record] = await store.list_conversations()
        back = await store.branch("one", from_entry=record.branches[0], expected_revision=branched.revision)
        seen.append(texts(back.messages))
        await store.delete("one", scope="you")
        seen.append((await store.load("one")) is not None)
        await store.delete("one")
        return [*seen, await store.load("one"), await store.list_conversations()]

    theirs, ours = on_both(segue, steps)
    assert ours == theirs


def test_a_fork_stays_whole_when_the_conversation_is_deleted_that_it_came_from(segue: Segue) -> None:
    async def steps(store: Any) -> Any:
        await store.save(Conversation(conversation_id="one", messages=[*turn(1), *turn(2)]))
        fork = await store.fork("one", at=2, new_conversation_id="two")
        fork.messages += turn(3)
        await store.save(fork)
        with pytest.raises(ConversationConflict):
            await store.fork("one", new_conversation_id="two")
        await store.delete("one")
        found = await store.load("two")
        return texts(found.messages), [one.conversation_id for one in await store.list_conversations()]

    theirs, ours = on_both(segue, steps)
    assert ours == theirs


def test_another_process_loads_what_was_saved(tmp_path: Path, segue: Segue) -> None:
    saved = Conversation(conversation_id="User/1", messages=turn(1))
    entries = asyncio.run(SegueConversations(segue).save(saved))
    with Segue(home=tmp_path / "segue", folder=tmp_path) as other:
        store = SegueConversations(other)
        assert asyncio.run(store.read_entry(entries[1].id)).message == saved.messages[1]
        found = asyncio.run(store.load("User/1"))
    assert found is not None and found.messages == saved.messages


def model(*calls: str) -> FunctionModel:
    """A model that calls a tool in each turn, and then says that it is done."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number = sum(isinstance(message, ModelResponse) for message in messages)
        if number >= len(calls):
            return ModelResponse(parts=[TextPart("All is done.")])
        return ModelResponse(parts=[ToolCallPart(calls[number], {}, tool_call_id=f"call-{number}")])

    return FunctionModel(answer)


class Stopped(Exception):
    """Stands for a kill."""


def test_a_run_that_was_cut_off_goes_on_without_a_prompt_and_calls_no_tool_again(segue: Segue) -> None:
    agent = Agent(model("first", "second"))
    calls: list[str] = []
    fails = [True]

    @agent.tool_plain
    def first() -> str:
        calls.append("first")
        return "one"

    @agent.tool_plain
    def second() -> str:
        calls.append("second")
        if fails.pop() if fails else False:
            raise Stopped
        return "two"

    async def go() -> Any:
        store = SegueConversations(segue)
        new = Conversation(conversation_id="one")
        with pytest.raises(Stopped):
            await agent.run("Do both.", conversation=new, capabilities=[store.keeper()])
        begun = await SegueConversations(segue).load("one")
        assert begun is not None and store.is_cut_off(begun)
        result = await agent.run(conversation=begun, capabilities=[store.keeper()])
        await store.save(result)
        saved = await store.load("one")
        assert saved is not None and not store.is_cut_off(saved)
        return result.output, texts(saved.messages), await store.brief("one")

    output, said, brief = asyncio.run(go())
    assert calls == ["first", "second", "second"] and output == "All is done."
    assert said == ["Do both.", "one", "two", "All is done."]
    assert "Do both." in brief and brief.count("first → ok") == 1


def test_a_result_that_was_kept_is_given_without_a_call_even_before_its_message(segue: Segue) -> None:
    agent = Agent(model("first"))
    calls: list[str] = []

    @agent.tool_plain
    def first() -> ToolReturn:
        calls.append("first")
        return ToolReturn({"n": 1}, content="look", metadata={"more": 2})

    async def go() -> Any:
        store = SegueConversations(segue)
        add, number = store.log("one").add, []

        def stops_behind_the_result(items: Any) -> None:
            add(items)
            number.append(items)
            if "call" in items[0]:
                raise Stopped

        store.log("one").add = stops_behind_the_result  # type: ignore[method-assign]
        with pytest.raises(Stopped):
            await agent.run(
                "Go.", conversation=Conversation(conversation_id="one"), capabilities=[store.keeper()]
            )
        again = SegueConversations(segue)
        begun = await again.load("one")
        return (await agent.run(conversation=begun, capabilities=[again.keeper()])).output

    assert asyncio.run(go()) == "All is done." and calls == ["first"]


def test_a_call_with_other_arguments_is_another_call(segue: Segue) -> None:
    async def go() -> list[Any]:
        store = SegueConversations(segue)
        seen = []
        for n in (1, 1, 2):
            agent = Agent(FunctionModel(lambda messages, info, n=n: ModelResponse(
                parts=[ToolCallPart("count", {"n": n}, tool_call_id="same")]
                if len(messages) == 1 else [TextPart("done")]
            )))  # fmt: skip

            @agent.tool_plain
            def count(n: int) -> int:
                seen.append(n)
                return n

            new = Conversation(conversation_id="one")
            await agent.run("Count.", conversation=new, capabilities=[store.keeper()])
        return seen

    assert asyncio.run(go()) == [1, 2]


def test_a_tool_that_asks_the_model_to_try_again_is_called_again(segue: Segue) -> None:
    agent = Agent(model("first", "first"))
    calls: list[int] = []

    @agent.tool_plain(retries=2)
    def first() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise ModelRetry("once more")
        return "fine"

    async def go() -> str:
        store = SegueConversations(segue)
        new = Conversation(conversation_id="one")
        return str((await agent.run("Go.", conversation=new, capabilities=[store.keeper()])).output)

    assert asyncio.run(go()) == "All is done." and len(calls) == 2


@pytest.mark.parametrize(
    "value",
    [
        "text",
        3,
        None,
        {"a": [1, 2]},
        [BinaryContent(b"%PDF", media_type="application/pdf", identifier="a"), "seen"],
    ],
    ids=["text", "number", "none", "table", "document"],
)
def test_what_a_tool_returned_comes_back_as_it_was(value: Any) -> None:
    assert restored(storable(value)) == value
    whole = ToolReturn(value, content=["look"], metadata={"x": 1})
    assert restored(storable(whole)) == whole


def test_a_long_conversation_whose_runs_see_only_its_end_is_kept_whole(segue: Segue) -> None:
    async def go() -> list[str]:
        store, agent = SegueConversations(segue), Agent(model())
        for number in range(4):
            begun = await store.load("one", limit=2) or Conversation(conversation_id="one")
            result = await agent.run(f"turn {number}", conversation=begun, capabilities=[store.keeper()])
            await store.save(result)
        found = await store.load("one")
        return texts(found.messages) if found is not None else []

    assert asyncio.run(go())[::2] == [f"turn {number}" for number in range(4)]
