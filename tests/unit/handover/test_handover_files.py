"""The contract of agent-handover's files, beyond its own tests: what it got wrong is right here."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
import time
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segue.handover import (
    Checkpoint,
    HandoverEngine,
    MemoryStore,
    NullBackend,
    Step,
    Task,
    Work,
    cli as handover_cli,
)
from segue.handover.adapters import (
    cline as cline_adapter,
    codex as codex_adapter,
    opencode as opencode_adapter,
)
from segue.handover.adapters.cline import install_clinerules
from segue.handover.adapters.codex import (
    BEGIN_MARKER,
    END_MARKER,
    build_codex_handover_engine,
    install_agents_md,
)
from segue.handover.checkpoint import HandoverWarning
from segue.handover.config import build_engine_from_config, load_config
from segue.handover.engine import PauseError, StepError, StepTimeout, UncertainStep, WorkflowError
from segue.handover.memory import safe_tag

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "cp" / "checkpoint.json")


def codex(tmp_path: Path, note: str, **more: Any) -> HandoverEngine:
    return build_codex_handover_engine(
        session_note=note, current_state=f"state {note}", memory_dir=tmp_path / "memory", push=False,
        checkpoint=tmp_path / "cp" / "checkpoint.json", **more,
    )  # fmt: skip


def layer1(tmp_path: Path) -> str:
    return "".join(path.read_text() for path in sorted((tmp_path / "memory" / "layer1").rglob("*.md")))


# -- the checkpoint --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage", ["", "null", "{}", '{"status": "in_prog', "[]", "\0\0\0", '{"status": 7, "steps": {}}']
)
def test_a_damaged_checkpoint_is_made_anew_from_its_copy_and_that_is_said(
    damage: str, tmp_path: Path
) -> None:
    one = checkpoint(tmp_path)
    one.start(["a", "b"])
    one.mark_done("a")
    one.path.write_text(damage)
    with pytest.warns(HandoverWarning, match="damaged"):
        assert one.resume_code() == 1
    assert one.pending_steps() == ["b"]
    [kept] = one.path.parent.glob("checkpoint.json.damaged-*")
    assert kept.read_text() == damage


def test_a_checkpoint_whose_copy_is_damaged_too_begins_anew_and_the_engine_runs(tmp_path: Path) -> None:
    one = checkpoint(tmp_path)
    one.start(["a"])
    one.path.write_text("{}")
    (one.path.parent / ".checkpoint.json.copy").write_text("")
    with pytest.warns(HandoverWarning, match="replaced by an empty one"):
        assert HandoverEngine([Step("a", lambda: None)], one).run() == ["a"]
    assert one.resume_code() == 2


def test_a_checkpoint_has_exactly_the_keys_of_agent_handover_until_an_engine_adds_ours(
    tmp_path: Path,
) -> None:
    one = checkpoint(tmp_path)
    one.start(["a", "b"])
    one.mark_done("a")
    found = json.loads(one.path.read_text())
    assert list(found) == ["status", "steps", "started_at", "finished_at"]
    assert found["steps"] == {"a": "done", "b": "pending"} and found["finished_at"] is None
    assert stat.S_IMODE(one.path.stat().st_mode) == 0o600


def test_a_checkpoint_that_agent_handover_left_in_the_middle_is_resumed(tmp_path: Path) -> None:
    one = checkpoint(tmp_path)
    one.path.parent.mkdir()
    theirs = {"session_note": "done", "current_state": "pending", "publish": "pending"}
    one.path.write_text(
        json.dumps({"status": "in_progress", "steps": theirs, "started_at": "x", "finished_at": None})
    )
    assert codex(tmp_path, "B").run() == ["current_state", "publish"]
    assert one.resume_code() == 2


def test_a_run_whose_steps_are_all_done_is_completed_and_nothing_is_done_twice(tmp_path: Path) -> None:
    one = checkpoint(tmp_path)
    one.start(["a"])
    one.mark_done("a")
    ran: list[str] = []
    assert HandoverEngine([Step("a", lambda: ran.append("a"))], one).run() == []
    assert ran == [] and one.load()["status"] == "completed"


# -- the engine ------------------------------------------------------------------------------------


def test_a_resume_finishes_the_first_sessions_note_and_then_writes_the_second_ones(tmp_path: Path) -> None:
    class Torn(Exception):
        pass

    first = codex(tmp_path, "A")

    def tear(work: Work) -> None:
        raise Torn

    first.steps[1] = Task("current_state", tear, first.steps[1].payload)  # type: ignore[attr-defined]
    with pytest.raises(StepError):
        first.run()
    assert codex(tmp_path, "B").run() == [
        "current_state",
        "publish",
        "session_note",
        "current_state",
        "publish",
    ]
    text = layer1(tmp_path)
    assert text.count("\nA") == 1 and text.count("\nB") == 1 and text.index("\nA") < text.index("\nB")
    assert (tmp_path / "memory/layer2/current-state.md").read_text().endswith("state B")


def test_steps_of_another_workflow_are_refused_and_stay_pending(tmp_path: Path) -> None:
    one = checkpoint(tmp_path)
    one.start(["deploy"])
    with pytest.raises(WorkflowError, match="deploy"):
        HandoverEngine([Step("a", lambda: None)], one).run()
    assert one.resume_code() == 1
    assert HandoverEngine([Step("a", lambda: None)], one).run(resume=False) == ["a"]


def test_a_step_that_a_workflow_gained_meanwhile_is_run_by_the_resume(tmp_path: Path) -> None:
    one = checkpoint(tmp_path)
    one.start(["a", "b"])
    one.mark_done("a")
    steps = [Step(name, lambda: None) for name in "abc"]
    assert HandoverEngine(steps, one).run() == ["b", "c"]


def test_what_tasks_give_is_recorded_and_handed_to_the_next(tmp_path: Path) -> None:
    seen: list[Any] = []
    tasks = [
        Task("a", lambda work: {"files": [work.payload]}, "x.py"),
        Task("b", lambda work: seen.append(work.outputs)),
    ]
    HandoverEngine(tasks, checkpoint(tmp_path)).run()
    assert seen == [{"a": {"files": ["x.py"]}}]
    assert checkpoint(tmp_path).load()["segue"]["outputs"] == {"a": {"files": ["x.py"]}}


def test_a_step_that_is_not_idempotent_and_failed_is_asked_about(tmp_path: Path) -> None:
    ran: list[str] = []

    def send(work: Work) -> None:
        ran.append(work.step)
        if len(ran) == 1:
            raise OSError("the line went dead")

    def engine(answer: str = "") -> HandoverEngine:
        tasks = [Task("send", send, idempotent=False), Task("log", lambda work: None)]
        return HandoverEngine(tasks, checkpoint(tmp_path), answer=(lambda step: answer) if answer else None)

    with pytest.raises(StepError):
        engine().run()
    with pytest.raises(UncertainStep, match="send"):
        engine().run()
    assert engine("done").run() == ["log"] and ran == ["send"]


def test_a_step_that_is_said_to_be_undone_is_done_again(tmp_path: Path) -> None:
    one = checkpoint(tmp_path)
    one.begin(["send"], {"run": "r", "payloads": {"send": None}})
    one.step_begun("send")
    ran: list[str] = []
    task = Task("send", lambda work: ran.append(work.run), idempotent=False)
    assert HandoverEngine([task], one, answer=lambda step: "again").run() == ["send"]
    assert ran == ["r"] and one.resume_code() == 2


def test_a_step_that_takes_too_long_fails_and_stays_pending(tmp_path: Path) -> None:
    slow = Task("slow", lambda work: time.sleep(5), timeout_seconds=0.05)
    with pytest.raises(StepError) as failed:
        HandoverEngine([slow], checkpoint(tmp_path)).run()
    assert isinstance(failed.value.cause, StepTimeout)
    assert checkpoint(tmp_path).pending_steps() == ["slow"]


def test_a_step_that_says_so_is_tried_again_before_it_fails(tmp_path: Path) -> None:
    tries: list[int] = []

    def shaky(work: Work) -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return "at last"

    task = Task("shaky", shaky, retries=2, backoff_seconds=0.001)
    assert HandoverEngine([task], checkpoint(tmp_path)).run() == ["shaky"]
    assert len(tries) == 3


def test_pause_stops_a_run_between_two_steps(tmp_path: Path) -> None:
    pause = tmp_path / "PAUSE"
    steps = [Step("a", pause.touch), Step("b", lambda: None)]
    with pytest.raises(PauseError):
        HandoverEngine(steps, checkpoint(tmp_path), pause).run()
    assert checkpoint(tmp_path).pending_steps() == ["b"]


def test_two_steps_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="same name: a"):
        HandoverEngine([Step("a", lambda: None), Step("a", lambda: None)], checkpoint(tmp_path))


# -- the layers ------------------------------------------------------------------------------------


def test_a_second_note_of_a_day_is_added_and_one_with_a_known_id_is_not(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    path = store.path_of(1, "t", "2026-06-07")
    for content, id in (("first", "r1"), ("second", ""), ("first again", "r1"), ("third", "r2")):
        assert store.write(1, content, "t", "2026-06-07", id=id) == path
    text = path.read_text()
    assert [word for word in ("first", "second", "third") if text.count(word) == 1] == [
        "first",
        "second",
        "third",
    ]
    assert text.startswith("<!-- agent-handover | layer1 | 2026-06-07 -->\n")
    assert store.layer1_note_count() == 1


@pytest.mark.parametrize(
    "date", ["../../2026-06", "/etc", "2026-06/../..", "2026-06-..", "", "2026-06-07\n", "x" * 300]
)
def test_a_date_cannot_leave_the_root(date: str, tmp_path: Path) -> None:
    root = tmp_path / "deep" / "root"
    if date:
        with pytest.raises(ValueError, match="not a date"):
            MemoryStore(root).write(1, "x", "t", date)
    assert not root.exists()


@pytest.mark.parametrize(
    "tag", ["../../x", "..", "a\0b", "a\nb", "x" * 300, "", "ü" * 200, "my tag", "con/../..", "."]
)
def test_any_tag_becomes_a_name_below_the_root_and_finds_its_own_note(tag: str, tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "root")
    path = store.write(1, f"note of {tag!r}", tag, "2026-06-07")
    assert path.parent == tmp_path / "root" / "layer1" / "2026-06" and path.is_file()
    assert store.read_latest(1, tag or None).endswith(f"note of {tag!r}")
    store.write(3, "archive", tag, "2026-06-07")
    assert store.read_latest(3, tag or None).endswith("archive")


def test_a_tag_is_not_found_by_a_part_of_it(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    store.write(1, "long", "alpha-long", "2026-06-08")
    store.write(1, "short", "alpha", "2026-06-01")
    assert store.read_latest(1, "alpha").endswith("short")
    assert safe_tag("x" * 300) != safe_tag("x" * 299)


@pytest.mark.parametrize("link", ["layer2", "layer2/current-state.md"])
def test_a_symbolic_link_is_neither_written_nor_read_through(link: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "current-state.md").write_text("theirs")
    place = tmp_path / "memory" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside if link == "layer2" else outside / "current-state.md")
    store = MemoryStore(tmp_path / "memory")
    with pytest.raises(ValueError, match="symbolic link"):
        store.write(2, "mine")
    with pytest.raises(ValueError, match="symbolic link"):
        store.read_latest(2)
    assert (outside / "current-state.md").read_text() == "theirs"


def test_bytes_of_older_notes_stay_as_they_are(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    path = store.write(1, "x", "t", "2026-06-07")
    path.write_bytes(b"old \xff\xfe note\r\nsecond line")
    store.write(1, "new", "t", "2026-06-07")
    assert path.read_bytes().startswith(b"old \xff\xfe note\r\nsecond line\n\n<!--")


def test_what_a_killed_writer_left_is_tidied_by_the_next(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    path = store.write(2, "one")
    left = path.with_name(f".{path.name}.{'ab' * 6}")
    left.write_text("half")
    store.write(2, "two")
    assert [p.name for p in path.parent.iterdir()] == [path.name]


# -- blocks, configuration, command line -----------------------------------------------------------


def test_markers_in_the_wrong_order_are_left_alone_and_one_block_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    mine = f"# top\n{END_MARKER}\nuser text\n{BEGIN_MARKER}\nmore of the user's\n"
    path.write_text(mine)
    assert [install_agents_md(path) for _ in range(3)] == [True, False, False]
    text = path.read_text()
    assert text.startswith(mine.rstrip()) and text.count("agent-handover check") == 1
    assert install_agents_md(path, "other/cp.json") and path.read_text().startswith(mine.rstrip())
    assert path.read_text().count("agent-handover check") == 1


INSTALLERS: dict[str, tuple[Callable[..., bool], str, str]] = {
    "codex": (codex_adapter.install_agents_md, "AGENTS.md", "AGENTS.md"),
    "opencode": (opencode_adapter.install_agents_md, "AGENTS.md", "AGENTS.md"),
    "cline": (cline_adapter.install_clinerules, ".clinerules", ".clinerules/00-agent-handover.md"),
}


@pytest.mark.parametrize("agent", INSTALLERS)
@pytest.mark.parametrize("where", [".agent-handover/checkpoint.json", "other/cp.json"])
def test_everything_that_an_installed_block_names_exists_and_does_what_the_block_says(
    agent: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install, target, written = INSTALLERS[agent]
    assert install(target, where) and not install(target, where)
    block = Path(written).read_text()
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```bash\n(.*?)\n```", r"`\1`", block, flags=re.DOTALL))
    named = [words for words in spans if not words.isdigit()]
    commands = [shlex.split(words)[1:] for words in named if words.startswith("agent-handover ")]
    check, finish, end = commands
    assert handover_cli.main(check) == 0
    assert handover_cli.main(end) == 69  # there is nowhere to push to
    assert handover_cli.main(check) == 1
    subprocess.run(["git", "init", "-q", "-b", "main", "."], check=True)
    subprocess.run(["git", "init", "-q", "--bare", "remote.git"], check=True)
    subprocess.run(["git", "remote", "add", "origin", "remote.git"], check=True)
    assert handover_cli.main(finish) == 0 and handover_cli.main(check) == 2
    paths = [words for words in named if not words.startswith("agent-handover ")]
    assert paths and all(Path(path).exists() for path in paths)
    assert "WHAT HAPPENED" in layer1(tmp_path)


def test_the_script_of_a_project_is_named_where_the_project_has_it(tmp_path: Path) -> None:
    script = tmp_path / codex_adapter.EXAMPLE_HINT
    script.parent.mkdir(parents=True)
    script.touch()
    install_agents_md(tmp_path / "AGENTS.md")
    assert codex_adapter.agents_md_block() in (tmp_path / "AGENTS.md").read_text()


def test_agent_handover_is_a_command_that_is_installed_with_segue(tmp_path: Path) -> None:
    scripts = tomllib.loads(PROJECT.read_text())["project"]["scripts"]
    module, _, name = scripts["agent-handover"].partition(":")
    command = tmp_path / "agent-handover"  # what pip writes for an entry point
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {name}\nsys.exit({name}())\n")
    command.chmod(0o755)

    def code(*words: str) -> int:
        return subprocess.run([command, *words], cwd=tmp_path, capture_output=True, check=False).returncode

    assert code("check") == 0
    Checkpoint(tmp_path / ".agent-handover" / "checkpoint.json").start(["a"])
    assert code("check") == 1 and code("chekc") == 64 and code("run") == 64
    assert code("run", "--agent", "codex") == 65  # the interrupted one has other steps


def test_without_a_note_an_adapter_resumes_and_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert handover_cli.main(["run", "--agent", "opencode"]) == 64 and not Path("memory").exists()
    assert handover_cli.main(["run", "--agent", "opencode", "--note", "first", "--no-push"]) == 0
    assert handover_cli.main(["run", "--agent", "opencode"]) == 64
    assert layer1(tmp_path).count("first") == 1


def test_a_block_in_a_linked_file_keeps_the_link_and_the_files_mode(tmp_path: Path) -> None:
    real = tmp_path / "real.md"
    real.write_text("# rules\n")
    os.chmod(real, 0o644)
    (tmp_path / "rules").mkdir()
    link = tmp_path / "rules" / "00-agent-handover.md"
    link.symlink_to(real)
    assert install_clinerules(tmp_path / "rules")
    assert link.is_symlink() and "agent-handover check" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


def test_an_unknown_key_is_warned_of_with_the_nearest_and_the_rest_is_used(tmp_path: Path) -> None:
    file = tmp_path / "handover.toml"
    file.write_text(
        '[handover]\nmemory_dirr = "m"\ntag = "x"\n[note]\nsession = "s"\n[backend]\ntype = "null"\n[nota]\n'
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        config = load_config(file)
    texts = [str(one.message) for one in said]
    assert any("memory_dirr; did you mean memory_dir?" in text for text in texts)
    assert any("[nota]; did you mean note?" in text for text in texts)
    engine = build_engine_from_config(config, checkpoint=tmp_path / "cp.json")
    assert [step.name for step in engine.steps] == ["session_note", "current_state", "publish"]


def test_nothing_but_check_ends_with_one_or_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = handover_cli.main
    config, cp = tmp_path / "h.toml", tmp_path / "cp.json"
    assert main(["run", "--config", str(config)]) == 66
    config.write_text(
        f'[handover]\nmemory_dir = "{tmp_path}/m"\ncheckpoint = "{cp}"\npause_file = "{tmp_path}/PAUSE"\n'
        '[backend]\ntype = "null"\n'
    )
    assert main(["run", "--config", str(config)]) == 64
    (tmp_path / "PAUSE").touch()
    assert main(["run", "--config", str(config), "--note", "x"]) == 65
    (tmp_path / "PAUSE").unlink()
    Checkpoint(cp).start(["deploy"])
    assert main(["run", "--config", str(config), "--note", "x"]) == 65
    cp.unlink()
    (tmp_path / "m").write_text("a file where a folder should be")
    assert main(["run", "--config", str(config), "--note", "x"]) == 69
    config.write_text("[handover")
    assert main(["run", "--config", str(config), "--note", "x"]) == 64
    with pytest.raises(SystemExit) as ended:
        main(["chekc"])
    assert ended.value.code == 64
    cp.write_text("null")
    assert main(["check", "--checkpoint", str(cp)]) == 1
    assert "damaged" in capsys.readouterr().err


def test_the_null_backend_is_always_published() -> None:
    assert NullBackend().publish("x") and NullBackend().publish("x", dry_run=True)
