"""A graph puts from several threads at once; its session takes all of it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from segue import Segue
from segue.services.graphs.thread_session import ThreadSession


def test_what_is_asked_while_the_session_is_begun_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Segue(home=tmp_path / "home", folder=tmp_path) as segue:
        repository = segue.workspace.repository
        entered, exists = threading.Event(), repository.exists

        def slow_look(session: str) -> bool:
            entered.set()
            time.sleep(0.2)  # as a database far away
            return exists(session)

        monkeypatch.setattr(repository, "exists", slow_look)
        thread = ThreadSession(segue.workspace, "deploy", "deploy")
        first = threading.Thread(target=thread.asked_for, args=["Deploy the shop"])
        first.start()
        assert entered.wait(10)
        thread.interrupted(["May it be deployed on a Friday?"])
        first.join()
        state = segue.session("deploy").state
        assert state.goal == "Deploy the shop"
        assert [question.text for question in state.questions] == ["May it be deployed on a Friday?"]


def test_of_two_who_begin_the_session_the_second_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Segue(home=tmp_path / "home", folder=tmp_path) as segue,
        Segue(home=tmp_path / "home", folder=tmp_path) as other,
    ):
        exists = segue.workspace.repository.exists
        looks = []

        def begun_meanwhile(session: str) -> bool:
            looks.append(session)
            if len(looks) == 1:
                ThreadSession(other.workspace, "deploy", "deploy").asked_for("Deploy the shop")
                return False
            return exists(session)

        monkeypatch.setattr(segue.workspace.repository, "exists", begun_meanwhile)
        ThreadSession(segue.workspace, "deploy", "deploy").interrupted(["On a Friday?"])
        state = other.session("deploy").state
        assert (state.goal, [one.text for one in state.questions]) == ("Deploy the shop", ["On a Friday?"])
