"""A conversation in a stream of its own: what is added is there, in order, and is a run with a transcript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segue import Paused, Segue
from segue.agents.conversations import OPENAI_AGENTS, ConversationReader
from segue.core.runs.digest import fold
from segue.core.runs.steps import Step
from segue.errors import BadValue, UsageError
from segue.services.runs.conversations.log import ConversationLog, native_id
from segue.stores.memory.store import VolatileStore


@pytest.fixture(params=["sqlite", "memory"])
def segue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Segue]:
    store = VolatileStore() if request.param == "memory" else None
    with Segue(store, home=tmp_path / "segue", folder=tmp_path) as opened:
        yield opened


def log(segue: Segue, name: str = "one", **more: Any) -> ConversationLog:
    return ConversationLog(segue.workspace, "openai-agents", name, **more)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def transcript(tmp_path: Path, name: str = "one") -> Path:
    return tmp_path / "segue" / "conversations" / "openai-agents" / f"{name}.jsonl"


def test_an_addition_reads_nothing_of_what_is_there(segue: Segue, monkeypatch: pytest.MonkeyPatch) -> None:
    log(segue).add([user("a")])
    second = log(segue, writes=False)
    monkeypatch.setattr(type(segue.workspace.store), "read", lambda *_, **__: pytest.fail("it was read"))
    second.add([user("b")])
    second.add([user("c")])
    monkeypatch.undo()
    assert second.items() == [user("a"), user("b"), user("c")]


def test_the_end_is_replaced_only_at_the_version_that_was_seen(segue: Segue) -> None:
    one, two = log(segue), log(segue)
    one.add([user("a"), user("b")])
    version = one.version()
    two.add([user("c")])
    assert not one.replace_end(1, [user("x")], version=version)
    assert one.replace_end(1, [user("x")], version=one.version())
    assert two.items() == [user("a"), user("x")]


def test_a_conversation_that_was_begun_anew_has_nothing_of_the_one_before(segue: Segue) -> None:
    one, two = log(segue), log(segue)
    one.add([user("a")])
    assert two.items() == [user("a")]
    one.clear()
    one.add([user("b")])
    two.add([user("c")])
    assert two.items() == [user("b"), user("c")]
    assert not two.clear(version=1) and two.clear(version=2)
    assert one.items() == []


@pytest.mark.parametrize("name", ["a", "User 1", "ä", "a/b", "..", "CON", "x" * 300, "A", "\ud800"])
def test_any_name_has_an_id_that_every_platform_takes(name: str) -> None:
    found = native_id(name)
    assert found == found.lower() and native_id(found) == found and len(found) <= 100
    assert native_id("a") != native_id("A")


def test_a_conversation_without_a_name_is_refused(segue: Segue) -> None:
    with pytest.raises(UsageError):
        log(segue, " ")


def test_what_is_not_json_is_refused(segue: Segue) -> None:
    with pytest.raises(BadValue):
        log(segue).add([{"role": object()}])


def test_a_pause_file_stops_additions(segue: Segue, tmp_path: Path) -> None:
    (tmp_path / "PAUSE").touch()
    with pytest.raises(Paused):
        log(segue).add([user("a")])


def test_the_transcript_tells_each_change_once_however_it_is_read(segue: Segue, tmp_path: Path) -> None:
    kept = log(segue)
    kept.add(
        [user("Build it."), {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}]
    )
    kept.add([{"type": "function_call_output", "call_id": "c", "output": "built"}])
    kept.add([{"role": "assistant", "content": "It is built."}])
    lines = transcript(tmp_path).read_bytes().splitlines()
    whole, state = ConversationReader(), None
    parts: list[Step] = []
    for line in lines:
        reader = OPENAI_AGENTS.reader(state)
        parts += reader.read(line)
        state = reader.keep()
    steps = [step for line in lines for step in whole.read(line)]
    assert steps == parts and whole.malformed == 0
    digest = fold(steps)
    assert not digest.pending and digest.ended is not None and digest.native == "one"


def test_a_transcript_that_is_gone_is_written_anew(segue: Segue, tmp_path: Path) -> None:
    log(segue).add([user("first")])
    transcript(tmp_path).unlink()
    log(segue).add([user("second")])
    assert transcript(tmp_path).read_text().count('"v"') == 2


def test_a_conversation_is_kept_although_its_transcript_cannot_be_written(
    segue: Segue, tmp_path: Path
) -> None:
    (tmp_path / "segue").mkdir(exist_ok=True)
    (tmp_path / "segue" / "conversations").write_text("a file in the place of the folder")
    kept = log(segue)
    kept.add([user("a")])
    assert kept.items() == [user("a")]


def test_scrub_erases_a_text_from_items_and_transcript(tmp_path: Path) -> None:
    with Segue(home=tmp_path / "segue", folder=tmp_path) as segue:
        log(segue).add([user("my number is 555-0199-77"), user("more")])
        segue.scrub("555-0199-77")
        assert "555-0199-77" not in str(log(segue).items())
        assert log(segue).items()[1] == user("more")
    assert "555-0199-77" not in transcript(tmp_path).read_text()


def test_a_conversation_in_another_folder_is_no_run_of_this_project(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        with Segue(home=tmp_path / "segue", folder=folder) as segue:
            log(segue, folder.name).add([user(f"work {folder.name}")])
    with Segue(home=tmp_path / "segue", folder=here) as segue:
        assert [run.id for run in segue.runs()] == ["here"]
        assert {run.id for run in segue.runs(everywhere=True)} == {"here", "there"}
        assert [run.id for run in segue.runs(agent="openai-agents")] == ["here"]
