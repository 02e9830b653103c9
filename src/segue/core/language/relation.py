"""The ways in which a message relates to what was asked before it."""

from __future__ import annotations

from typing import Literal

Relation = Literal["new", "adds", "corrects", "permits", "withdraws", "answers", "asks", "goes_on", ""]
"""It opens new work, adds to it, corrects it, allows something, takes something back, answers a question of
the agent, only wants to know something, or only says to go on. Empty for what is no message of the user."""
