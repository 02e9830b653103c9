"""Every command, each action of it and each option that changes what it prints, with ``--json``, for real:
one after the other on a small machine with work on it.

``told["feature add"]`` is what that command printed last, so that a later one can name it.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support import workplace
from tests.support.followed import Followed
from tests.support.models import DECIDED, Replay, openai
from tests.support.postgres_store import url_for
from tests.support.said_runs import place_split
from tests.support.told_runs import ToldRun
from tests.support.workplace import FIRST_RUN, Workplace

from segue.surfaces.cli.main import main

STANDIN = Path(__file__).parent / "stand_in_agent.py"
MENDED_RUN = "0a1b2c3d-1"
"""A run that mended a failure, from which there is something to learn."""
GOES_ON = ("serve", "ui", "status --watch", "log --follow", "mcp")
"""Commands that do not end by themselves."""


class Sample(NamedTuple):
    """A command, or an action or option of one as its shape names it, and a line that runs it."""

    variant: str
    line: str
    stdin: str = ""


_TOLD_RUN = "3c8e0f21-66bb-4d2c-9a4e-1d0c9b8e7f60"
_STARTED = json.dumps({"session_id": _TOLD_RUN, "hook_event_name": "UserPromptSubmit", "prompt": "go on"})
_SPLIT = [f"{{told[sessions join][0][sessions][{number}]}}" for number in (0, 1)]
"""The ids of sessions that look like one piece of work, once they were told."""
STORY: tuple[Sample, ...] = (
    Sample("segue", ""),
    Sample("version", "--version"),
    # -- looking
    Sample("status", "status"),
    Sample("status --watch", "status --watch --every 0.1"),
    Sample("list", "list --all"),
    Sample("list --ids", "list --ids"),
    Sample("resumable", "resumable"),
    Sample("runs", "runs --all"),
    Sample("show", "show"),
    Sample("show", f"show {FIRST_RUN}"),
    Sample("show --timeline", f"show {FIRST_RUN} --timeline"),
    Sample("show --timeline", "show jwt --timeline"),
    Sample("show RUN#STEP", f"show {FIRST_RUN}#5 -C 4"),
    Sample("log", "log"),
    Sample("log --follow", "log --follow"),
    Sample("search", "search expired token"),
    Sample("usage", "usage --by run"),
    Sample("usage", "usage --all --by model"),
    Sample("stats", "stats"),
    Sample("habits", "habits"),
    Sample("map", "map"),
    Sample("pressure", "pressure"),
    Sample("brief", "brief"),
    Sample("brief --explain", f"brief {FIRST_RUN} --explain"),
    Sample("since", "since --from 2d"),
    Sample("sync", "sync"),
    Sample("ledger", "ledger --all"),
    Sample("ledger", "ledger --kind rule"),
    Sample("ledger add", "ledger add rule 'Never push to main.'"),
    Sample("ledger edit", "ledger edit {told[ledger add][entries][0][handle]} 'Never push.'"),
    Sample("ledger drop", "ledger drop {told[ledger add][entries][0][handle]} --why 'it moved'"),
    Sample("ledger reopen", "ledger reopen {told[ledger add][entries][0][id]}"),
    Sample("ledger add", "ledger add item 'tell the team'"),
    Sample("ledger done", "ledger done {told[ledger add][entries][0][handle]}"),
    Sample("completion --words", "completion --words entries"),
    Sample("sessions list", "sessions"),
    Sample("sessions list --ids", "sessions list --ids"),
    Sample("sessions join", "-C {root}/split sessions join"),
    Sample("sessions join --dry-run", f"-C {{root}}/split sessions join {_SPLIT[0]} {_SPLIT[1]} --dry-run"),
    Sample("sessions join --yes", f"-C {{root}}/split sessions join {_SPLIT[0]} {_SPLIT[1]} --yes"),
    Sample("hold", "hold"),
    # -- working
    Sample("checkpoint", "checkpoint --name before --note 'all green' --begin 'refuse expired ones'"),
    Sample("checkpoints", "checkpoints"),
    Sample("add", "add docs"),
    Sample("begin", "begin docs"),
    Sample("block", "block docs --reason 'the wiki is down'"),
    Sample("unblock", "unblock docs"),
    Sample("done", "done docs"),
    Sample("drop", "drop 'write it down'"),
    Sample("note", "note 'edited auth.py'"),
    Sample("decide", "decide RS256 --why 'two issuers'"),
    Sample("ask", "ask 'Who owns the app?'"),
    Sample("answer", "answer 'Who owns the app?' 'the platform team'"),
    Sample("learn", "learn 'tokens expire after 15 minutes'"),
    Sample("checkpoint", "checkpoint --error 'it broke' --solved 'it broke' 'made it new' --focus auth.py:3"),
    Sample("show", "show"),
    Sample("undo", "undo"),
    Sample("rewind", "rewind before"),
    # -- features
    Sample("feature add", "feature add tax 'The tax is right' --check true --step 'buy bread' --covers '*'"),
    Sample("feature change", "feature change tax 'The tax is exact' --reason clearer"),
    Sample("feature add", "feature add looks 'It looks well'"),
    Sample("feature attest", "feature attest looks --note 'saw every page' --by ana"),
    Sample("feature begin", "feature begin tax"),
    Sample("verify", "verify --trust"),
    Sample("feature list", "feature list"),
    Sample("feature show", "feature show tax"),
    Sample("feature show --output", "feature show tax --output"),
    Sample("verify --audit", "verify --audit"),
    Sample("feature export", "feature export"),
    Sample("feature export FILE", "feature export features.json"),
    Sample("feature import", "feature import features.json"),
    Sample("feature block", "feature block tax 'no rates yet'"),
    Sample("feature fail", "feature fail tax 'wrong in Austria'"),
    Sample("completion --words", "completion --words features"),
    Sample("feature remove", "feature remove looks --reason 'not wanted'"),
    # -- memories
    Sample("remember", "remember 'Integration tests need DB_URL set, or they wait' --type strategy"),
    Sample("remember --from-run", f"remember --from-run {MENDED_RUN}"),
    Sample("recall", "recall 'what do tests need'"),
    Sample("playbook", "playbook 'run the tests'"),
    Sample("vote", "vote {told[remember][id]} helpful --why 'it was so'"),
    Sample("memories list", "memories list"),
    Sample("memories show", "memories show {told[remember][id]}"),
    Sample("memories audit", "memories audit"),
    Sample("memories export", "memories export"),
    Sample("memories export FILE", "memories export memories.jsonl"),
    Sample("memories import", "memories import memories.jsonl"),
    Sample("memories consolidate", "memories consolidate"),
    Sample("memories prune", "memories prune --keep 1"),
    Sample("memories decay", "memories decay"),
    Sample("memories list --deprecated", "memories list --deprecated"),
    Sample("memories reembed", "memories reembed"),
    Sample("forget", "forget {told[remember][id]} --reason 'it was wrong'"),
    # -- agents
    Sample("agent save", "agent save planner", '{"a": [1]}'),
    Sample("agent note", "agent note planner --mode review --pid 4242 --active"),
    Sample("agent list", "agent list"),
    Sample("agent load", "agent load planner"),
    Sample("agent drop", "agent drop planner"),
    Sample("run", "run --agent claude --check 'test -f good.txt' --max-runs 2"),
    Sample("continue", "continue --in claude --headless --max-runs 1"),
    Sample("mcp", "mcp"),
    Sample("hook", "hook claude-code UserPromptSubmit", '{"session_id": "x", "prompt": "go on"}'),
    Sample("hook", "hook claude-code UserPromptSubmit", _STARTED),
    Sample("show --told", f"show {_TOLD_RUN} --told"),
    Sample("statusline", "statusline", "{}"),
    # -- leaving and coming back
    Sample("start", "start 'Sell bread' --item dough --item oven --id bread"),
    Sample("status", "status"),
    Sample("switch", "switch jwt"),
    Sample("pause", "pause --reason lunch"),
    Sample("resume", "resume"),
    Sample("resume", "resume --budget balanced"),
    Sample("prepare", "prepare --reason 'before exit'"),
    Sample("bootstrap", "bootstrap --no-checks"),
    Sample("budget", "budget --limit 1"),
    Sample("budget --spent", "budget --spent 0.1 --tokens 100"),
    Sample("budget --spent", "budget --spent 5"),
    Sample("handoff --to", "handoff jwt --to codex --note 'go on'"),
    Sample("handoff --list", "handoff --list"),
    Sample("handoff --accept", "handoff --accept --actor codex"),
    Sample("handoff --to", "handoff jwt --to anyone"),
    Sample("handoff --decline", "handoff --decline --actor opencode --reason busy"),
    Sample("handoff --to", "handoff jwt --to codex"),
    Sample("handoff --withdraw", "handoff --withdraw --reason 'not needed'"),
    Sample("handoff --to-file", "handoff jwt --to-file work.segue"),
    Sample("import", "import work.segue --as elsewhere"),
    Sample("export", "export jwt"),
    Sample("export -o", "export jwt -o session.json"),
    Sample("export -o", f"export {FIRST_RUN} -o run.md"),
    Sample("export --format notebook", "export --format notebook -o sources"),
    Sample("import", "import session.json --as copied"),
    Sample("handover check", "handover check"),
    Sample("handover run", "handover run --note 'tokens work'"),
    Sample("handover check", "handover check"),
    Sample("handover check", "handover check --checkpoint handover.json"),
    Sample("handover status", "handover status"),
    Sample("handover score", "handover score"),
    Sample("handover compact", "handover compact --dry-run"),
    # -- models
    Sample("model set", "model set custom/m --url {url} --price 0.1/0.2 --only-when-asked"),
    Sample("model show", "model show"),
    Sample("plan --dry-run", "plan 'Bake' --dry-run"),
    Sample("prepare --dry-run", "prepare --dry-run"),
    Sample("prepare --with-model", "prepare --with-model"),
    Sample("model test", "model test"),
    Sample("spend", "spend"),
    Sample("model unset", "model unset"),
    Sample("plan", "plan 'Bake' --out plan.yaml"),
    Sample("plan --accept", "plan --accept plan.yaml"),
    # -- setting up
    Sample("config", "config"),
    Sample("config NAME", "config cleanup_days"),
    Sample("config set", "config set cleanup_days 60"),
    Sample("config unset", "config unset cleanup_days"),
    Sample("trust", "trust --yes"),
    Sample("init", "init --agent claude --yes"),
    Sample("init --plugin", "init --agent claude --plugin plugin --yes"),
    Sample("uninit", "uninit --yes"),
    Sample("completion", "completion bash"),
    Sample("completion --install", "completion bash --install"),
    Sample("off", "off"),
    Sample("on", "on"),
    Sample("key create", "key create --role writer --agent ci --expires 90d"),
    Sample("key rotate", "key rotate {told[key create][id]} --grace 1h"),
    Sample("key list", "key list"),
    Sample("key revoke", "key revoke {told[key rotate][id]}"),
    Sample("key audit", "key audit"),
    Sample("quota", "quota web --events 1000"),
    Sample("schema", "--store {postgres} schema --upgrade"),
    Sample("schema --roles", "schema --roles segue"),
    Sample("serve", "serve --port 0"),
    Sample("ui", "ui --no-open"),
    # -- keeping
    Sample("backup now", "backup"),
    Sample("backup list", "backup list"),
    Sample("rebuild", "rebuild --check"),
    Sample("doctor", "doctor"),
    Sample("doctor --prove", "doctor --prove"),
    Sample("recover", "recover --dry-run"),
    Sample("migrate", "migrate --to sqlite:///{root}/copy.db"),
    Sample("complete", "complete elsewhere --summary done --force 'it was a copy'"),
    Sample("abandon", "abandon copied --reason 'it was a copy'"),
    Sample("cleanup --dry-run", "cleanup --dry-run --days 0"),
    Sample("cleanup", "cleanup --days 0"),
    Sample("cleanup --list", "cleanup --list"),
    Sample("cleanup --restore", "cleanup --restore copied"),
    Sample("scrub", "scrub - --yes", "tokens expire after 15 minutes"),
)  # fmt: skip


class Told(NamedTuple):
    """A sample, and the JSON values that it printed."""

    sample: Sample
    values: list[Any]
    out: str
    err: str


def told_by_all(root: Path, patch: pytest.MonkeyPatch) -> list[Told]:
    """Run the story on a machine of its own."""
    place = workplace.made(root)
    _prepared(place, root, patch)
    told: dict[str, Any] = {}
    found = []
    with Replay(openai({"claims": [DECIDED]})) as server:
        for sample in STORY:
            line = sample.line.format(told=told, url=server.url, root=root, postgres=url_for(root))
            out, err = _run(sample, ["--json", *shlex.split(line)], place.shop)
            values = list(values_in(out)) if sample.variant != "statusline" else []
            told[sample.variant] = values[-1] if values else None
            found.append(Told(sample, values, out, err))
    return found


def _prepared(place: Workplace, root: Path, patch: pytest.MonkeyPatch) -> None:
    """A terminal in the shop's folder, with an agent that is a stand-in."""
    for name, value in place.environment.items():
        patch.setenv(name, value)
    for kind in ("DATA", "CONFIG", "CACHE", "STATE"):
        patch.setenv(f"XDG_{kind}_HOME", str(place.home / kind.lower()))
    program = root / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STANDIN}" "$@"\n')
    program.chmod(0o755)
    patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    patch.setenv("STANDIN", str(root))
    (root / "lives.json").write_text(json.dumps([{"write": {"good.txt": "x\n"}, "exit": 0}] * 4))
    (place.shop / "segue.toml").write_text("cleanup_days = 40\n")
    (place.shop / "handover.json").write_text("{}")
    mended, test = 'os.environ.get("JWT_SECRET", "")', "pytest tests/test_auth.py"
    run = ToldRun(str(place.shop), native=MENDED_RUN, at=time.time() - 90_000).asked("Make the login work")
    run = run.ran(
        test, "E   KeyError: 'JWT_SECRET'\nFAILED tests/test_auth.py::test_login\n1 failed in 0.12s"
    )
    run.edited("auth.py", 'os.environ["JWT_SECRET"]', mended).ran(test).over().placed(place.home)
    (root / "split").mkdir()
    place_split(place.home, root / "split")
    with place.open(root / "split") as segue:
        segue.sync()
    patch.chdir(place.shop)
    with place.open() as segue:
        segue.make_current(workplace.SHOP_SESSION)


def _run(sample: Sample, words: list[str], folder: Path) -> tuple[str, str]:
    if sample.variant in GOES_ON:
        with Followed(*words, folder=folder) as going:
            until = time.monotonic() + 30
            while not list(values_in(going.out)) and going.process.poll() is None:
                assert time.monotonic() < until, (words, going.out, going.err)
                time.sleep(0.02)
        return going.out, going.err
    with _streams(sample.stdin) as (out, err):
        main(words)
    return out.getvalue().decode(), err.getvalue().decode()


@contextmanager
def _streams(stdin: str) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Standard input and output of a command that runs in this process."""
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    try:
        yield out, err
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            stream.detach()
        sys.stdin, sys.stdout, sys.stderr = before


def values_in(text: str) -> Iterator[Any]:
    """The JSON values in a text, as far as the last one is whole."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield value
