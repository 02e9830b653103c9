"""`segue verify`: run the checks of what is not proven."""

from __future__ import annotations

from collections.abc import Sequence

from ....core.features.checks import Check
from ....services.features.features import Features
from ...render import count, one_line, verified_object
from ..command import argument, command, flag, many
from ..context import CommandContext, confirm
from ..progress import ProgressBar
from ..views.features import verdict_lines


@command(
    "verify",
    many("--feature", "NAME", "only this feature"),
    flag("--all", "also check features that are proven"),
    argument(
        "--jobs", "N", "how many checks at once; by default the setting check_jobs", type=int, default=0,
    ),
    flag("--trust", "accept checks that came from a file or an agent"),
    flag("--audit", "run nothing; verify the chain of events and the outputs kept"),
    argument("--head", "HASH", "with --audit: a hash that you noted earlier and that must be in the chain"),
    session="flag", json="a Verified with `ok`; with `--audit` an Audit with `ok`",
    shape={"": "VerifiedFeatures", "--audit": "AuditedSession"},
    examples=("segue verify", "segue verify --feature jwt --jobs 4", "segue verify --audit --json"),
)  # fmt: skip
def verify(context: CommandContext) -> int:
    """Run the checks of unproven and stale features; exit 0 if everything is proven, else 1."""
    args, features = context.args, context.session().features
    if args.audit:
        return _audit(context, features)
    with ProgressBar(context) as progress:
        done = features.verify(
            args.feature, all=args.all, jobs=max(0, args.jobs), trust=args.trust,
            ask=None if context.json else _ask, progress=progress,
        )  # fmt: skip
    context.warn_all(map(one_line, done.warnings))
    if not done.verdicts:
        return context.report(verified_object(done), "there are no features to verify")
    lines = verdict_lines(done.verdicts, context.style)
    lines.append(f"{done.counts.passing} of {done.counts.total} proven; {count(done.ran, 'check')} run")
    context.report(verified_object(done), *lines)
    for check in done.untrusted:
        where = check.source or check.by
        context.warn(
            f"not run, because it came from {one_line(where)} and was not accepted: {one_line(check.text)}"
        )
    if done.untrusted:
        context.warn("review these commands; `segue verify --trust` accepts and runs them")
    return 0 if done.ok else 1


def _ask(checks: Sequence[Check]) -> bool:
    lines = "\n".join(
        f"  {one_line(check.text)}   (from {one_line(check.source or check.by)})" for check in checks
    )
    return confirm(
        f"These commands came from a file or an agent and have never been run:\n{lines}\nRun them?"
    )


def _audit(context: CommandContext, features: Features) -> int:
    found = features.audit(context.args.head or "")
    outputs = ", ".join(f"{number} {name}" for name, number in sorted(found.outputs.items()))
    return context.report(
        verified_object(found),
        f"{count(found.version, 'event')}, {found.evidence} of them evidence"
        + (f"; outputs: {outputs}" if outputs else ""),
        f"head {found.head}",
        *(context.style.paint(one_line(fault), "red") for fault in found.faults),
        "the chain of events is intact" if found.ok else "the journal was changed after it was written",
        code=0 if found.ok else 1,
    )
