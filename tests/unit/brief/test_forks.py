"""A conversation that was forked, or that an agent began, is told with its task."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.agents.codex_records import LATER, event, function, item, line, meta, output, user

from segue.services.brief.brief import brief_of_transcript

SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": "p-1"}}}
COPIED = [
    line("session_meta", {"id": "p-1", "cwd": "/src/shop"}),
    user("Fix the parser so that amounts are kept in cents"),
    function("exec_command", {"cmd": "make old"}, "c0"),
    output("Process exited with code 0\\nOutput:\\nold", "c0"),
]
OWN = [event("task_started", turn_id=LATER)]
WORK = [function("exec_command", {"cmd": "ls src"}), output("Exit code: 0\\nOutput:\\nparser.py")]
TASK = "Count the callers of the exporter"


def sent(text: str) -> bytes:
    return item("agent_message", author="/lead", recipient="/lead/count", content=[{"text": text}])


@pytest.mark.parametrize(
    ("records", "lines"),
    [
        (
            [meta(forked_from_id="p-1"), *COPIED, *OWN, user(TASK), *WORK],
            [f'USER (1 call before the end): "{TASK}"',
             '- asked before the fork: "Fix the parser so that amounts are kept in cents"'],
        ),
        (
            [meta(forked_from_id="p-1"), *COPIED, *OWN, *WORK],
            ['USER (1 call before the end): "Fix the parser so that amounts are kept in cents"',
             "- the last message was written before this conversation was forked"],
        ),
        (
            [meta(source=SPAWNED, thread_source="subagent"), *OWN, sent(TASK), *WORK],
            [f'TASK (given to this sub-agent, 1 call before the end): "{TASK}"'],
        ),
        (
            [meta(forked_from_id="p-1", source=SPAWNED, thread_source="subagent"), *COPIED, *OWN, sent(TASK),
             *WORK],
            [f'TASK (given to this sub-agent, 1 call before the end): "{TASK}"',
             '- asked before the fork: "Fix the parser so that amounts are kept in cents"'],
        ),
        (
            [meta(forked_from_id="p-1", source=SPAWNED, thread_source="subagent"), user(TASK), *OWN, *WORK],
            [f'TASK (given to this sub-agent, 1 call before the end): "{TASK}"'],
        ),
    ],
    ids=["fork", "fork without a message", "sub-agent", "forked sub-agent", "sub-agent with nothing copied"],
)  # fmt: skip
def test_a_forked_conversation_has_its_task_and_not_the_work_of_another(
    records: list[bytes], lines: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "rollout-2023-11-14T22-13-20-018bcfe5-6800-7000-8000-000000000001.jsonl"
    path.write_bytes(b"\n".join(records) + b"\n")
    brief = brief_of_transcript(path, "codex").split("\n")
    assert [line for line in lines if line not in brief] == [], "\n".join(brief)
    assert not any("make old" in line for line in brief)
    assert sum(TASK in line for line in brief) <= 1
