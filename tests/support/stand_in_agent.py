"""A stand-in for Claude Code, for tests without npm: its command line, its transcript, and a scripted life.
What each launch does is in ``$STANDIN/lives.json``, a list of objects: ``write`` a file, use up ``tokens``,
have a ``plan``, ``call`` without a result, ``ask`` the user, print a ``fault`` with a ``status``, be
``silent``, wait ``until`` a file holds some texts, then end by ``exit`` or ``signal``. Prompts are kept in
``$STANDIN/prompts.jsonl``. With ``STANDIN_AGENT`` it writes the transcripts of another agent.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from segue.core.runs.steps import (
    Call,
    End,
    Fault as Refused,
    Model,
    Plan,
    PlanItem,
    Prompt,
    Result,
    Say,
    Start,
    Step,
    Usage,
)
from segue.testing.transcripts import placed


def main() -> None:
    folder, words = Path(os.environ["STANDIN"]), sys.argv[1:]
    lives = json.loads((folder / "lives.json").read_text())
    number = (
        len((folder / "prompts.jsonl").read_text().splitlines()) if (folder / "prompts.jsonl").exists() else 0
    )
    resumed = "--resume" in words
    chosen = "--resume" if resumed else "--session-id"
    native = (
        words[words.index(chosen) + 1] if chosen in words else str(uuid.uuid4())
    )  # with a screen, it chooses the id itself
    told = {"prompt": words[-1], "native": native, "resumed": resumed, "pid": os.getpid()}
    with (folder / "prompts.jsonl").open("a") as file:
        file.write(json.dumps(told) + "\n")
    live(lives[min(number, len(lives) - 1)], native, words[-1], number)


def live(life: dict[str, Any], native: str, prompt: str, number: int) -> None:
    now, cwd = time.time(), os.getcwd()
    steps: list[Step] = [
        Start(now, "start", native=native, cwd=cwd),
        Model(now, "claude-opus-4-7"),
        Prompt(now, prompt),
    ]
    if "fault" not in life and not life.get("idle"):
        for n in range(number + 1):
            steps += [
                Call(now, f"c{n}", "Bash", "run", text="ls", command="ls"),
                Result(now, f"c{n}", ok=True, text="a"),
            ]
        steps += [
            Say(now, f"Life {number}."),
            Usage(now, f"u{number}", context=life.get("tokens", 1000), output=5),
        ]
    if "plan" in life:
        steps.append(Plan(now, tuple(PlanItem(text, state) for text, state in life["plan"])))
    if life.get("call"):
        steps.append(Call(now, "cx", "Bash", "run", text=life["call"], command=life["call"]))
    if life.get("ask"):
        steps.append(Call(now, "ca", "", "ask", text=life["ask"], note=life["ask"]))
    if "fault" in life:
        steps.append(Refused(now, life["fault"], life.get("status", 0)))
    elif "exit" in life:
        steps += [Say(now, "It is done."), End(now)]
    if not life.get("mute"):
        placed(
            os.environ.get("STANDIN_AGENT", "claude-code"),
            steps,
            home=Path(os.environ["HOME"]),
            native=native,
            cwd=cwd,
        )
    for name, text in life.get("write", {}).items():
        Path(name).write_text(text)
    if life.get("leave"):
        os.spawnlp(os.P_NOWAIT, "sleep", "sleep", life["leave"])
    time.sleep(life.get("silent", 0))
    if "until" in life:
        wait_until(*life["until"])
    if "signal" in life:
        os.kill(os.getpid(), life["signal"])
    failed = "fault" in life
    said = {"type": "result", "session_id": native, "is_error": failed, "result": life.get("fault", "done"),
            "api_error_status": life.get("status", 0), "total_cost_usd": life.get("cost", 0.0)}  # fmt: skip
    print(json.dumps(said), flush=True)
    raise SystemExit(life.get("exit", 1 if failed else 0))


def wait_until(file: str, *texts: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        held = Path(file).read_text() if Path(file).exists() else ""
        if all(text in held for text in texts):
            return
        time.sleep(0.1)


if __name__ == "__main__":
    main()
