"""Resuming and switching as services: values in, values out, and nothing changed where it is refused."""

from __future__ import annotations

import pytest

from segue import Segue
from segue.errors import UsageError
from segue.services.resume.resume import resume, switch, take_up


def test_a_paused_session_is_active_and_current_again_with_its_brief(seg: Segue) -> None:
    first = seg.start("Refactor auth", id="jwt", items=["user model"])
    first.pause("lunch")
    seg.start("Something else", id="other")
    done = resume(first)
    assert (done.saved.session, done.status, done.is_over) == ("jwt", "active", False)
    assert done.saved.events == 1 and "Refactor auth" in done.brief and done.restoration is None
    assert seg.session().id == "jwt"


def test_with_a_budget_the_context_is_restored_instead_of_the_brief(seg: Segue) -> None:
    done = resume(seg.start("Refactor auth", id="jwt"), budget="minimal", look=False)
    assert done.brief == "" and done.working is None
    assert done.restoration is not None and "Refactor auth" in done.restoration.text


def test_a_budget_that_is_none_is_refused_before_anything_is_changed(seg: Segue) -> None:
    session = seg.start("Refactor auth", id="jwt")
    session.pause()
    before = session.state.version
    for call in (lambda: resume(session, budget="huge"), lambda: switch(session, budget="huge")):
        with pytest.raises(UsageError):
            call()
    assert (session.state.status, session.state.version) == ("paused", before)


def test_a_session_that_is_over_stays_over(seg: Segue) -> None:
    session = seg.start("Refactor auth", id="jwt")
    session.complete()
    current = seg.start("Something else", id="other")
    before = session.state.version
    assert resume(session).is_over and switch(session, budget="minimal").is_over
    assert session.state.version == before
    assert seg.session().id == "other" and current.state.status == "active"


def test_switching_pauses_the_current_session_and_says_which(seg: Segue) -> None:
    first = seg.start("Refactor auth", id="jwt")
    second = seg.start("Something else", id="other")
    done = switch(first, budget="minimal")
    assert (done.before, done.paused, done.status) == ("other", "other", "active")
    assert done.restoration is not None and second.state.status == "paused" and seg.session().id == "jwt"
    assert switch(first, budget="minimal").before == ""


def test_a_session_that_was_paused_already_is_left_as_it_is(seg: Segue) -> None:
    first = seg.start("Refactor auth", id="jwt")
    second = seg.start("Something else", id="other")
    second.pause("lunch")
    before = take_up(first)
    assert before is not None and before.state.pause_reason == "lunch"
