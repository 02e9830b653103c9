"""Ten runs in a row, through the hooks: the tenth still knows what the first was told.

The first run has a task, a plan, rules, a failing check and a choice of the user. The others begin with "go
on" and do one small thing or nothing at all; some are killed. Whatever was not done or withdrawn since is in
the brief of every later run, whichever agents they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.chains import BETWEEN_SECONDS, HOOKS, Chain, ChainRun, mode_of
from tests.support.runs import SECRET

from segue.agents import agent as agent_of, traits_of
from segue.core.runs.steps import Call, Compact, Plan, PlanItem, Prompt, Say, Title
from segue.services.brief.project_brief import brief_here
from segue.services.hooks import hook_file
from segue.services.runs.observed import runs_of
from segue.services.runs.run_stream import brief_given
from segue.services.runs.sync import sync
from segue.services.supervision.begin import session_to_continue
from segue.services.supervision.prompts import first_prompt
from segue.services.workspace.data_folder import DataFolder
from segue.surfaces.mcp.calls import Calls

TASK = "Move the shop's billing to amounts in cents"
RULES = ("Never push to main.", "Always run ruff before a commit.")
CHOICE = ("Round half up or half to even?", "half to even")
TOLD_CHOICE = f"{CHOICE[1]} (asked: {CHOICE[0]})"
CHECK = "pytest -q tests/test_billing.py"
WHY = "AssertionError: assert 12.5 == 1250"
ITEMS = (
    "Map every caller of total()", "Store amounts in cents", "Convert the invoices table",
    "Convert the refund path", "Update the exporter", "Describe amounts in the guide",
    "Remove the float helpers", "Announce it in the changelog",
)  # fmt: skip
MIXED = ("claude-code", "codex", "opencode", "gemini-cli", "cline")


@pytest.fixture
def chain(home: Path, tmp_path: Path) -> Chain:
    return Chain(home, tmp_path / "shop")


def plan(done: int) -> Plan:
    """The plan with so many items done, and the next one under way."""
    states = [*["done"] * done, "active", *["pending"] * len(ITEMS)]
    return Plan(0, tuple(PlanItem(text, state) for text, state in zip(ITEMS, states, strict=False)))  # type: ignore[arg-type]


def first_run(chain: Chain, agent: str) -> ChainRun:
    run = chain.begin(agent)
    assert run.brief == "", "nothing was done before"
    run.prompt(f"{TASK}. {' '.join(RULES)}")
    run.add(Say(0, "I begin with the callers."), plan(1)).asks(*CHOICE)
    run.edits("src/billing.py").runs(CHECK, f"tests/test_billing.py F\nE   {WHY}\n1 failed in 0.10s", 1)
    return run.stop("The callers are mapped.")


def later_runs(chain: Chain, agents: Iterator[str]) -> Iterator[tuple[ChainRun, int]]:
    """Runs 2 to 10 as they start, each with how many items were done before it; what they do follows."""
    run = chain.begin(next(agents))
    yield run, 1
    run.prompt("go on").edits("src/store.py").add(plan(2)).stop("Amounts are stored in cents.")

    run = chain.begin(next(agents))  # it is killed before it does anything
    yield run, 2
    run.prompt("continue")

    run = chain.begin(next(agents))  # it has only the brief
    yield run, 2

    run = chain.begin(next(agents))  # it is killed in the middle of its work
    yield run, 2
    run.prompt("weiter").edits("src/refund.py").add(plan(3))

    run = chain.begin(next(agents))  # the model cannot be reached
    yield run, 3
    run.prompt("mach weiter").fail()

    run = chain.begin(next(agents))  # its window is compacted
    yield run, 3
    run.prompt("keep going").edits("src/refund.py")
    run.add(Compact(0, "Billing is moved to cents; three items are done.", "auto", 150_000))
    run.start("compact")
    run.edits("src/refund_rows.py").stop("Half of the refund path is converted.")

    run = chain.begin(next(agents))
    yield run, 3
    run.prompt("yes").add(plan(4)).edits("src/exporter.py").stop("The exporter is next.")

    run = chain.begin(next(agents))  # it does something else
    yield run, 4
    run.prompt("go on").runs("ruff check .", "All checks passed!").stop("The linter is content.")

    yield chain.begin(next(agents)), 4


def assert_knows(text: str, done: int, about: object) -> None:
    """Assert that a brief has everything of the first run that still holds."""
    assert len(text.encode()) <= 2_048, about
    wanted = [TASK, *RULES, *ITEMS[done:], f"FAILING: `{CHECK}`", WHY, TOLD_CHOICE]
    for fact in wanted:
        assert fact in text, (about, fact, text)
    for item in ITEMS[:done]:
        assert item not in text, (about, item, text)
    for words in ("GOAL: go on", "GOAL: continue", 'REQUEST: "go on"', "mach weiter."):
        assert words not in text, (about, text)


def cycle(*agents: str) -> Iterator[str]:
    while True:
        yield from agents


@pytest.mark.parametrize("agents", [*((agent,) for agent in HOOKS), MIXED], ids="+".join)
def test_the_tenth_run_knows_what_the_first_was_told(chain: Chain, agents: tuple[str, ...]) -> None:
    names = cycle(*agents)
    first_run(chain, next(names))
    starts = later_runs(chain, names)
    for number, (run, done) in enumerate(starts, 2):
        assert_knows(run.brief, done, (number, run.agent))
    assert number == 10
    assert chain.log() == ""
    with chain.open() as segue:
        [session] = segue.list()
        assert session.goal.startswith(TASK), "and the work is one session"


@pytest.mark.parametrize("agent", HOOKS)
def test_the_command_and_the_tools_say_the_same_as_the_start_hook(chain: Chain, agent: str) -> None:
    first_run(chain, agent)
    for number, (_, done) in enumerate(later_runs(chain, cycle(agent)), 2):
        with chain.open() as segue:
            assert_knows(brief_here(segue.workspace), done, ("segue brief", number))
        served = Calls(chain.project, chain.env)
        assert_knows(served.brief(), done, ("the resource", number))
        resumed = json.loads(served.call("resume", {}).text)
        assert_knows(resumed["brief"], done, ("the tool", number))


@pytest.mark.parametrize("agent", HOOKS)
def test_runs_that_are_all_killed_lose_nothing(chain: Chain, agent: str) -> None:
    run = chain.begin(agent)
    run.prompt(f"{TASK}. {' '.join(RULES)}").add(plan(1)).asks(*CHOICE)
    run.runs(CHECK, f"E   {WHY}\n1 failed in 0.10s", 1)
    for number in range(2, 11):
        run = chain.begin(agent)
        assert_knows(run.brief, 1, number)
        run.prompt("continue").edits(f"src/part{number}.py")


@pytest.mark.parametrize("agent", [name for name, hooks in HOOKS.items() if hooks.writes_brief])
def test_on_another_machine_what_the_brief_said_is_enough(chain: Chain, agent: str) -> None:
    first_run(chain, agent)
    for number in range(2, 11):
        run = chain.begin(agent)
        assert_knows(run.brief, 1, number)
        run.prompt("go on").edits(f"src/part{number}.py").stop()
        chain.forget()


def took_up(chain: Chain, agent: str) -> ChainRun:
    """A run that was told only to go on with the task of another one, and did."""
    chain.begin(agent).prompt(TASK).edits("src/billing.py").stop()
    return chain.begin(agent).prompt("continue").edits("src/store.py").stop()


@pytest.mark.parametrize("agent", [name for name, hooks in HOOKS.items() if not hooks.writes_brief])
def test_a_resumed_conversation_is_told_again_what_its_agent_has_not_kept(chain: Chain, agent: str) -> None:
    run = took_up(chain, agent)
    for _ in range(2):
        told = run.start("resume")
        assert TASK in told and "src/store.py" in told
    run.prompt("weiter").edits("src/refund.py").stop()
    assert TASK in run.start("resume")
    last = chain.begin("claude-code").prompt("continue").edits("src/late.py").stop()
    assert TASK in last.brief
    told = run.start("resume")
    assert TASK in told and "src/late.py" in told, "the run that took it up did more"
    with chain.open() as segue:
        assert [card.goal for card in segue.list()] == [TASK]
    assert chain.log() == ""


@pytest.mark.parametrize("agent", [name for name, hooks in HOOKS.items() if not hooks.writes_brief])
def test_a_resumed_conversation_is_told_its_own_task_though_others_worked_meanwhile(
    chain: Chain, agent: str
) -> None:
    menu = "Draw the icons of the menu anew"
    other = chain.begin("claude-code").prompt(menu).edits("src/menu.py")
    run = took_up(chain, agent)
    other.at = chain.clock + 600
    other.edits("src/icons.py").stop()
    told = run.start("resume")
    [task] = (line for line in told.splitlines() if line.startswith("REQUEST"))  # with its day after midnight
    assert f'"{TASK}"' in task and "src/icons.py" not in told.partition("TREE")[0]
    [line] = (line for line in told.splitlines() if "worked here meanwhile" in line)
    assert menu in line


@pytest.mark.parametrize("agent", [name for name, hooks in HOOKS.items() if hooks.writes_brief])
def test_a_resumed_conversation_is_not_told_again_what_its_agent_has_kept(chain: Chain, agent: str) -> None:
    assert took_up(chain, agent).start("resume") == ""


@pytest.mark.parametrize("agent", HOOKS)
def test_a_resumed_conversation_with_a_task_of_its_own_is_told_nothing(chain: Chain, agent: str) -> None:
    assert chain.begin(agent).prompt(TASK).edits("src/billing.py").stop().start("resume") == ""


@pytest.mark.parametrize("agent", ["codex", "opencode"])
def test_a_brief_about_a_run_itself_does_not_replace_what_it_took_up(chain: Chain, agent: str) -> None:
    chain.begin(agent).prompt(f"{TASK}. {RULES[0]}").edits("src/billing.py").stop()
    run = chain.begin(agent).prompt("Describe the format in the guide as well").edits("docs/guide.md")
    run.add(Call(0, "cut", "Bash", "run", "make docs", "make docs"))
    assert TASK in run.start("resume")
    run.prompt("continue").edits("docs/more.md").stop()
    with chain.open() as segue:
        given = brief_given(segue.workspace.store, agent, run.native)
    assert given is not None and not given.own and TASK in given.text


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_a_title_that_an_agent_made_of_a_word_to_go_on_is_no_task(chain: Chain, agent: str) -> None:
    chain.clock = time.time() - BETWEEN_SECONDS - 60
    chain.begin(agent).prompt(TASK).edits("src/billing.py")
    chain.clock = time.time() - BETWEEN_SECONDS - 30
    chain.begin(agent).prompt("continue").add(Title(0, "A piece of work")).edits("src/store.py").stop()
    run = chain.begin(agent)
    assert TASK in run.brief and "A piece of work" not in run.brief
    with chain.open() as segue:
        segue.sync()
        assert [(card.goal, len(card.runs)) for card in segue.list()] == [(TASK, 2)]


def test_a_call_that_only_a_hook_saw_is_told_after_a_resume_that_came_to_nothing(chain: Chain) -> None:
    """Gemini CLI writes a call when it has ended; a hook saw it begin, and the process died in it."""
    chain.begin("gemini-cli").prompt(TASK).edits("src/billing.py").stop()
    run = chain.begin("gemini-cli").prompt("continue")

    def begins(command: str) -> None:
        run.call("BeforeTool", tool_name="run_shell_command", tool_input={"command": command})

    begins("make all")
    assert "make all → NO RESULT YET" in run.start("resume")
    run.call(run.hooks.prompt, prompt="continue")
    assert "make all → NO RESULT YET" in chain.begin("gemini-cli").brief, "the prompt was not written"
    run.at = time.time() + 60
    run.add(Prompt(0, "continue"))
    brief = chain.begin("gemini-cli").brief
    assert "make all → NO RESULT YET" in brief and TASK in brief
    begins("make docs")
    brief = chain.begin("gemini-cli").brief
    assert "make docs → NO RESULT YET" in brief and "make all" not in brief, "the run went on"


def test_a_call_that_only_a_hook_saw_is_told_though_a_resume_has_written_the_history_anew(
    chain: Chain,
) -> None:
    """Gemini CLI writes all messages again, with a new time, before it sends the prompt."""
    run = chain.begin("gemini-cli").prompt(TASK).edits("src/billing.py")
    run.call("BeforeTool", tool_name="run_shell_command", tool_input={"command": "make all"})
    run.start("resume")
    run.at = time.time() + 60
    run.add(Title(0, "The same conversation"))
    assert "make all → NO RESULT YET" in chain.begin("gemini-cli").brief


def test_a_run_is_told_of_which_gemini_has_deleted_the_transcript(chain: Chain) -> None:
    """It deletes a conversation if it was killed while it wrote the history anew, at a resume."""
    run = chain.begin("gemini-cli").prompt(TASK).edits("src/billing.py").stop()
    (transcript,) = chain.home.glob(".gemini/tmp/*/chats/session-*")
    transcript.unlink()
    brief = chain.begin("gemini-cli").brief
    assert TASK in brief and "src/billing.py" in brief
    with chain.open() as segue:
        assert [one.id for one in segue.runs()].count(run.native) == 1


def test_a_write_that_only_a_hook_saw_is_told_as_a_write(chain: Chain) -> None:
    run = chain.begin("gemini-cli").prompt(TASK)
    run.call("BeforeTool", tool_name="write_file", tool_input={"file_path": "src/refund.py", "content": ""})
    assert "write src/refund.py → NO RESULT YET" in chain.begin("gemini-cli").brief


def test_a_turn_of_which_no_hook_saw_the_end_is_not_over(chain: Chain) -> None:
    """A message of Gemini CLI looks like its last one until the call that it announces has ended."""
    chain.begin("gemini-cli").prompt(TASK).runs("make all", "built").stop("All of it is built, as you asked.")
    chain.begin("gemini-cli").prompt("continue").add(Say(0, "Now the second part."))
    brief = chain.begin("gemini-cli").brief
    assert "make all" in brief and "Now the second part." in brief and "its turn was over" not in brief
    chain.begin("gemini-cli").prompt("continue").add(Say(0, "It is all done.")).stop("It is all done.")
    assert "its turn was over" in chain.begin("gemini-cli").brief


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_a_request_that_was_handed_on_stands_in_a_brief_once(chain: Chain, agent: str) -> None:
    chain.begin(agent).prompt(TASK).edits("src/billing.py").stop()
    chain.begin(agent).prompt("continue")
    assert chain.begin(agent).brief.count(TASK) == 1


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode"])
def test_a_run_that_is_taken_in_after_the_one_that_took_it_up_is_of_the_same_session(
    chain: Chain, agent: str
) -> None:
    killed = chain.begin(agent).prompt(TASK)
    run = chain.begin(agent).prompt("continue").edits("src/store.py")
    with chain.open() as segue:
        finder = runs_of(segue.workspace).finder()

        def take_in(*natives: str) -> None:
            sync(segue.workspace, found=[one for one in finder.found() if one.native in natives])

        take_in(run.native)
        run.edits("src/refund.py")
        take_in(killed.native, run.native)
        assert [(card.goal, len(card.runs)) for card in segue.list()] == [(TASK, 2)]


def test_what_was_done_passed_or_taken_back_is_gone(chain: Chain) -> None:
    names = cycle(*MIXED)
    first_run(chain, next(names))
    run = chain.begin(next(names)).prompt("go on")
    run.runs("pytest -q", "12 passed in 0.5s").add(plan(3)).stop()
    run = chain.begin(next(names))
    assert "FAILING" not in run.brief and ITEMS[2] not in run.brief and ITEMS[3] in run.brief
    assert "OPEN (3 of 8 done)" in run.brief
    run.prompt("You may push to main from now on.").asks(CHOICE[0], "half up").stop()
    run = chain.begin(next(names))
    assert "Never push to main." not in run.brief.partition("RULES:")[2]
    assert RULES[1] in run.brief
    assert f"DECIDED: half up (asked: {CHOICE[0]})" in run.brief and TOLD_CHOICE not in run.brief
    run.prompt("go on").add(Plan(0, (PlanItem(ITEMS[4], "dropped"), PlanItem(ITEMS[5], "done")))).stop()
    brief = chain.begin(next(names)).brief
    assert TASK in brief and RULES[1] in brief
    assert [item for item in ITEMS if item in brief.partition("OPEN")[2]] == [ITEMS[3], *ITEMS[6:]]


def test_what_nobody_took_back_holds_though_other_things_were_asked(chain: Chain) -> None:
    first_run(chain, "claude-code")
    run = chain.begin("claude-code").prompt("Please also log the duration of every invoice run")
    run.edits("a.py").stop()
    run = chain.begin("codex")
    assert "log the duration" in run.brief and TASK in run.brief
    run.prompt("Rename it").edits("b.py").stop()
    run = chain.begin("codex").prompt("continue")
    for fact in ("log the duration", "Rename it", TASK, *RULES, *ITEMS[1:], CHECK):
        assert fact in run.brief, fact


def test_a_request_that_was_killed_at_once_is_the_last_thing_the_user_wanted(chain: Chain) -> None:
    first_run(chain, "claude-code")
    chain.begin("codex").prompt("Write the migration of the old invoices before anything else")
    chain.begin("opencode")
    brief = chain.begin("claude-code").brief
    assert 'USER (nothing came after it): "Write the migration of the old invoices' in brief
    assert TASK in brief and CHECK in brief and "edited src/billing.py" in brief
    assert "ended before it changed anything" in brief


def test_an_answer_is_told_with_the_question_of_the_run_before(chain: Chain) -> None:
    run = chain.begin("gemini-cli").prompt(f"{TASK}, and tell me before you touch the database")
    question = "Shall I migrate the invoices table or write a view for it?"
    run.edits("src/billing.py").stop(f"Billing is done. {question}")
    chain.begin("gemini-cli").prompt("the view").edits("src/view.sql")
    brief = chain.begin("gemini-cli").brief
    assert "the view" in brief and question in brief


def test_a_secret_that_was_asked_for_or_printed_is_in_no_record(chain: Chain) -> None:
    run = chain.begin("claude-code").prompt(f"{TASK}. Always use the token {SECRET} for the registry.")
    run.add(Plan(0, (PlanItem(f"Log in with {SECRET}"), PlanItem(ITEMS[1])))).asks("Which token?", SECRET)
    run.runs(CHECK, f"E   {WHY} {SECRET}\n1 failed", 1).stop(f"I used {SECRET}. Shall I go on?")
    brief = chain.begin("opencode").prompt("go on").edits("a.py").stop().brief
    assert ITEMS[1] in brief and SECRET not in brief
    brief = chain.begin("claude-code").brief
    assert TASK in brief and ITEMS[1] in brief and SECRET not in brief
    for path in chain.data.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_the_installed_file_hands_the_work_on_as_well(chain: Chain) -> None:
    home = DataFolder(chain.data)
    hook_file.put(home)
    command = [sys.executable, "-I", "-S", str(hook_file.file_of(home))]

    def through_the_file(agent: str, event: str, payload: bytes) -> bytes:
        words = [*command, agent, event, mode_of(agent, event)]
        done = subprocess.run(words, input=payload, capture_output=True, timeout=60, env=chain.env)
        assert done.returncode == 0, done
        return done.stdout

    chain.answered = through_the_file
    first_run(chain, "claude-code")
    for agent in ("claude-code", "opencode", "claude-code"):
        run = chain.begin(agent)
        assert_knows(run.brief, 1, agent)
        run.prompt("go on").edits(f"src/{agent}.py").stop()


@pytest.mark.parametrize("agent", ["codex", "claude-code", "opencode", "gemini-cli"])
def test_what_a_model_saves_through_the_tools_is_in_the_next_brief(chain: Chain, agent: str) -> None:
    run = chain.begin(agent).prompt(TASK).edits("src/billing.py")
    variable = traits_of(agent_of(agent)).conversation_variables[0]
    calls = Calls(chain.project, {**chain.env, variable: run.native})
    assert not calls.call("plan", {"add": list(ITEMS[:2])}).failed
    assert not calls.call("checkpoint", {"done": [ITEMS[0]], "note": "the callers are in billing.py"}).failed
    run.edits("src/store.py").stop()
    brief = chain.begin(agent).brief
    assert "1 of 2 done" in brief and ITEMS[1] in brief and TASK in brief, brief
    with chain.open() as segue:
        segue.sync()
        assert [card.goal for card in segue.list()] == [TASK]
        assert [one.id for one in segue.runs() if one.goal == TASK] == [run.native], (
            "and no second view of it"
        )


@pytest.mark.parametrize("agent", HOOKS)
def test_a_run_that_was_killed_before_it_did_anything_does_not_hide_the_pending_call(
    chain: Chain, agent: str
) -> None:
    run = chain.begin(agent).prompt(TASK).edits("src/billing.py")
    command, called = "cd src && make import; sleep 20 && echo ok", "Import all invoices"
    run.add(Call(0, "p1", "Bash", "run", called, command, note=called))
    last = "edited src/billing.py" if agent == "gemini-cli" else "$ make import"
    second = chain.begin(agent).prompt("continue")
    for one in (second, chain.begin(agent)):  # the second was killed before it did anything
        assert last in one.brief and called not in one.brief, "the command, not what the model called it"
        assert TASK in one.brief and ("NO RESULT YET" in one.brief or agent == "gemini-cli"), one.brief


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_the_user_waits_for_nothing_but_a_record_at_later_prompts(chain: Chain, agent: str) -> None:
    chain.clock = time.time() - 2 * BETWEEN_SECONDS - 60
    first_run(chain, agent)
    run = chain.begin(agent).prompt("go on").edits("src/b.py").stop().prompt("and the tests")
    assert run.hooks.prompt.encode() in spooled(chain), "it was recorded, and Segue was not loaded"
    run.edits("src/a.py").stop()
    assert spooled(chain) == b""


def spooled(chain: Chain) -> bytes:
    path = chain.data / "spool" / "hooks"
    return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize("agent", MIXED)
@pytest.mark.parametrize("work", [False, True], ids=["killed at once", "killed at work"])
def test_a_supervised_run_goes_on_with_the_newest_request(chain: Chain, agent: str, work: bool) -> None:
    first_run(chain, agent)
    run = chain.begin(agent).prompt("Rename the export command to dump, and keep the old name for a while")
    if work:
        run.edits("src/export.py")
        chain.begin(agent).prompt("go on").edits("src/names.py")
    workspace = chain.open().workspace
    told = first_prompt(workspace, session_to_continue(workspace))
    assert told.endswith("\n\nRename the export command to dump, and keep the old name for a while")


def test_a_supervised_run_goes_on_with_a_declared_goal_whatever_was_asked_since(chain: Chain) -> None:
    segue = chain.open()
    segue.start(TASK)
    chain.begin("claude-code").prompt("Rename the export command to dump").edits("src/export.py").stop()
    workspace = segue.workspace
    assert first_prompt(workspace, session_to_continue(workspace)).endswith(f"\n\n{TASK}")
