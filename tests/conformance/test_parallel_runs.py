"""Two runs at the same time, in one folder or in two worktrees: the next run of each gets its own task, and
hears of the other in one line at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.chains import HOOKS, Chain, ChainRun
from tests.support.git import Repository

from segue.agents import agent as agent_of, traits_of
from segue.core.runs.steps import Call, Prompt, Start
from segue.services.brief.project_brief import brief_here
from segue.services.hooks import hook_file
from segue.services.workspace.data_folder import DataFolder

FEED = "Import the supplier news feed into the shop, once an hour"
MENU = "Redesign the main menu of the shop with animated icons"


@pytest.fixture
def chain(home: Path, tmp_path: Path) -> Chain:
    return Chain(home, tmp_path / "shop")


def at_work(run: ChainRun, command: str) -> ChainRun:
    """The run is in the middle of a call."""
    return run.add(Call(0, f"x{len(run.steps)}", "Bash", "run", command, command))


def lives(chain: Chain, run: ChainRun) -> None:
    """Claude Code's registry names a living process for the run."""
    folder = chain.home / ".claude" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    about = {"pid": os.getpid(), "sessionId": run.native, "cwd": str(run.folder)}
    (folder / f"{run.native}.json").write_text(json.dumps(about))


def dies(chain: Chain, run: ChainRun) -> None:
    """The process of the run is gone, and its registration with it."""
    (chain.home / ".claude" / "sessions" / f"{run.native}.json").unlink()


def mentions(brief: str, task: str) -> list[str]:
    return [line for line in brief.split("\n") if task[:30] in line]


@pytest.fixture
def worktree(chain: Chain, tmp_path: Path) -> Path:
    """A second worktree of the chain's project, on a branch of its own."""
    repository = Repository(chain.project)
    (chain.project / "README.md").write_text("The shop.\n")
    repository.git("add", "README.md")
    repository.git("commit", "-qm", "Begin")
    other = tmp_path / "shop-menu"
    repository.git("worktree", "add", "-q", "-b", "feature-menu", str(other))
    return other


@pytest.mark.parametrize("agents", [("claude-code", "claude-code"), ("codex", "claude-code")], ids="+".join)
def test_what_goes_on_in_another_worktree_is_left_out(
    chain: Chain, worktree: Path, agents: tuple[str, str]
) -> None:
    here = chain.begin(agents[0]).prompt(FEED)
    there = chain.begin(agents[1], folder=worktree)
    here.at = there.at
    at_work(here.edits("src/feed.py"), "make feed")
    at_work(there.prompt(MENU).edits("src/menu.py"), "make icons")
    lives(chain, there)
    brief = chain.begin(agents[0]).brief
    assert f'"{FEED}"' in brief and "make feed" in brief and "branch main" in brief
    assert not mentions(brief, MENU) and "make icons" not in brief
    dies(chain, there)
    again = chain.begin(agents[1], folder=worktree).brief
    assert f'"{MENU}"' in again and "make icons" in again and "branch feature-menu" in again
    assert not mentions(again, FEED) and "make feed" not in again


@pytest.mark.parametrize("agent", HOOKS)
def test_in_a_worktree_where_nothing_was_done_a_line_names_the_newest_run_elsewhere(
    chain: Chain, worktree: Path, agent: str
) -> None:
    there = chain.begin(agent, folder=worktree).prompt(MENU).edits("src/menu.py").stop()
    here = chain.begin(agent)
    [line] = mentions(here.brief, MENU)
    at = time.strftime("%H:%M UTC", time.gmtime(there.at))
    for fact in (agent, f"in {worktree}", "branch feature-menu", at, f"`segue brief {there.native}`"):
        assert fact in line, (fact, line)
    assert "at work now" not in line and "stopped" not in here.brief and "menu.py" not in here.brief
    with chain.open() as segue:
        told = brief_here(segue.workspace, there.native)
    assert "edited src/menu.py" in told and "branch feature-menu" in told
    here.prompt("continue").edits("src/feed.py").stop()
    again = chain.begin(agent).brief
    assert "src/feed.py" in again and "menu.py" not in again, "what it said to go on with is its own"


def test_a_run_that_is_at_work_in_another_worktree_is_named_as_such(chain: Chain, worktree: Path) -> None:
    there = at_work(
        chain.begin("claude-code", folder=worktree).prompt(MENU).edits("src/menu.py"), "make icons"
    )
    lives(chain, there)
    for agent in ("opencode", "claude-code"):
        [line] = mentions(chain.begin(agent).brief, MENU)
        assert "is at work now" in line and "feature-menu" in line and "make icons" not in line


@pytest.mark.parametrize("agent", ["codex", "opencode"])
def test_a_run_that_resumes_is_told_what_was_done_here_but_not_in_another_worktree(
    chain: Chain, worktree: Path, agent: str
) -> None:
    first, second = (chain.begin("codex").prompt(FEED).edits("src/feed.py").stop() for _ in range(2))
    chain.begin(agent, folder=worktree).prompt(MENU).edits("src/menu.py").stop()
    assert not mentions(second.start("resume"), MENU)
    chain.begin(agent).prompt(MENU).edits("src/menu.py").stop()
    assert mentions(first.start("resume"), MENU)


def test_a_person_who_asks_in_a_new_worktree_is_shown_the_newest_run_with_its_folder(
    chain: Chain, worktree: Path
) -> None:
    chain.begin("opencode", folder=worktree).prompt(MENU).edits("src/menu.py").stop()
    with chain.open() as segue:
        head = brief_here(segue.workspace).partition("\n")[0]
    assert "shop-menu, branch feature-menu" in head


def test_a_person_who_asks_while_a_run_is_at_work_is_not_told_that_it_stopped(chain: Chain) -> None:
    run = at_work(chain.begin("claude-code").prompt(FEED).edits("src/feed.py"), "make feed")
    lives(chain, run)
    with chain.open() as segue:
        head = brief_here(segue.workspace).partition("\n")[0]
    assert head.startswith("[segue] Where the work stands that a run is doing now (claude-code")
    assert "no result" not in head
    dies(chain, run)
    with chain.open() as segue:
        head = brief_here(segue.workspace).partition("\n")[0]
    assert head.startswith("[segue] Where the last run stopped") and "its last call has no result" in head


def test_a_run_that_is_at_work_is_not_taken_up_but_mentioned(chain: Chain) -> None:
    first = at_work(chain.begin("claude-code").prompt(FEED).edits("src/feed.py"), "make feed")
    lives(chain, first)
    second = chain.begin("codex")
    [line] = mentions(second.brief, FEED)
    assert line.startswith("NOTICE: another run (claude-code") and "is at work here now" in line
    assert "make feed" not in second.brief and "stopped" not in second.brief
    at_work(second.prompt(MENU).edits("src/menu.py"), "make icons")
    third = chain.begin("codex")
    assert f'"{MENU}"' in third.brief and "make icons" in third.brief
    assert len(mentions(third.brief, FEED)) == 1 and "make feed" not in third.brief


def test_a_run_that_waits_for_the_user_is_taken_up_though_its_window_is_open(chain: Chain) -> None:
    first = chain.begin("claude-code").prompt(FEED).edits("src/feed.py").stop()
    lives(chain, first)
    assert f'"{FEED}"' in chain.begin("codex").brief


def test_of_two_that_were_killed_in_one_folder_each_agent_takes_up_its_own(chain: Chain) -> None:
    feed = chain.begin("claude-code").prompt(FEED)
    menu = chain.begin("codex")
    menu.prompt(MENU)
    feed.at = menu.at = chain.clock + 60
    at_work(feed.edits("src/feed.py"), "make feed")
    at_work(menu.edits("src/menu.py"), "make icons")
    again = chain.begin("claude-code")
    assert f'"{FEED}"' in again.brief and "make feed" in again.brief
    [line] = mentions(again.brief, MENU)
    assert "worked here at the same time" in line and "make icons" not in again.brief
    again.prompt("continue").edits("src/feed.py").stop()
    other = chain.begin("codex")
    assert f'"{MENU}"' in other.brief and "make icons" in other.brief
    assert len(mentions(other.brief, FEED)) <= 1
    other.prompt("go on").edits("src/menu.py").stop()
    for agent, task, not_task in (("claude-code", FEED, MENU), ("codex", MENU, FEED)):
        brief = chain.begin(agent).brief
        assert f'"{task}"' in brief and len(mentions(brief, not_task)) <= 1, (agent, brief)
    with chain.open() as segue:
        assert sorted(session.goal for session in segue.list()) == sorted([FEED, MENU])


def test_a_run_that_is_only_closed_after_the_next_one_began_had_stopped(chain: Chain) -> None:
    first = chain.begin("claude-code").prompt(f"{FEED}. Never push to main.").edits("src/feed.py").stop()
    second = chain.begin("claude-code").prompt(MENU).edits("src/menu.py")
    assert first.path is not None
    with first.path.open("ab") as file:
        file.write(b'{"type":"cost-state","totalCostUSD":0.05}\n')
    os.utime(first.path, (second.at + 60, second.at + 60))
    second.stop()
    brief = chain.begin("codex").brief
    assert f'"{MENU}"' in brief and "Never push to main." in brief and FEED in brief


def test_what_a_living_run_has_taken_up_is_not_taken_up_twice(chain: Chain) -> None:
    feed = chain.begin("claude-code").prompt(FEED)
    menu = chain.begin("claude-code")
    menu.prompt(MENU)
    feed.at = menu.at = chain.clock + 60
    at_work(feed.edits("src/feed.py"), "make feed")
    at_work(menu.edits("src/menu.py"), "make icons").at += 5
    menu.add()
    first = chain.begin("claude-code")
    assert f'"{MENU}"' in first.brief
    at_work(first.prompt("continue"), "make icons")
    lives(chain, first)
    second = chain.begin("claude-code")
    assert f'"{FEED}"' in second.brief and len(mentions(second.brief, MENU)) == 1


AGENT = """
import json, subprocess, sys
for line in sys.stdin:
    words, payload = json.loads(line)
    done = subprocess.run(words, input=payload.encode(), capture_output=True, timeout=60)
    print(json.dumps(done.stdout.decode()), flush=True)
"""


class LivingAgent:
    """A process with the name of an agent's program, which calls the installed hooks."""

    def __init__(self, chain: Chain, agent: str, *options: str) -> None:
        home = DataFolder(chain.data)
        hook_file.put(home)
        self.command = [sys.executable, "-I", "-S", str(hook_file.file_of(home))]
        program = chain.home / "bin" / traits_of(agent_of(agent)).start.partition(" ")[0]
        program.parent.mkdir(exist_ok=True)
        program.write_text(AGENT)
        words = [sys.executable, str(program), *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=chain.env)

    def answered(self, agent: str, event: str, payload: bytes) -> bytes:
        about = {**json.loads(payload), **({"pid": self.process.pid} if agent == "opencode" else {})}
        call = [[*self.command, agent, event, "speak"], json.dumps(about)]
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(call), file=self.process.stdin, flush=True)
        return str(json.loads(self.process.stdout.readline())).encode()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("agent", HOOKS)
def test_a_living_run_of_any_agent_is_not_told_as_stopped(chain: Chain, agent: str) -> None:
    alone = chain.answered
    living = LivingAgent(chain, agent)
    try:
        chain.answered = living.answered
        first = at_work(chain.begin(agent).prompt(FEED).edits("src/feed.py"), "make feed")
        first.call(first.hooks.prompt, prompt="and quickly", text="and quickly")
        chain.answered = alone
        for other in ("opencode", "claude-code"):
            brief = chain.begin(other).brief
            [line] = mentions(brief, FEED)
            assert "is at work here now" in line, line
            assert "stopped" not in brief and "src/feed.py" not in brief
        with chain.open() as segue:
            assert [run.ended for run in segue.runs() if run.id == first.native] == ["alive"]
            assert segue.list()[0].status == "active"
    finally:
        living.kill()
    brief = chain.begin(agent).brief
    assert f'"{FEED}"' in brief and "src/feed.py" in brief, "when it is dead its work is taken up"


@pytest.mark.parametrize("agent", HOOKS)
def test_of_two_runs_of_one_agent_that_died_in_one_tree_the_newest_is_told_and_the_other_in_a_line(
    chain: Chain, agent: str
) -> None:
    feed = chain.begin(agent).prompt(FEED)
    menu = chain.begin(agent)
    menu.prompt(MENU)
    feed.at = menu.at = chain.clock + 60
    at_work(feed.edits("src/feed.py"), "make feed")
    menu.at += 30
    at_work(menu.edits("src/menu.py"), "make icons")
    again = chain.begin(agent)
    assert f'"{MENU}"' in again.brief and "src/menu.py" in again.brief
    [line] = mentions(again.brief, FEED)
    assert "worked here at the same time" in line and "src/feed.py" not in again.brief
    again.prompt("continue").edits("src/menu.py").stop()
    with chain.open() as segue:
        segue.sync()
        assert sorted(card.goal for card in segue.list()) == sorted([FEED, MENU])


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode"])
def test_a_sub_agent_belongs_to_its_lead(chain: Chain, agent: str) -> None:
    lead = chain.begin(agent).prompt(FEED).edits("src/feed.py").stop()
    child = ChainRun(chain, agent, "900child-run", chain.project, lead.at + 30)
    child.add(Start(0, "start", child.native, str(chain.project), parent=lead.native), Prompt(0, MENU))
    child.edits("src/menu.py").call(child.hooks.stop, agent_id="900", parent_id=lead.native)
    with chain.open() as segue:
        for _ in range(2):
            [card] = segue.list()
            assert card.goal == FEED and [run.id for run in card.runs] == [lead.native]
            assert [run.id for run in segue.runs() if not run.side] == [lead.native]
            segue.sync()
        assert len(segue.runs()) == 2 and "Redesign" not in brief_here(segue.workspace).partition("TRAIL")[0]
    brief = chain.begin(agent).brief
    assert f'"{FEED}"' in brief and lead.native in brief and not mentions(brief, MENU)


def as_member(path: Path, team: str, name: str) -> None:
    """Mark a transcript of Claude Code as that of a member of a team."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    marked = [{"teamName": team, "agentName": name, **line} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in marked))


def as_orphan(path: Path, about: dict[str, object]) -> None:
    """Let a rollout of Codex say that it is a sub-agent's, but not whose."""
    first, _, rest = path.read_text().partition("\n")
    head = json.loads(first)
    head["payload"].update(about)
    path.write_text(json.dumps(head) + "\n" + rest)


def beside(chain: Chain, lead: ChainRun, agent: str, how: str) -> ChainRun:
    """A run with a transcript of its own that works for another one, whose name it does not say."""
    child = ChainRun(chain, agent, "900child-run", chain.project, lead.at + 30)
    child.add(Start(0, "start", child.native, str(chain.project)), Prompt(0, MENU)).edits("src/menu.py")
    assert child.path is not None
    if agent == "claude-code":
        as_member(child.path, "shop-team", "tester")
    else:
        as_orphan(
            child.path,
            {"source": {"subagent": "review"}} if how == "source" else {"thread_source": "subagent"},
        )
    os.utime(child.path, (child.at, child.at))
    return child


@pytest.mark.parametrize(("agent", "how"), [("claude-code", ""), ("codex", "source"), ("codex", "thread")])
@pytest.mark.parametrize("is_lead_named", [True, False])
@pytest.mark.parametrize("first", ["sync", "list"])
def test_a_run_that_works_for_another_belongs_to_it_though_its_transcript_stands_on_its_own(
    chain: Chain, agent: str, how: str, is_lead_named: bool, first: str
) -> None:
    chain.begin("opencode").prompt("Sort the imports of the shop").edits("src/all.py").stop()
    lead = chain.begin(agent).prompt(FEED).edits("src/feed.py").stop()
    if is_lead_named and agent == "claude-code":
        team = chain.home / ".claude" / "teams" / "shop-team"
        team.mkdir(parents=True)
        (team / "config.json").write_text(json.dumps({"leadSessionId": lead.native}))
    child = beside(chain, lead, agent, how)
    with chain.open() as segue:
        before = sorted(card.goal for card in segue.list())
        for way in (first, "sync", "list"):
            if way == "sync":
                segue.sync()
            assert sorted(card.goal for card in segue.list()) == before
            assert child.native not in [run.id for run in segue.runs() if not run.side]
        [run] = [run for run in segue.runs() if run.side]
        [led] = [run for run in segue.runs() if run.id == lead.native]
        assert (run.id, run.parent, run.session) == (child.native, lead.native, led.session)
        assert not mentions(brief_here(segue.workspace), MENU)
    brief = chain.begin(agent).brief
    assert f'"{FEED}"' in brief and not mentions(brief, MENU) and "menu.py" not in brief


@pytest.mark.parametrize(("agent", "how"), [("claude-code", ""), ("codex", "source"), ("codex", "thread")])
def test_a_run_that_works_for_nobody_who_was_there_is_no_main_run_either(
    chain: Chain, agent: str, how: str
) -> None:
    earlier = chain.begin(agent).prompt(FEED).edits("src/feed.py").stop()
    earlier.at += 9_000
    child = beside(chain, earlier, agent, how)
    with chain.open() as segue:
        segue.sync()
        [run] = [run for run in segue.runs() if run.id == child.native]
        assert (run.side, run.parent, run.session) == (True, "", "")
        segue.sync()
        assert [run.side for run in segue.runs() if run.id == child.native] == [True]
        assert [card.goal for card in segue.list()] == [FEED]
    brief = chain.begin("opencode").brief
    assert f'"{FEED}"' in brief and not mentions(brief, MENU)


def test_a_member_that_was_read_as_a_run_of_its_own_is_given_to_its_lead(chain: Chain) -> None:
    lead = chain.begin("claude-code").prompt(FEED).edits("src/feed.py").stop()
    child = ChainRun(chain, "claude-code", "900child-run", chain.project, lead.at + 30)
    child.add(Start(0, "start", child.native, str(chain.project)), Prompt(0, MENU)).edits("src/menu.py")
    lead.at = child.at + 60
    lead.edits("src/feed.py").stop()
    with chain.open() as segue:
        segue.sync()
        assert len(segue.list()) == 2
        assert child.path is not None
        as_member(child.path, "shop-team", "tester")
        os.utime(child.path, (child.at, child.at))
        segue.sync()
        cards = {card.goal: card for card in segue.list()}
        assert cards[MENU].status == "abandoned" and not cards[MENU].runs
        [run] = [run for run in segue.runs() if run.side]
        assert (run.parent, run.session) == (lead.native, cards[FEED].id)


def test_a_member_of_a_team_is_told_nothing_and_counted_as_nothing(chain: Chain) -> None:
    lead = chain.begin("claude-code").prompt(FEED).edits("src/feed.py").stop()
    alone, process = chain.answered, LivingAgent(chain, "claude-code", "--agent-id", "tester@shop")
    try:
        chain.answered = process.answered
        member = ChainRun(chain, "claude-code", "900child-run", chain.project, lead.at + 30)
        assert member.start() == "", "its transcript is not there yet: the process says whose it is"
        member.prompt(MENU).edits("src/menu.py").stop()
    finally:
        process.kill()
    chain.answered = alone
    assert member.path is not None
    as_member(member.path, "shop-team", "tester")
    for source in ("resume", "compact"):
        assert member.start(source) == "", "its transcript says so"
    with chain.open() as segue:
        assert [card.goal for card in segue.list()] == [FEED]
