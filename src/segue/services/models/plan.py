"""Plans for a task: proposed, edited by the user, accepted, and only then declared.

A proposal is based on the task, the repository's files and commands, and strategies of the playbook. With or
without a model, nothing is declared before ``accept``; a plan that cannot be read is refused as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ..._files import read_text
from ...core.base.lazy import regex
from ...core.base.text import clean_text
from ...core.base.values import Value
from ...core.memories.model import may_restore
from ...core.models import plan_proposal, prompt
from ...core.models.plan_proposal import PlanDraft, ProjectFacts
from ...core.sessions import commands as do
from ...core.sessions.state import OBSERVER
from ...effects.git.queries import tracked
from ...effects.redaction.redact import redact
from ...errors import BadImport, ModelFailed, OverBudget, SegueError, UsageError
from ..brief.gather import summary_of_session
from ..features.features import Features, as_check, feature_id
from ..memories.reader import current_session
from ..memories.service import memories_of
from ..workspace.open_session import find_session, start_session
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import ask as models
from .ask import Announce, ModelReply, RequestPreview
from .config import load_required

STRATEGIES_MAX = 5
COMMANDS_MAX = 12
FILES_MAX = 4_000
_TARGET = regex(r"^([a-z][a-z0-9_-]*)\s*:(?!=)", re.M)
_CHECKS = regex(r"test|lint|check|verify|build|type|format", re.I)
HEAD = """\
# A proposed plan. Nothing is declared yet: edit it as you like, then run
#   segue plan --accept FILE
"""


class Proposal(Value):
    """A plan for the user to edit, and where it comes from."""

    plan: PlanDraft
    strategies: tuple[str, ...] = ()
    dropped: dict[str, int] = {}
    asked: ModelReply | None = None
    fell_back: str = ""
    """Why no model had a part in it; empty if one had, or none was wanted."""


class Accepted(Value):
    """What was declared when a plan was accepted."""

    session: str
    items: int
    features: tuple[str, ...]
    risks: int


def propose(
    workspace: Workspace, task: str, *, with_model: bool = False, say: Announce | None = None
) -> Proposal:
    """A plan for a task, not declared yet. Raises UsageError for an empty task, and NoModel."""
    text = _task(workspace, task)
    repository = project_facts(workspace)
    strategies = _strategies(workspace, text)
    plain = Proposal(plan_proposal.bare(text, repository), tuple(strategies))
    if not with_model:
        return plain
    question = _question(workspace, text, repository, strategies)
    try:
        asked = models.ask(workspace, question, session=current_session(workspace), say=say)
    except (ModelFailed, OverBudget) as fault:
        return msgspec.structs.replace(plain, fell_back=fault.message)
    draft, dropped = plan_proposal.proposed(asked.value, text, repository)
    if not draft.items and not draft.features:
        return msgspec.structs.replace(
            plain, dropped=dropped, asked=asked, fell_back="nothing in the model's plan was usable"
        )
    return Proposal(draft, tuple(strategies), dropped, asked)


def sent_for(workspace: Workspace, task: str) -> list[RequestPreview]:
    """What would be sent to each model for a plan. Nothing is sent."""
    text = _task(workspace, task)
    question = _question(workspace, text, project_facts(workspace), _strategies(workspace, text))
    return models.requests(workspace, question, session=current_session(workspace))


def _question(
    workspace: Workspace, text: str, repository: ProjectFacts, strategies: Sequence[str]
) -> prompt.ModelQuestion:
    room = prompt.room_for(load_required(workspace).window)
    question = plan_proposal.question(text, repository, strategies, room)
    return msgspec.structs.replace(question, user=redact(question.user))


def _task(workspace: Workspace, task: str) -> str:
    text = clean_text(task, what="task", limit=4_000, mask=workspace.repository.mask).strip()
    if not text:
        raise UsageError("a plan needs a task", hint='for example: segue plan "Refactor auth to JWT"')
    return text


def _strategies(workspace: Workspace, task: str) -> list[str]:
    with suppress(SegueError, OSError):
        recalled = memories_of(workspace).playbook(task, top_k=STRATEGIES_MAX)
        memories = [result.memory for result in recalled if may_restore(result.memory)]
        return [" ".join(memory.content.split())[:240] for memory in memories]
    return []


def project_facts(workspace: Workspace) -> ProjectFacts:
    """The files of the repository, and commands that check them: from build files and from the newest run."""
    root = workspace.working_tree.root
    repository = workspace.working_tree.repository
    files = tracked(repository)[:FILES_MAX] if repository is not None else []
    made = [f"make {name}" for name in _TARGET.findall(_text(root / "Makefile")) if _CHECKS.search(name)]
    commands = [*made, *_package(root), *_languages(root, files), *_commands_run(workspace)]
    return ProjectFacts(tuple(files), tuple(dict.fromkeys(commands))[:COMMANDS_MAX])


def _text(path: Path) -> str:
    with suppress(OSError):
        return read_text(path, encoding="utf-8", errors="replace")[:200_000]
    return ""


def _package(root: Path) -> list[str]:
    try:
        scripts = json.loads(_text(root / "package.json") or "{}").get("scripts")
    except (ValueError, AttributeError):
        return []
    names = [name for name in scripts if _CHECKS.search(name)] if isinstance(scripts, dict) else []
    return ["npm test" if name == "test" else f"npm run {name}" for name in names if " " not in name]


def _languages(root: Path, files: Sequence[str]) -> list[str]:
    has_tests = any(Path(path).name.startswith("test_") and path.endswith(".py") for path in files)
    commands = ["python -m pytest -q"] if has_tests else []
    if (root / "Cargo.toml").is_file():
        commands.append("cargo test")
    if (root / "go.mod").is_file():
        commands.append("go test ./...")
    return commands


def _commands_run(workspace: Workspace) -> list[str]:
    return [
        short
        for digest in summary_of_session(workspace, None).digests[:1]
        for short, use in digest.commands.items()
        if use.kind in ("test", "check", "build") and use.ok
    ]


def written(proposal: Proposal) -> str:
    """A proposal as YAML for the user to edit."""
    from ...effects.files.safe_yaml import write_yaml

    lines = [HEAD.rstrip()]
    if proposal.asked is not None and not proposal.fell_back:
        lines.append(f"# proposed by {proposal.asked.model}: check every line")
    elif proposal.fell_back:
        lines.append(f"# without a model: {' '.join(proposal.fell_back.split())[:200]}")
    lines += [f"# worked before: {strategy}" for strategy in proposal.strategies]
    body: dict[str, Any] = msgspec.to_builtins(proposal.plan)
    return "\n".join(lines) + "\n" + write_yaml(_lists(body))


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(child) for key, child in value.items()}
    return [_lists(child) for child in value] if isinstance(value, list | tuple) else value


def read(body: bytes) -> PlanDraft:
    """The plan in a file. Raises BadImport if it is none."""
    from ...effects.files.safe_yaml import read_yaml

    try:
        plan = msgspec.convert(read_yaml(body), PlanDraft)
    except (BadImport, msgspec.MsgspecError) as fault:
        why = " ".join(str(fault).split())[:300]
        raise BadImport(f"this is not a plan: {why}", hint="nothing was declared") from fault
    if not plan.goal.strip():
        raise BadImport("the plan has no goal", hint="nothing was declared")
    return plan


def accept(workspace: Workspace, plan: PlanDraft, *, session: str = "") -> Accepted:
    """Declare a plan, in a new session or in the one that is named."""
    workspace.pause_file.check()
    checks = {command: as_check(command) for feature in plan.features for command in feature.checks}
    target: SessionHandle = (
        find_session(workspace, session) if session else start_session(workspace, plan.goal, items=plan.items)
    )
    if session and plan.items:
        target.apply(*map(do.Add, plan.items))
    taken = list(target.state.features)
    names: list[str] = []
    for feature in plan.features:
        id = feature_id(feature.description, [*taken, *names])
        names.append(id)
        Features(target).add(
            id, feature.description, steps=feature.steps, covers=feature.covers,
            checks=[checks[command] for command in feature.checks],
        )  # fmt: skip
    for risk in plan.risks:
        target.apply(do.Thread(f"risk: {risk}", "open"))
    workspace.repository.commit(target.id, [do.Count({"suggestions_accepted": 1})], actor=OBSERVER)
    return Accepted(target.id, len(plan.items), tuple(names), len(plan.risks))
