"""What a run has from the runs before it: goal, rules, open items, decisions, failing checks.

It is recorded with the brief that a run is given (``BriefGiven.holds``), or read back from that brief's text
(``inherited.py``). Items are recognised though they were shortened or said in nearly the same words
(``base/same_items.py``), so that what is done does not come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from ..base.same_items import KnownItems, is_same_item

FROM_BEFORE = "from before: "  # stands before the first item that a run has not planned itself
NOTHING_OPEN = "nothing"  # stands where open items would
EARLIER_AGENT = "an earlier agent: "  # stands before what such a one chose
EARLIER = "in an earlier run, not run since"
"""Stands behind the reasons of a check that failed in a run before."""


class Inherited(msgspec.Struct, omit_defaults=True, frozen=True):
    """What holds from before a run. It holds until the run says otherwise."""

    goal: str = ""
    first: str = ""  # the very first request, if it is not the goal
    since: str = ""  # what the user said last that says something by itself, if it is not the goal
    standing: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    done: tuple[str, ...] = ()  # finished items of the same plan
    failing: tuple[tuple[str, str], ...] = ()  # checks, and the lines that say why
    said: str = ""  # the end of the agent's last message, if it asked something
    chosen: tuple[str, ...] = ()  # what agents said that they chose, the newest first
    asked: int = 0  # how many other things the user asked for since the plan was last touched

    def __bool__(self) -> bool:
        return self != _NOTHING

    def without(self, settled: Iterable[str]) -> Inherited:
        """The same facts without items that are finished or dropped."""
        known = KnownItems(settled)
        plan, blocked = _unsettled(self.plan, known), _unsettled(self.blocked, known)
        if (plan, blocked) == (self.plan, self.blocked):
            return self
        return msgspec.structs.replace(self, plan=plan, blocked=blocked)

    def cleaned(self, clean: Callable[[str], str]) -> Inherited:
        """The same facts with each text as ``clean`` returns it."""

        def each(texts: Iterable[str]) -> tuple[str, ...]:
            return tuple(clean(text) for text in texts)

        failing = tuple((clean(what), clean(why)) for what, why in self.failing)
        return Inherited(
            clean(self.goal), clean(self.first), clean(self.since), each(self.standing), each(self.plan),
            each(self.blocked), each(self.decided), each(self.done), failing, clean(self.said),
            each(self.chosen), self.asked,
        )  # fmt: skip

    def joined(self, other: Inherited) -> Inherited:
        """These facts, and those of ``other`` that they lack; an item that was cut here is whole again."""
        settled = [*self.done, *other.done]
        plan = _joined_items(self.plan, other.plan, [*settled, *self.blocked])
        return Inherited(
            goal=self.goal or other.goal,
            first=self.first or other.first,
            since=self.since or other.since,
            standing=tuple(dict.fromkeys([*self.standing, *other.standing])),
            plan=plan,
            blocked=_joined_items(self.blocked, other.blocked, [*settled, *plan]),
            decided=tuple(dict.fromkeys([*self.decided, *other.decided])),
            done=_joined_items(self.done, other.done, ()),
            failing=tuple({**dict(other.failing), **dict(self.failing)}.items()),
            said=self.said or other.said,
            chosen=tuple(dict.fromkeys([*self.chosen, *other.chosen])),
            asked=max(self.asked, other.asked),
        )


_NOTHING = Inherited()


def _joined_items(mine: tuple[str, ...], others: tuple[str, ...], settled: Iterable[str]) -> tuple[str, ...]:
    whole = [
        next((other for other in others if is_same_item(item, other)), item) if item.endswith("…") else item
        for item in mine
    ]
    known = KnownItems([*whole, *settled])
    return (*whole, *(other for other in others if other not in known))


def _unsettled(items: tuple[str, ...], settled: KnownItems) -> tuple[str, ...]:
    return tuple(item for item in items if item not in settled)
