"""The session that a thread is: begun with what was asked first, and told what a reader of it should know.

Only what somebody said, what the graph asks, and what went wrong is declared. The state of the graph is in
its checkpoints. A session that cannot take it, because it is over, does not keep the graph from going on.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from ...core.base.text import clean_text
from ...core.sessions.commands import Answer, Ask, Command, Create, Fail, Note
from ...errors import RefusedError, StaleVersion, UsageError
from ..workspace.workspace import Workspace

TEXT_CHARS_MAX = 600


class ThreadSession:
    """The session of a thread."""

    def __init__(self, workspace: Workspace, session: str, thread: str) -> None:
        self._workspace, self.session, self._thread = workspace, session, thread
        self._begun = False
        self._beginning = threading.Lock()

    def begin(self, said: str) -> bool:
        """Begin the session, unless it exists; says whether it was begun now. A graph puts from several
        threads: whoever comes meanwhile waits until it is there."""
        if self._begun:
            return False
        with self._beginning:
            if self._begun:
                return False
            begun = self._begin(said)
            self._begun = True
            return begun

    def _begin(self, said: str) -> bool:
        workspace = self._workspace
        if workspace.repository.exists(self.session):
            return False
        key, _ = workspace.working_tree.project_key(workspace.settings)
        goal = clean_text(shortened(said), what="goal", mask=workspace.repository.mask).strip()
        create = Create(
            self.session, goal or f"The graph of thread {self._thread[:80]}",
            workspace.settings.text("organization"), key, workspace.settings.text("type"),
            workspace.working_tree.project_name(key),
        )  # fmt: skip
        try:
            workspace.repository.commit(self.session, [create])
        except (StaleVersion, RefusedError, UsageError):
            if not workspace.repository.exists(self.session):
                raise
            return False  # another process began it meanwhile
        return True

    def asked_for(self, said: str) -> None:
        """The graph was given something to do."""
        if not self.begin(said) and said:
            self._tell([Note(f"Asked: {shortened(said)}")])

    def interrupted(self, questions: Sequence[str]) -> None:
        """The graph waits for an answer."""
        self._tell([Ask(shortened(question)) for question in questions if question.strip()])

    def resumed(self, answer: str) -> None:
        """The graph got an answer to what it asked last."""
        with suppress(RefusedError, UsageError):
            open_ones = [q for q in self._workspace.repository.state(self.session).questions if not q.answer]
            self._tell([Answer(open_ones[-1].text, shortened(answer) or "(given)")] if open_ones else [])

    def failed(self, faults: Sequence[str]) -> None:
        """A task of the graph failed."""
        self._tell([Fail(shortened(fault)) for fault in faults if fault.strip()])

    def _tell(self, commands: Sequence[Command]) -> None:
        self.begin("")
        if commands:
            with suppress(RefusedError, UsageError):
                self._workspace.repository.commit(self.session, commands)


def shortened(text: str) -> str:
    """A text for a line of the session."""
    text = " ".join(text.split())
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"
