"""A program on Pydantic AI that pays with a tool, in a conversation that is kept as it goes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from openai import AsyncOpenAI
from pydantic_ai import Agent, RunContext
from pydantic_ai.conversation import Conversation
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.integrations.chain_of_kills import PROMPT, note

from segue import Segue
from segue.integrations.pydantic_ai import SegueConversations, idempotency_key


def main(folder: Path, url: str, name: str) -> None:
    store = SegueConversations(Segue(home=folder / "segue", folder=folder))
    log = store.log(name)
    add = log.add

    def acknowledged(items: list[dict[str, str]]) -> None:
        add(items)
        for item in items:
            if "call" in item:
                note(folder / "acknowledged", f"{name} {item['call']}")

    log.add = acknowledged  # type: ignore[method-assign, assignment]
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    agent = Agent(OpenAIChatModel("gpt-5.5", provider=OpenAIProvider(openai_client=client)))

    @agent.tool
    def pay(context: RunContext[None], n: int) -> str:
        """Pay a number."""
        note(folder / "payments", f"{name} {n}")
        note(folder / "keys", f"{name} {n} {idempotency_key(context)}")
        return f"paid {n}"

    async def go() -> None:
        begun = await store.load(name)
        if begun is not None and not store.is_cut_off(begun):
            return  # it was killed behind the last word
        result = await agent.run(
            None if begun is not None else PROMPT,
            conversation=begun or Conversation(conversation_id=name),
            capabilities=[store.keeper()],
        )
        await store.save(result)
        assert result.output == "All is paid."

    asyncio.run(go())
