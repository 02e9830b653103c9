"""A program on the OpenAI Agents SDK that is killed goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integrations.chain_of_kills import Chain, noted, script
from tests.integrations.forked_program import ForkedProgram
from tests.integrations.openai_agents.program import mark
from tests.support.scripted import ScriptedModel

from segue import Segue
from segue.services.runs.conversations.log import ConversationLog


def items_of(folder: Path, name: str) -> list[dict[str, str]]:
    with Segue(home=folder / "segue", folder=folder) as segue:
        return ConversationLog(segue.workspace, "openai-agents", name, writes=False).items()


@pytest.mark.timeout(1200)
def test_kills_lose_nothing_and_no_payment_is_made_again_whose_result_was_kept(
    tmp_path: Path, kill_count: int
) -> None:
    def kept(name: str) -> set[int]:
        items = items_of(tmp_path, name)
        answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
        calls = [
            item for item in items if item.get("type") == "function_call" and item["call_id"] in answered
        ]
        return {json.loads(call["arguments"])["n"] for call in calls}

    def lost(name: str) -> list[str]:
        there = {mark(item) for item in items_of(tmp_path, name)}
        lines = (line.split() for line in noted(tmp_path / "acknowledged"))
        return [line for conversation, line in lines if conversation == name and line not in there]

    with ScriptedModel([script()], folder=tmp_path) as model:
        program = ForkedProgram("tests.integrations.openai_agents.program", tmp_path, model.url, {})
        try:
            chain = Chain(program, tmp_path, seed=20)
            chain.go(max(3, kill_count // 4), kept, lost)
        finally:
            program.close()
    print(f"{chain.kills} kills in {chain.conversations} conversations")
    assert (chain.failed, chain.lost, chain.paid_again, chain.invented) == ([], [], [], [])
    assert chain.kills >= max(3, kill_count // 4)
    assert chain.unpaid == []
    with Segue(home=tmp_path / "segue", folder=tmp_path) as segue:
        told = {run.id for run in segue.runs()}
    assert told == {"left-alone", *(f"conversation-{number}" for number in range(chain.conversations))}
