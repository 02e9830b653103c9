"""`segue verify`, and one feature with all its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....core import event_kinds as ev
from ....core.features.checks import PERSON
from ....core.features.evidence import TRUSTS
from ...render import Style, ago, bytes_words, count, one_line, plain, safe
from ..command import CliCommand
from ..context import CommandContext, confirm
from ..progress import ProgressBar
from ..views.session import View
from .feature import COLOURS, verdict_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....core.features.checks import Check
    from ....core.features.model import Feature
    from ....services.features.features import Features
    from ..parser import Parser


def verify(context: CommandContext) -> int:
    """Run what is unproven or stale; 0 if all is proven, 1 if something is not."""
    args, features = context.args, context.session().features
    if args.audit:
        return _audit(context, features)
    with ProgressBar(context) as progress:
        done = features.verify(
            args.feature, all=args.all, jobs=max(0, args.jobs), trust=args.trust,
            ask=None if context.json else _ask, progress=progress,
        )  # fmt: skip
    context.emit({**plain(done), "ok": done.ok})
    for warning in done.warnings:
        context.warn(one_line(warning))
    if not done.verdicts:
        context.say("no features: nothing to prove")
        return 0
    if not context.json:
        context.say(*verdict_lines(done.verdicts, context.style))
        context.say(f"{done.counts.passing} of {done.counts.total} proven; {count(done.ran, 'check')} run")
    for check in done.untrusted:
        where = check.source or check.by
        context.warn(
            f"not run, it came from {one_line(where)} and nobody accepted it: {one_line(check.text)}"
        )
    if done.untrusted:
        context.warn("look at these commands; `segue verify --trust` accepts and runs them")
    return 0 if done.ok else 1


def _ask(checks: Sequence[Check]) -> bool:
    lines = "\n".join(
        f"  {one_line(check.text)}   (from {one_line(check.source or check.by)})" for check in checks
    )
    return confirm(f"These commands came from a file or an agent and were never run:\n{lines}\nRun them?")


def _audit(context: CommandContext, features: Features) -> int:
    found = features.audit(context.args.head or "")
    context.emit({**plain(found), "ok": found.ok})
    outputs = ", ".join(f"{number} {name}" for name, number in sorted(found.outputs.items()))
    context.say(
        f"{count(found.version, 'event')}, {found.evidence} of them evidence"
        + (f"; outputs: {outputs}" if outputs else ""),
        f"head {found.head}",
        *(context.style.paint(one_line(fault), "red") for fault in found.faults),
        "the chain is whole" if found.ok else "this is not what was written",
    )
    return 0 if found.ok else 1


# -- one feature -------------------------------------------------------------------------------


def show_feature(context: CommandContext, id: str) -> int:
    """What a feature is, and what is known of it."""
    features = context.session().features
    found, verdict, history = features.feature(id), features.get(id), features.history(id)
    runs = [(event, body) for event, body in history if isinstance(body, ev.CheckRan)]
    if context.args.output:
        return _output(context, features, runs)
    if context.json:
        evidence = [
            {"version": event.version, "at": event.at, "kind": event.kind, "by": event.actor,
             "trust": TRUSTS.get(type(body), ""), **plain(body)}
            for event, body in history
        ]  # fmt: skip
        context.emit({**plain(found), "verdict": verdict, "evidence": evidence})
        return 0
    style = context.style
    status = style.paint(verdict.status, COLOURS.get(verdict.status, "bold"))
    context.say(
        style.paint(one_line(found.description), "bold"),
        f"{one_line(id)} {style.mark('dot')} {status}"
        f"{': ' if verdict.reason else ''}{one_line(verdict.reason)}",
        "",
        *_facts(found, style),
        *_evidence([(event, body) for event, body in history if type(body) in TRUSTS], style),
    )
    return 0


def _facts(found: Feature, style: Style) -> list[str]:
    view = View(style, all=True)
    steps = []
    for number, step in enumerate(found.steps, 1):
        word = found.attested.get(step)
        told = f" (attested by {one_line(word.name)}: {one_line(word.note)})" if word else ""
        steps.append((f"{number}.", one_line(step) + told))
    view.rows("Steps", steps)
    view.rows("Checks", [("", _check_words(check)) for check in found.checks])
    view.rows("Covers", [("", one_line(", ".join(found.covers)) or "the whole working tree")])
    report = found.reported
    told = f"{report.passed} passed, {report.failed} failed in {report.source}" if report.source else ""
    for label, text in (
        ("Category", found.category), ("Set by", found.by), ("Made by", found.implemented_by),
        ("Claim", found.claim), ("From", found.source), ("Notes", found.notes), ("Reported", told),
    ):  # fmt: skip
        view.rows(label, [("", one_line(text))] if text else [])
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
        lines.append(f"  {event.version:>4}  {ago(event.at):12} {trust:9} {_told(event, body)}")
    return lines


def _told(event: ev.Event, body: ev.Body) -> str:
    if isinstance(body, ev.StepAttested):
        through = f", told by {one_line(event.actor)}" if event.actor not in (PERSON, body.who) else ""
        return f"{one_line(body.step)}: {one_line(body.note)}, by {one_line(body.who)}{through}"
    if isinstance(body, ev.CheckReported):
        return (
            f"{body.passed} passed, {body.failed} failed in {one_line(body.source)} {body.digest[:8]}, "
            f"brought by {one_line(event.actor)}"
        )
    assert isinstance(body, ev.CheckRan)
    ended = (
        body.fault or ("timed out" if body.timed_out else "")
        or (f"signal {body.signal}" if body.signal else f"exit {body.exit_code}")
    )  # fmt: skip
    moved = ", files changed meanwhile" if body.covered != body.after else ""
    return (
        f"{one_line(ended)} in {body.duration_seconds:.2f} s, {count(body.files, 'file')} "
        f"{body.covered[:8]}{moved}, {bytes_words(body.output_bytes)} of output, "
        f"asked by {one_line(event.actor)}"
    )


def _output(context: CommandContext, features: Features, runs: Sequence[Any]) -> int:
    _, ran = runs[-1] if runs else (None, None)
    body = features.outputs.read(ran.output) if ran is not None and ran.output else b""
    text = (body or b"").decode("utf-8", "replace")
    context.emit({"output": text, "kept": body is not None})
    if not context.json:
        context.say(safe(text.rstrip("\n")) if body is not None else "the whole output is no longer kept")
    return 0


def _arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--feature", action="append", default=[], metavar="NAME", help="only this one")
    add("--all", action="store_true", help="also what is proven")
    add("--jobs", type=int, default=0, metavar="N", help="how many at once; else the setting check_jobs")
    add("--trust", action="store_true", help="accept checks that came from a file or an agent")
    add("--audit", action="store_true", help="run nothing: prove the chain of events and the kept outputs")
    add("--head", metavar="HASH", help="with --audit: a hash that was noted, and must be in the chain")


COMMANDS = (
    CliCommand(
        "verify", verify, _arguments, session="flag",
        json="a Verified with `ok`; with `--audit` an Audit with `ok`",
        examples=("segue verify", "segue verify --feature jwt --jobs 4", "segue verify --audit --json"),
    ),
)  # fmt: skip
