"""The benchmark of habits: the same places for every figure, no look ahead, and a curve."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.habits import GRID, command_hits, held_out, main, measured, picture, repositories
from tests.support.told_runs import ToldRun


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Seven runs of a project that always do the same; the last one does something else first."""
    for number in range(7):
        run = ToldRun("/src/shop", native=f"0a1b2c3d-{number}", at=1_790_000_000.0 + 1_000 * number)
        run.asked("Mend the cart")
        if number == 6:
            run.ran("terraform plan")
        run.edited("a.py").edited("b.py").ran("pytest -q").ran("ruff check .").over().placed(tmp_path)
    return tmp_path


def test_runs_are_taken_in_the_order_of_time_and_by_repository(folder: Path) -> None:
    [(cwd, traces)] = repositories([folder]).items()
    assert cwd == "/src/shop" and [trace.began for trace in traces] == sorted(trace.began for trace in traces)


def test_every_figure_is_of_the_same_places_and_only_earlier_runs_are_known(folder: Path) -> None:
    figures, judged, before = measured(repositories([folder]), (0, 5, 20), 5)
    assert judged == 2 and before == 5.5
    assert {one.commands.of for one in figures.values()} == {5}
    assert {one.files.of for one in figures.values()} == {4}
    assert figures[0].commands.right == 0, "a run alone tells nothing that it has not done yet"
    assert figures[5].commands.right == figures[20].commands.right == 4, "nobody could know of terraform"
    assert figures[0].files.right == 0 and figures[20].files.right == 4


def test_the_curve_is_written_and_too_few_runs_are_an_error(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(folder), "--picture", str(tmp_path / "curve.svg")]) == 0
    assert "next command" in capsys.readouterr().out
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    assert main([str(folder), "--least", "50"]) == 1
    assert "</svg>" in picture(measured(repositories([folder]), (0, 5), 5)[0])


def test_held_out_figures_use_weights_that_were_chosen_on_the_other_repositories(folder: Path) -> None:
    [traces] = repositories([folder]).values()
    rows = held_out({"/src/one": traces, "/src/two": traces[:-1], "/src/few": traces[:3]}, 5)
    assert [row[:3] for row in rows[:3]] == [["one", "2", "5"], ["two", "1", "2"], ["all places", "3", "7"]]
    assert rows[0][3:] == ["0.0 %", "80.0 %", "+80.0"] and rows[1][4] == "100.0 %"
    assert rows[3] == ["mean of repositories", "", "", "", "", "+90.0"]
    assert {one.of for one in command_hits(traces, GRID, 20, 5)} == {5}


def test_a_held_out_table_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), "--held-out"]) == 0
    assert "mean of repositories" in capsys.readouterr().out
