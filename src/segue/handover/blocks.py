"""A block between markers in a file of the user's, for the adapters."""

from __future__ import annotations

from ..effects.files.marked_block import put_block as put_block
