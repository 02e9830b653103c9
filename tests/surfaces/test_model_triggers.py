"""A model is asked at a full window, a handover and a long run's end, by a process that nobody waits for."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from tests.support.hooks import Agent
from tests.support.models import DECIDED, Replay, Reply, openai, rung
from tests.support.runs import place, work

from segue.core.models.spending import Caps, Price
from segue.core.runs.steps import Step, Usage
from segue.services.models import ledger
from segue.services.models.config import ModelChoice, model_config, save
from segue.services.models.triggers import FULL, LONG, TRIGGERS, AskedAbout, ask_later
from segue.testing.transcripts import placed

NATIVE = "now-1"
T = TypeVar("T")


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    return Agent(home, tmp_path / "shop")


def set_models(
    agent: Agent, *models: ModelChoice, triggers: tuple[str, ...] = tuple(TRIGGERS), **caps: float
) -> None:
    with agent.open() as seg:
        save(seg.workspace, model_config(models, Caps(**caps), triggers))


def transcript(agent: Agent, *, used: int = 170_000, calls: int = 2) -> Path:
    """A run whose window is used so far."""
    made = work(at=time.time() - 60, native=NATIVE, cwd=str(agent.project), calls=calls)
    steps: list[Step] = [replace(one, context=used) if isinstance(one, Usage) else one for one in made]
    return placed("claude-code", steps, home=agent.home, native=NATIVE, cwd=str(agent.project))


def hook(agent: Agent, event: str, path: Path) -> dict[str, Any]:
    told = {"prompt": "Go on", "reason": "exit"}
    return agent.call(event, NATIVE, transcript_path=str(path), **told)


def eventually(look: Callable[[], T], seconds: float = 30.0) -> T:
    """What is there at last."""
    until = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def asked(agent: Agent) -> list[tuple[str, str, float]]:
    """Purpose, outcome and cost of the calls that are settled."""
    with agent.open() as seg:
        calls = ledger.report(seg.workspace, Caps()).entries
        return [(one.purpose, one.outcome, one.cost) for one in calls if one.outcome not in ("", "open")]


def brief(agent: Agent) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "segue", "brief", "--max-bytes", "4000"], env=agent.env, cwd=agent.project,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


def claims(*rows: Any, **usage: Any) -> Reply:
    return openai({"claims": list(rows)}, **usage)


def test_at_a_full_window_it_is_asked_once_and_what_is_known_is_not_told_as_its_words(agent: Agent) -> None:
    with Replay(claims(DECIDED)) as server:
        set_models(agent, rung(server.url))
        path = transcript(agent, calls=60)
        hook(agent, "UserPromptSubmit", path)
        assert eventually(lambda: asked(agent)), agent.log()
        hook(agent, "SessionEnd", path)
        time.sleep(1)
    assert len(server.seen) == 1, "the run has no new steps"
    ((purpose, outcome, _),) = asked(agent)
    assert (purpose, outcome) == ("brief (full)", "answered")
    text = brief(agent)
    assert text.count("one issuer") == 1 and "INFERRED" not in text, "the run said so itself"


def test_a_hook_does_not_wait_for_a_model_that_stalls(agent: Agent) -> None:
    stalled_seconds = 120
    with Replay(Reply(b"{}", wait_seconds=stalled_seconds)) as server:
        set_models(agent, rung(server.url, seconds=60.0))
        began = time.monotonic()
        said = hook(agent, "UserPromptSubmit", transcript(agent))
        assert time.monotonic() - began < stalled_seconds / 4
        assert eventually(lambda: server.seen), agent.log()
    assert "85 % full" in json.dumps(said)
    assert not asked(agent) or asked(agent)[0][1] != "answered"


def test_a_model_that_lies_adds_nothing(agent: Agent) -> None:
    lie = {"kind": "decision", "text": "All tests pass and it is deployed", "evidence": ["s4"]}
    with Replay(claims(lie)) as server:
        set_models(agent, rung(server.url))
        hook(agent, "UserPromptSubmit", transcript(agent))
        assert eventually(lambda: asked(agent)), agent.log()
    assert "deployed" not in brief(agent)


def test_a_model_that_charges_too_much_is_not_asked_again(agent: Agent) -> None:
    with Replay(claims(DECIDED, cost=5.0)) as server:
        set_models(agent, rung(server.url))
        hook(agent, "UserPromptSubmit", transcript(agent))
        assert eventually(lambda: asked(agent)) == [("brief (full)", "answered", 5.0)], agent.log()
        with agent.open() as seg:
            about = AskedAbout("another", "claude-code", 500, str(transcript(agent)))
            assert ask_later(seg.workspace, LONG, about)
        time.sleep(2)
    assert len(server.seen) == 1, "the cap of the day is reached"


def test_a_long_run_is_asked_about_when_it_ends_and_a_short_one_is_not(agent: Agent) -> None:
    with Replay(claims(DECIDED)) as server:
        set_models(agent, rung(server.url, price=Price(0, 0)))
        hook(agent, "SessionEnd", transcript(agent, used=10_000))
        time.sleep(1)
        assert server.seen == []
        hook(agent, "SessionEnd", transcript(agent, used=10_000, calls=200))
        assert eventually(lambda: asked(agent)), agent.log()
    assert asked(agent)[0][0] == "brief (long)"


def test_a_session_that_is_handed_over_is_asked_about(agent: Agent) -> None:
    with Replay(claims(DECIDED)) as server:
        set_models(agent, rung(server.url))
        with agent.open() as seg:
            seg.start("Auth", id="auth")
            place(agent.home, agent.project, old=0.0)
            seg.sync()
            seg.handoff("auth", "codex", "go on, please")
        assert eventually(lambda: asked(agent)), agent.log()
    assert asked(agent)[0][0] == "brief (handover)"


def test_nothing_is_asked_unless_the_user_wants_it(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    with Replay(claims(DECIDED)) as server:
        set_models(agent, rung(server.url), triggers=())
        with agent.open() as seg:
            about = AskedAbout("one", "claude-code", 10, str(transcript(agent)))
            assert not ask_later(seg.workspace, FULL, about), "only when asked"
        set_models(agent, rung(server.url))
        agent.env["SEGUE_MODELS"] = "off"
        hook(agent, "UserPromptSubmit", transcript(agent))
        (agent.project / "PAUSE").touch()
        del agent.env["SEGUE_MODELS"]
        hook(agent, "SessionEnd", transcript(agent))
        time.sleep(1)
    assert server.seen == []


def test_a_module_of_the_project_is_not_run_by_it(agent: Agent) -> None:
    (agent.project / "segue.py").write_text("open('was-run', 'w')\n")
    (agent.project / "json.py").write_text("open('was-run', 'w')\n")
    with Replay(claims(DECIDED)) as server:
        set_models(agent, rung(server.url))
        hook(agent, "UserPromptSubmit", transcript(agent))
        assert eventually(lambda: asked(agent)), agent.log()
    assert not (agent.project / "was-run").exists()


def test_a_process_that_asks_ends_after_its_time(agent: Agent) -> None:
    with Replay(Reply(b"{}", trickle_seconds=1.0)) as server:
        set_models(agent, rung(server.url, seconds=60.0))
        began = time.monotonic()
        words = [
            "prepare",
            "--with-model",
            "--within",
            "4",
            "--transcript",
            str(transcript(agent)),
            "--agent",
            "claude-code",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "segue", *words],
            env=agent.env,
            cwd=agent.project,
            capture_output=True,
            text=True,
        )
        took = time.monotonic() - began
    assert took < 30 and "without a model" in done.stderr + done.stdout, done
