"""An agent dies in the middle of a command; from what it left on disk, the next run learns what it must know.

`make demo`, after the crash of a worker. The agent is a process of our own that writes a transcript in the
format of a real one, line by line, and is killed with SIGKILL; home and data folder are temporary.
Whatever is claimed is checked.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from crash_and_resume import Broken, Stage, check, fail, paint, plain_terminal, scene

from segue.core.runs.steps import Call, Change, Plan, PlanItem, Prompt, Result, Say, Start, Step, Usage
from segue.testing.transcripts import placed, written

NATIVE = "0193a7c4-5a10-7d11-9c0e-1f2e3d4c5b6a"
AGENT = """
import sys, time
source, target = sys.argv[1:]
for line in open(source, "rb"):
    with open(target, "ab") as file:
        file.write(line)
    print(".", end="", flush=True)
    time.sleep(0.01)
print(" running the tests", flush=True)
time.sleep(60)
"""


TOKEN = """@dataclass
class Token:
    user: str
    expires_at: datetime
"""
ANY = "def check_token(token):\n    return True\n"
LOCAL = "def check_token(token):\n    return token.expires_at > datetime.now()\n"
UTC = "def check_token(token):\n    return token.expires_at > datetime.now(UTC)\n"


def edit(at: float, id: str, change: Change) -> Call:
    return Call(at, id, "apply_patch", change.how, paths=(change.path,), changes=(change,))


def story(cwd: str) -> list[Step]:
    """What the agent did until it died."""
    at = time.time() - 900
    plan = (
        PlanItem("token model", "done"),
        PlanItem("refuse expired tokens", "active"),
        PlanItem("remove the session cookie", "pending"),
    )
    steps: list[Step] = [
        Start(at, "start", NATIVE, cwd, "main"),
        Prompt(at + 1, "Move the shop's login to JWT. Never touch the legacy login in src/old."),
        Say(at + 2, "I'll add a token model first, then refuse expired tokens in the middleware."),
        edit(at + 3, "c1", Change("src/token.py", "create", new=TOKEN)),
        Result(at + 4, "c1", True, 0, "Done!"),
        Plan(at + 5, plan),
        edit(at + 6, "c2", Change("src/middleware.py", "edit", ANY, LOCAL)),
        Result(at + 7, "c2", True, 0, "Done!"),
        Call(at + 8, "c3", "exec_command", "run", "pytest -q", "pytest -q"),
        Result(at + 9, "c3", False, 1, "E   AssertionError: expired token accepted\n1 failed, 11 passed"),
        Say(at + 10, "The comparison uses local time. I'll compare expires_at with UTC in check_token."),
        Usage(at + 10, "r9", 168_000, 300, 200_000),
        edit(at + 11, "c4", Change("src/middleware.py", "edit", LOCAL, UTC)),
        Result(at + 12, "c4", True, 0, "Done!"),
        Call(at + 13, "c5", "exec_command", "run", "pytest -q", "pytest -q"),
    ]
    return steps


def play(stage: Stage, home: Path) -> None:
    """The whole demo."""
    scene(6, "An agent works, and dies without a word")
    script = placed(
        "codex", story(str(stage.project)), home=home / "script", native=NATIVE, cwd=str(stage.project)
    )
    transcript = home / script.relative_to(home / "script")
    transcript.parent.mkdir(parents=True)
    stage.environment["HOME"] = str(home)
    stage.environment.pop("CODEX_HOME", None)
    died = _killed(script, transcript)
    os.utime(transcript, (time.time() - 800,) * 2)  # a while ago
    check("it died of SIGKILL in the middle of a command", died == -signal.SIGKILL, died)

    scene(7, "The next run knows: from the disk alone, without a model")
    brief = stage.segue("brief")
    check("in at most 2,048 bytes", len(brief.rstrip("\n").encode()) <= 2_048, len(brief))
    for promise, words in {
        "what was wanted": "Move the shop's login to JWT",
        "what must never be done": "Never touch the legacy login",
        "what is under way, and next": "now refuse expired tokens; remove the session cookie",
        "what was done, in its order": "edited src/middleware.py in check_token",
        "what failed, and why": '`pytest -q`: "E AssertionError: expired token accepted',
        "what was running": "$ pytest -q → NO RESULT YET",
        "what is changed and not committed": "src/middleware.py, src/token.py (new)",
    }.items():
        check(promise, words in brief, brief)
    manifest = json.loads(stage.segue("brief", "--json", show=False))
    check("the same as JSON", manifest["pending_tasks"][0]["task"] == "refuse expired tokens", manifest)

    scene(8, "The agent deletes its transcript; ours is kept")
    stage.segue("sync")
    transcript.unlink()
    stage.segue("runs")
    again = stage.segue("brief", NATIVE[:8], show=False)
    check("and still says it", "expired token accepted" in again, again)


def _killed(script: Path, transcript: Path) -> int:
    child = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(script), str(transcript)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    print(f"  {child.stdout.readline().rstrip()}", end="")
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    print(paint(" ✗ killed with SIGKILL", "31"))
    return child.returncode


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="segue-demo-") as folder:
        home = Path(folder) / "user"
        home.mkdir()
        try:
            play(Stage(Path(folder)), home)
        except Broken as broken:
            fail(broken)
    print(paint("\nThe next run knows.", "1;32"))


if __name__ == "__main__":
    plain_terminal()
    if "--transcript" in sys.argv:  # only what the killed agent left behind
        sys.stdout.buffer.write(written("codex", story(os.getcwd()), native=NATIVE, cwd=os.getcwd()))
    else:
        main()
