"""The block for agents that read AGENTS.md, under the name by which agent-handover's own tests import it."""

from __future__ import annotations

from ..agents_md import (
    BEGIN_MARKER as BEGIN_MARKER,
    END_MARKER as END_MARKER,
    install as install,
    render_block as render_block,
)
