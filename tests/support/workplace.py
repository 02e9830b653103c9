"""A machine with work on it, for tests, benchmarks and pictures of the pages: two projects, agents that are
at work or wait, sessions with plans, features, decisions, questions, and memories."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from segue import Segue
from segue.core.runs.steps import (
    Call,
    Change,
    End,
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
from segue.services.runs.run import key_of
from segue.testing.transcripts import placed

SHOP_SESSION, SITE_SESSION = "jwt", "search-page"
FIRST_RUN, SECOND_RUN, SITE_RUN = (
    "1f0c2a54-0a5e-4d7c-9c1e-6a1d2b3c4d5e", "2b7d9e10-55aa-4c1b-8f3d-0c9b8a7d6e5f", "ses_5c1f0e2ab",
)  # fmt: skip
BEFORE = "def login(user):\n    return Cookie(user.id)\n"
AFTER = "def login(user):\n    return sign({'sub': user.id, 'exp': soon()})\n"
TRACE = "\n".join(
    ["Traceback (most recent call last):", *(f'  File "auth/tokens.py", line {n}' for n in range(20)),
     "ExpiredSignature: the token expired 3 seconds ago"]
)  # fmt: skip


class Workplace:
    """The machine: its home folder, and the folders of its projects."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.shop, self.site = root / "shop", root / "docs-site"
        self.paths: dict[str, Path] = {}
        """The transcripts by the ids of their runs."""
        for folder in (self.home, self.shop, self.site):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEGUE_", "XDG_"))}
        return kept | {
            "HOME": str(self.home), "SEGUE_HOME": str(self.home / "segue"), "SEGUE_EMBEDDER": "static",
        }  # fmt: skip

    def open(self, folder: Path | None = None) -> Segue:
        """Segue in a project."""
        return Segue(folder=folder or self.shop, environment=self.environment)

    def place(self, agent: str, steps: list[Step], native: str, folder: Path, old: float = 0.0) -> str:
        """Write a transcript, last changed so many seconds ago. Returns the key of the run."""
        path = placed(agent, steps, home=self.home, native=native, cwd=str(folder))
        if old and path.suffix != ".db":
            os.utime(path, (time.time() - old,) * 2)
        self.paths[native] = path
        return self.key(agent, native)

    def key(self, agent: str, native: str) -> str:
        """The key of a run."""
        return key_of(agent, native, str(self.paths[native]))


def made(root: Path, environment: Mapping[str, str] | None = None) -> Workplace:
    """Everything at once."""
    place = Workplace(root)
    for folder in (place.shop, place.site):
        subprocess.run(["git", "init", "-q", str(folder)], check=True, env=place.environment)
    (place.shop / "auth.py").write_text(AFTER)
    now = time.time()
    with place.open() as segue:
        _shop(segue)
    place.place("claude-code", first_run(now - 7200, place.shop), FIRST_RUN, place.shop, old=6000)
    place.place("claude-code", second_run(now - 600, place.shop), SECOND_RUN, place.shop)
    with place.open() as segue:
        segue.sync(session=SHOP_SESSION)
    place.place("opencode", site_run(now - 5000, place.site), SITE_RUN, place.site, old=4800)
    with place.open(place.site) as segue:
        segue.start("Make the search page of the docs quick", items=["measure", "index"], id=SITE_SESSION)
        segue.sync(session=SITE_SESSION)
    return place


def _shop(segue: Segue) -> None:
    items = ["analyse the login", "sign tokens", "refuse expired ones", "write it down"]
    session = segue.start(
        "Move the shop's login to signed tokens with an expiry", items=items, id=SHOP_SESSION
    )
    session.done("analyse the login")
    session.begin("sign tokens")
    session.decide("HS256", "there is one issuer only")
    session.decide("Tokens live for 15 minutes", "the refresh is cheap")
    session.ask("Who rotates the signing key?")
    session.learn("the pool has ten connections")
    session.note("the old cookies stay valid for a day")
    session.block("write it down", "the wiki is down")
    session.features.add("login", "A login gives a signed token", checks=["true"])
    session.features.add("expired", "An expired token is refused", checks=["false"])
    segue.remember(
        "Integration tests need DB_URL to be set, or they wait for a minute.", session=SHOP_SESSION
    )
    segue.remember("Run the migrations before the tests: the schema is not made by itself.")
    for number in range(4):
        segue.remember(
            f"Lesson {number}: the clock of the runner is {number} seconds late.", session=SHOP_SESSION
        )


def first_run(at: float, folder: Path) -> list[Step]:
    """A run that ended in the middle of its work."""
    return [
        Start(at, "start", native=FIRST_RUN, cwd=str(folder), branch="main"),
        Model(at, "claude-sonnet-4-5"),
        Prompt(at, "Move the shop's login from cookies to signed tokens, please. They must expire."),
        Say(at + 5, "I will look at how the login works first."),
        Call(at + 6, "a1", "Grep", "search", text="Cookie(", paths=("auth.py",)),
        Result(at + 7, "a1", ok=True, text="auth.py:2:    return Cookie(user.id)"),
        Plan(at + 8, (PlanItem("sign tokens", "active"), PlanItem("refuse expired ones"))),
        Call(at + 20, "a2", "Edit", "edit", paths=("auth.py",),
             changes=(Change(str(folder / "auth.py"), "edit", BEFORE, AFTER),)),
        Result(at + 21, "a2", ok=True, text="The file auth.py has been updated."),
        Call(at + 30, "a3", "Bash", "run", text="pytest -q tests/auth", command="pytest -q tests/auth"),
        Result(at + 41, "a3", ok=False, exit=1, text=TRACE),
        Say(at + 50, "The clock of the test is late: a token is refused that is still valid."),
        Prompt(at + 60, "Then give it five seconds of leeway."),
        Call(at + 70, "a4", "Bash", "run", text="pytest -q tests/auth", command="pytest -q tests/auth"),
        Result(at + 80, "a4", ok=True, exit=0, text="12 passed in 3.10s"),
        Usage(at + 81, "u1", context=61_000, output=900, window=200_000),
        Say(at + 90, "All tests of the login pass with a leeway of five seconds."),
        End(at + 91),
    ]  # fmt: skip


def second_run(at: float, folder: Path) -> list[Step]:
    """A run that is at work."""
    return [
        Start(at, "start", native=SECOND_RUN, cwd=str(folder), branch="main"),
        Model(at, "claude-sonnet-4-5"),
        Prompt(at, "Go on with the login: expired tokens must be refused with 401."),
        Say(at + 4, "I will write the middleware that refuses them."),
        Plan(at + 5, (PlanItem("write the middleware", "active"), PlanItem("test it with a late clock"))),
        Call(at + 10, "b1", "Write", "create", paths=("middleware.py",),
             changes=(Change(str(folder / "middleware.py"), "create", "", "def refuse(request): ...\n"),)),
        Result(at + 11, "b1", ok=True, text="File created"),
        Usage(at + 12, "u2", context=148_000, output=1_400, window=200_000),
        Call(at + 13, "b2", "Bash", "run", text="pytest -q tests/auth", command="pytest -q tests/auth"),
    ]  # fmt: skip


def site_run(at: float, folder: Path) -> list[Step]:
    """A run of OpenCode whose turn is over."""
    return [
        Start(at, "start", native=SITE_RUN, cwd=str(folder)),
        Model(at, "gpt-5"),
        Prompt(at, "The search page of the docs takes four seconds. Make it quick."),
        Call(at + 3, "c1", "bash", "run", text="npm run bench", command="npm run bench"),
        Result(at + 9, "c1", ok=True, exit=0, text="search: 4130 ms"),
        Usage(at + 10, "u3", context=22_000, output=300, window=128_000),
        Say(at + 12, "The index is built again for every query. Shall I build it once at the start?"),
        End(at + 12),
    ]  # fmt: skip


TASKS = (
    "Add a discount code at the checkout", "The invoice shows the wrong tax for Austria",
    "Write tests for the order form", "Upgrade the database driver", "Cache the product pictures",
    "The nightly import fails on empty rows", "Translate the emails to French",
)  # fmt: skip
PAST_AGENTS = (
    ("claude-code", "claude-sonnet-4-5", 200_000), ("codex", "gpt-5", 272_000),
    ("opencode", "openrouter/qwen/qwen3-coder-unknown", 128_000), ("claude-code", "claude-opus-4-5", 200_000),
)  # fmt: skip


def with_past(place: Workplace, days: int = 28) -> None:
    """Give a machine runs of the last weeks, of three agents in two projects, and checks that ran today."""
    now = time.time()
    for day in range(days, 0, -1):
        for nth in range(0 if day % 7 in (0, 6) else 1 + day % 3):
            number = 3 * day + nth
            agent, model, window = PAST_AGENTS[number % len(PAST_AGENTS)]
            folder = place.site if agent == "opencode" else place.shop
            at = now - day * 86_400 - nth * 3_600
            native = (
                f"ses_{number:08d}" if agent == "opencode" else f"{number:08d}-0a5e-4d7c-9c1e-6a1d2b3c4d5e"
            )
            steps = past_run(at, native, folder, model, window, number)
            place.place(agent, steps, native, folder, old=now - at)
    for folder in (place.shop, place.site):
        with place.open(folder) as segue:
            segue.sync()
    with place.open() as segue:
        segue.make_current(SHOP_SESSION)
        segue.attach(SHOP_SESSION).features.verify(trust=True)


def past_run(at: float, native: str, folder: Path, model: str, window: int, number: int) -> list[Step]:
    """A run of some days ago."""
    full = window * (35 + 13 * number % 60) // 100
    return [
        Start(at, "start", native=native, cwd=str(folder)), Model(at, model),
        Prompt(at, f"{TASKS[number % len(TASKS)]}, please."),
        Call(at + 6, "p1", "Bash", "run", text="make test", command="make test"),
        Result(at + 9, "p1", ok=True, exit=0, text="all tests pass"),
        *(Usage(at + 10 * n, f"{native}-{n}", full * n // 9, 400 * n, window,
                input=900 * n, cache_read=full * n // 9, cache_write=3_000) for n in range(1, 9)),
        Say(at + 90, "It is done, and the tests pass."), End(at + 91),
    ]  # fmt: skip
