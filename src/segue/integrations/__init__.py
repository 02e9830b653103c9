"""Segue in the shapes that users of agent frameworks know; each is an extra of its own.

``segue.integrations.langgraph`` (``segue[langgraph]``), ``segue.integrations.openai_agents``
(``segue[openai-agents]``), ``segue.integrations.pydantic_ai`` (``segue[pydantic-ai]``),
``segue.integrations.claude_agent`` (``segue[claude-agent]``).
"""

from __future__ import annotations


def not_installed(extra: str, fault: ModuleNotFoundError) -> ImportError:
    """The error for an integration whose framework is missing: it says what to install."""
    if (fault.name or "").startswith("segue"):
        return fault
    return ImportError(f"{fault.msg}: install it with pip install 'segue[{extra}]'", name=fault.name)
