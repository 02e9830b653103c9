"""The store for sessions of the Claude Agent SDK, by the SDK's own suite and beyond it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from claude_agent_sdk.testing import run_session_store_conformance
from tests.integrations.guides import release
from tests.integrations.places import Place

from segue import Segue
from segue.integrations.claude_agent import TESTED, SegueSessionStore

KEY: Any = {"project_key": "-home-me-work", "session_id": "0c3e"}


def entry(number: int) -> Any:
    return {"type": "user", "uuid": f"id-{number}", "n": number}


def test_the_installed_version_is_not_older_than_the_one_that_is_named_as_tested() -> None:
    assert release("claude-agent-sdk") >= tuple(map(int, TESTED.split(".")))


def test_it_keeps_every_contract_of_the_sdks_own_suite(place: Place) -> None:
    made: list[SegueSessionStore] = []

    def fresh() -> SegueSessionStore:
        made.append(SegueSessionStore(place.empty_segue()))
        return made[-1]

    asyncio.run(run_session_store_conformance(fresh))
    assert len(made) >= 14


def test_entries_that_are_sent_again_are_kept_once_in_any_process(place: Place) -> None:
    async def go(one: SegueSessionStore, two: SegueSessionStore) -> Any:
        await one.append(KEY, [entry(1), entry(2), {"type": "mode"}])
        await two.append(KEY, [entry(2), entry(3), {"type": "mode"}])
        await one.append(KEY, [entry(3), entry(3), entry(4)])
        return await two.load(KEY)

    found = asyncio.run(go(SegueSessionStore(place.segue()), SegueSessionStore(place.segue())))
    assert [one.get("n") for one in found] == [1, 2, None, 3, None, 4]


def test_appends_at_once_are_all_kept(tmp_path: Path) -> None:
    tasks = 8

    async def go(store: SegueSessionStore) -> Any:
        await asyncio.gather(*(store.append(KEY, [entry(number)]) for number in range(tasks)))
        return await store.load(KEY), await store.list_session_summaries(KEY["project_key"])

    with Segue(home=tmp_path / "segue", folder=tmp_path) as segue:
        entries, summaries = asyncio.run(go(SegueSessionStore(segue)))
    assert sorted(one["n"] for one in entries) == list(range(tasks)) and len(summaries) == 1
