"""Agents on the Claude Agent SDK start with the brief, are saved and are gated, without files in settings."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, InMemorySessionStore, ResultMessage, query
from tests.integrations.claude_agent.program import environment
from tests.support.scripted import Run, Say, Script, ScriptedModel, Write

from segue import Segue
from segue.integrations.claude_agent import SegueSessionStore, segue_options
from segue.integrations.claude_agent.options import EVENTS


class Place:
    """A working folder, a home, and a Segue that knows where Claude Code writes."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        known = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.home / ".claude")}
        self.segue = Segue(home=folder / "segue", folder=self.work, environment=known)

    def ask(self, model: ScriptedModel, prompt: str, **more: Any) -> str:
        """The last word of an agent with Segue's options."""
        own = ClaudeAgentOptions(
            cwd=self.work, env=environment(self.home, model.url), permission_mode="bypassPermissions",
            setting_sources=[], **more,
        )  # fmt: skip

        async def go() -> str:
            results = [
                message.result or ""
                async for message in query(prompt=prompt, options=segue_options(own, segue=self.segue))
                if isinstance(message, ResultMessage)
            ]
            return results[-1]

        return asyncio.run(go())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.segue.close()


FIRST = Script(
    "first", [[Run("echo one > one.txt")], [Write("two.txt", "two\n")], [Say("Both are written.")]]
)


@pytest.mark.timeout(180)
def test_the_next_agent_is_told_what_the_last_one_did_and_no_settings_are_written(place: Place) -> None:
    with ScriptedModel([FIRST, Script("next", [[Say("I know.")]])], folder=place.work) as model:
        place.ask(model, "SCRIPT:first Write one.txt and two.txt.")
        assert not model.sent("[segue]")
        place.ask(model, "SCRIPT:next What is left?")
        told = [sent.text for sent in model.sent("[segue]")]
    assert told and "Write one.txt and two.txt." in told[0] and "Both are written." in told[0]
    assert {run.agent for run in place.segue.runs()} == {"claude-code"}
    assert not list(place.home.rglob("settings*.json")) and not (place.work / ".claude").exists()


@pytest.mark.timeout(180)
def test_an_agent_that_claims_more_than_is_proven_is_kept_from_stopping(place: Place) -> None:
    session = place.segue.start("write two.txt")
    session.features.add("two", "two.txt is there", checks=["test -f two.txt"])
    claims = Script(
        "claims", [[Say("All done, everything works.")], [Write("two.txt", "two\n")], [Say("Written.")]]
    )
    with ScriptedModel([claims], folder=place.work) as model:
        assert place.ask(model, "SCRIPT:claims Write two.txt.") == "Written."
    assert (place.work / "two.txt").exists()


@pytest.mark.timeout(180)
def test_a_session_is_resumed_from_the_store_where_its_files_are_gone(place: Place) -> None:
    again = Script("again", [[Say("I remember.")]])
    with ScriptedModel([FIRST, again], folder=place.work) as model:
        place.ask(model, "SCRIPT:first Write one.txt and two.txt.")
        [listed] = asyncio.run(SegueSessionStore(place.segue).list_sessions(_project(place.work)))
        shutil.rmtree(place.home / ".claude")
        place.ask(model, "SCRIPT:again And now?", resume=listed["session_id"])
        asked = model.requests[-1]
    assert "Both are written." in asked.text()


def _project(folder: Path) -> str:
    from claude_agent_sdk import project_key_for_directory

    return str(project_key_for_directory(folder))


def test_hooks_and_store_of_the_program_stay(place: Place) -> None:
    async def own(input: Any, tool_use_id: Any, context: Any) -> Any:
        return {}

    store = InMemorySessionStore()
    matcher = HookMatcher(matcher="Bash", hooks=[own])
    before = ClaudeAgentOptions(
        hooks={"PreToolUse": [matcher], "Stop": [matcher]}, session_store=store, model="x"
    )
    made = segue_options(before, segue=place.segue)
    assert made.model == "x" and made.session_store is store
    assert (
        made.hooks is not None and made.hooks["PreToolUse"] == [matcher] and made.hooks["Stop"][0] is matcher
    )
    assert set(made.hooks) == {"PreToolUse", *EVENTS}
    assert before.hooks is not None and before.hooks["Stop"] == [matcher]


def test_a_hook_answers_nothing_whatever_it_is_given(place: Place) -> None:
    made = segue_options(segue=place.segue)
    assert made.hooks is not None
    [answer] = made.hooks["Stop"][0].hooks
    odd: list[Any] = [
        {},
        {"hook_event_name": "Stop"},
        {"hook_event_name": "Odd", "session_id": "x", "cwd": "/gone"},
    ]
    for payload in odd:
        assert asyncio.run(answer(payload, None, {"signal": None})) == {}
