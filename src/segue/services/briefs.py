"""Briefs: of a file, of a run, of where the work in this project stands.

What a brief says is masked before anybody sees it. A brief of a file needs no store and makes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from segue.core.brief import BYTES_DEFAULT, compose, marked_down
from segue.core.digest import RunDigest
from segue.core.manifest import manifest
from segue.core.picture import Picture, Probe, picture
from segue.core.state import SessionState
from segue.services.reading import final, read, recognised

Format = Literal["text", "json", "markdown"]


def of_file(path: Path, agent: str = "", *, budget: int = BYTES_DEFAULT, form: Format = "text") -> str:
    """The brief of a transcript, by itself."""
    one = recognised(path, agent)
    digest = final(read(path, one), one)
    more = f"segue brief {path.name} --max-bytes {max(8_192, 4 * budget)}"
    return written([digest], agent=one.name, budget=budget, form=form, more=more if len(more) < 120 else "")


def written(
    runs: Sequence[RunDigest], *, agent: str = "", session: SessionState | None = None,
    probe: Probe | None = None, memories: Sequence[str] = (), budget: int = BYTES_DEFAULT,
    form: Format = "text", more: str = "",
) -> str:  # fmt: skip
    """The brief of what is given, in a form, masked."""
    from segue.effects.redact import redact

    return redact(as_form(picture(runs, session, probe, memories, agent=agent), form, budget, more))


def as_form(shown: Picture, form: Format, budget: int, more: str = "") -> str:
    if form == "json":
        return manifest(shown, budget, more).decode()
    if form == "markdown":
        return marked_down(shown, budget, more)
    return compose(shown, budget, more)
