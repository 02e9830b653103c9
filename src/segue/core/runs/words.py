"""The words of a text that say what it is about."""

from __future__ import annotations

from ..base.lazy import regex

WORD = regex(r"[A-Za-z][A-Za-z0-9_-]{3,}")
COMMON = frozenset(
    """about above across actually after again against already also although always another anything around
    available back based because been before being below best better between both bring cannot case
    change changed changes check clear code come complete completed could create created current
    currently details different does done down each either else enough even every everything exactly
    existing explore file files find first fine fix following found from full getting give given good
    great happen have having here however implement include including instead into issue issues just
    keep know last later leave left less let's like line lines list little look looking looks made main
    make makes making many might more most much must need needed needs never next nothing notice once
    only open other otherwise over part perfect place please point possible probably problem proper
    properly quite rather read ready real really right same save says second section seems several
    should show shows similar simple simply since some something start started still such summary sure
    take task tell test tests than that their them then there these they thing things think this those
    though through time together too toward towards trying understand until update updated upon used
    user uses using various very want wants well were what when where whether which while will with
    within without work working works would write yes yet your""".split()
)


def words(text: str) -> set[str]:
    """The meaningful words of a text, in lower case."""
    return {word.lower().strip("-_") for word in WORD.findall(text)} - COMMON
