"""Briefs as they are written: of a transcript alone, or of facts that others gathered.

Nothing is shown unmasked: digests are redacted as a whole before anything is made of them, and the finished
text is redacted once more. Briefs of a run or a session of this project are in ``project_brief.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ...core.brief.compose import BYTES_DEFAULT, BYTES_MIN, compose, marked_down
from ...core.brief.facts import BriefFacts
from ...effects.redaction.redact import redact, redact_bytes
from ...errors import BudgetTooSmall
from ..runs.read_transcript import read, recognised
from .runs_summary import RunsSummary, facts_of_runs, summary_of_reading, summary_of_transcript

if TYPE_CHECKING:
    from ...core.brief.manifest_words import Workplace
    from ...core.runs.quotable import RunText

Format = Literal["text", "json", "markdown"]
MORE_BYTES = 8_192
LONG_BYTES = 6_000
"""From this budget on, a brief also quotes the transcript; below it, quotes would crowd out facts."""


def brief_of_transcript(
    path: Path, agent: str = "", *, budget: int = BYTES_DEFAULT, form: Format = "text"
) -> str:
    """The brief of a transcript alone, without store or session. Raises TranscriptUnreadable."""
    check_budget(budget)
    more = f"segue brief FILE --max-bytes {max(MORE_BYTES, 4 * budget)}"
    more = more if len(more) < 110 else ""
    if not has_room_for_quotes(budget, form):
        runs = summary_of_transcript(path, agent)
        return render_brief(facts_of_runs(runs), budget=budget, form=form, more=more)
    from ...core.runs.quotable import RunTexts
    from .quoting import masked_blocks

    author, texts = recognised(path, agent, own_formats=True), RunTexts()
    runs = summary_of_reading(read(path, author, also=texts.take), author)
    quoted = masked_blocks(texts.blocks)
    return render_brief(facts_of_runs(runs), runs, blocks=quoted, budget=budget, form=form, more=more)


def has_room_for_quotes(budget: int, form: Format) -> bool:
    """Whether a brief of so many bytes quotes the transcript."""
    return budget >= LONG_BYTES and form != "json"


def check_budget(budget: int) -> None:
    """Raise BudgetTooSmall for a budget in which no brief fits."""
    if budget < BYTES_MIN:
        raise BudgetTooSmall(
            f"a brief needs at least {BYTES_MIN} bytes, not {budget}",
            hint=f"give --max-bytes {BYTES_MIN} or more",
        )


def render_brief(
    known: BriefFacts, runs: RunsSummary | None = None, *, blocks: Sequence[RunText] = (),
    budget: int = BYTES_DEFAULT, form: Format = "text", more: str = "", place: Workplace | None = None,
) -> str:  # fmt: skip
    """A brief of these facts, masked, and within the budget even where masks are longer than the secrets.

    ``blocks`` are texts of the newest of ``runs`` to be quoted where there is room. ``more`` is a command
    that shows what was left out. ``place`` is for a manifest."""
    room = budget
    while True:
        if blocks and runs is not None and room >= LONG_BYTES:
            from ...core.brief.long_brief import account

            text = account(known, runs.digests[0], blocks, room, more, bullets=form == "markdown")
        else:
            text = _in_form(known, form, room, more, place)
        text = redact(text)
        over = len(text.encode("utf-8", "replace")) - budget
        if over <= 0:
            return text
        if room <= BYTES_MIN:  # masks are longer than what they hide: compose from masked texts
            known = msgspec.json.decode(redact_bytes(msgspec.json.encode(known)), type=BriefFacts)
            return redact(_in_form(known, form, budget, more, place))
        room = max(BYTES_MIN, room - over)


def _in_form(known: BriefFacts, form: Format, budget: int, more: str, place: Workplace | None) -> str:
    if form == "json":
        from ...core.brief.manifest import manifest

        return manifest(known, budget, more, place).decode()
    if form == "markdown":
        return marked_down(known, budget, more)
    return compose(known, budget, more)
