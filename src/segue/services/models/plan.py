"""Plans from a task: proposed, edited by the user, accepted, and only then declared.

The proposal rests on the task, the repository's files and commands, and strategies of the playbook. With a
model or without, nothing is declared before ``accept``; a plan that cannot be read is refused whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...core.base.lazy import regex
from ...core.base.text import clean_text
from ...core.base.values import Value
from ...core.memories.model import may_restore
from ...core.models import plan_proposal, prompt
from ...core.models.plan_proposal import PlanDraft, ProjectFacts
from ...core.sessions import commands as do
from ...effects.git import repository as git
from ...effects.redaction.redact import redact
from ...errors import BadImport, ModelFailed, OverBudget, SegueError, UsageError
from ..brief.gather import summary_of_session
from ..features.features import Features, as_check, feature_id
from ..memories.service import memories_of
from ..workspace.open_session import find_session, start_session
from . import ask as models
from . import config as ladders
from .ask import ModelReply, RequestPreview, Telling

if TYPE_CHECKING:
    from ..workspace.session_handle import SessionHandle
    from ..workspace.workspace import Workspace

STRATEGIES_MAX = 5
COMMANDS_MAX = 12
FILES_MAX = 4_000
_TARGET = regex(r"^([a-z][a-z0-9_-]*)\s*:(?!=)", re.M)
_CHECKS = regex(r"test|lint|check|verify|build|type|format", re.I)
HEAD = """\
# A proposed plan: nothing of it is declared yet. Edit it as you like, then
#   segue plan --accept FILE
"""


class Proposal(Value):
    """A plan for the user to edit, and where it comes from."""

    plan: PlanDraft
    strategies: tuple[str, ...] = ()
    dropped: dict[str, int] = {}
    asked: ModelReply | None = None
    fell_back: str = ""
    """Why there was no model in it; empty if there was, or none was wanted."""


class Accepted(Value):
    """What was declared."""

    session: str
    items: int
    features: tuple[str, ...]
    risks: int


def propose(
    workspace: Workspace, task: str, *, with_model: bool = False, say: Telling | None = None
) -> Proposal:
    """A plan for a task; it is not declared."""
    text = _task(workspace, task)
    repository = look(workspace)
    strategies = _strategies(workspace, text)
    plain = Proposal(plan_proposal.bare(text, repository), tuple(strategies))
    if not with_model:
        return plain
    question = _question(workspace, text, repository, strategies)
    try:
        asked = models.ask(workspace, question, session=_session(workspace), tell=say)
    except (ModelFailed, OverBudget) as fault:
        return msgspec.structs.replace(plain, fell_back=fault.message)
    draft, dropped = plan_proposal.proposed(asked.value, text, repository)
    if not draft.items and not draft.features:
        return msgspec.structs.replace(
            plain, dropped=dropped, asked=asked, fell_back="the model's plan held nothing that can stand"
        )
    return Proposal(draft, tuple(strategies), dropped, asked)


def sent_for(workspace: Workspace, task: str) -> list[RequestPreview]:
    """What would be sent for a plan, to the byte; nothing is."""
    text = _task(workspace, task)
    question = _question(workspace, text, look(workspace), _strategies(workspace, text))
    return models.requests(workspace, question, session=_session(workspace))


def _question(
    workspace: Workspace, text: str, repository: ProjectFacts, strategies: Sequence[str]
) -> prompt.ModelQuestion:
    found = plan_proposal.question(
        text, repository, strategies, prompt.room_for(ladders.wanted(workspace).window)
    )
    masked = redact(found.user)
    return found if masked == found.user else msgspec.structs.replace(found, user=masked)


def _task(workspace: Workspace, task: str) -> str:
    text = clean_text(task, what="task", limit=4_000, mask=workspace.repository.mask).strip()
    if not text:
        raise UsageError("a plan needs a task", hint='for example: segue plan "Refactor auth to JWT"')
    return text


def _session(workspace: Workspace) -> str:
    """The session whose cap counts: the current one."""
    return workspace.named_session or workspace.working_tree.tree().current


def _strategies(workspace: Workspace, task: str) -> list[str]:
    with suppress(SegueError, OSError):
        found = memories_of(workspace).playbook(task, top_k=STRATEGIES_MAX)
        return [" ".join(one.memory.content.split())[:240] for one in found if may_restore(one.memory)]
    return []


# -- the repository


def look(workspace: Workspace) -> ProjectFacts:
    """Files, and the commands that check them: of build files, and of runs before."""
    root = workspace.working_tree.root
    repository = workspace.working_tree.repository
    files = git.tracked(repository)[:FILES_MAX] if repository is not None else []
    found = [*_makefile(root), *_package(root), *_python(root, files), *_ran(workspace)]
    return ProjectFacts(tuple(files), tuple(dict.fromkeys(found))[:COMMANDS_MAX])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:200_000]
    except OSError:
        return ""


def _makefile(root: Path) -> list[str]:
    return [f"make {name}" for name in _TARGET.findall(_text(root / "Makefile")) if _CHECKS.search(name)]


def _package(root: Path) -> list[str]:
    try:
        scripts = json.loads(_text(root / "package.json") or "{}").get("scripts")
    except (ValueError, AttributeError):
        return []
    names = [name for name in scripts if _CHECKS.search(name)] if isinstance(scripts, dict) else []
    return ["npm test" if name == "test" else f"npm run {name}" for name in names if " " not in name]


def _python(root: Path, files: Sequence[str]) -> list[str]:
    named = any(Path(path).name.startswith("test_") and path.endswith(".py") for path in files)
    found = ["python -m pytest -q"] if named else []
    if (root / "Cargo.toml").is_file():
        found.append("cargo test")
    if (root / "go.mod").is_file():
        found.append("go test ./...")
    return found


def _ran(workspace: Workspace) -> list[str]:
    """Commands of the newest run that test, check or build, and needed no shell."""
    told = summary_of_session(workspace, None)
    found = []
    for digest in told.digests[:1]:
        found += [
            short
            for short, use in digest.commands.items()
            if use.kind in ("test", "check", "build") and use.ok
        ]
    return found


# -- as a file


def written(proposal: Proposal) -> str:
    """A proposal as YAML that a person can edit."""
    import yaml

    lines = [HEAD.rstrip()]
    if proposal.asked is not None and not proposal.fell_back:
        lines.append(f"# proposed by {proposal.asked.model}; look at every line")
    elif proposal.fell_back:
        lines.append(f"# without a model: {' '.join(proposal.fell_back.split())[:200]}")
    lines += [f"# worked before: {one}" for one in proposal.strategies]
    body: dict[str, Any] = msgspec.to_builtins(proposal.plan)
    text: str = yaml.safe_dump(_lists(body), sort_keys=False, allow_unicode=True, width=100)
    return "\n".join(lines) + "\n" + text


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(one) for key, one in value.items()}
    return [_lists(one) for one in value] if isinstance(value, list | tuple) else value


def read(body: bytes) -> PlanDraft:
    """The plan in a file; BadImport if it is none."""
    import yaml

    try:
        raw = yaml.safe_load(body.decode("utf-8"))
        found = msgspec.convert(raw, PlanDraft)
    except (yaml.YAMLError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        why = " ".join(str(fault).split())[:300]
        raise BadImport(f"this is not a plan: {why}", hint="nothing was declared") from fault
    if not found.goal.strip():
        raise BadImport("the plan has no goal", hint="nothing was declared")
    return found


def accept(workspace: Workspace, plan: PlanDraft, *, session: str = "") -> Accepted:
    """Declare a plan: in a new session, or in one that is named."""
    workspace.pause_file.check()
    checks = {one: as_check(one) for feature in plan.features for one in feature.checks}
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
            id, feature.description, steps=feature.steps, checks=[checks[one] for one in feature.checks],
            covers=feature.covers,
        )  # fmt: skip
    for risk in plan.risks:
        target.apply(do.Thread(f"risk: {risk}", "open"))
    return Accepted(target.id, len(plan.items), tuple(names), len(plan.risks))
