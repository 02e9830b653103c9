"""Segue's own handover: declared steps under a checkpoint in the journal, Markdown layers, compaction."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from segue import BadSettings, HandoverPending, NotTrusted, OtherWorkflow, Paused, Segue, StepUncertain
from segue.core.handover.markdown_layers import FrontMatter, front_matter, read_front_matter
from segue.handover import MemoryStore, Task, Work
from segue.handover.compaction import compact
from segue.handover.declared import workflow
from segue.handover.engine import NotDone
from segue.handover.flow import Handover
from segue.services.workspace.working_tree import tree_stream

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def segue(tmp_path: Path, project: Path) -> Iterator[Segue]:
    with Segue(home=tmp_path / "home", folder=project) as seg:
        yield seg


def git(folder: Path, *words: str) -> str:
    said = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return said.stdout.strip()


def state_text(project: Path) -> str:
    return (project / "memory" / "layer2" / "current-state.md").read_text()


def notes(project: Path) -> str:
    return "".join(path.read_text() for path in sorted((project / "memory" / "layer1").rglob("*.md")))


def declare(segue: Segue, text: str) -> None:
    """Write a segue.toml and trust it."""
    segue.workspace.working_tree.project_file.write_text(text)
    segue.workspace.working_tree.trust(
        segue.workspace.pause_file, at="2026-01-01T00:00:00.000000Z", actor="user"
    )


# -- the default four ------------------------------------------------------------------------------


def test_the_default_four_leave_a_note_a_state_and_a_commit_and_do_not_push(
    segue: Segue, project: Path
) -> None:
    session = segue.start("Refactor auth", items=["user model", "middleware"])
    session.done("user model")
    session.decide("HS256", why="one issuer")
    own = Handover(segue)
    assert own.check() == 0
    ran = own.run(note="JWT works")
    assert ran.executed == ["collect", "note", "state", "git"] and not ran.resumed
    assert own.check() == 2
    assert "JWT works\n- done: user model\n- decided: HS256 – one issuer" in notes(project)
    told = read_front_matter(state_text(project))
    assert told is not None and told.session == session.id and told.goal == "Refactor auth"
    assert ("done", "user model", "") in told.items and told.decisions == (("HS256", "one issuer"),)
    assert "JWT works" in state_text(project)
    assert git(project, "log", "-1", "--format=%s") == "handover: Refactor auth"
    assert ran.outputs["git"]["pushed"] is False


def test_the_state_names_a_hash_that_an_audit_finds_in_the_journal(segue: Segue, project: Path) -> None:
    session = segue.start("Refactor auth")
    Handover(segue).run(note="x")
    told = read_front_matter(state_text(project))
    session.note("later")
    assert told is not None and told.version == 2
    assert session.features.audit(told.head).ok
    assert not session.features.audit("00" * 32).ok


def test_a_second_handover_tells_what_happened_since_the_first(segue: Segue, project: Path) -> None:
    session = segue.start("Refactor auth")
    session.done("one")
    Handover(segue).run(note="first")
    session.done("two")
    Handover(segue).run(note="second")
    text = notes(project)
    assert text.count("- done: one") == 1 and text.index("second") < text.index("- done: two")


def test_without_a_session_and_without_git_there_is_still_a_note_and_a_state(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    with Segue(home=tmp_path / "home", folder=folder) as seg:
        ran = Handover(seg).run(note="by hand")
    assert ran.outputs["git"] == {"skipped": "this is not a git repository"}
    assert "by hand" in notes(folder) and "by hand" in state_text(folder)


def test_pause_stops_a_handover_before_anything_is_written(segue: Segue, project: Path) -> None:
    segue.start("x")
    (project / "PAUSE").touch()
    with pytest.raises(Paused):
        Handover(segue).run(note="n")
    assert not (project / "memory").exists() and Handover(segue).check() == 0


def test_a_secret_in_a_note_is_masked_before_it_is_stored_or_written(segue: Segue, project: Path) -> None:
    segue.start("x")
    Handover(segue).run(note=f"the key is {TOKEN}")
    assert TOKEN not in notes(project) + state_text(project)
    stored = b"".join(event.body for event in segue.workspace.store.read(Handover(segue).checkpoint.stream))
    assert TOKEN.encode() not in stored


def test_a_project_whose_memory_folder_is_a_link_is_refused(
    segue: Segue, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadSettings, match="symbolic link"):
        Handover(segue).run(note="n")
    assert list((tmp_path / "elsewhere").iterdir()) == []


# -- resuming --------------------------------------------------------------------------------------


def test_a_failed_step_is_pending_with_its_reason_and_a_resume_goes_on_with_it(
    segue: Segue, project: Path
) -> None:
    segue.start("x")
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not on Sundays' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(HandoverPending, match="not on Sundays") as pending:
        Handover(segue).run(note="first")
    assert pending.value.step == "git" and pending.value.exit_code == 75
    standing = Handover(segue).standing()
    assert standing.code == 1 and standing.steps["git"] == "failed" and "Sundays" in standing.reasons["git"]
    hook.unlink()
    ran = Handover(segue).run()
    assert ran.resumed and ran.executed == ["git"] and notes(project).count("first") == 1


def test_a_resume_with_another_note_finishes_the_first_and_then_hands_over_again(
    segue: Segue, project: Path
) -> None:
    segue.start("x")
    break_git(project)
    with pytest.raises(HandoverPending):
        Handover(segue).run(note="A")
    mend_git(project)
    assert Handover(segue).run(note="B").executed == ["git", "collect", "note", "state", "git"]
    assert notes(project).index("\nA\n") < notes(project).index("\nB\n")


def test_the_same_note_again_is_a_resume_and_nothing_more(segue: Segue, project: Path) -> None:
    segue.start("x")
    break_git(project)
    with pytest.raises(HandoverPending):
        Handover(segue).run(note="A")
    mend_git(project)
    assert Handover(segue).run(note="A").executed == ["git"]


def break_git(project: Path) -> None:
    (project / ".git" / "MERGE_HEAD").write_text("0" * 40)


def mend_git(project: Path) -> None:
    (project / ".git" / "MERGE_HEAD").unlink()


@pytest.mark.parametrize("damage", ["", "{}", "null", "gone", '{"status": "none", "steps": {}}'])
def test_a_damaged_checkpoint_heals_itself_from_the_journal_and_says_so(
    damage: str, segue: Segue, project: Path
) -> None:
    segue.start("x")
    break_git(project)
    with pytest.raises(HandoverPending):
        Handover(segue).run(note="A")
    path = Handover(segue).checkpoint.path
    whole = json.loads(path.read_bytes())
    if damage == "gone":
        path.unlink()
    else:
        path.write_text(damage)
    standing = Handover(segue).standing()
    assert standing.code == 1 and len(standing.said) == 1 and "rebuilt from" in standing.said[0]
    assert json.loads(path.read_bytes()) == whole and Handover(segue).standing().said == []


def test_a_checkpoint_file_says_what_the_journal_says_after_every_run(segue: Segue) -> None:
    segue.start("x")
    own = Handover(segue)
    own.run(note="A")
    assert json.loads(own.checkpoint.path.read_bytes()) == own.checkpoint.load()
    assert (
        own.checkpoint.path.name
        == tree_stream(str(segue.workspace.working_tree.root)).removeprefix("tree/") + ".json"
    )


def test_steps_of_another_workflow_are_refused_by_name_and_by_kind(segue: Segue, project: Path) -> None:
    segue.start("x")
    break_git(project)
    with pytest.raises(HandoverPending):
        Handover(segue).run(note="A")
    declare(segue, '[[handover.step]]\nkind = "collect"\n[[handover.step]]\nname = "git"\nkind = "note"\n')
    with pytest.raises(OtherWorkflow, match="git"):
        Handover(segue).run(note="B")
    assert Handover(segue).check() == 1
    assert Handover(segue).run(note="B", anew=True).executed == ["collect", "git"]


def test_a_step_in_python_that_failed_and_must_not_happen_twice_is_asked_about(segue: Segue) -> None:
    sent: list[str] = []

    def send(work: Work) -> None:
        sent.append(work.payload)
        raise OSError("no line")

    steps = [Task("send", send, "hello", idempotent=False), Task("log", lambda work: "logged")]
    with pytest.raises(HandoverPending):
        Handover(segue, steps=steps).run()
    with pytest.raises(StepUncertain, match=r"send happened: it failed \(no line\)") as asked:
        Handover(segue, steps=steps).run()
    assert asked.value.step == "send" and Handover(segue).standing().steps["send"] == "uncertain"
    assert Handover(segue, steps=steps).run(answers={"send": "done"}).executed == ["log"]
    assert sent == ["hello"]


def test_a_step_in_python_that_says_it_is_not_done_is_tried_again(segue: Segue) -> None:
    tries: list[str] = []

    def send(work: Work) -> str:
        tries.append(work.run)
        if len(tries) == 1:
            raise NotDone("the server said no")
        return "sent"

    steps = [Task("send", send, idempotent=False)]
    with pytest.raises(HandoverPending, match="the server said no"):
        Handover(segue, steps=steps).run()
    assert Handover(segue).standing().steps["send"] == "failed"
    assert Handover(segue, steps=steps).run().executed == ["send"] and tries[0] == tries[1]


def test_a_run_that_died_in_a_step_says_no_reason_of_an_attempt_before(segue: Segue) -> None:
    own = Handover(segue, steps=[Task("send", lambda work: 1 / 0, idempotent=False)])
    with pytest.raises(HandoverPending):
        own.run()
    own.checkpoint.step_begun("send")  # as at a second attempt, in the middle of which the process is killed
    with pytest.raises(StepUncertain, match="its run ended before that was recorded"):
        own.run()


# -- declared steps --------------------------------------------------------------------------------


def test_declared_steps_run_in_their_order_and_their_outputs_are_recorded(
    segue: Segue, project: Path
) -> None:
    session = segue.start("Refactor auth")
    session.done("user model")
    declare(
        segue,
        """
[handover]
memory_dir = "docs/memory"
tag = "auth"
[[handover.step]]
kind = "collect"
[[handover.step]]
kind = "command"
name = "greet"
command = ["sh", "-c", "echo hello $SEGUE_SESSION; pwd"]
[[handover.step]]
kind = "note"
text = "{date} {done}: {note}"
[[handover.step]]
kind = "git"
message = "{tag}: {done}"
""",
    )
    ran = Handover(segue).run(note="by declaration")
    assert ran.executed == ["collect", "greet", "note", "git"]
    assert ran.outputs["greet"]["said"] == f"hello {session.id}\n{project}"
    text = (project / ran.outputs["note"]["path"]).read_text()
    assert "docs/memory/layer1/" in ran.outputs["note"]["path"] and "user model: by declaration" in text
    assert git(project, "log", "-1", "--format=%s") == "auth: user model"


def test_a_file_that_is_not_trusted_stops_the_handover(segue: Segue, project: Path) -> None:
    segue.workspace.working_tree.project_file.write_text(
        '[[handover.step]]\nkind = "command"\ncommand = ["touch", "pwned"]\n'
    )
    with pytest.raises(NotTrusted, match="declares the handover"):
        Handover(segue).run(note="n")
    assert not (project / "pwned").exists() and not (project / "memory").exists()
    assert Handover(segue).check() == 0


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("memory_dirr = 'x'", "unknown key `memory_dirr`", "memory_dir"),
        ("memory_dir = '../x'", "must stay within", "relative"),
        ("memory_dir = '/x'", "must stay within", "relative"),
        ("memory_dir = 3", "must be of type str", ""),
        ("[[handover.step]]\nkind = 'nota'", "unknown kind `nota`", "note"),
        ("[[handover.step]]\nkind = 'git'\npsuh = true", "unknown key `psuh`", "push"),
        ("[[handover.step]]\nkind = 'git'\npush = 'yes'", "must be of type bool", ""),
        ("[[handover.step]]\nkind = 'git'\npaths = ['../up']", "must stay within", ""),
        ("[[handover.step]]\nkind = 'note'\ntext = '{gaol}'", "placeholder {gaol}", "goal"),
        ("[[handover.step]]\nkind = 'command'", "`command` is missing", ""),
        ("[[handover.step]]\nkind = 'command'\ncommand = []", "list of words", ""),
        ("[[handover.step]]\nkind = 'webhook'\nurl = 'http://example.org/x'", "needs https", "https"),
        ("[[handover.step]]\nkind = 'webhook'\nurl = 'https://u:p@example.org'", "credentials", ""),
        ("[[handover.step]]\nkind = 'note'\nretries = -1", "is negative", ""),
        ("[[handover.step]]\nkind = 'note'\n[[handover.step]]\nkind = 'note'", "two steps", "name"),
        ("[[handover.step]]\nkind = 'note'\nname = '../x'", "cannot be used as the step's name", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_declaration_is_named_with_the_nearest(
    text: str, message: str, hint: str, segue: Segue
) -> None:
    declare(segue, f"[handover]\n{text}\n")
    with pytest.raises(Exception) as wrong:
        Handover(segue).run(note="n")
    assert message in str(wrong.value) and hint in getattr(wrong.value, "hint", "")


def test_a_command_that_fails_or_hangs_leaves_its_step_pending_and_nothing_running(
    segue: Segue, project: Path
) -> None:
    declare(
        segue,
        '[[handover.step]]\nkind = "command"\ncommand = ["sh", "-c", "echo broken; exit 3"]\n',
    )
    with pytest.raises(HandoverPending, match="exited with 3: broken"):
        Handover(segue).run()
    declare(
        segue,
        '[[handover.step]]\nkind = "command"\ncommand = ["sh", "-c", "sleep 60"]\ntimeout_seconds = 0.3\n',
    )
    with pytest.raises(HandoverPending, match="took longer than"):
        Handover(segue).run(anew=True)


class Hook(BaseHTTPRequestHandler):
    received: list[tuple[dict[str, str], Any]] = []
    status = 204

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.received.append((dict(self.headers), json.loads(body)))
        self.send_response(Hook.status)
        self.send_header("Location", "https://elsewhere.example/")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Hook.received, Hook.status = [], 204
    yield f"http://127.0.0.1:{server.server_port}/hand?over=1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_on_loopback_is_told_and_a_redirect_is_no_success(segue: Segue, hook: str) -> None:
    segue.start("Refactor auth")
    declare(
        segue,
        '[[handover.step]]\nkind = "collect"\n[[handover.step]]\nkind = "note"\n'
        f'[[handover.step]]\nkind = "webhook"\nurl = "{hook}"\n',
    )
    ran = Handover(segue).run(note=f"done with {TOKEN}")
    [(headers, body)] = Hook.received
    assert ran.outputs["webhook"] == {"status": 204} and body["goal"] == "Refactor auth"
    assert headers["Idempotency-Key"] == f"{ran.run}-webhook" and TOKEN not in body["text"]
    Hook.status = 302
    with pytest.raises(HandoverPending, match="answered 302"):
        Handover(segue).run(note="again")
    assert len(Hook.received) == 2
    Hook.status = 204
    assert Handover(segue).run().executed == ["webhook"]  # an answer that says no is not uncertain
    keys = [headers["Idempotency-Key"] for headers, _ in Hook.received[1:]]
    assert len(keys) == 2 and keys[0] == keys[1]


def test_a_webhook_that_gave_no_answer_is_asked_about_and_one_that_cannot_be_reached_is_not(
    segue: Segue,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        declare(
            segue,
            f'[[handover.step]]\nkind = "webhook"\nurl = "http://127.0.0.1:{port}/x"\n'
            "timeout_seconds = 0.2\n",
        )
        with pytest.raises(HandoverPending, match="gave no answer") as pending:
            Handover(segue).run(note="n")
        assert "--again webhook" in pending.value.hint
        with pytest.raises(StepUncertain):
            Handover(segue).run()
    with pytest.raises(HandoverPending, match="cannot be reached") as pending:
        Handover(segue).run(answers={"webhook": "again"})
    assert Handover(segue).standing().steps["webhook"] == "failed"
    assert "`segue handover run` continues" in pending.value.hint


# -- front matter ----------------------------------------------------------------------------------


def test_front_matter_comes_back_as_it_was_and_any_change_of_it_is_noticed() -> None:
    told = FrontMatter(
        "s-1", 7, "ab" * 32, "goal: with\u2028 --- tricks\n---\n", items=(("next", "a: 'b' – ü 🎉", ""),),
        decisions=(("x", "y"),), questions=("why?",),
    )  # fmt: skip
    text = front_matter(told) + "free text\n---\nmore"
    assert read_front_matter(text) == told
    assert read_front_matter(text.replace("\n", "\r\n")) == told
    for place in range(0, text.index("free text"), 7):
        changed = text[:place] + ("x" if text[place] != "x" else "y") + text[place + 1 :]
        assert read_front_matter(changed) is None
    assert read_front_matter("") is None and read_front_matter("---\nsegue: 1\n---\n") is None


def test_front_matter_is_yaml_too() -> None:
    import yaml

    told = FrontMatter("s-1", 7, "ab" * 32, "a: b # c", items=(("next", "x: [y]", ""),))
    found = yaml.safe_load(front_matter(told).split("---\n")[1])
    assert found["goal"] == "a: b # c" and found["items"] == [["next", "x: [y]", ""]]


# -- compaction ------------------------------------------------------------------------------------


def old_notes(root: Path) -> MemoryStore:
    store = MemoryStore(root)
    store.write(
        1,
        "## Parser\nRewrote the parser.\nlong chatter\n- decided: no regex\nmore chatter",
        "auth",
        "2026-06-07",
    )
    store.write(1, "second of the day\n- learnt: flags matter", "auth", "2026-06-07")
    store.write(1, "other tag", "docs", "2026-06-30")
    store.write(1, "this month", "auth", "2026-08-02")
    return store


def test_old_months_are_compacted_by_tag_and_this_month_stays(tmp_path: Path) -> None:
    store = old_notes(tmp_path)
    done = compact(store, today=date(2026, 8, 3))
    assert (done.notes, done.removed) == (2, 2)
    assert [path.name for path in store.files(3)] == ["2026-06-auth-archive.md", "2026-06-docs-archive.md"]
    text = store.read_latest(3, "auth")
    for kept in ("Rewrote the parser.", "- decided: no regex", "second of the day", "- learnt: flags matter"):
        assert kept in text
    assert "chatter" not in text and [path.name for path in store.files(1)] == ["auth-2026-08-02.md"]


def test_with_keep_every_note_stays_and_a_second_compaction_adds_nothing(tmp_path: Path) -> None:
    store = old_notes(tmp_path)
    before = {path: path.read_bytes() for path in store.files(1)}
    compact(store, today=date(2026, 8, 3), keep=True)
    archive = store.read_latest(3, "auth")
    again = compact(store, today=date(2026, 8, 3), keep=True)
    assert {path: path.read_bytes() for path in store.files(1)} == before
    assert again.notes == 0 and store.read_latest(3, "auth") == archive


def test_a_note_that_comes_late_is_added_to_its_archive(tmp_path: Path) -> None:
    store = old_notes(tmp_path)
    compact(store, today=date(2026, 8, 3))
    store.write(1, "late", "auth", "2026-06-09")
    compact(store, today=date(2026, 8, 3))
    assert "late" in store.read_latest(3, "auth") and "no regex" in store.read_latest(3, "auth")


def test_a_dry_run_of_a_compaction_changes_nothing(tmp_path: Path) -> None:
    store = old_notes(tmp_path)
    assert compact(store, today=date(2026, 8, 3), dry_run=True).notes == 2
    assert store.files(3) == [] and len(store.files(1)) == 3


@pytest.mark.parametrize(("months", "left"), [(1, 1), (2, 1), (3, 3)])
def test_as_many_months_as_are_asked_for_are_left_alone(months: int, left: int, tmp_path: Path) -> None:
    store = old_notes(tmp_path)
    compact(store, today=date(2026, 8, 3), months=months)
    assert len(store.files(1)) == left


def test_a_step_compacts_too(segue: Segue, project: Path) -> None:
    old_notes(project / "memory")
    declare(segue, '[[handover.step]]\nkind = "compact"\nkeep = true\n')
    assert Handover(segue).run().outputs["compact"]["notes"] == 3


def test_the_default_is_valid() -> None:
    assert [step.kind for step in workflow({}).steps] == ["collect", "note", "state", "git"]
