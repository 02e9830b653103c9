"""Holds the statements of a brief against the raw transcript up to the cut."""

from __future__ import annotations

from dataclasses import dataclass

from bench.resume.truth.events import Transcript
from bench.resume.truth.ground import Ground, Verdict
from bench.resume.truth.ledger_rules import LedgerRules
from bench.resume.truth.passage_rules import PassageRules
from bench.resume.truth.statements import Kind, read_brief
from bench.resume.truth.trail_rules import TrailRules
from bench.resume.truth.tree_rules import TreeRules
from bench.resume.truth.user_rules import UserRules


@dataclass(slots=True)
class Judgement:
    """A statement of a brief, whether it is so, and why it is not."""

    kind: Kind
    line: str
    verdict: Verdict
    claim: str
    why: str = ""


def judge(text: str, transcript: Transcript) -> tuple[list[Judgement], list[str]]:
    """The judgements on a brief, and its lines that no form fits."""
    brief = read_brief(text)
    folder = next((one.parts["folder"] for one in brief.statements if one.form == "folder"), "")
    ground = Ground(transcript, folder)
    rules = {
        **UserRules(ground).rules(), **LedgerRules(ground).rules(), **TreeRules(ground).rules(),
        **PassageRules(ground).rules(),
    }  # fmt: skip
    judged = []
    for statement in brief.statements:
        if statement.form not in rules:
            brief.unknown.append(statement.line)
            continue
        judged += [
            Judgement(statement.kind, statement.line, *finding)
            for finding in rules[statement.form](statement.parts)
        ]
    for statement, findings in TrailRules(ground).judge(brief.trail):
        judged += [Judgement(statement.kind, statement.line, *finding) for finding in findings]
        if not findings:
            brief.unknown.append(statement.line)
    return judged, brief.unknown
