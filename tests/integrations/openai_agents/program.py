"""A program on the OpenAI Agents SDK that pays with a tool, in a session that is kept."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from tests.integrations.chain_of_kills import PROMPT, note

from segue import Segue
from segue.integrations.openai_agents import SegueSession


def mark(item: Any) -> str:
    """What an item is recognised by."""
    return sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()[:20]


class AcknowledgedSession(SegueSession):
    """Notes each item after it was kept."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(name, Segue(home=folder / "segue", folder=folder))
        self._folder = folder

    async def add_items(self, items: list[Any]) -> None:
        await super().add_items(items)
        for item in items:
            note(self._folder / "acknowledged", f"{self.session_id} {mark(item)}")


def main(folder: Path, url: str, name: str) -> None:
    set_tracing_disabled(True)

    @function_tool
    def pay(n: int) -> str:
        """Pay a number."""
        note(folder / "payments", f"{name} {n}")
        return f"paid {n}"

    async def go() -> None:
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        model = OpenAIResponsesModel("gpt-5.5", client)
        agent = Agent(name="Payer", tools=[pay], model=model, model_settings=ModelSettings(store=False))
        session = AcknowledgedSession(folder, name)
        begun = await session.get_items()
        result = await Runner.run(agent, "Go on." if begun else PROMPT, session=session, max_turns=20)
        assert result.final_output == "All is paid."

    asyncio.run(go())
