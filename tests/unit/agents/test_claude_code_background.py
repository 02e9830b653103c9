"""What Claude Code runs in the background: known by its id from its start to its end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.agents.claude_code import AGENT
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, Recap, Report, Result, Settled, Start, Step

AT = 1_700_000_000.0
STAMP = "2023-11-14T22:13:20.000Z"


def line(type: str, **fields: Any) -> bytes:
    return json.dumps({"type": type, "timestamp": STAMP, "sessionId": "s1", **fields}).encode()


def user(content: Any, **fields: Any) -> bytes:
    return line("user", message={"role": "user", "content": content}, **fields)


def call(name: str, id: str = "t1", **given: Any) -> bytes:
    block = {"type": "tool_use", "id": id, "name": name, "input": given}
    return line("assistant", message={"role": "assistant", "content": [block]})


def result(text: str, *, id: str = "t1", error: bool = False, raw: Any = None) -> bytes:
    block = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": error}
    return user([block], **({} if raw is None else {"toolUseResult": raw}))


def told(*records: bytes) -> list[Step]:
    reader = AGENT.reader()
    steps: list[Step] = []
    for record in records:  # with a reader of its own for each record, as after a crash
        steps += [step for step in reader.read(record) if not isinstance(step, Start)]
        reader = AGENT.reader(json.loads(json.dumps(reader.keep())))
    return steps


def notice(summary: str, *, status: str = "completed", found: str = "", id: str = "b1") -> str:
    tags = {"task-id": id, "tool-use-id": "t1", "status": status, "summary": summary, "result": found}
    inner = "\n".join(f"<{tag}>{text}</{tag}>" for tag, text in tags.items() if text)
    return f"<task-notification>\n{inner}\n</task-notification>"


# How it starts

RUNNING = "Command running in background with ID: b1. Output is being written to: /tmp/tasks/b1.output"


@pytest.mark.parametrize(
    ("text", "raw", "output"),
    [
        (RUNNING, {"backgroundTaskId": "b1", "stdout": ""}, ""),
        (RUNNING, None, ""),
        ("Command running in background with ID: b1", "Error: odd", ""),
        (f"building …\n{RUNNING}", {"backgroundTaskId": "b1"}, "building …"),
        (f"{'x' * 2_000}\n{RUNNING}", {"backgroundTaskId": "b1"}, "x" * 2_000),
        (
            "Command was manually backgrounded by user with ID: b1. Output is …",
            {"backgroundTaskId": "b1"},
            "",
        ),
        (
            "Command did not complete within its 120s timeout and was moved to the background (ID: b1).",
            {"backgroundTaskId": "b1"},
            "",
        ),
        (
            "Command exceeded the budget (15s) and was moved to the background with ID: b1. It runs.",
            {"backgroundTaskId": "b1"},
            "",
        ),
        ("Async agent launched successfully.\nagentId: b1 (internal ID - do not mention)", None, ""),
        ("Async agent launched successfully. (internal)\nagentId: b1 (x)", {"agentId": "b1"}, ""),
        ("Spawned successfully.\nagent_id: b1\nname: tester", {"agent_id": "b1"}, ""),
        ("Monitor started (task b1, timeout 60000ms). You will be notified.", {"taskId": "b1"}, ""),
        ("Workflow launched in background. Task ID: b1\nSummary: x", {"taskId": "b1"}, ""),
    ],
)
def test_what_goes_on_without_its_call_is_known_by_its_id_and_the_call_is_answered(text, raw, output):
    assert told(result(text, raw=raw)) == [Result(AT, "t1", True, None, output, process="b1")]


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        (RUNNING, {"file": {"content": RUNNING}}),
        (f"a log:\n{RUNNING}", {"stdout": "a log", "stderr": ""}),
        (f"a log:\n{RUNNING}", None),
        ("Async agent launched successfully.\nagentId: b1", {"type": "text"}),
        ("The job works in the background.", {"backgroundTaskId": "b1"}),
    ],
)
def test_a_text_that_only_quotes_a_start_starts_nothing(text, raw):
    assert told(result(text, raw=raw)) == [Result(AT, "t1", True, None, text)]


def test_members_of_a_team_that_have_shut_down_have_ended():
    def message(sender: str, **notice: str) -> str:
        return f'<teammate-message teammate_id="{sender}">\n{json.dumps(notice)}\n</teammate-message>'

    gone = message("system", type="teammate_terminated", message="tester has shut down.")
    agreed = message("tester", type="shutdown_approved", **{"from": "tester"})
    idle = message("writer", type="idle_notification", **{"from": "writer"})
    said = user("\n\n".join([gone, agreed, idle]), teamName="shop")
    assert told(said) == [Settled(AT, "tester@shop", None, "tester has shut down.")]


# Who asks it


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("BashOutput", {"bash_id": "b1"}),
        ("TaskOutput", {"task_id": "b1", "block": False}),
        ("AgentOutputTool", {"agentId": "b1"}),
        ("KillShell", {"shell_id": "b1"}),
        ("TaskStop", {"task_id": "b1"}),
        ("TaskStop", {"taskId": "b1"}),
        ("SendMessage", {"to": "b1", "message": "go on"}),
        ("Read", {"file_path": "/tmp/x/tasks/b1.output"}),
        ("Bash", {"command": "tail -5 C:\\tmp\\tasks\\b1.output"}),
    ],
)
def test_a_call_about_it_names_it(name, given):
    [step] = told(call(name, **given))
    assert isinstance(step, Call) and step.process == "b1"


def test_other_calls_name_none():
    asked = [
        call("Bash", command="tail b1.output"),
        call("Read", file_path="/a.py"),
        call("TaskOutput", task_id=7),
    ]
    assert [step.process for step in told(*asked) if isinstance(step, Call)] == ["", "", ""]


# How it ends


@pytest.mark.parametrize(
    ("text", "ok", "output"),
    [
        ("<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<stdout>\nfine\n</stdout>", True, "fine"),
        ("<status>completed</status>\n\n<exit_code>2</exit_code>\n\n<stderr>\nno\n</stderr>", False, "no"),
        ("<status>failed</status>\n\n<exit_code>1</exit_code>", False, ""),
        ("<status>killed</status>\n\n<stdout>\nhalf\n</stdout>\n\n<timestamp>x</timestamp>", None, "half"),
        (
            "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n<task_type>local_bash"
            "</task_type>\n\n<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<output>\nfine\n</output>",
            True,
            "fine",
        ),
    ],
)
def test_a_poll_says_that_it_has_ended_and_how(text, ok, output):
    found = told(call("TaskOutput", task_id="b1"), result(text))[1:]
    assert found == [Result(AT, "t1", True, None, output), Settled(AT, "b1", ok, output)]


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("<status>running</status>\n\n<stdout>\nDocker is not running\n</stdout>", "Docker is not running"),
        ("<retrieval_status>timeout</retrieval_status>\n\n<status>running</status>", ""),
        ("no status at all", "no status at all"),
    ],
)
def test_a_poll_of_what_still_runs_ends_nothing(text, output):
    assert told(call("BashOutput", bash_id="b1"), result(text))[1:] == [Result(AT, "t1", True, None, output)]


@pytest.mark.parametrize(
    ("said", "wrapped", "error"),
    [
        ("Successfully killed shell: b1 (make)", '{{"message":"{}","shell_id":"b1"}}', False),
        ("Successfully stopped task: b1", '{{"message":"{}","task_id":"b1"}}', False),
        ("Shell b1 is not running, so cannot be killed (status: killed)", "{}", True),
        ("<tool_use_error>No task found with ID: b1</tool_use_error>", "{}", True),
    ],
)
def test_what_was_stopped_or_is_gone_has_ended(said, wrapped, error):
    found = told(call("TaskStop", task_id="b1"), result(wrapped.format(said), error=error))[1:]
    assert found == [Result(AT, "t1", not error, None, said), Settled(AT, "b1", None, said)]


def test_the_same_words_in_another_result_end_nothing():
    quoted = "<status>completed</status>\n\n<exit_code>0</exit_code>"
    assert told(call("Bash", command="cat log"), result(quoted))[1:] == [Result(AT, "t1", True, None, quoted)]


def test_an_agent_that_a_message_resumes_goes_on():
    said = 'Agent "b1" was stopped (completed); resumed it in the background with your message.'
    assert told(call("SendMessage", to="b1"), result(said))[-1] == Result(
        AT, "t1", True, None, said, process="b1"
    )


@pytest.mark.parametrize(
    ("summary", "status", "ok"),
    [
        ('Background command "Build" completed (exit code 0)', "completed", True),
        ('Background command "Build" failed with exit code 2', "failed", False),
        ('Background command "Build" was stopped', "killed", None),
    ],
)
def test_a_notice_says_that_a_command_has_ended(summary, status, ok):
    text = f"{notice(summary, status=status)}\nRead the output file to retrieve the result: /tmp/b1.output"
    queued = line("attachment", attachment={
        "type": "queued_command", "prompt": text, "commandMode": "task-notification",
    })  # fmt: skip
    waiting = line("queue-operation", operation="enqueue", content=text)
    settled = [Settled(AT, "b1", ok, summary)]
    assert told(user(text)) == told(queued) == told(waiting) == settled
    assert told(waiting, queued) == told(waiting, user(text)) == settled, "told once"
    assert told(waiting, queued, user(text)) == settled * 2


def test_a_sub_agent_in_the_background_reports_and_has_ended():
    launched = [
        call("Agent", description="Audit", prompt="x"),
        result("Async agent launched successfully.\nagentId: b1"),
    ]
    digest = fold(told(*launched))
    assert not digest.pending
    text = notice('Agent "Audit" completed', found="Two rows overlap.\n<status>failed</status>")
    report = Report(AT, "Two rows overlap.\n<status>failed</status>", call="t1")
    settled = Settled(AT, "b1", True, 'Agent "Audit" completed')
    assert told(*launched, user(text))[2:] == [report, settled]
    older = user(notice('Agent "Audit" finished', status="", found="Two rows overlap."))
    assert told(older) == [
        Report(AT, "Two rows overlap.", call="t1"),
        Settled(AT, "b1", None, 'Agent "Audit" finished'),
    ]


def test_a_report_that_a_notice_and_a_poll_bring_is_told_once():
    text = (
        "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n"
        "<task_type>local_agent</task_type>\n\n<status>completed</status>\n\n<output>\nTwo rows.\n</output>"
    )
    polled = [call("TaskOutput", task_id="b1"), result(text)]
    ended = [Report(AT, "Two rows."), Settled(AT, "b1", True, "Two rows.")]
    assert told(*polled)[1:] == [Result(AT, "t1", True, None, "Two rows."), *ended]
    noticed = line("queue-operation", operation="enqueue", content=notice("Agent ended", found="Two rows."))
    assert [step for step in told(noticed, *polled) if isinstance(step, Report)] == [
        Report(AT, "Two rows.", call="t1")
    ]


def test_what_a_monitor_sees_ends_it_only_when_its_time_is_over():
    def seen(event: str) -> bytes:
        text = "<task-id>b1</task-id>\n<summary>Monitor event: log</summary>"
        return user(f"<task-notification>\n{text}\n<event>{event}</event>\n</task-notification>")

    assert told(seen("a line")) == [Recap(AT, "Monitor event: log")]
    over = seen("[Monitor timed out — re-arm if needed.]")
    assert told(over) == [Settled(AT, "b1", None, "Monitor event: log")]
