"""Spend: the ceiling before, what was used after, and caps that hold whoever asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.runs import opened

from segue import Segue
from segue.core.models import spending as spend
from segue.core.models.spending import DEAREST, Caps, DayLedger, ModelCall, Price
from segue.errors import OverBudget, Paused
from segue.services.models import ledger as spending

SMALL = Price(0.15, 0.60)


@pytest.fixture
def seg(home: Path, tmp_path: Path) -> Segue:
    return opened(home, tmp_path / "shop")


def test_the_ceiling_is_more_than_any_text_of_that_length_can_cost() -> None:
    assert spend.ceiling(2_000_000, 0, Price(1.0, 0.0)) == 1.0
    assert spend.ceiling(0, 1_000_000, Price(0.0, 2.0)) == 2.0


def test_a_price_that_nobody_knows_is_the_dearest() -> None:
    assert spend.ceiling(8_000, 500, None) == spend.ceiling(8_000, 500, DEAREST)
    assert spend.ceiling(8_000, 500, None) > 100 * spend.ceiling(8_000, 500, SMALL)


def entry(cost: float, session: str = "") -> ModelCall:
    return ModelCall("e", "", "m", "brief", session, cost, cost)


@pytest.mark.parametrize(
    ("wish", "session", "today", "before", "word"),
    [
        (0.02, "", (), (), ""),
        (0.06, "", (), (), "cap per call"),
        (0.02, "a", (entry(0.09, "a"),), (), "the session has spent"),
        (0.02, "a", (), (entry(0.09, "a"),), "the session has spent"),
        (0.02, "b", (entry(0.09, "a"),), (), ""),
        (0.02, "", (entry(0.19),), (), "today"),
        (0.02, "", (), (entry(0.19),), ""),
        (0.01, "", (entry(0.19),), (), ""),
        (0.0, "a", (entry(9.0, "a"),), (), ""),
    ],
)
def test_a_call_is_refused_when_any_cap_would_not_hold(
    wish: float, session: str, today: tuple[ModelCall, ...], before: tuple[ModelCall, ...], word: str
) -> None:
    caps = Caps(0.05, 0.10, 0.20)
    found = spend.refusal(wish, session, DayLedger(0, today), [DayLedger(0, before)], caps)
    assert (word in found) if word else found == ""


def test_what_was_reserved_counts_until_it_is_settled_by_what_was_used(seg: Segue) -> None:
    caps = Caps(0.05, 0.10, 0.10)
    call = spending.reserve(seg.workspace, 0.05, caps, model="m", purpose="brief", session="s")
    assert spending.ledger(seg.workspace, call[0]).total == pytest.approx(0.05)
    spending.settle(seg.workspace, call, cost=0.001, input=900, output=80, seconds=1.5)
    (found,) = spending.ledger(seg.workspace, call[0]).entries
    assert (found.cost, found.input, found.output, found.outcome) == (0.001, 900, 80, "answered")
    spending.reserve(seg.workspace, 0.05, caps, model="m", purpose="plan", session="s")
    with pytest.raises(OverBudget, match="the session has spent"):
        spending.reserve(seg.workspace, 0.05, caps, model="m", purpose="plan", session="s")
    report = spending.report(seg.workspace, caps, session="s")
    assert [share.name for share in report.purposes] == ["plan", "brief"]
    assert report.today == pytest.approx(0.051) and report.left_today == pytest.approx(0.049)
    assert report.left_session == pytest.approx(0.049)


def test_the_session_pays_for_what_it_spent_on_earlier_days(
    seg: Segue, monkeypatch: pytest.MonkeyPatch
) -> None:
    caps = Caps(0.05, 0.06, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(spending, "today", lambda: "2026-01-01")
        spending.reserve(seg.workspace, 0.05, caps, model="m", purpose="brief", session="s")
    with pytest.raises(OverBudget, match="the session has spent"):
        spending.reserve(seg.workspace, 0.05, caps, model="m", purpose="brief", session="s")
    spending.reserve(seg.workspace, 0.05, caps, model="m", purpose="brief", session="other")


def test_nothing_is_reserved_while_a_pause_is_in_force(seg: Segue) -> None:
    (seg.workspace.home.path / "PAUSE").touch()
    with pytest.raises(Paused):
        spending.reserve(seg.workspace, 0.01, Caps(), model="m", purpose="brief")


ASKS = """
import sys
from segue import Segue
from segue.core.models.spending import Caps
from segue.errors import OverBudget
from segue.services.models import ledger as spending
granted = 0
caps = Caps(0.02, 0.30, 0.30)
with Segue(home=sys.argv[1], folder=sys.argv[2]) as seg:
    sys.stdin.read(1)
    for _ in range(20):
        try:
            call = spending.reserve(seg.workspace, 0.01, caps, model="m", purpose="brief", session="s")
        except OverBudget:
            continue
        granted += 1
        if granted % 3 == 0:
            spending.settle(seg.workspace, call, cost=0.004)
print(granted)
"""


def test_caps_hold_with_ten_processes_at_once(tmp_path: Path) -> None:
    home, folder = tmp_path / "data", tmp_path / "shop"
    folder.mkdir()
    with Segue(home=home, folder=folder):
        pass
    ten = [
        subprocess.Popen(
            [sys.executable, "-c", ASKS, str(home), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(10)
    ]  # fmt: skip
    for process in ten:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    granted = sum(int(process.communicate(timeout=100)[0]) for process in ten)
    with Segue(home=home, folder=folder) as seg:
        entries = spending.ledger(seg.workspace, spending.today()).entries
        total = sum(one.cost for one in entries)
    assert all(process.returncode == 0 for process in ten)
    assert len(entries) == granted and 30 <= granted < 200
    assert total <= 0.30 + 1e-9
    assert total > 0.29, "the cap was never reached: nothing was tested"
