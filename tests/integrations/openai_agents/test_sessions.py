"""A session of the OpenAI Agents SDK in Segue's store does what the SDK's own does, and more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner, SQLiteSession, function_tool
from agents.memory import Session, SessionSettings
from agents.memory.openai_responses_compaction_session import OpenAIResponsesCompactionSession
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.integrations.guides import release

from segue import BadValue, Segue
from segue.integrations.openai_agents import TESTED, SegueSession


@pytest.fixture
def segue(tmp_path: Path) -> Iterator[Segue]:
    with Segue(home=tmp_path / "segue", folder=tmp_path) as opened:
        yield opened


def said(*texts: str, role: str = "user") -> list[Any]:
    return [{"role": role, "content": text} for text in texts]


def on_both(tmp_path: Path, segue: Segue, steps: Any) -> tuple[Any, Any]:
    """What the same calls give on the SDK's session and on ours."""
    theirs, ours = SQLiteSession("one", tmp_path / "theirs.db"), SegueSession("one", segue)
    try:
        return asyncio.run(steps(theirs)), asyncio.run(steps(ours))
    finally:
        theirs.close()


def test_it_is_a_session_by_the_sdks_own_protocol(segue: Segue) -> None:
    assert isinstance(SegueSession("one", segue), Session)


def test_the_installed_version_is_not_older_than_the_one_that_is_named_as_tested() -> None:
    assert release("openai-agents") >= tuple(map(int, TESTED.split(".")))


@pytest.mark.parametrize("limit", [None, 0, 1, 2, 3, 9, -1])
def test_a_limit_gives_the_same_items_as_the_sdks_session(
    tmp_path: Path, segue: Segue, limit: int | None
) -> None:
    async def steps(session: Any) -> Any:
        await session.add_items(said("a", "b"))
        await session.add_items(said("c"))
        return await session.get_items(limit)

    theirs, ours = on_both(tmp_path, segue, steps)
    assert ours == theirs


def test_pops_and_additions_in_turn_give_the_same_as_the_sdks_session(tmp_path: Path, segue: Segue) -> None:
    async def steps(session: Any) -> Any:
        seen = [await session.pop_item()]
        await session.add_items(said("a", "b", "c"))
        seen += [await session.pop_item(), await session.pop_item()]
        await session.add_items([])
        await session.add_items(said("d"))
        seen.append(await session.get_items())
        await session.clear_session()
        seen += [await session.get_items(), await session.pop_item()]
        await session.add_items(said("e"))
        return [*seen, await session.get_items()]

    theirs, ours = on_both(tmp_path, segue, steps)
    assert ours == theirs


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": "Grüße 🎉 'quoted' \"twice\" \\ back; DROP TABLE x; --"},
        {"role": "user", "content": "half a pair \ud83d and control \x00\x1b[31m"},
        {"type": "function_call_output", "call_id": "c", "output": "1" * 300_000},
        {"type": "odd", "number": 2**70, "nested": {"b": [1.5, None, True], "a": {}}},
    ],
    ids=["unicode", "surrogate", "long", "odd"],
)
def test_an_item_comes_back_as_it_was_handed_over(tmp_path: Path, segue: Segue, item: Any) -> None:
    async def steps(session: Any) -> Any:
        await session.add_items([item])
        [found] = await session.get_items()
        return found, list(found)

    theirs, ours = on_both(tmp_path, segue, steps)
    assert ours == theirs


def test_a_changed_item_does_not_change_what_is_kept(segue: Segue) -> None:
    async def go() -> Any:
        session = SegueSession("one", segue)
        await session.add_items(said("a"))
        found = await session.get_items()
        found[0]["content"] = "changed"
        return await session.get_items()

    assert asyncio.run(go()) == said("a")


def test_what_is_not_json_is_refused_and_nothing_of_it_is_kept(segue: Segue) -> None:
    async def go() -> Any:
        session = SegueSession("one", segue)
        with pytest.raises(BadValue, match="not JSON"):
            await session.add_items([*said("a"), {"role": "user", "content": object()}])
        return await session.get_items()

    assert asyncio.run(go()) == []


def test_two_sessions_with_one_id_see_each_others_items(tmp_path: Path, segue: Segue) -> None:
    async def go(other: Segue) -> Any:
        one, two = SegueSession("user/1 @home", segue), SegueSession("user/1 @home", other)
        await one.add_items(said("a"))
        assert await two.get_items() == said("a")
        await two.add_items(said("b"))
        await one.add_items(said("c"))
        await two.clear_session()
        await two.add_items(said("d"))
        return await one.get_items()

    with Segue(home=tmp_path / "segue", folder=tmp_path) as other:
        assert asyncio.run(go(other)) == said("d")


def test_additions_from_many_tasks_are_all_there(segue: Segue) -> None:
    async def go() -> Any:
        sessions = [SegueSession("one", segue) for _ in range(4)]
        await asyncio.gather(*(sessions[n % 4].add_items(said(f"item {n}")) for n in range(40)))
        return await sessions[0].get_items()

    assert sorted(item["content"] for item in asyncio.run(go())) == sorted(f"item {n}" for n in range(40))


def test_the_limit_of_the_settings_holds_where_none_is_given(segue: Segue) -> None:
    async def go() -> Any:
        session = SegueSession("one", segue, session_settings=SessionSettings(limit=1))
        await session.add_items(said("a", "b"))
        return await session.get_items()

    assert asyncio.run(go()) == said("b")


def test_a_closed_session_is_refused(segue: Segue) -> None:
    session = SegueSession("one", segue)
    session.close()
    with pytest.raises(RuntimeError, match="is closed"):
        asyncio.run(session.add_items([]))


def test_a_run_of_the_sdk_is_a_run_of_segue_with_a_brief(segue: Segue) -> None:
    @function_tool
    def look_up(city: str) -> str:
        """Look up the weather."""
        return f"rain in {city}"

    script = [
        [function_call("look_up", {"city": "Bonn"}, call_id="c1")],
        [assistant_message("Take an umbrella.")],
    ]
    agent = Agent(name="Helper", tools=[look_up], model=ScriptedModel(script))

    async def go() -> str:
        session = SegueSession("weather", segue)
        await Runner.run(agent, "Will it rain in Bonn tomorrow?", session=session)
        return await session.brief()

    brief = asyncio.run(go())
    assert "Will it rain in Bonn tomorrow?" in brief and "rain in Bonn" in brief
    assert "Take an umbrella." in brief
    [run] = segue.runs()
    assert (run.agent, run.id, run.goal) == ("openai-agents", "weather", "Will it rain in Bonn tomorrow?")
    assert (run.calls, run.ended) == (1, "alive")
    segue.sync()
    assert [hit.run for hit in segue.search("umbrella").hits] == ["weather"]


def test_instructions_hold_the_brief_of_the_run_before(segue: Segue) -> None:
    async def go() -> str:
        first = SegueSession("first", segue)
        await first.add_items(
            [*said("Move the archive to the new disk."), *said("Half is moved.", role="assistant")]
        )
        second = SegueSession("second", segue)
        return await second.instructions("You are careful.")(None, None)

    told = asyncio.run(go())
    assert told.startswith("You are careful.\n\n[segue]") and "Move the archive to the new disk." in told


def test_a_popped_prompt_is_not_what_the_user_wants(segue: Segue) -> None:
    async def go() -> str:
        session = SegueSession("one", segue)
        await session.add_items([*said("Paint the door blue."), *said("It is blue.", role="assistant")])
        await session.add_items(said("Now paint the window red."))
        await session.pop_item()
        await session.add_items(said("Now paint the window green."))
        return await session.brief()

    brief = asyncio.run(go())
    assert "window green" in brief and "window red" not in brief


def test_a_transcript_that_lost_its_end_is_made_whole_by_the_next_addition(
    tmp_path: Path, segue: Segue
) -> None:
    session = SegueSession("one", segue)
    asyncio.run(session.add_items(said("first")))
    asyncio.run(session.add_items(said("second")))
    [transcript] = (tmp_path / "segue" / "conversations" / "openai-agents").glob("*.jsonl")
    whole = transcript.read_bytes()
    transcript.write_bytes(whole[:-20])
    again = SegueSession("one", segue)
    asyncio.run(again.add_items(said("third")))
    assert [run.steps for run in segue.runs()] == [4]
    texts = transcript.read_text()
    assert all(text in texts for text in ("first", "second", "third"))


def test_a_brief_tells_what_was_kept_although_the_transcript_lacks_it(tmp_path: Path, segue: Segue) -> None:
    session = SegueSession("one", segue)
    asyncio.run(session.add_items(said("Sort the letters.")))
    asyncio.run(session.add_items(said("And then post them.")))
    [transcript] = (tmp_path / "segue" / "conversations" / "openai-agents").glob("*.jsonl")
    transcript.write_bytes(transcript.read_bytes().splitlines(keepends=True)[0])
    assert "And then post them." in asyncio.run(SegueSession("one", segue).brief())


def test_clearing_erases_the_items_from_store_and_transcript(tmp_path: Path, segue: Segue) -> None:
    session = SegueSession("one", segue)
    asyncio.run(session.add_items(said("a word to forget")))
    asyncio.run(session.clear_session())
    assert not segue.runs() and not segue.workspace.store.streams("conversation/")
    assert not list((tmp_path / "segue" / "conversations" / "openai-agents").iterdir())


def test_the_end_is_replaced_in_one_step_when_the_sdk_compacts(segue: Segue) -> None:
    async def go() -> Any:
        session = SegueSession("one", segue)
        await session.add_items(said("a", "b", "c"))
        snapshot = await session._get_compaction_snapshot(2)
        assert snapshot.items == said("b", "c") and not snapshot.complete
        assert await snapshot.replace_suffix(0, said("b and c"))
        late = await snapshot.replace_suffix(0, said("too late"))
        return late, await session.get_items()

    assert asyncio.run(go()) == (False, said("a", "b and c"))


def test_the_sdks_session_that_compacts_takes_ours_below_it(segue: Segue) -> None:
    async def go() -> Any:
        session = OpenAIResponsesCompactionSession("one", underlying_session=SegueSession("one", segue))
        await session.add_items(said("a"))
        return await session.get_items()

    assert asyncio.run(go()) == said("a")
