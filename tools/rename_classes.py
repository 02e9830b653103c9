"""Renames classes by the table below, wherever they are defined, imported and used. Run once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

TABLE = """
segue.services.sessions.repository Book=SessionRepository
segue.services.workspace.data_folder Home=DataFolder
segue.services.workspace.working_tree Place=WorkingTree Tree=TreeRecord Last=LastSeenTree Brake=PauseFile
segue.services.workspace.last_seen Last=LastSeenSession Waiting=SpooledRecord
segue.services.workspace.offline_queue Pending=QueuedCommand Offline=OfflineQueue
segue.services.runs.discovery Capture=RunFinder
segue.services.runs.observed Observed=ObservedRuns
segue.services.runs.caller Asker=Caller
segue.services.runs.cursor Kept=StoredReading Stamp=FileStamp
segue.services.runs.shared_copies Shelf=SharedCopies
segue.services.runs.run Facts=RunFacts
segue.core.brief.facts Picture=BriefFacts Task=PlanLine
segue.core.brief.page Page=BriefPage
segue.core.runs.digest Words=SaidText Trace=RecentStep
segue.core.runs.quotable Material=RunTexts Block=RunText
segue.core.runs.shared_copies Shared=SharedCopy
segue.core.memories.model Where=MemoryFilter Reader=MemoryReader Trace=MemoryAudit
segue.core.memories.ranking Scored=ScoredMemory
segue.core.models.grounding Observed=ObservedFacts Source=ClaimSource
segue.core.models.plan_proposal Repository=ProjectFacts
segue.core.models.prompt Question=ModelQuestion
segue.core.models.spending Entry=ModelCall Ledger=DayLedger
segue.core.server.access Answer=KeptResponse
segue.core.journal.chain Fault=ChainFault
segue.core.sessions.commands Decided=DecidedBatch
segue.core.sessions.fold Stamp=EnvelopeFacts
segue.core.sessions.session_yaml Declared=DatedBody
segue.core.handover.markdown_layers Told=FrontMatter
segue.core.handover.usefulness Fact=ToldFact
segue.core.resume.changes Told=Mention Change=FileChange History=CommitsBetween
segue.services.brief.delivered Given=DeliveredBrief Fact=DeliveredFact
segue.services.brief.model_claims Kept=KeptClaims
segue.services.brief.for_hooks Telling=HookBrief
segue.services.resume.prepare Told=RunsSummary
segue.services.resume.bootstrap Finding=Readiness
segue.services.upkeep.doctor.checkup Finding=Diagnosis
segue.services.upkeep.recover.from_memories Told=RememberedSession
segue.services.upkeep.recover.from_runs Told=ObservedSession
segue.services.upkeep.recover.from_git Found=FoundSession
segue.services.upkeep.recover.sources Place=SourceFile
segue.services.models.config Rung=ModelChoice
segue.services.models.ask Asked=ModelReply Sent=RequestPreview
segue.services.models.ledger Report=SpendingReport
segue.services.models.refine Material=RunMaterial
segue.services.handoff.offers Handed=HandoffOffer
segue.services.hooks.install Entry=InstalledFile Change=PlannedWrite Done=InstallReport
segue.services.supervision.supervisor Finished=RunFinished
segue.services.server.startup Place=ListenAddress Ready=ServerReady
segue.services.server.session_index Entry=IndexedSession
segue.services.server.idempotency Mark=RequestMark
segue.services.server.sent_runs Sent=SentRunFinder
segue.services.server.store_over_http Access=StoreAccess
segue.services.server.aegis.progress Progress=SessionProgress Update=ProgressUpdate
segue.effects.models Answer=ModelAnswer Fault=ModelFault Request=ModelRequest Endpoint=ModelEndpoint
segue.effects.vectors.embedder Endpoint=EmbeddingServer
segue.effects.files.archive About=CopyOwner
segue.effects.files.spool Record=SpoolRecord
segue.effects.git.hunks Asked=HunkQuery
segue.effects.git.scene Begun=SceneQuery
segue.effects.git.publish Pending=CannotPublish
segue.effects.notes Note=ProjectNote Times=NoteTimes
segue.effects.processes.checks Outcome=CheckOutcome
segue.agents.base Where=SearchScope
segue.agents.install Where=InstallTarget Entry=JsonEntry
segue.agents.hooks Answer=HookReply
segue.agents.cline.texts Answer=TurnPart
segue.agents.codex.kept Kept=RolloutMemory
segue.agents.codex.discover Head=RolloutHead
segue.agents.codex.outcome Outcome=CallOutcome
segue.stores.base Kept=StoredMemory
segue.stores.remote.wire Page=StreamPage
segue.stores.sqlite.database Shared=SharedCommit
segue.handover.scoring Finished=CompletedHandover Scored=ScoredHandover
segue.handover.flow Standing=HandoverStatus Ran=HandoverRan
segue.handover.declared Declared=DeclaredStep
segue.handover.compaction Compacted=CompactionReport
segue.surfaces.cli.command Command=CliCommand
segue.surfaces.cli.context Context=CommandContext
segue.surfaces.cli.progress Progress=ProgressBar
segue.surfaces.cli.commands.model Telling=ProgressLine
segue.surfaces.cli.commands.run Display=NoticePrinter
segue.surfaces.http.server.context Front=ServerContext
segue.surfaces.http.server.pipeline Gate=RequestPipeline
segue.surfaces.http.server.follow Watch=StreamFollower
segue.surfaces.mcp.early_answers Front=EarlyAnswers
segue.surfaces.mcp.calls Outcome=ToolOutcome
segue.surfaces.mcp.served Asker=ServedCaller
segue.surfaces.http.aegis.more Archived=ExpiredCount
"""

RENAMES: dict[str, dict[str, str]] = {}
for line in TABLE.split("\n"):
    if line:
        module, *words = line.split()
        RENAMES[module] = dict(word.split("=") for word in words)


def name_of(path: Path) -> tuple[str, bool]:
    relative = path.relative_to(ROOT)
    parts = relative.parts[1:] if relative.parts[0] == "src" else relative.parts
    names = [part.removesuffix(".py") for part in parts]
    is_package = names[-1] == "__init__"
    return ".".join(names[:-1] if is_package else names), is_package


def rewrite(path: Path) -> None:
    source = path.read_text()
    tree = ast.parse(source)
    me, is_package = name_of(path)
    here = me.split(".") if is_package else me.split(".")[:-1]
    names: dict[str, str] = dict(RENAMES.get(me, {}))
    modules: dict[str, dict[str, str]] = {}
    edits: list[tuple[int, int, str, str]] = []
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                new = RENAMES.get(module, {}).get(alias.name)
                if new:
                    edits.append((alias.lineno, alias.col_offset, alias.name, new))
                    if not alias.asname:
                        names[alias.name] = new
                if f"{module}.{alias.name}" in RENAMES:
                    modules[alias.asname or alias.name] = RENAMES[f"{module}.{alias.name}"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            edits.append((node.lineno, node.col_offset, node.id, names[node.id]))
        elif isinstance(node, ast.ClassDef) and me in RENAMES and node.name in RENAMES[me]:
            column = lines[node.lineno - 1].index(node.name, node.col_offset)
            edits.append(
                (node.lineno, len(lines[node.lineno - 1][:column].encode()), node.name, names[node.name])
            )
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
        ):
            new = modules[node.value.id].get(node.attr)
            if new:
                edits.append(
                    (node.end_lineno or 0, (node.end_col_offset or 0) - len(node.attr), node.attr, new)
                )
    for line, column, old, new in sorted(set(edits), reverse=True):
        raw = lines[line - 1].encode()
        assert raw[column : column + len(old)] == old.encode(), (path, line, old)
        lines[line - 1] = (raw[:column] + new.encode() + raw[column + len(old) :]).decode()
    text = "\n".join(lines)
    if names:  # names in backticks of docstrings and comments
        text = re.sub(r"``(\w+)``", lambda m: f"``{names.get(m[1], m[1])}``", text)
    if text != source:
        path.write_text(text)


for folder in ("src", "tests", "bench", "demo"):
    for path in sorted((ROOT / folder).rglob("*.py")):
        rewrite(path)
