"""What a run of Copilot CLI used that only the event of its end tells.

While it works, the events on disk say how many tokens the model wrote, and nothing of what it was sent. At
its end there are totals of each model since a time that is in the same event. So the totals count less what
was counted since that time: what single responses said, and the totals of an earlier end since the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.runs.steps import Usage
from . import wire

_FIELDS = ("input", "cache_read", "cache_write", "output")
_KEYS_MAX = 16
_MODELS_MAX = 64


class UsageTotals:
    """What was counted of a run so far, by model: input, read and written in the cache, output."""

    def __init__(self, kept: Any = None) -> None:
        kept = kept if isinstance(kept, dict) else {}
        self._since: float = kept.get("since", 0.0)
        self._ended: dict[str, list[int]] = dict(kept.get("ended") or {})  # the totals of the last end
        self._told: dict[str, list[int]] = dict(kept.get("told") or {})  # by responses since then
        self._last: dict[str, list[int]] = dict(kept.get("last") or {})  # key -> what the last ones told

    def keep(self) -> dict[str, Any]:
        return {"since": self._since, "ended": self._ended, "told": self._told, "last": self._last}

    def told(self, step: Usage, model: str) -> Usage:
        """Note what a response of a model told, and return it. If it is told twice, the higher counts."""
        now = [getattr(step, name) for name in _FIELDS]
        before = self._last.pop(step.key, [0, 0, 0, 0])
        highest = [max(pair) for pair in zip(now, before, strict=True)]
        self._last[step.key] = highest
        if len(self._last) > _KEYS_MAX:
            del self._last[next(iter(self._last))]
        if model in self._told or len(self._told) < _MODELS_MAX:
            sums = self._told.get(model, [0, 0, 0, 0])
            rows = zip(sums, highest, before, strict=True)
            self._told[model] = [total + new - old for total, new, old in rows]
        return step

    def at_shutdown(self, at: float, key: str, body: wire.Ending) -> Iterator[Usage]:
        """What the totals of an end say beyond what was counted before."""
        since = float(body.session_start_time or 0.0)
        counted = self._ended if since and since == self._since else {}
        totals: dict[str, list[int]] = {}
        for model, metrics in list((body.model_metrics or {}).items())[:_MODELS_MAX]:
            used = metrics.usage or wire.ModelTokens()
            read, written = used.cache_read_tokens, used.cache_write_tokens
            totals[model] = [max(0, used.input_tokens - read - written), read, written, used.output_tokens]
            known = zip(counted.get(model, [0] * 4), self._told.get(model, [0] * 4), strict=True)
            rest = [max(0, total - sum(one)) for total, one in zip(totals[model], known, strict=True)]
            if any(rest):
                fresh, read, written, output = rest
                yield Usage(
                    at, f"{key}/{model}", output=output, input=fresh, cache_read=read, cache_write=written,
                    model=model,
                )  # fmt: skip
        if totals:
            self._since, self._ended, self._told = since, totals, {}
