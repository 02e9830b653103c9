"""The course of Codex's turns, and its forks: of what is copied, only the requests are told."""

from __future__ import annotations

import json

import pytest
from tests.unit.agents.codex_records import (
    AT,
    EARLIER,
    LATER,
    NATIVE,
    assistant,
    done,
    event,
    function,
    item,
    line,
    meta,
    output,
    steps,
    texts,
    user,
)

from segue.core.runs.steps import (
    Compact,
    End,
    Fault,
    Interrupt,
    Model,
    Prompt,
    Report,
    Rewind,
    Say,
    Settled,
    Start,
    Title,
    Usage,
)

# Turns, windows, sub-agents


def test_a_session_says_where_it_is_and_a_turn_what_changed():
    git = {"commit_hash": "abc", "branch": "tax"}
    found = steps(
        meta(git=git),
        line("turn_context", {"cwd": "/src/shop", "model": "gpt-5.5"}),
        line("turn_context", {"cwd": "/src/shop/api", "model": "gpt-5.5"}),
        line("turn_context", {"cwd": "/src/shop/api", "model": "gpt-6-sol"}),
    )
    assert found == [
        Start(AT, "start", NATIVE, "/src/shop", "tax", "abc", "0.166.0"),
        Model(AT, "gpt-5.5"),
        Start(AT, cwd="/src/shop/api"),
        Model(AT, "gpt-6-sol"),
    ]


def test_tokens_are_told_once_for_a_response_however_often_they_were_counted():
    last, total = {"output_tokens": 5, "total_tokens": 105}, {"total_tokens": 1105}
    info = {"last_token_usage": last, "total_token_usage": total, "model_context_window": 258_400}
    found = steps(
        event("task_started", model_context_window=258_400),
        line("token_usage_record", {"usage": last, "thread_token_usage": total}),
        event("token_count", info=info),
        event("token_count", info=None),
        event("token_count", info=info),
    )
    assert found == [Usage(AT, "1105/105", 105, 5, 258_400)]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ([event("task_complete", last_agent_message="All done.")], [End(AT, "turn", "All done.")]),
        ([event("task_complete", last_agent_message=None)], [End(AT, "turn", "")]),
        (
            [
                event(
                    "task_complete",
                    error={"message": "no", "codex_error_info": {"x": {"http_status_code": 401}}},
                )
            ],
            [Fault(AT, "no", 401), End(AT, "error", "no")],
        ),
        ([event("stream_error", message="Reconnecting 1/5")], [Fault(AT, "Reconnecting 1/5", retrying=True)]),
        ([event("turn_aborted", reason="interrupted")], [Interrupt(AT, "interrupted")]),
        ([event("thread_rolled_back", num_turns=2)], [Rewind(AT, 2)]),
        ([user("<turn_aborted>\nx\n</turn_aborted>"), event("turn_aborted")], [Interrupt(AT, "interrupted")]),
        ([line("compacted", {"message": ""}), event("context_compacted")], [Compact(AT)]),
        (
            [line("compacted", {"message": "What was done"}), done("ContextCompaction")],
            [Compact(AT, "What was done")],
        ),
        ([event("context_compacted")], [Compact(AT)]),
        ([event("thread_name_updated", thread_name="Taxes")], [Title(AT, "Taxes")]),
        (
            [event("exited_review_mode", review_output={"overall_explanation": "fine"})],
            [Report(AT, "fine", "review")],
        ),
        (
            [
                item("reasoning", encrypted_content="AAAA", summary=[]),
                line("world_state", {}),
                event("unheard"),
            ],
            [],
        ),
    ],
)
def test_the_course_of_a_turn(told, found):
    assert steps(*told) == found


def test_a_summary_that_the_agent_was_asked_for_is_not_what_it_said() -> None:
    said = [done("AgentMessage", content=[{"type": "Text", "text": "On it."}]), assistant("On it.")]
    compacted = [assistant("What was done"), line("compacted", {"message": "What was done"})]
    later = [assistant("Next."), done("AgentMessage", content=[{"type": "Text", "text": "Next."}])]
    assert steps(*said, *compacted, *later) == [
        Say(AT, "On it."),
        Compact(AT, "What was done"),
        Say(AT, "Next."),
    ]


def test_a_sub_agents_report_is_told_once_with_its_name_and_its_call():
    status = {"completed": "Two files."}
    notice = json.dumps({"agent_path": "a-1", "status": status})
    found = steps(
        function("spawn_agent", {"message": "count"}),
        output('{"agent_id":"a-1","nickname":"Kepler"}'),
        user(f"<subagent_notification>\n{notice}\n</subagent_notification>"),
        function("wait_agent", {"ids": ["a-1"]}, "c2"),
        output(json.dumps({"status": {"a-1": status}, "timed_out": False}), "c2"),
    )
    assert [step for step in found if isinstance(step, Report)] == [Report(AT, "Two files.", "Kepler", "c1")]


def test_a_message_from_an_agent_below_is_a_report_and_one_from_above_is_not():
    below = item("agent_message", author="/lead/x", recipient="/lead", content=[{"text": "Done"}])
    above = item("agent_message", author="/lead", recipient="/lead/x", content=[{"text": "Do it"}])
    assert steps(below, above) == [Report(AT, "Done", "/lead/x")]
    notice = json.dumps({"agent_path": "/lead/x", "status": {"completed": "Done"}})
    ended = user(f"<subagent_notification>\n{notice}\n</subagent_notification>")
    assert steps(below, ended)[1:] == [Settled(AT, "/lead/x", True, "Done")]


SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": "p-1"}}}


def test_in_a_sub_agents_rollout_the_task_is_its_title_and_what_it_was_asked():
    found = steps(meta(source=SPAWNED, thread_source="subagent"), user("count the files"), user("faster"))
    assert isinstance(found[0], Start) and found[0].parent == "p-1"
    assert found[1:] == [Title(AT, "count the files"), Prompt(AT, "count the files"), Prompt(AT, "faster")]


def test_a_message_from_the_agent_above_is_a_sub_agents_task_once():
    text = "Message Type: NEW_TASK\nTask name: /lead/x\nSender: /lead\nPayload:\ncount the files"
    sent = {"author": "/lead", "recipient": "/lead/x", "content": [{"text": text}]}
    found = steps(
        meta(source=SPAWNED, thread_source="subagent"),
        line("inter_agent_communication", sent),
        item("agent_message", **sent),
        user("count the files"),
    )
    assert found[1:] == [Title(AT, "count the files"), Prompt(AT, "count the files")]


def test_a_conversation_that_another_began_may_be_gone_on_with_by_the_user():
    begun = "<codex_delegation>\n  <input>count the files</input>\n</codex_delegation>"
    head = meta(source="vscode", thread_source="subagent")
    found = steps(head, user(begun), event("user_message", message=begun), user("and the folders"))
    task = "count the files"
    assert found[1:] == [Title(AT, task), Prompt(AT, task), Prompt(AT, "and the folders")]


# Forks


def test_history_that_a_fork_copied_is_not_its_work_but_what_was_asked_stands():
    found = steps(
        meta(forked_from_id="old"),
        line("session_meta", {"id": "old", "cwd": "/src/shop"}),
        event("task_started", turn_id=EARLIER),
        user("the old request"),
        user("a slip"),
        item("message", role="assistant", content=[{"text": "old words"}]),
        function("exec_command", {"cmd": "make"}, "c0"),
        event("thread_rolled_back", num_turns=1),
        event("task_started", turn_id=LATER),
        user("the new request"),
    )
    assert isinstance(found[0], Start)
    assert (found[0].how, found[0].parent) == ("fork", "old")
    assert found[1:] == [
        Prompt(AT, "the old request", "inherited"), Prompt(AT, "a slip", "inherited"), Rewind(AT, 1),
        Prompt(AT, "the new request"),
    ]  # fmt: skip


def test_what_was_asked_before_a_fork_is_known_from_its_events_too_and_once():
    found = steps(
        meta(forked_from_id="old"),
        event("user_message", message="the old request"),
        user("the old request"),
        event("task_started", turn_id=LATER),
        event("user_message", message="the new request"),
    )
    assert found[1:] == [Prompt(AT, "the old request", "inherited"), Prompt(AT, "the new request")]


def test_a_sub_agent_that_was_forked_inherits_what_the_user_asked_and_has_its_own_task():
    found = steps(
        meta(forked_from_id="p-1", source=SPAWNED, thread_source="subagent"),
        line("session_meta", {"id": "p-1", "cwd": "/src/shop"}),
        user("keep the amounts in cents"),
        event("task_started", turn_id=LATER),
        item("agent_message", author="/lead", recipient="/lead/x", content=[{"text": "count the files"}]),
    )
    assert found[1:] == [
        Prompt(AT, "keep the amounts in cents", "inherited"), Title(AT, "count the files"),
        Prompt(AT, "count the files"),
    ]  # fmt: skip


def test_an_old_fork_is_known_by_the_copied_head_and_ends_when_time_goes_on():
    later = line("event_msg", {"type": "agent_message", "message": "new"}, "2023-11-14T22:14:20.000Z")
    copied = event("agent_message", message="old")
    found = steps(meta(), line("session_meta", {"id": "old", "cwd": "/src"}), copied, later)
    assert texts(found, Say) == ["new"]


def test_a_fork_that_points_at_its_past_has_copied_nothing():
    assert texts(steps(meta(forked_from_id="old", history_base={"id": "old"}), user("new")), Prompt) == [
        "new"
    ]


def test_a_sub_agent_that_inherited_history_begins_at_its_own_ordinal():
    head = line("session_meta", {"id": NATIVE, "cwd": "/s", "subagent_history_start_ordinal": 3}, ordinal=0)
    copied = line("event_msg", {"type": "agent_message", "message": "old"}, ordinal=2)
    own = line("event_msg", {"type": "agent_message", "message": "new"}, ordinal=3)
    assert texts(steps(head, copied, own), Say) == ["new"]


def test_the_same_session_again_is_a_resume():
    again = line("session_meta", {"id": NATIVE, "cwd": "/src/shop"}, "2023-11-15T22:13:20.000Z")
    found = steps(meta(), again)
    assert [step.how for step in found if isinstance(step, Start)] == ["start", "resume"]
