"""A program on the Claude Agent SDK whose agent pays with a command, in a session that is kept in the store.

Each run has a configuration folder of its own, as on another machine: what is resumed comes from the store.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, project_key_for_directory, query
from tests.integrations.chain_of_kills import PROMPT, note

from segue import Segue
from segue.integrations.claude_agent import SegueSessionStore, segue_options


def session_id(name: str) -> str:
    """The id of a conversation's session, which must be a UUID."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def environment(home: Path, url: str, **more: str) -> dict[str, str]:
    """What Claude Code needs to ask the scripted model and nobody else."""
    return {
        "HOME": str(home), "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"), "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **more,
    }  # fmt: skip


class AcknowledgedStore(SegueSessionStore):
    """Notes each entry after it was kept."""

    def __init__(self, segue: Segue, folder: Path, name: str) -> None:
        super().__init__(segue)
        self._folder, self._name = folder, name

    async def append(self, key: Any, entries: list[Any]) -> None:
        await super().append(key, entries)
        for entry in entries:
            if "uuid" in entry:
                note(self._folder / "acknowledged", f"{self._name} {entry['uuid']}")


def main(folder: Path, url: str, name: str) -> None:
    home, work = folder / f"home-{os.getpid()}", folder / "work"
    home.mkdir(exist_ok=True)
    segue = Segue(home=folder / "segue", folder=work)
    store = AcknowledgedStore(segue, folder, name)
    session = session_id(name)

    async def go() -> None:
        key: Any = {"project_key": project_key_for_directory(work), "session_id": session}
        entries = await store.load(key) or []
        begun = any(entry.get("type") == "user" for entry in entries)
        which: dict[str, Any] = {"resume": session} if begun else {"session_id": session}
        own = ClaudeAgentOptions(
            cwd=work, env=environment(home, url, PAYER=name), permission_mode="bypassPermissions",
            setting_sources=[], session_store=store, session_store_flush="eager", **which,
        )  # fmt: skip
        options = segue_options(own, segue=segue)
        async for message in query(prompt="Go on." if begun else PROMPT, options=options):
            if isinstance(
                message, ResultMessage
            ):  # if it was killed behind the last word, the script is over
                assert message.result in ("All is paid.", "The script is over."), message

    asyncio.run(go())
