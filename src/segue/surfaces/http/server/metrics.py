"""Counts and times of requests in Prometheus' text format, in memory and by route, never by their content;
and how well recovery does, as it was measured."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ....core.stats.report import StatsReport
from ....services.server.quotas import QuotaUse

BOUNDS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER_COUNTS = (
    "keys_refused", "requests_limited", "requests_repeated", "requests_refused", "connections_refused",
    "connections_closed", "connections_stalled",
)  # fmt: skip
"""Refused requests are no HTTP, or over a limit of it; closed connections made room for others."""

STATS = {
    "restarts_total": "restarts", "restarts_survived_total": "survived", "handovers_total": "handovers",
    "pitfalls_told_total": "pitfalls", "pitfalls_mended_total": "pitfalls_mended",
    "seconds_to_edit_median": "seconds_to_edit", "calls_to_edit_median": "calls_to_edit",
    "brief_score": "brief_score", "brief_bytes": "brief_bytes", "handover_score": "handover_score",
    "prepare_seconds_median": "prepare_seconds",
    "bootstraps_total": "bootstraps", "bootstrap_seconds_median": "bootstrap_seconds",
    "restores_total": "restores", "restore_seconds_median": "restore_seconds",
    "restore_bytes": "restore_bytes",
    "manifest_bytes": "manifest_bytes", "memories_total": "memories",
    "memories_recalled_total": "memories_recalled", "memory_hit_rate": "memory_hit_rate",
    "habit_hit_rate": "habit_hit_rate", "habit_hit_rate_alone": "habit_hit_rate_alone",
}  # fmt: skip
"""The names of figures here, and in a report."""


def stats_text(report: StatsReport) -> str:
    """How well it does; what nothing was measured for is left out."""
    lines = []
    for name, field in STATS.items():
        value = getattr(report.total, field)
        if value is not None:
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE segue_{name} {kind}", f"segue_{name} {value:g}"]
    return "\n".join(lines) + "\n"


def quota_text(use: Sequence[QuotaUse], refused: Mapping[tuple[str, str], int]) -> str:
    """The quotas of projects, and how often this server refused something because of them."""
    lines = ["# TYPE segue_quota_limit gauge"]
    lines += [f"segue_quota_limit{_quota_labels(one.project, one.kind)} {one.limit}" for one in use]
    lines.append("# TYPE segue_quota_used gauge")
    lines += [f"segue_quota_used{_quota_labels(one.project, one.kind)} {one.used}" for one in use]
    lines.append("# TYPE segue_quota_refused_total counter")
    for one in use:
        count = refused.get((one.project, one.kind), 0)
        lines.append(f"segue_quota_refused_total{_quota_labels(one.project, one.kind)} {count}")
    return "\n".join(lines) + "\n"


def _quota_labels(project: str, kind: str) -> str:
    return f'{{project="{project}",quota="{kind}"}}'


class Metrics:
    """Counts what a server has done since it was started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.time()
        self._counts: dict[tuple[str, str, int], int] = defaultdict(int)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS_SECONDS) + 1))
        self._sums: dict[str, float] = defaultdict(float)
        self._other: dict[str, int] = defaultdict(int)
        self.under_way = 0

    def begun(self) -> None:
        with self._lock:
            self.under_way += 1

    def ended(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self.under_way -= 1
            self._counts[method if method in METHODS else "other", route, status] += 1
            self._sums[route] += seconds
            place = next(
                (i for i, bound in enumerate(BOUNDS_SECONDS) if seconds <= bound), len(BOUNDS_SECONDS)
            )
            self._buckets[route][place] += 1

    def count(self, what: str) -> None:
        """Count one more of ``OTHER_COUNTS``."""
        with self._lock:
            self._other[what] += 1

    def text(self) -> str:
        with self._lock:
            lines = [
                "# TYPE segue_start_time_seconds gauge", f"segue_start_time_seconds {self._started:.3f}",
                "# TYPE segue_requests_in_progress gauge", f"segue_requests_in_progress {self.under_way}",
                "# TYPE segue_requests_total counter",
            ]  # fmt: skip
            for (method, route, status), count in sorted(self._counts.items()):
                lines.append(
                    f'segue_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
                )
            for what in OTHER_COUNTS:
                lines += [f"# TYPE segue_{what}_total counter", f"segue_{what}_total {self._other[what]}"]
            lines.append("# TYPE segue_request_seconds histogram")
            for route, buckets in sorted(self._buckets.items()):
                lines += self._histogram(route, buckets)
        return "\n".join(lines) + "\n"

    def _histogram(self, route: str, buckets: list[int]) -> list[str]:
        lines, total = [], 0
        for bound, count in zip((*map(str, BOUNDS_SECONDS), "+Inf"), buckets, strict=True):
            total += count
            lines.append(f'segue_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
        return [
            *lines,
            f'segue_request_seconds_sum{{route="{route}"}} {self._sums[route]:.6f}',
            f'segue_request_seconds_count{{route="{route}"}} {total}',
        ]
