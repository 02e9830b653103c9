"""A thread is a session for everybody who looks: on the command line and on the pages."""

from __future__ import annotations

from langgraph.types import Command
from tests.integrations.langgraph.graphs import asking, of
from tests.integrations.shown import Shown

from segue.integrations.langgraph import SegueSaver

GOAL, QUESTION = "Deploy the shop", "May it be deployed on a Friday?"


def begin(shown: Shown) -> None:
    """A graph that waits for an answer; the program is over."""
    with shown.segue() as segue:
        asking(SegueSaver(segue)).invoke({"task": GOAL}, of("deploy"))


def test_the_commands_show_a_thread_with_what_it_asks(shown: Shown) -> None:
    begin(shown)
    [line] = [line for line in shown.command("list").splitlines() if line.strip().startswith("deploy")]
    assert GOAL in line and "active" in line
    brief = shown.command("brief", "deploy")
    assert f"GOAL: {GOAL}" in brief and f"QUESTIONS: {QUESTION}" in brief
    assert "[Friday]" in shown.command("search", "Friday") and "[Deploy]" in shown.command("search", "Deploy")
    assert QUESTION in shown.command("show", "deploy")


def test_the_pages_show_a_thread_and_its_answer_when_it_was_given(shown: Shown) -> None:
    begin(shown)
    assert GOAL in shown.page("") and QUESTION in shown.page("")
    assert "/ui/session/deploy" in shown.page("/sessions")
    assert GOAL in shown.page("/session/deploy") and QUESTION in shown.page("/session/deploy")
    assert "/ui/session/deploy" in shown.page("/search", q="Friday")
    with shown.segue() as segue:
        asking(SegueSaver(segue)).invoke(Command(resume="only before noon"), of("deploy"))
    assert "only before noon" in shown.page("/session/deploy")
