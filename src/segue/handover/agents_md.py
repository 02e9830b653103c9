"""What the adapters share: the block for agents that read AGENTS.md, and the engine for the end of a session.

``render_block`` gives, byte for byte, the block of agent-handover, which names a script of that package's own
examples. A project that does not have the script gets a block with the command that does the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..effects.files.marked_block import put_block
from .backends import GitBackend, NullBackend
from .engine import HandoverEngine
from .steps import DEFAULT_CHECKPOINT, three_steps

BEGIN_MARKER = "<!-- agent-handover:begin -->"
END_MARKER = "<!-- agent-handover:end -->"


def render_block(checkpoint: str, example_hint: str, unit: str = "session", where: str = "") -> str:
    """The block; ``unit`` is the agent's word for a session."""
    return f"""{BEGIN_MARKER}
## Session handover (agent-handover)

At the START of every {unit}, before anything else, run{where}:

```bash
agent-handover check --checkpoint {checkpoint}
```

- exit `1` -> a previous handover was interrupted; finish it (re-run the end-of-session handover) before starting new work.
- exit `0`/`2` -> clean; read `memory/layer2/current-state.md` to recover context, then proceed.

At the END of the {unit}, run the end-of-session handover (see `{example_hint}`).
{END_MARKER}"""  # noqa: E501


def install(path: Path | str, block: str) -> bool:
    """Write the block into a file, and return whether the file changed."""
    return put_block(Path(path), block, BEGIN_MARKER, END_MARKER)


def fitting_block(block: str, root: Path, example_hint: str, agent: str, checkpoint: str) -> str:
    """The block for a project: with the command in place of the script if the project has no such script."""
    if (root / example_hint).is_file():
        return block
    more = "" if checkpoint == DEFAULT_CHECKPOINT else f" --checkpoint {checkpoint}"
    run = f"agent-handover run --agent {agent}{more}"
    return (
        block.replace(f"(see `{example_hint}`)", f'(`{run} --note "WHAT HAPPENED"`)')
        .replace("(re-run the end-of-session handover)", f"(`{run}`)")
        .replace("current-state.md` to", "current-state.md`, if it is there, to")
    )


class EngineBuilder(Protocol):
    """Builds the engine for the end of an agent's session: a note, the state, and a git commit that is
    pushed. Without ``push``, only files are written."""

    def __call__(
        self, *, session_note: str, current_state: str, memory_dir: Path | str = "memory",
        tag: str = ..., repo_dir: Path | str = ".", publish_paths: list[str] | None = None,
        push: bool = True, pause_file: Path | str | None = None,
        checkpoint: Path | str = DEFAULT_CHECKPOINT,
    ) -> HandoverEngine: ...  # fmt: skip


def engine_builder(agent: str) -> EngineBuilder:
    """The builder for an agent; the agent's name is the default tag of its notes."""

    def build(
        *, session_note: str, current_state: str, memory_dir: Path | str = "memory", tag: str = agent,
        repo_dir: Path | str = ".", publish_paths: list[str] | None = None, push: bool = True,
        pause_file: Path | str | None = None, checkpoint: Path | str = DEFAULT_CHECKPOINT,
    ) -> HandoverEngine:  # fmt: skip
        paths = publish_paths or [str(memory_dir)]
        return three_steps(
            note=session_note, state=current_state, memory_dir=memory_dir, tag=tag,
            backend=GitBackend(repo_dir, paths=paths) if push else NullBackend(),
            message=f"handover: {agent} session ({tag})", checkpoint=checkpoint, pause_file=pause_file,
        )  # fmt: skip

    return build
