"""What is still known of a run when the middle of its transcript was passed over.

Only what stays so whatever came in between is kept. What was open, planned, failing or said last before the
part that is missing may be over long ago.
"""

from __future__ import annotations

from .hearing import Hearing
from .model import RunDigest


def digest_behind(before: RunDigest) -> RunDigest:
    """The digest with which the end of a transcript begins."""
    return RunDigest(
        steps=before.steps, calls=before.calls, chars=before.chars, began=before.began, last=before.last,
        native=before.native, parent=before.parent, is_sub_agent=before.is_sub_agent, cwd=before.cwd,
        branch=before.branch, version=before.version, model=before.model, title=before.title,
        stretches=before.stretches, told=before.told, first_prompt=before.first_prompt,
        prompts=before.prompts, settled=before.settled, files=before.files, decided=before.decided,
        compactions=before.compactions, faults=before.faults, context_max=before.context_max,
        window=before.window, output=before.output, cost=before.cost, usage=before.usage,
    )  # fmt: skip


def hearing_behind(before: Hearing) -> Hearing:
    """What waits for the ledger with which the end of a transcript begins; its turn is another one."""
    return Hearing(count=before.count, waiting=before.waiting, messages=before.messages, has_reply=True)
