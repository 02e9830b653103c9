"""Against what a real model answers: SmolLM2-135M, on this machine. Structure and limits, never prose.

It is far too small to be of help, and that is what it is for: nothing that it makes up may pass.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.model.small import NAME, WINDOW, SmallModel
from tests.support.runs import opened, place

from segue import Segue
from segue.core.brief.manifest import read
from segue.core.models.spending import Caps, Price
from segue.errors import ModelFailed, OverBudget
from segue.services.models import ask as models, config, ledger, plan as planning, refine
from segue.services.models.triggers import HANDOVER, SECONDS_MAX

PATIENCE_SECONDS = 900.0  # of a machine that is busy with other things
pytestmark = pytest.mark.timeout(1_800)


@pytest.fixture(scope="module")
def model() -> Iterator[SmallModel]:
    with SmallModel() as small:
        yield small


@pytest.fixture
def seg(home: Path, tmp_path: Path) -> Iterator[Segue]:
    with opened(home, tmp_path / "shop") as segue:
        yield segue


def set_model(
    seg: Segue, model: SmallModel, *, price: Price | None, seconds: float = PATIENCE_SECONDS
) -> None:
    rung = config.model_choice(NAME, url=model.url, price=price, window=WINDOW, seconds=seconds)
    config.save(seg.workspace, config.model_config([rung], Caps()))


def test_it_answers_in_the_form_that_is_asked_for(seg: Segue, model: SmallModel) -> None:
    set_model(seg, model, price=Price(0, 0))
    asked = models.ask(seg.workspace, models.hello())
    assert set(asked.value) == {"ok"} and isinstance(asked.value["ok"], bool)
    assert asked.input > 5 and 0 < asked.output <= 40 and asked.cost == 0


def test_a_refined_manifest_holds_nothing_that_the_transcript_does_not(
    seg: Segue, model: SmallModel, home: Path
) -> None:
    place(home, seg.workspace.folder)
    set_model(seg, model, price=Price(0.15, 0.60))
    done = refine.refine(seg.workspace, reason="test")
    assert done.model == NAME or "JSON" in done.fell_back, done.fell_back
    sources = {f"s{number}" for number in range(1, 40)}
    assert all(set(claim.evidence) <= sources for claim in done.claims)
    assert len(done.claims) + sum(done.dropped.values()) <= 50
    found = read(Path(done.prepared.path).read_bytes())
    assert found is not None and done.prepared.bytes <= 2_048
    assert found.active_state.current_work == "write it", "the plan of the run was lost"
    (entry,) = ledger.report(seg.workspace, Caps()).entries
    assert 0 < entry.cost <= entry.ceiling and entry.input > 100 and entry.output > 0
    assert entry.input <= len(done.prepared.path) + WINDOW


def test_a_plan_by_it_can_be_written_and_read_again(seg: Segue, model: SmallModel) -> None:
    (seg.workspace.folder / "Makefile").write_text("test:\n\ttrue\n")
    set_model(seg, model, price=Price(0, 0))
    found = planning.propose(seg.workspace, "Make the login use tokens", with_model=True)
    assert found.plan.goal == "Make the login use tokens"
    assert all(check == "make test" for feature in found.plan.features for check in feature.checks)
    assert planning.read(planning.written(found).encode()) == found.plan
    assert seg.list(everywhere=True) == []


def test_it_is_cut_off_when_its_time_is_over(seg: Segue, model: SmallModel, home: Path) -> None:
    place(home, seg.workspace.folder)
    set_model(seg, model, price=Price(0.15, 0.60), seconds=0.2)
    start = time.monotonic()
    done = refine.refine(seg.workspace, reason="test")
    assert "no answer in" in done.fell_back and not done.claims
    assert time.monotonic() - start < 60
    (entry,) = ledger.report(seg.workspace, Caps()).entries
    assert entry.outcome == "failed" and entry.cost == entry.ceiling


def test_at_a_handover_it_is_asked_by_a_process_of_its_own(seg: Segue, model: SmallModel, home: Path) -> None:
    seg.start("Auth", id="auth")
    place(home, seg.workspace.folder, old=0.0)
    seg.sync()
    rung = config.model_choice(NAME, url=model.url, price=Price(0.15, 0.60), window=WINDOW)
    config.save(seg.workspace, config.model_config([rung], Caps(), [HANDOVER]))
    seg.handoff("auth", "codex", "go on, please")
    until = time.monotonic() + 2 * SECONDS_MAX
    while not (calls := [one for one in ledger.report(seg.workspace, Caps()).entries if one.outcome]):
        assert time.monotonic() < until, "it ended without a word"
        time.sleep(0.2)
    assert calls[0].purpose == "brief (handover)" and 0 < calls[0].cost <= calls[0].ceiling


def test_more_than_its_window_is_refused_and_said(seg: Segue, model: SmallModel) -> None:
    set_model(seg, model, price=Price(0, 0))
    long = models.hello()
    too_much = type(long)(long.purpose, long.system, "word " * 6_000, long.schema, 20)
    with pytest.raises(ModelFailed, match="custom/smollm2"):
        models.ask(seg.workspace, too_much)


def test_a_cap_keeps_it_from_being_asked(seg: Segue, model: SmallModel) -> None:
    set_model(seg, model, price=None)
    with pytest.raises(OverBudget):
        models.ask(seg.workspace, type(models.hello())("test", "x", "y" * 4_000, models.hello().schema, 900))
    assert ledger.report(seg.workspace, Caps()).entries == ()
