"""A program on Pydantic AI that is killed goes on where it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integrations.chain_of_kills import Chain, noted, script
from tests.integrations.forked_program import ForkedProgram
from tests.support.scripted import ScriptedModel

from segue import Segue
from segue.services.runs.conversations.log import ConversationLog


def results_of(folder: Path, name: str) -> dict[str, str]:
    """What the tool returned, by the call."""
    with Segue(home=folder / "segue", folder=folder) as segue:
        items = ConversationLog(segue.workspace, "pydantic-ai", name, writes=False).items()
    return {item["call"]: item["result"]["value"] for item in items if "call" in item}


@pytest.mark.timeout(1200)
def test_kills_lose_nothing_and_no_payment_is_made_again_whose_result_was_kept(
    tmp_path: Path, kill_count: int
) -> None:
    def kept(name: str) -> set[int]:
        return {int(result.removeprefix("paid ")) for result in results_of(tmp_path, name).values()}

    def lost(name: str) -> list[str]:
        there = results_of(tmp_path, name)
        lines = (line.split() for line in noted(tmp_path / "acknowledged"))
        return [call for conversation, call in lines if conversation == name and call not in there]

    with ScriptedModel([script()], folder=tmp_path) as model:
        program = ForkedProgram("tests.integrations.pydantic_ai.program", tmp_path, model.url, {})
        try:
            chain = Chain(program, tmp_path, seed=21)
            chain.go(max(3, kill_count // 4), kept, lost)
        finally:
            program.close()
    print(f"{chain.kills} kills in {chain.conversations} conversations")
    assert (chain.failed, chain.lost, chain.paid_again, chain.invented) == ([], [], [], [])
    assert chain.kills >= max(3, kill_count // 4)
    assert chain.unpaid == []
    keys: dict[str, set[str]] = {}
    for line in noted(tmp_path / "keys"):
        payment, _, key = line.rpartition(" ")
        keys.setdefault(payment, set()).add(key)
    assert all(len(found) == 1 for found in keys.values()), "a payment made again has the key of the first"
    assert len(set.union(*keys.values())) == len(keys), "two payments have the same key"
