"""Every way that a surface offers to say "it passes": none of them makes a feature pass.

A row is a surface and something that somebody may try there. A new surface (MCP, REST, a hook) adds rows;
the last test fails while one has none.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from starlette.testclient import TestClient

from segue import Segue, SegueError, Session
from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.features.events import CheckRan
from segue.core.features.verdict import definition_of
from segue.core.sessions import commands as do, feature_commands as fc
from segue.services.features.import_export import import_features
from segue.services.handoff.export import export_session
from segue.services.resume import emergency
from segue.services.server.projects import Projects
from segue.surfaces.cli.main import main
from segue.surfaces.hook.entry import answered
from segue.surfaces.http.app import application
from segue.surfaces.http.server.context import ServerContext, ServerOptions
from segue.surfaces.mcp.calls import Calls

SURFACES = Path(__file__).parents[2] / "src" / "segue" / "surfaces"
NOT_A_SURFACE = {"__init__", "__pycache__", "clipboard", "hook_file", "render"}


class Way(NamedTuple):
    surface: str
    name: str
    attempt: Callable[[Session], object]


def cli(*words: str) -> Callable[[Session], object]:
    return lambda session: main(list(words))


def mcp(tool: str, **given: Any) -> Callable[[Session], object]:
    return lambda session: Calls(session="s").call(tool, given)


def http(method: str, path: str, body: Any = None) -> Callable[[Session], object]:
    """A request to a server on the same store; it is refused, or changes nothing that counts."""

    def attempt(session: Session) -> object:
        projects = Projects(session.workspace.home.path)
        app = application(ServerContext(projects, ServerOptions(auth=False, logs=False)))
        with TestClient(app) as client:
            made = body(session) if callable(body) else body
            answer = client.request(method, f"/v1/sessions/{path}", json=made)
        assert answer.status_code in (200, 201, 400, 404, 409) and "embedder" not in answer.text, answer.text
        return answer

    return attempt


def _recorded(session: Session) -> object:
    return {"commands": [{"command": "RecordRun", "ran": msgspec.to_builtins(_ran(session))}]}


ATTEST = {"command": "AttestStep", "feature": "g", "step": "looked at", "who": "ana", "note": "seen"}
HTTP: dict[str, tuple[str, str, Any]] = {
    "complete": ("POST", "s/complete", {}),
    "complete for no reason": ("POST", "s/complete", {"force": " "}),
    "complete with hashes": ("POST", "s/complete", {"covered": {"f": "x", "g": "x"}}),
    "complete by command": ("POST", "s/commands", {"commands": [{"command": "Complete"}]}),
    "record a run": ("POST", "s/commands", _recorded),
    "attest by command": ("POST", "s/commands", {"commands": [ATTEST]}),
    "a state of one's own": (
        "POST", "s/commands", {"commands": [{"command": "Rewind", "to": 1, "then": {"status": "completed"}}]},
    ),
    "undo": ("POST", "s/undo", None),
    "append a completion": (
        "POST", "s/events", {"events": [{"kind": "session.completed", "body": {"proven": 2}}], "expect": 5},
    ),
    "append evidence": (
        "POST", "s/events",
        lambda s: {"events": [{"kind": "check.ran", "body": msgspec.to_builtins(_ran(s))}], "expect": 5},
    ),
    "append an attestation": (
        "POST", "s/events",
        {
            "events": [
                {"kind": "step.attested", "body": {"feature": "g", "step": "x", "who": "a", "note": "b"}}
            ],
            "expect": 5,
        },
    ),
    "update passes": ("POST", "s/features/f/update", {"passes": True}),
    "update status passing": ("POST", "s/features/f/update", {"status": "passing"}),
    "update with a verifier": ("POST", "s/features/f/update", {"passes": True, "verified_by": "ana"}),
    "update by nobody": ("POST", "s/features/g/update", {"passes": True, "verified_by": " "}),
    "attest a checked step": ("POST", "s/features/f/attest", {"note": "seen", "by": "ana"}),
    "attest without a note": ("POST", "s/features/g/attest", {"note": " ", "by": "ana"}),
    "add as passing": ("POST", "s/features", {"id": "h", "description": "d", "status": "passing"}),
    "begin": ("POST", "s/features/f/begin", {}),
    "a state": ("PUT", "s/agents/f", {"value": {"f": "passing"}}),
    "a note that says so": (
        "POST", "s/commands", {"commands": [{"command": "Note", "text": "f and g pass"}]},
    ),
    "a handoff that says so": ("POST", "s/handoffs", {"to": "codex", "note": "f and g pass"}),
}  # fmt: skip


def update(**values: Any) -> Callable[[Session], object]:
    return lambda session: session.features.update("f", **values)


def _ran(session: Session, **facts: Any) -> CheckRan:
    feature = session.state.features["f"]
    tree = session.features.look()
    covered, files = tree.covered(())
    check = feature.checks[0]
    values = {"exit_code": 0, "covered": covered, "after": covered, "files": files, **facts}
    return CheckRan("f", definition_of(feature), check.hash, check.text, **values)


def _forged_session(session: Session) -> object:
    """An export of another machine, with evidence that it made up and a right chain."""
    seg = Segue.of(session.workspace)
    events = session.log()
    ran = ev.draft(_ran(session), at=events[-1].at, actor="user")
    more = ev.seal("session/s", len(events), events[-1].hash, [ran])
    other = json.loads(export_session(seg.workspace, "s"))
    [event] = more
    other["events"].append(
        {
            "version": event.version, "kind": event.kind, "at": event.at, "actor": event.actor,
            "body_hash": event.body_hash.hex(), "prev": event.prev.hex(), "hash": event.hash.hex(),
            "body": canonical.decode(event.body),
        }
    )  # fmt: skip
    rest = {name: value for name, value in other.items() if name != "checksum"}
    other["checksum"] = canonical.digest(canonical.encode(rest)).hex()
    made = seg.import_(canonical.encode(other))
    kinds = [one.kind for one in made.log()]
    assert kinds[-2:] == ["check.ran", "evidence.voided"], "it was taken in, and does not count"
    assert seg.import_(canonical.encode(other)).state.version == len(kinds), (
        "importing twice is importing once"
    )
    return made


def _emergency(session: Session) -> object:
    """A file of a dying process that says what it never saw."""
    raw = [
        {"command": "RecordRun", "ran": msgspec.to_builtins(_ran(session))},
        {"command": "AttestStep", "feature": "g", "step": "looked at", "who": "ana", "note": "seen"},
    ]
    from segue.core.sessions import snapshot

    state = base64.b64encode(snapshot.encode(session.state)).decode()
    home = session.workspace.home
    file = emergency.Emergency("s", "o", "p", "t", "r", 1, [], [], [], state, unsaved=raw)
    path = emergency.write(home, file)
    assert emergency.read(path) is not None
    return emergency.merge(session.workspace, path)


def _undone(session: Session) -> object:
    """Proven, then failing, then the failure undone and rewound."""
    session.checkpoint("good")
    proof = session.features.change("f", checks=["true"], covers=["nothing"])
    assert session.features.verify(["f"]).ok and proof.events
    session.checkpoint("proven")
    session.features.mark_failed("f", "seen to fail")
    with suppress(SegueError):
        session.rewind("proven")
    return session.undo()


def _junit(session: Session) -> object:
    xml = b'<testsuite><testcase classname="check" name="x"/></testsuite>'
    return import_features(session, xml, "junit.xml")


def _list(session: Session) -> object:
    rows = [{"id": "f", "description": "it works", "passes": True, "status": "passing"}]
    return import_features(session, json.dumps(rows).encode(), "feature_list.json")


def _created(session: Session) -> object:
    session.features.create("h", "another", ["step"], status="passing")
    session.features.remove("f")
    return session.features.remove("g")


MCP_FEATURE: dict[str, dict[str, Any]] = {
    "verify": {"action": "verify"},
    "verify one": {"action": "verify", "name": "f"},
    "begin": {"action": "begin", "name": "f"},
    "attest": {"action": "attest", "name": "g", "text": "seen"},
    "update": {"action": "update", "name": "f", "status": "passing"},
    "an option as a name": {"action": "verify", "name": "f --trust"},
    "a name as an option": {"action": "show", "name": "--by=ana"},
    "a check that passes": {"action": "add", "name": "h", "text": "mine", "checks": ["true"]},
    "the same with another check": {"action": "add", "name": "f", "text": "it", "checks": ["true"]},
}  # fmt: skip


def hook(event: str, **told: Any) -> Callable[[Session], object]:
    def attempt(session: Session) -> object:
        segue = session.workspace
        payload = {"session_id": "run-1", "cwd": str(segue.folder), **told}
        return answered(str(segue.home.path), "claude-code", event, json.dumps(payload).encode())

    return attempt


WAYS = [
    Way("hook", "claim it at a stop", hook("Stop", last_assistant_message="All features pass. Done.")),
    Way(
        "hook",
        "say it in a prompt",
        hook("UserPromptSubmit", prompt="feature f passes, complete it"),
    ),
    Way("hook", "end as complete", hook("SessionEnd", reason="complete", proven=["f", "g"])),
    Way("library", "update passes", update(passes=True)),
    Way("library", "update status passing", update(status="passing")),
    Way("library", "update status complete", update(status="complete", passes=True)),
    Way("library", "update with a verifier", update(passes=True, verified_by="ana", notes="seen")),
    Way("library", "mark complete", lambda s: s.features.mark_complete("f", "ana")),
    Way("library", "mark complete by nobody", lambda s: s.features.mark_complete("g", " ")),
    Way("library", "attest a checked step", lambda s: s.features.attest("f", "seen", who="ana")),
    Way("library", "attest without a note", lambda s: s.features.attest("g", " ", who="ana")),
    Way("library", "create as passing", _created),
    Way("library", "move to passing", lambda s: s.apply(fc.MoveFeature("f", "passing"))),
    Way("library", "record a run", lambda s: s.apply(fc.RecordRun(_ran(s)))),
    Way("library", "attest by command", lambda s: s.apply(fc.AttestStep("g", "looked at", "a", "b", "c"))),
    Way("library", "complete by command", lambda s: s.apply(do.Complete(covered={"f": "x", "g": "x"}))),
    Way("library", "complete", lambda s: s.complete()),
    Way("library", "complete for no reason", lambda s: s.complete(force=" ")),
    Way("library", "undo and rewind", _undone),
    Way("library", "verify what fails", lambda s: s.features.verify()),
    Way("library", "verify as an agent", lambda s: Segue(actor="x").session("s").features.verify(trust=True)),
    Way("library", "a report", _junit),
    Way("library", "a feature list", _list),
    Way("library", "a session from elsewhere", _forged_session),
    Way("library", "an emergency file", _emergency),
    *(Way("mcp", f"feature {name}", mcp("feature", **given)) for name, given in MCP_FEATURE.items()),
    Way("mcp", "a note that says so", mcp("checkpoint", note="f passes", done=["f"], summary="--force=yes")),
    Way("mcp", "handoff", mcp("handoff", to="codex", note="f and g pass")),
    *(Way("http", name, http(*asked)) for name, asked in HTTP.items()),
    Way("cli", "verify", cli("verify")),
    Way("cli", "attest a checked step", cli("feature", "attest", "f", "--note", "seen")),
    Way("cli", "attest without a note", cli("feature", "attest", "g")),
    Way("cli", "begin", cli("feature", "begin", "f")),
    Way("cli", "complete", cli("complete")),
    Way("cli", "complete without a reason", cli("complete", "--force", "")),
    Way("cli", "undo", cli("undo")),
    Way("cli", "drop the check", cli("feature", "change", "f", "--drop-check", "#1", "--actor", "x")),
    Way("cli", "drop the feature", cli("feature", "remove", "f", "--actor", "x")),
    Way("cli", "add an easy check", cli("feature", "change", "g", "--check", "true", "--actor", "x")),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.surface}: {way.name}")
def test_no_surface_makes_a_feature_pass_that_nobody_ran_or_attested(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (project / "check.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(project)
    with Segue() as seg:
        session = seg.start("goal", id="s")
        session.features.add("f", "it works", checks=["python3 check.py"], covers=["check.py"])
        session.features.add("g", "it is right", steps=["looked at"])
    with Segue() as seg, suppress(SegueError):
        way.attempt(seg.session("s"))
    with Segue() as seg:
        session = seg.session("s")
        found = session.features.list()
        assert found.passing == 0, found
        assert session.state.status == "active"
        assert not session.features.gate().ok
        with pytest.raises(SegueError):
            session.complete()


def test_every_surface_has_rows() -> None:
    found = {path.stem for path in SURFACES.iterdir()} - NOT_A_SURFACE
    assert found <= {way.surface for way in WAYS}
