"""The labels of the lines of a brief, in their order, for writing briefs and for reading them back."""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """What stands before the colon of a line."""

    GOAL = "GOAL"
    REQUEST = "REQUEST"
    POINTS = "POINTS"
    USER = "USER"
    TASK = "TASK"
    IN_REPLY_TO = "IN REPLY TO"
    ADDS_TO = "ADDS TO"
    BEFORE = "BEFORE"
    FIRST_REQUEST = "FIRST REQUEST"
    ANSWERED = "ANSWERED"
    AGENTS_PLAN = "AGENT'S PLAN"
    RULES = "RULES"
    TRIED = "TRIED"
    FINDINGS = "FINDINGS"
    TRAIL = "TRAIL"
    LAST_WORDS = "LAST WORDS"
    LAST_THOUGHT = "LAST THOUGHT"
    OPEN = "OPEN"
    BLOCKED = "BLOCKED"
    TREE = "TREE"
    FAILING = "FAILING"
    NOTICE = "NOTICE"
    PITFALL = "PITFALL"
    UNPROVEN = "UNPROVEN"
    QUESTIONS = "QUESTIONS"
    DECIDED = "DECIDED"
    FOCUS = "FOCUS"
    THREADS = "THREADS"
    LEARNT = "LEARNT"
    REMEMBERED = "REMEMBERED"
    FACTS = "FACTS"
    INFERRED = "INFERRED"
