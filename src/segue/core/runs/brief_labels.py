"""The labels of the lines of a brief, in their order, for writing briefs and for reading them back."""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """What a line of a brief is about."""

    GOAL = "GOAL"
    LATEST_FROM_USER = "LATEST FROM USER"
    IN_ANSWER_TO = "IN ANSWER TO"
    ASKED_BEFORE = "ASKED BEFORE"
    FIRST_ASKED = "FIRST ASKED"
    STANDING = "STANDING"
    PLAN = "PLAN"
    UNDER_WAY = "UNDER WAY"
    NEXT = "NEXT"
    BLOCKED = "BLOCKED"
    ASKED_THE_USER = "ASKED THE USER"
    PENDING = "PENDING"
    BROKEN = "BROKEN"
    SOLVED = "SOLVED"
    REFUSED = "REFUSED"
    QUESTIONS = "QUESTIONS"
    LAST_STEPS = "LAST STEPS"
    LAST_SAID = "LAST SAID"
    DONE = "DONE"
    DECIDED = "DECIDED"
    LEARNT = "LEARNT"
    NOTED = "NOTED"
    INFERRED = "INFERRED"
    REPORTED = "REPORTED"
    REMEMBERED = "REMEMBERED"
    COMMITTED = "COMMITTED"
    SINCE_THEN = "SINCE THEN"
    UNCOMMITTED = "UNCOMMITTED"
    COMMANDS = "COMMANDS"
    FILES = "FILES"
