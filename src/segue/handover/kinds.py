"""What each kind of declared step does.

A step knows nothing but what it is handed: its payload, which was stored before the run began, and what the
steps before it gave. So a resume by another process, on another day, does what the first one would have done.
Everything that goes into a file passes the door once more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import event_kinds as ev
from ..core.base.text import clean_text
from ..core.brief.facts import Probe
from ..core.handover.markdown_layers import front_matter, happened, told_of
from ..core.sessions.state import SessionState
from ..effects.clock import now
from ..effects.git.probe import probe
from ..effects.git.publish import Publisher
from ..effects.processes.webhooks import post, run_command
from ..errors import SegueError, UnknownSession
from ..services.brief.brief import render_brief
from ..services.brief.gather import gather, summary_of_session
from ..services.sessions.repository import stream_of
from .compaction import compact
from .declared import DeclaredStep, Workflow, filled
from .engine import Task, Work
from .memory import HEADER, MemoryStore

if TYPE_CHECKING:
    from ..api.segue import Segue

STATE_LIMIT_BYTES = 1_000_000
BRIEF_BYTES = 4_096


class Steps:
    """The tasks of a workflow, in a working tree."""

    def __init__(self, segue: Segue, flow: Workflow, session: str) -> None:
        self.segue = segue
        self.flow = flow
        self.session = session
        self.since = 0
        """The session's version at the handover before this one."""
        self.store = MemoryStore(segue.workspace.working_tree.root / flow.memory_dir)

    def tasks(self, note: str, state: str) -> list[Task]:
        """The tasks, with what each is given."""
        date = datetime.now().strftime("%Y-%m-%d")
        given = {"note": {"given": note, "date": date}, "state": {"given": state, "date": date}}
        return [self._task(step, given.get(step.kind, {})) for step in self.flow.steps]

    def _task(self, step: DeclaredStep, given: dict[str, Any]) -> Task:
        kinds: dict[str, Callable[[Work], Any]] = {
            "collect": self.collect, "note": self.note, "state": self.state, "compact": self.compact,
            "command": self.command, "git": self.git, "webhook": self.webhook, "score": self.score,
        }  # fmt: skip
        payload = {"kind": step.kind, **step.options, **given}
        if step.kind == "collect":
            payload |= {"session": self.session, "since": self.since}
        if step.timeout_seconds:
            payload["timeout_seconds"] = step.timeout_seconds
        own = step.kind in ("command", "git", "webhook")  # these keep their time themselves
        return Task(
            step.name, kinds[step.kind], payload, idempotent=step.idempotent, retries=step.retries,
            backoff_seconds=step.backoff_seconds, kind=step.kind,
            timeout_seconds=0.0 if own else step.timeout_seconds,
        )  # fmt: skip

    # -- kinds ---------------------------------------------------------------------------------

    def collect(self, work: Work) -> dict[str, Any]:
        """The facts of this moment: the session, the branch, what happened since, a brief."""
        segue, id = self.segue, work.payload["session"]
        tree, world = segue.workspace.working_tree, probe(segue.workspace.folder, seconds=2.0)
        facts: dict[str, Any] = {
            "at": now(), "session": id, "branch": world.branch, "commit": world.head[:12],
            "project": tree.project_name(tree.project_key(segue.workspace.settings)[0]),
        }  # fmt: skip
        state = None
        if id:
            state = segue.workspace.repository.state(id)
            head = segue.workspace.store.head(stream_of(id))
            events = segue.workspace.store.read(stream_of(id), after=work.payload["since"])
            facts |= {
                "version": head.version, "head": head.hash.hex(), "goal": state.goal, "status": state.status,
                "happened": happened(ev.read_body(event) for event in events),
            }  # fmt: skip
        facts["brief"] = self._brief(state, world)
        return facts

    def _brief(self, state: SessionState | None, world: Probe) -> str:
        workspace = self.segue.workspace
        try:
            runs = summary_of_session(workspace, state)
            known = gather(workspace, state, runs, world=world, covers=False)
            return render_brief(known, runs, form="markdown", budget=BRIEF_BYTES)
        except SegueError as fault:
            return f"no brief could be made: {fault.message}"

    def note(self, work: Work) -> dict[str, Any]:
        """Add a note to its day."""
        facts, given = _facts(work), work.payload
        text = given["text"] or "{note}"
        lines = [f"## {facts.get('at', now())[11:16]} {facts.get('goal') or 'handover'}".rstrip()]
        lines += [filled(text, self._words(work)).strip()]
        lines += facts.get("happened", [])
        body, tag = self._clean("\n".join(filter(None, lines))), given["tag"] or self.flow.tag
        path = self.store.write(1, f"{body}\n", tag, given["date"], id=work.run)
        return {"path": self._relative(path)}

    def state(self, work: Work) -> dict[str, Any]:
        """Replace the state: front matter for programs, a brief for readers."""
        facts, given = _facts(work), work.payload
        head = ""
        if facts.get("session"):
            state = self.segue.workspace.repository.state(facts["session"])
            if state.version != facts["version"]:
                state = self.segue.workspace.repository.state_at(facts["session"], facts["version"])
            head = front_matter(told_of(state, facts["head"], facts["at"]))
        words = self._words(work)
        said = filled(given["text"], words).strip() or given["given"].strip() or words["note"].strip()
        parts = [HEADER.format(layer=2, date=given["date"]).strip(), said, facts.get("brief", "").strip()]
        body = self._clean("\n\n".join(filter(None, parts)))
        path = self.store.put_state(f"{head}{body}\n")
        return {"path": self._relative(path), "bytes": len(head.encode()) + len(body.encode())}

    def compact(self, work: Work) -> Any:
        """Old notes into archives."""
        done = compact(self.store, months=work.payload["months"], keep=work.payload["keep"])
        return {"archives": len(done.archives), "notes": done.notes, "removed": done.removed}

    def command(self, work: Work) -> dict[str, Any]:
        """Run a command in the project."""
        given, root = work.payload, self.segue.workspace.working_tree.root
        said = run_command(
            given["command"], root / given["folder"], timeout_seconds=given.get("timeout_seconds", 0.0),
            environment={"SEGUE_SESSION": _facts(work).get("session", ""), "SEGUE_HANDOVER": work.run},
        )  # fmt: skip
        return {"said": said}

    def git(self, work: Work) -> dict[str, Any]:
        """Commit our own paths, and push if that is declared."""
        given, root = work.payload, self.segue.workspace.working_tree.root
        if self.segue.workspace.working_tree.repository is None:
            return {"skipped": "this is not a git repository"}
        publisher = Publisher(
            root, given["paths"] or [self.flow.memory_dir], push=given["push"], remote=given["remote"],
            branch=given["branch"], hooks=given["hooks"], sign=given["sign"],
            timeout_seconds=given.get("timeout_seconds", 60.0),
        )  # fmt: skip
        done = publisher.publish(_subject(filled(given["message"], self._words(work))))
        if not done.ok:
            raise RuntimeError("; ".join([done.reason, *done.found[1:5]]))
        return {"commit": done.commit, "pushed": done.pushed, "files": list(done.files[:50])}

    def webhook(self, work: Work) -> dict[str, Any]:
        """Tell somebody."""
        facts = {
            k: v for k, v in _facts(work).items() if k in ("session", "goal", "branch", "commit", "status")
        }
        text = self._clean(filled(work.payload["text"] or "{note}", self._words(work)))
        body = json.dumps({"handover": work.run, "text": text, **facts}).encode()
        key = f"{work.run}-{work.step}"
        return {"status": post(
            work.payload["url"], body, key=key, timeout_seconds=work.payload.get("timeout_seconds", 15.0)
        )}  # fmt: skip

    def score(self, work: Work) -> dict[str, Any]:
        """Judge the handovers before this one by the runs that came after them."""
        from .scoring import score_last

        found = score_last(self.segue)
        return (
            {"score": found.score, "of": found.handover}
            if found
            else {"skipped": "no run came after one yet"}
        )

    # -- words ---------------------------------------------------------------------------------

    def _words(self, work: Work) -> dict[str, Any]:
        """What stands for the placeholders of a template."""
        facts = _facts(work)
        note = next((t["given"] for t in _payloads(work) if t.get("kind") == "note" and t.get("given")), "")
        done = [line[8:] for line in facts.get("happened", []) if line.startswith("- done: ")]
        return {
            "goal": facts.get("goal") or facts.get("project", ""), "session": facts.get("session", ""),
            "note": note or work.payload.get("given", ""), "tag": self.flow.tag,
            "date": work.payload.get("date", facts.get("at", "")[:10]), "branch": facts.get("branch", ""),
            "commit": facts.get("commit", ""), "project": facts.get("project", ""), "done": ", ".join(done),
            "run": work.run,
        }  # fmt: skip

    def _clean(self, text: str) -> str:
        return clean_text(
            text, what="note", limit=STATE_LIMIT_BYTES, mask=self.segue.workspace.repository.mask
        )

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.segue.workspace.working_tree.root).as_posix()


def _facts(work: Work) -> dict[str, Any]:
    """What a collect step gave, whatever it is called."""
    found = (given for given in work.outputs.values() if isinstance(given, dict) and "at" in given)
    return next(found, {})


def _payloads(work: Work) -> list[dict[str, Any]]:
    return [given for given in work.payloads.values() if isinstance(given, dict)]


def _subject(message: str) -> str:
    """A commit's message whose first line is one."""
    first, _, rest = message.strip().partition("\n")
    first = " ".join(first.split())
    return f"{first[:99]}…\n\n{message}" if len(first) > 100 else f"{first}\n{rest}".strip() or "handover"


def session_here(segue: Segue, id: str = "") -> str:
    """The session that is meant; empty if none is current and none was named."""
    try:
        return segue.session(id).id
    except UnknownSession:
        if id:
            raise
        return ""
