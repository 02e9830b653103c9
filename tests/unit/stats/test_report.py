"""Figures of how well it does, of a span and month by month."""

from __future__ import annotations

from datetime import UTC, datetime

from segue.core.stats.report import (
    HabitHits,
    HandoverScore,
    Measured,
    MemoryCount,
    Recovery,
    StatsRow,
    Timing,
    stats_report,
)

OCTOBER = datetime(2026, 10, 31, 23, 59, tzinfo=UTC).timestamp()
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
END = datetime(2026, 12, 1, tzinfo=UTC).timestamp()


def test_what_nothing_was_measured_for_is_not_told_as_nought() -> None:
    report = stats_report(Measured(), NOVEMBER, END)
    assert report.total == StatsRow("total") and report.months == []
    assert report.total.brief_score is report.total.habit_hit_rate is report.total.seconds_to_edit is None


def test_times_are_medians_scores_are_means_and_rates_are_of_all() -> None:
    measured = Measured(
        [
            Recovery(
                NOVEMBER, score=80.0, seconds=10.0, calls=3, bytes=1_000, crashed=True, pitfalls=2, mended=1
            ),
            Recovery(NOVEMBER + 1, score=60.0, seconds=30.0, calls=5, bytes=2_000),
            Recovery(NOVEMBER + 2, score=40.0, seconds=0.0, calls=0, bytes=3_000),
        ],
        [
            Timing(NOVEMBER, "prepare", 0.2, 1_800),
            Timing(NOVEMBER, "bootstrap", 0.5),
            Timing(NOVEMBER, "bootstrap", 1.5),
            Timing(NOVEMBER, "restore", 0.3, 9_000),
        ],
        [HabitHits(NOVEMBER, 8, 4, 10), HabitHits(NOVEMBER, 2, 2, 10)],
        [HandoverScore(NOVEMBER, 70.0), HandoverScore(NOVEMBER, 50.0)],
        [MemoryCount(NOVEMBER, 3, 2, 1), MemoryCount(NOVEMBER)],
    )
    total = stats_report(measured, NOVEMBER, END).total
    assert (total.restarts, total.survived, total.seconds_to_edit, total.calls_to_edit) == (3, 1, 20.0, 4.0)
    assert (total.brief_score, total.brief_bytes, total.handover_score) == (60.0, 2_000.0, 60.0)
    assert (total.prepare_seconds, total.manifest_bytes) == (0.2, 1_800.0)
    assert (total.bootstraps, total.bootstrap_seconds) == (2, 1.0)
    assert (total.restores, total.restore_seconds, total.restore_bytes) == (1, 0.3, 9_000.0)
    assert (total.memories, total.memories_recalled, total.memory_hit_rate) == (2, 1, 0.667)
    assert (total.pitfalls, total.pitfalls_mended) == (2, 1)
    assert (total.habit_guesses, total.habit_hit_rate, total.habit_hit_rate_alone) == (20, 0.5, 0.3)


def test_a_month_begins_and_ends_at_midnight_utc() -> None:
    measured = Measured(
        [Recovery(OCTOBER, score=10.0), Recovery(NOVEMBER, score=90.0), Recovery(END, score=1.0)]
    )
    november = stats_report(measured, NOVEMBER, END)
    assert (november.since, november.until) == ("2026-11-01", "2026-12-01")
    assert november.total.restarts == 1 and november.total.brief_score == 90.0
    whole = stats_report(measured, 0.0, END)
    assert [(row.name, row.brief_score) for row in whole.months] == [("2026-10", 10.0), ("2026-11", 90.0)]
