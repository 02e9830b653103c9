"""The note with which Segue begins a session, as people read it."""

from __future__ import annotations

from segue.core.handover.markdown_layers import happened
from segue.core.sessions import events as ev
from segue.core.sessions.state import OBSERVED, action_words, observed_agent, observed_note

BEFORE = "observed: the first prompt of claude-code run fd2a681d-1; nobody declared this session"


def test_a_note_of_before_reads_as_one_of_now() -> None:
    note = observed_note("claude-code")
    assert note.startswith(OBSERVED) and BEFORE.startswith(OBSERVED)
    assert action_words(note) == action_words(BEFORE) == "claude-code began with this request"
    assert observed_agent(note) == observed_agent(BEFORE) == "claude-code"


def test_any_other_note_stays_as_it_is() -> None:
    for note in ("observed: it rains", "codex began with this request", "", "edited auth.py"):
        assert action_words(note) == note and observed_agent(note) == ""


def test_a_note_of_a_handover_says_it_in_the_same_words() -> None:
    assert happened([ev.Noted(BEFORE)]) == ["- noted: claude-code began with this request"]
