"""The words that Segue itself puts into the prompts of the agents that it launches.

In a transcript they look like the user's, and they are never what the work is about.
"""

from __future__ import annotations

from ..base.lazy import regex

GO_ON = "Go on with this work where it stopped."
STARTED_AGAIN = "Go on with the work; your process was started again"
STOPPED_TOO_EARLY = "You stopped, but it is"
PLAN = "Plan:"
PROVEN = "It is done when this is proven:"
NOBODY_WATCHES = "Nobody watches:"
"""How the last paragraph of every prompt of Segue's begins."""

_OPENINGS = (GO_ON, STARTED_AGAIN, STOPPED_TOO_EARLY)
_PARAGRAPH = regex(rf"\s(?:{PLAN}\s+- |{PROVEN}\s|{NOBODY_WATCHES}\s)")


def users_part(prompt: str) -> str:
    """What is left of a prompt without Segue's own words; empty if it is wholly Segue's."""
    if prompt.lstrip().startswith(_OPENINGS):
        return ""
    return _PARAGRAPH.split(prompt, maxsplit=1)[0] if NOBODY_WATCHES in prompt else prompt
