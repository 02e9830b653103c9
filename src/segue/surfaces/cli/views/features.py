"""Features as text: a table of verdicts, and one feature with all its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....core import event_kinds as ev
from ....core.features.checks import PERSON, Check
from ....core.features.evidence import TRUSTS
from ....core.features.model import Feature
from ....core.features.verdict import Verdict
from ...render import Style, ago, bytes_words, count, one_line, paint_word, table
from .session import View

COLOURS = {"passing": "green", "failing": "red", "stale": "yellow", "blocked": "yellow", "testing": "cyan"}


def verdict_lines(verdicts: Iterable[Verdict], style: Style) -> list[str]:
    """Features as a table: whether each is proven, since when, or why not."""
    shown = list(verdicts)
    rows = [(one.id, one.status, ago(one.proven_at) if one.proven_at else "-", _why(one)) for one in shown]
    first, *lines = table(("feature", "status", "proven", "why"), rows, style)
    pairs = zip(lines, shown, strict=True)
    return [first, *(paint_word(line, one.status, COLOURS.get(one.status), style) for line, one in pairs)]


def _why(verdict: Verdict) -> str:
    if verdict.passes:
        return "attested by " + verdict.verified_by if verdict.attested else verdict.description
    return verdict.reason or verdict.description


def feature_lines(
    found: Feature, verdict: Verdict, history: Sequence[tuple[ev.Event, ev.Body]], style: Style
) -> list[str]:
    """What a feature is, whether it is proven, and by what."""
    status = style.paint(verdict.status, COLOURS.get(verdict.status, "bold"))
    why = f": {one_line(verdict.reason)}" if verdict.reason else ""
    return [
        style.paint(one_line(found.description), "bold"),
        f"{one_line(found.id)} {style.mark('dot')} {status}{why}",
        "",
        *_facts(found, style),
        *_evidence([(event, body) for event, body in history if type(body) in TRUSTS], style),
    ]


def _facts(found: Feature, style: Style) -> list[str]:
    view = View(style, all=True)
    steps = []
    for number, step in enumerate(found.steps, 1):
        word = found.attested.get(step)
        by = f" (attested by {one_line(word.name)}: {one_line(word.note)})" if word else ""
        steps.append((f"{number}.", one_line(step) + by))
    view.rows("Steps", steps)
    view.rows("Checks", [("", _check_words(check)) for check in found.checks])
    view.fact("Covers", one_line(", ".join(found.covers)) or "the whole working tree")
    report = found.reported
    counts = f"{report.passed} passed, {report.failed} failed in {report.source}" if report.source else ""
    for label, text in (
        ("Category", found.category), ("Set by", found.by), ("Made by", found.implemented_by),
        ("Claim", found.claim), ("From", found.source), ("Notes", found.notes), ("Reported", counts),
    ):  # fmt: skip
        view.fact(label, one_line(text))
    return view.lines


def _check_words(check: Check) -> str:
    facts = [f"steps {', '.join(map(str, check.proves))}"] if check.proves else []
    facts += [f"in {check.folder}"] if check.folder else []
    facts += [f"exit {check.exit_code}"] if check.exit_code else []
    facts += [f"/{check.pattern}/"] if check.pattern else []
    facts += ["shell"] if check.shell else []
    facts += [f"from {check.source or check.by}"] if check.source or check.by != "user" else []
    return one_line(check.text + (f"  ({'; '.join(facts)})" if facts else ""))


def _evidence(rows: Sequence[tuple[ev.Event, ev.Body]], style: Style) -> list[str]:
    """What was run, attested and reported, each with how far it is trusted; the newest last."""
    if not rows:
        return []
    lines = ["", style.paint("Evidence", "bold")]
    for event, body in rows[-10:]:
        trust = TRUSTS[type(body)]
        lines.append(f"  {event.version:>4}  {ago(event.at):12} {trust:9} {_evidence_words(event, body)}")
    return lines


def _evidence_words(event: ev.Event, body: ev.Body) -> str:
    """A piece of evidence in a line: what was run, attested or reported, and on whose word."""
    if isinstance(body, ev.StepAttested):
        through = f", reported by {one_line(event.actor)}" if event.actor not in (PERSON, body.who) else ""
        return f"{one_line(body.step)}: {one_line(body.note)}, by {one_line(body.who)}{through}"
    if isinstance(body, ev.CheckReported):
        return (
            f"{body.passed} passed, {body.failed} failed in {one_line(body.source)} {body.digest[:8]}, "
            f"imported by {one_line(event.actor)}"
        )
    assert isinstance(body, ev.CheckRan)
    ended = (
        body.fault or ("timed out" if body.timed_out else "")
        or (f"signal {body.signal}" if body.signal else f"exit {body.exit_code}")
    )  # fmt: skip
    moved = ", files changed in the meantime" if body.covered != body.after else ""
    return (
        f"{one_line(ended)} in {body.duration_seconds:.2f} s, {count(body.files, 'file')} "
        f"{body.covered[:8]}{moved}, {bytes_words(body.output_bytes)} of output, "
        f"requested by {one_line(event.actor)}"
    )
