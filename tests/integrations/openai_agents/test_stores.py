"""Sessions of the OpenAI Agents SDK are alike in a file, in Postgres and on a Segue server."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, Runner, SQLiteSession, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.integrations.places import Place

from segue.integrations.openai_agents import SegueSession


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


async def steps(session: Any) -> list[Any]:
    """What a session answers to a number of calls."""
    seen = [await session.pop_item()]
    await session.add_items(said("a", "b", "c"))
    seen += [await session.pop_item(), await session.get_items(limit=1)]
    await session.add_items([{"type": "odd", "number": 2**70, "text": "half \ud83d and \x00"}])
    seen += [await session.get_items(), await session.pop_item()]
    await session.clear_session()
    seen += [await session.get_items(), await session.pop_item()]
    await session.add_items(said("d"))
    return [*seen, await session.get_items()]


def test_a_session_answers_as_the_sdks_own_does(place: Place) -> None:
    theirs = SQLiteSession("one", place.folder / "theirs.db")
    expected = asyncio.run(steps(theirs))
    theirs.close()
    assert asyncio.run(steps(SegueSession("one", place.segue()))) == expected


def test_what_one_process_adds_another_reads_and_both_may_add_at_once(place: Place) -> None:
    async def go() -> tuple[Any, Any]:
        one, two = SegueSession("user/1", place.segue()), SegueSession("user/1", place.segue())
        await one.add_items(said("first"))
        assert await two.get_items() == said("first")
        await asyncio.gather(*((one, two)[n % 2].add_items(said(str(n))) for n in range(20)))
        return await one.get_items(), await two.get_items()

    ours, others = asyncio.run(go())
    assert ours == others and ours[0] == said("first")[0]
    assert sorted(int(item["content"]) for item in ours[1:]) == list(range(20))


def test_a_run_goes_on_in_another_process_which_is_told_what_was_done(place: Place) -> None:
    calls: list[str] = []

    @function_tool
    def look_up(city: str) -> str:
        """Look up the weather."""
        calls.append(city)
        return f"rain in {city}"

    first = [[function_call("look_up", {"city": "Bonn"}, call_id="c1")], [assistant_message("It will rain.")]]
    model = ScriptedModel([[assistant_message("Take an umbrella.")]])

    async def go() -> tuple[Any, str, str]:
        agent = Agent(name="Helper", tools=[look_up], model=ScriptedModel(first))
        await Runner.run(agent, "Will it rain in Bonn?", session=SegueSession("weather", place.segue()))
        other = SegueSession("weather", place.segue())
        brief = await other.brief()
        again = Agent(name="Helper", tools=[look_up], model=model)
        result = await Runner.run(again, "What shall I take?", session=other)
        return await other.get_items(), brief, result.final_output

    items, brief, last = asyncio.run(go())
    assert calls == ["Bonn"] and last == "Take an umbrella."
    assert [item["content"] for item in items if item.get("role") == "user"] == [
        "Will it rain in Bonn?",
        "What shall I take?",
    ]
    assert "Will it rain in Bonn?" in brief and "It will rain." in brief
