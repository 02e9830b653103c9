"""What each kind of declared step does.

A step uses only its payload, which was stored before the run started, and the outputs of the steps before it.
So a resume by another process, on another day, does what the first run would have done. Every text is cleaned
again before it is written to a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from ..api.segue import Segue
from ..core import event_kinds as ev
from ..core.base.text import clean_text, harmless_text
from ..core.brief.facts import Probe
from ..core.handover.markdown_layers import front_matter, happened, told_of
from ..core.sessions.state import SessionState
from ..effects.clock import now
from ..effects.git.probe import probe
from ..effects.git.publish import Publisher
from ..effects.processes.webhooks import CommandFailed, post, run_command
from ..errors import SegueError, UnknownSession
from ..services.brief.brief import render_brief
from ..services.brief.gather import gather, summary_of_session
from ..services.sessions.repository import stream_of
from ..services.workspace.own_files import own_files
from .compaction import compact
from .declared import DeclaredStep, Workflow, filled
from .engine import NotDone, Task, Work
from .memory import HEADER, MemoryStore

STATE_LIMIT_BYTES = 1_000_000
BRIEF_BYTES = 8_192


class Steps:
    """The tasks of a workflow, in a working tree."""

    def __init__(self, segue: Segue, flow: Workflow, session: str, *, commit: bool = True) -> None:
        self.segue = segue
        self.flow = flow
        self.session = session
        self.commit = commit
        self.since = 0
        """The session's version at the previous handover."""
        self.store = MemoryStore(segue.workspace.working_tree.root / flow.memory_dir)

    def tasks(self, note: str, state: str) -> list[Task]:
        """The tasks with their payloads."""
        date = datetime.now().strftime("%Y-%m-%d")
        texts: dict[str, dict[str, Any]] = {
            "note": {"given": note, "date": date},
            "state": {"given": state, "date": date},
            "git": {} if self.commit else {"uncommitted": True},
        }
        return [self._task(step, texts.get(step.kind, {})) for step in self.flow.steps]

    def _task(self, step: DeclaredStep, texts: dict[str, Any]) -> Task:
        kinds: dict[str, Callable[[Work], Any]] = {
            "collect": self.collect, "note": self.note, "state": self.state, "compact": self.compact,
            "command": self.command, "git": self.git, "webhook": self.webhook, "score": self.score,
        }  # fmt: skip
        definition = {"kind": step.kind, **step.options, "timeout_seconds": step.timeout_seconds}
        payload = {**definition, **texts}
        if step.kind == "collect":
            payload |= {"session": self.session, "since": self.since}
        own = step.kind in ("command", "git", "webhook")  # these enforce their timeouts themselves
        return Task(
            step.name, kinds[step.kind], payload, idempotent=step.idempotent, retries=step.retries,
            backoff_seconds=step.backoff_seconds, kind=step.kind, definition=definition,
            timeout_seconds=0.0 if own else step.timeout_seconds,
        )  # fmt: skip

    def collect(self, work: Work) -> dict[str, Any]:
        """Collect the facts of now: the session, the branch, what happened since the last handover, a
        brief."""
        segue, id = self.segue, work.payload["session"]
        tree = segue.workspace.working_tree
        own = own_files(segue.workspace.home, tree.root)
        world = probe(segue.workspace.folder, seconds=2.0, own=own)
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
            known = gather(workspace, state, runs, world=world, covers=False, handover=False)
            return render_brief(known, runs, form="markdown", budget=BRIEF_BYTES)
        except SegueError as fault:
            return f"no brief could be written: {fault.message}"

    def note(self, work: Work) -> dict[str, Any]:
        """Add a note to the file of its day."""
        facts, payload = _facts(work), work.payload
        text = payload["text"] or "{note}"
        lines = [f"## {facts.get('at', now())[11:16]} {facts.get('goal') or 'handover'}".rstrip()]
        lines += [filled(text, self._words(work)).strip()]
        lines += facts.get("happened", [])
        body, tag = (
            self._clean(harmless_text("\n".join(filter(None, lines)))),
            payload["tag"] or self.flow.tag,
        )
        path = self.store.write(1, f"{body}\n", tag, payload["date"], id=work.run)
        return {"path": self._relative(path)}

    def state(self, work: Work) -> dict[str, Any]:
        """Replace the state: front matter for programs, a brief for people."""
        facts, payload = _facts(work), work.payload
        head = ""
        if facts.get("session"):
            state = self.segue.workspace.repository.state(facts["session"])
            if state.version != facts["version"]:
                state = self.segue.workspace.repository.state_at(facts["session"], facts["version"])
            head = front_matter(told_of(state, facts["head"], facts["at"]))
        words = self._words(work)
        text = filled(payload["text"], words).strip() or payload["given"].strip() or words["note"].strip()
        header, brief = HEADER.format(layer=2, date=payload["date"]).strip(), facts.get("brief", "").strip()
        parts = [header, harmless_text(text), brief]
        body = self._clean("\n\n".join(filter(None, parts)))
        path = self.store.put_state(f"{head}{body}\n")
        return {"path": self._relative(path), "bytes": len(head.encode()) + len(body.encode())}

    def compact(self, work: Work) -> Any:
        """Compact old notes into archives."""
        done = compact(self.store, months=work.payload["months"], keep=work.payload["keep"])
        return {"archives": len(done.archives), "notes": done.notes, "removed": done.removed}

    def command(self, work: Work) -> dict[str, Any]:
        """Run a command in the project."""
        payload, root = work.payload, self.segue.workspace.working_tree.root
        with _certain_failures():
            output = run_command(
                payload["command"], root / payload["folder"],
                timeout_seconds=payload.get("timeout_seconds", 0.0),
                environment={"SEGUE_SESSION": _facts(work).get("session", ""), "SEGUE_HANDOVER": work.run},
            )  # fmt: skip
        return {"said": output}

    def git(self, work: Work) -> dict[str, Any]:
        """Commit our own paths, and push if that is declared."""
        payload, root = work.payload, self.segue.workspace.working_tree.root
        if self.segue.workspace.working_tree.repository is None:
            return {"skipped": "this is not a git repository"}
        if payload.get("uncommitted") or not self.commit:
            return {"skipped": "nothing was committed, as you asked"}
        publisher = Publisher(
            root, payload["paths"] or [self.flow.memory_dir], push=payload["push"], remote=payload["remote"],
            branch=payload["branch"], hooks=payload["hooks"], sign=payload["sign"],
            timeout_seconds=payload.get("timeout_seconds") or 60.0,
        )  # fmt: skip
        done = publisher.publish(_commit_message(filled(payload["message"], self._words(work))))
        if not done.ok:
            raise RuntimeError("; ".join([done.reason, *done.found[1:5]]))
        return {"commit": done.commit, "pushed": done.pushed, "files": list(done.files[:50])}

    def webhook(self, work: Work) -> dict[str, Any]:
        """Send the note and a few facts to a webhook."""
        facts = {
            k: v for k, v in _facts(work).items() if k in ("session", "goal", "branch", "commit", "status")
        }
        text = self._clean(filled(work.payload["text"] or "{note}", self._words(work)))
        body = json.dumps({"handover": work.run, "text": text, **facts}).encode()
        key = f"{work.run}-{work.step}"
        seconds = work.payload.get("timeout_seconds") or 15.0
        with _certain_failures():
            return {"status": post(work.payload["url"], body, key=key, timeout_seconds=seconds)}

    def score(self, work: Work) -> dict[str, Any]:
        """Score earlier handovers by the runs that came after them."""
        from .scoring import score_last

        newest = score_last(self.segue)
        if newest is None:
            return {"skipped": "no run has followed an earlier handover yet"}
        return {"score": newest.score, "of": newest.handover}

    def _words(self, work: Work) -> dict[str, Any]:
        """The values of the placeholders in a template."""
        facts = _facts(work)
        payloads = (payload for payload in work.payloads.values() if isinstance(payload, dict))
        note = next((p["given"] for p in payloads if p.get("kind") == "note" and p.get("given")), "")
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


@contextmanager
def _certain_failures() -> Iterator[None]:
    """Tells the engine of a command or a webhook that certainly did not succeed."""
    try:
        yield
    except CommandFailed as fault:
        if fault.ended:
            raise NotDone(str(fault)) from fault
        raise


def _facts(work: Work) -> dict[str, Any]:
    """The output of the collect step, whatever its name."""
    collected = (output for output in work.outputs.values() if isinstance(output, dict) and "at" in output)
    return next(collected, {})


def _commit_message(message: str) -> str:
    """A commit message with a first line of at most 100 characters."""
    first, _, rest = message.strip().partition("\n")
    first = " ".join(first.split())
    return f"{first[:99]}…\n\n{message}" if len(first) > 100 else f"{first}\n{rest}".strip() or "handover"


def session_here(segue: Segue, id: str = "") -> str:
    """The id of the named or the current session; empty if none is named and none is current."""
    try:
        return segue.session(id).id
    except UnknownSession:
        if id:
            raise
        return ""
