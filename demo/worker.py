"""A worker that can be killed at any moment: it works through the plan of the current session.

It continues what is under way, then begins what is next. Each item takes three steps; a step is printed after
Segue has acknowledged it, never before. What a worker needs to continue in the middle of an item (which item,
how many steps) is its agent's state, saved with every step.

    python demo/worker.py                  # in a folder with a session
    python demo/worker.py --hang-after 2   # gets stuck after its second step: something to kill
"""

from __future__ import annotations

import argparse
import os
import time

from segue import Segue, Session

STEPS = 3
NAME = "worker"


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)


class Worker:
    """One run: the steps that it did itself, and where it gets stuck."""

    def __init__(self, session: Session, pace_seconds: float, hang_after: int) -> None:
        self.session = session
        self.pace_seconds = pace_seconds
        self.hang_after = hang_after
        self.steps = 0

    def run(self) -> None:
        """Work until nothing is under way or next."""
        while item := self.upcoming():
            self.work_on(item)
        status = self.session.status()
        for blocked in status.blocked:
            say(f"  {blocked.item} is blocked: {blocked.reason}")
        if not status.blocked:
            self.session.complete()
            say("  nothing is left: completed")

    def upcoming(self) -> str:
        """What is under way, else what is next."""
        status = self.session.status()
        return next(iter([*status.active, *status.next]), "")

    def work_on(self, item: str) -> None:
        """Work on an item, from the step after the last one that was acknowledged."""
        saved = self.saved_steps(item)
        self.session.begin(item)
        say(f"  {item:18}", end=f" (steps 1-{saved} are done)" if saved else "")
        for step in range(saved + 1, STEPS + 1):
            time.sleep(self.pace_seconds)  # the actual work would be here
            self.session.save_agent(NAME, {"item": item, "steps": step})
            say(f" {step}", end="")
            self.steps += 1
            if self.steps == self.hang_after:
                time.sleep(3600)
        self.session.done(item)
        say(" done")

    def saved_steps(self, item: str) -> int:
        """How many steps of an item an earlier worker did."""
        if NAME not in self.session.state.agents:
            return 0
        state = self.session.load_agent(NAME)
        return int(state["steps"]) if state["item"] == item else 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Work through the plan of the current session.")
    parser.add_argument("--pace", type=float, default=0.1, metavar="SECONDS", help="how long a step takes")
    parser.add_argument("--hang-after", type=int, default=0, metavar="N", help="get stuck after N steps")
    args = parser.parse_args()
    with Segue() as seg:
        session = seg.session()
        with session.hold(holder=NAME):
            say(f"  worker {os.getpid()} holds {session.id}")
            Worker(session, args.pace, args.hang_after).run()


if __name__ == "__main__":
    main()
