"""What the calls of a Cline or Roo task change, what the agent thought, and which commands go on."""

from __future__ import annotations

import json

import pytest
from tests.unit.agents.test_cline import T, api, kinds, read, texts, ui

from segue.agents.cline.edits import search_replace
from segue.core.runs.steps import Call, Change, Say, Settled, Thought

CLINE_BLOCK = "------- SEARCH\nx = 0\n=======\nx = 1\n+++++++ REPLACE"
ROO_BLOCK = "<<<<<<< SEARCH\n:start_line:7\n-------\nx = 0\n=======\nx = 1\n>>>>>>> REPLACE\n"
PATCH = "*** Begin Patch\n*** Delete File: a\n*** End Patch"


@pytest.mark.parametrize(
    ("tool", "arguments", "changes"),
    [
        ("write_to_file", {"path": "a", "content": "x"}, [Change("a", "create", "", "x")]),
        ("replace_in_file", {"path": "a", "diff": CLINE_BLOCK}, [Change("a", "edit", "x = 0", "x = 1")]),
        ("apply_diff", {"path": "a", "diff": ROO_BLOCK}, [Change("a", "edit", "x = 0", "x = 1")]),
        (
            "apply_diff",
            {"args": f"<file><path>a</path><diff><content>{ROO_BLOCK}</content></diff></file>\n<file>\n"
                     f"<path>b</path><diff><content><![CDATA[{ROO_BLOCK}]]></content></diff></file>"},
            [Change("a", "edit", "x = 0", "x = 1"), Change("b", "edit", "x = 0", "x = 1")],
        ),
        (
            "apply_diff",
            {"path": "a", "diff": "--- a\n+++ b\n@@ -1 +1 @@ def f\n-x = 0\n+x = 1"},
            [Change("a", "edit", "x = 0", "x = 1", "def f")],
        ),
        ("insert_content", {"path": "a", "line": "3", "content": "x"}, [Change("a", "edit", "", "x")]),
        ("search_and_replace", {"path": "a", "search": "x", "replace": "y"}, [Change("a", "edit", "x", "y")]),
        (
            "search_and_replace",
            {"path": "a", "operations": '[{"search":"x","replace":"y"},{"search":"z","replace":""}]'},
            [Change("a", "edit", "x\nz", "y\n")],
        ),
        ("edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, [Change("a", "edit", "x", "y")]),
        ("apply_patch", {"patch": PATCH}, [Change("a", "delete")]),
        ("delete_file", {"path": "a"}, [Change("a", "delete")]),
        ("replace_in_file", {"path": "a", "diff": "no blocks"}, []),
        ("search_and_replace", {"path": "a", "operations": "torn ["}, []),
        ("write_to_file", {"path": "a"}, []),
        ("write_to_file", {"content": "x"}, []),
        ("read_file", {"path": "a", "content": "x"}, []),
    ],
)  # fmt: skip
def test_what_a_call_changes_stands_in_its_arguments(tool, arguments, changes):
    native = [{"type": "tool_use", "id": "t1", "name": tool, "input": arguments}]
    (call,) = [step for step in read(api(("assistant", native))) if isinstance(step, Call)]
    assert list(call.changes) == changes


@pytest.mark.parametrize(
    ("diff", "old", "new"),
    [
        (CLINE_BLOCK + "\n" + ROO_BLOCK, ["x = 0", "x = 0"], ["x = 1", "x = 1"]),
        ("<<< SEARCH>\na\n===\nb\n>>> REPLACE", ["a"], ["b"]),
        ("<<<<<<< SEARCH\na\n\\=======\n=======\n>>>>>>> REPLACE", ["a", "======="], []),
        ("------- SEARCH\na\n-------\nb\n=======\nc", ["a", "-------", "b"], ["c"]),
        ("------- SEARCH\na", ["a"], []),
        ("=======\nb\n>>>>>>> REPLACE\nc", [], []),
        ("", [], []),
    ],
)
def test_search_and_replace_blocks_are_parted(diff, old, new):
    assert search_replace(diff) == (old, new)


@pytest.mark.parametrize(
    ("tool", "changes"),
    [
        ({"tool": "newFileCreated", "path": "a", "content": "x"}, [Change("a", "create", "", "x")]),
        ({"tool": "appliedDiff", "path": "a", "diff": ROO_BLOCK}, [Change("a", "edit", "x = 0", "x = 1")]),
        (
            {"tool": "editedExistingFile", "path": "a", "content": CLINE_BLOCK},
            [Change("a", "edit", "x = 0", "x = 1")],
        ),
        ({"tool": "fileDeleted", "path": "a"}, [Change("a", "delete")]),
        ({"tool": "newFileCreated", "content": "x"}, []),
        ({"tool": "readFile", "path": "a", "content": "x"}, []),
    ],
)
def test_the_ui_alone_tells_what_a_call_changes(tool, changes):
    steps = read(
        ui(
            {"type": "say", "say": "task", "text": "Build."},
            {"type": "ask", "ask": "tool", "text": json.dumps(tool)},
        )
    )
    (call,) = [step for step in steps if isinstance(step, Call)]
    assert list(call.changes) == changes


def test_thinking_is_told_once_from_whichever_document_has_it():
    thought = {"type": "thinking", "thinking": "Where is it?", "signature": "x"}
    reasoned = {"type": "reasoning", "text": "Perhaps there.", "summary": []}
    sealed = [{"type": "redacted_thinking", "data": "x"}, {"type": "reasoning", "encrypted_content": "x"}]
    content = [thought, reasoned, *sealed, *texts("<thinking>And here.</thinking>I look.")]
    told = read(api(("assistant", content)))[1:]
    assert told == [
        Thought(0.0, "Where is it?"),
        Thought(0.0, "Perhaps there."),
        Thought(0.0, "And here."),
        Say(0.0, "I look."),
    ]
    shown = json.loads(
        ui(
            {"type": "say", "say": "task", "text": "Build."},
            {"type": "say", "say": "reasoning", "text": "Where is it?", "partial": True},
        )
    )
    messages = [{"role": "assistant", "content": [thought, *texts("I look.")]}]
    both = read(json.dumps({"api": messages, "ui": shown}).encode())
    assert [step for step in both if isinstance(step, Thought)] == [Thought(T + 1, "Where is it?")]


def served(result, *details):
    """The steps of a command with this result, and of later messages with these details about the editor."""
    native = [
        {"type": "tool_use", "id": "t1", "name": "execute_command", "input": {"command": "npm run dev"}}
    ]
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": result}
    blocks = [
        texts(f"<environment_details>\n# Visible Files\n\n{one}\n</environment_details>") for one in details
    ]
    turns = [[answer, *blocks[0]], *blocks[1:]] if blocks else [[answer]]
    return read(api(("assistant", native), *[("user", turn) for turn in turns]))[2:]


STILL = "Command is still running in the user's terminal.\nHere's the output so far:\nlistening"
RUNS = "# Actively Running Terminals\n## Terminal 1 (Active)\n### Original command: `npm run dev`"


@pytest.mark.parametrize(
    ("details", "text"),
    [
        ("# Inactive Terminals\n## npm run dev\n### New Output\nGET / 500\n\n# Current Time", "GET / 500"),
        ("# Inactive Terminals with Completed Process Output\n## Terminal 1 (Inactive)\n"
         "### Working Directory: `/x`\n"
         "### New Output\nCommand: `npm run dev`\nGET / 500\n### New Output\nCommand: `ls`\na", "GET / 500"),
        ("# Current Time\nnow", ""),
    ],
)  # fmt: skip
def test_a_command_that_goes_on_is_settled_by_the_details_about_the_editor(details, text):
    result, settled = served(STILL, RUNS, RUNS, details, details)
    assert (result.ok, result.process) == (None, "npm run dev")
    assert settled == Settled(0.0, "npm run dev", None, text)


def test_a_command_that_no_details_ever_listed_is_not_said_to_have_ended():
    assert kinds(served(STILL, "# Current Time\nnow", "# Current Time\nlater")) == ["Result"]
    (result,) = served("Command executed.\nOutput:\nnpm run dev is still running", RUNS)
    assert result.process == ""
    (result,) = served(
        "Command timed out after 30 seconds. Running in background.\nLog file: /tmp/x.log\n", RUNS
    )
    assert (result.ok, result.process) == (None, "npm run dev")
