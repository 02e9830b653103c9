"""`segue doctor`: check that everything is in order. It works without a store."""

from __future__ import annotations

from ....services.upkeep.doctor.checkup import examine, prove
from ...render import count, finding_line, one_line
from ..command import command, flag
from ..context import CommandContext
from ..progress import ProgressBar

BAD = 70


@command(
    "doctor",
    flag("--prove", "damage a copy of the store, recover it, and show that nothing is lost"),
    json="an array of Checks",
    shape={"": "list[Diagnosis]", "--prove": "list[Diagnosis]"},
    examples=("segue doctor", "segue doctor --prove", "segue doctor --json"),
)  # fmt: skip
def doctor(context: CommandContext) -> int:
    """Check everything, and give a hint for each fault."""
    home, settings = context.data_folder(), context.own_settings()
    if context.args.prove:
        with ProgressBar(context) as progress:
            findings = prove(home, progress, settings)
    else:
        findings = examine(home, settings, context.environment, context.folder)
    lines = []
    for finding in findings:
        lines.append(finding_line(context.style, finding))
        if finding.hint and finding.status != "ok":
            lines.append(f"{'':9}hint: {one_line(finding.hint)}")
    bad = sum(finding.status == "bad" for finding in findings)
    warnings = sum(finding.status == "warn" for finding in findings)
    counts = f"{count(bad, 'fault')}, {count(warnings, 'warning')}"
    lines += ["", counts if bad or warnings else "everything is in order"]
    return context.report(findings, *lines, code=BAD if bad else 0)
