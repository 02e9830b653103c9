"""Chains of runs in any order: killed, finished, cleared, compacted, resumed or failed, in any agents.

Only the first run says what the work is; each later one is told to go on. However they end, the next start
hears of the task and of what is open, the work is one session, and every run is one row.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings, strategies as st
from tests.support.chains import HOOKS, Chain, ChainRun

from segue.core.runs.steps import Call, Compact, Plan, PlanItem
from segue.core.sessions.status import Card

TASK = "Move the shop's login to signed tokens with an expiry"
ITEMS = ("sign the tokens", "let them expire", "document the format")
WORDS = ("continue", "go on", "weiter")
ENDS = ("killed", "finished", "cleared", "compacted", "resumed", "failed", "killed at once")

agents = st.sampled_from(sorted(HOOKS))
ends = st.sampled_from(ENDS)
chains = st.lists(st.tuples(agents, ends, st.sampled_from(WORDS)), min_size=1, max_size=6)


def end(run: ChainRun, how: str, words: str, number: int) -> None:
    """Let a run do something and end in one of the ways in which runs end."""
    if how == "killed at once":
        return
    run.edits(f"src/part{number}.py")
    if how == "failed":
        run.fail()
    elif how == "killed":
        run.add(Call(0, f"k{number}", "Bash", "run", "make all", "make all"))
    else:
        run.stop()
    if how == "cleared":
        run.start("clear")
        run.prompt(words).edits(f"src/cleared{number}.py").stop()
    elif how == "compacted":
        run.add(Compact(0, "Tokens are half signed.", "auto", 150_000))
        run.start("compact")
        run.edits(f"src/compacted{number}.py").stop()
    elif how == "resumed":
        run.start("resume")
        run.prompt(words).edits(f"src/resumed{number}.py")


def go_through(folder: Path, links: list[tuple[str, str, str]]) -> tuple[list[str], list[Card]]:
    """The briefs of all runs but the first, and the sessions at the end."""
    home, project = folder / "home", folder / "shop"
    home.mkdir()
    chain = Chain(home, project)
    plan = Plan(0, tuple(PlanItem(text, "active" if text == ITEMS[0] else "pending") for text in ITEMS))
    briefs = []
    for number, (agent, how, words) in enumerate(links):
        run = chain.begin(agent)
        if number == 0:
            run.prompt(TASK).add(plan)
        else:
            briefs.append(run.brief)
            run.prompt(words)
        end(run, how, words, number)
    last = chain.begin(links[-1][0])
    briefs.append(last.brief)
    last.prompt("continue").edits("src/last.py").stop()
    assert chain.log() == "", links
    with chain.open() as segue:
        for _ in range(2):
            assert len(segue.list()) == 1, links
            runs = segue.runs()
            assert len(runs) == len({(run.agent, run.id) for run in runs}) == len(links) + 1, links
            segue.sync()
        return briefs, segue.list()


def missing(briefs: list[str]) -> list[tuple[int, str, str]]:
    """What a brief does not say of the task and its items."""
    facts = (TASK, *ITEMS)
    return [(at, fact, brief) for at, brief in enumerate(briefs) for fact in facts if fact not in brief]


@settings(deadline=None, max_examples=25)
@given(chains)
@example([("opencode", "killed", "weiter")] * 6)
@example([("claude-code", "killed at once", "continue"), ("opencode", "cleared", "go on")])
def test_a_chain_in_any_order_keeps_its_task_its_items_and_its_session(
    links: list[tuple[str, str, str]],
) -> None:
    with TemporaryDirectory() as folder:
        briefs, cards = go_through(Path(folder), links)
    assert missing(briefs) == []
    assert [(card.goal, len(card.runs)) for card in cards] == [(TASK, len(links) + 1)]


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("agent", HOOKS)
def test_every_agent_may_end_in_every_way_again_and_again(tmp_path: Path, agent: str, how: str) -> None:
    briefs, cards = go_through(tmp_path, [(agent, how, WORDS[number % 3]) for number in range(3)])
    assert missing(briefs) == []
    assert [(card.goal, len(card.runs)) for card in cards] == [(TASK, 4)]
