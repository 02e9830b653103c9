"""A program on the Claude Agent SDK that is killed goes on where it was, as on another machine."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import project_key_for_directory
from tests.integrations.chain_of_kills import PAYMENTS, Chain, noted
from tests.integrations.claude_agent.program import session_id
from tests.integrations.forked_program import ForkedProgram
from tests.support.scripted import Run, Say, Script, ScriptedModel

from segue import Segue
from segue.integrations.claude_agent import SegueSessionStore


def entries_of(folder: Path, name: str) -> list[Any]:
    """What the store has of a session."""
    with Segue(home=folder / "segue", folder=folder / "work") as segue:
        project = project_key_for_directory(folder / "work")
        key = {"project_key": project, "session_id": session_id(name)}
        return asyncio.run(SegueSessionStore(segue).load(key)) or []


def blocks_of(entries: list[Any], kind: str) -> list[dict[str, Any]]:
    contents = [entry["message"]["content"] for entry in entries if "message" in entry]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block for block in blocks if block.get("type") == kind]


@pytest.mark.timeout(1800)
def test_kills_lose_nothing_and_no_payment_is_made_again_whose_result_was_kept(
    tmp_path: Path, kill_count: int
) -> None:
    (tmp_path / "work").mkdir()

    def kept(name: str) -> set[int]:
        entries = entries_of(tmp_path, name)
        answered = {block["tool_use_id"] for block in blocks_of(entries, "tool_result")}
        calls = [block for block in blocks_of(entries, "tool_use") if block["id"] in answered]
        found = (re.search(r"PAYER (\d+)", call["input"]["command"]) for call in calls)
        return {int(number[1]) for number in found if number}

    def lost(name: str) -> list[str]:
        there = {entry.get("uuid") for entry in entries_of(tmp_path, name)}
        lines = (line.split() for line in noted(tmp_path / "acknowledged"))
        return [id for conversation, id in lines if conversation == name and id not in there]

    payments = [[Run(f'echo "$PAYER {number}" >> {tmp_path}/payments')] for number in range(PAYMENTS)]
    script = Script("pay", [*payments, [Say("All is paid.")]])
    with ScriptedModel([script], folder=tmp_path / "work") as model:
        program = ForkedProgram("tests.integrations.claude_agent.program", tmp_path, model.url, {})
        try:
            chain = Chain(program, tmp_path, seed=22, pays_all=False)
            chain.go(max(3, kill_count // 4), kept, lost)
        finally:
            program.close()
    print(f"{chain.kills} kills in {chain.conversations} conversations")
    assert (chain.failed, chain.lost, chain.paid_again, chain.invented) == ([], [], [], [])
    assert chain.kills >= max(3, kill_count // 4)
