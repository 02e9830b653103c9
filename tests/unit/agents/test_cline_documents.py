"""The documents of a Cline or Roo task in every state, and the places where they are found."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.agents.test_cline import BOTH, STORY, T, kinds, read, texts

from segue.agents.base import SearchScope
from segue.agents.cline import AGENT, ROO
from segue.core.runs.steps import Call, Prompt, Start
from segue.testing.transcripts import placed, written

# damage


@BOTH
def test_a_document_torn_anywhere_is_read_to_its_last_whole_element(agent, tmp_path):
    path = placed(agent.name, STORY, home=tmp_path)
    lone = tmp_path / "lone" / path.name
    lone.parent.mkdir()
    document, whole = written(agent.name, STORY), path.read_bytes()
    most = 0
    for cut in [*range(0, len(whole), 97), len(whole)]:
        lone.write_bytes(whole[:cut])
        steps = read(agent.load(lone, ""), agent)
        most = max(most, len(steps))
        assert len(steps) >= most - 2  # growing, but for a result that is not there yet
    for cut in range(0, len(document), 211):
        read(document[:cut], agent)
    assert most > 8


def test_a_torn_history_is_continued_by_the_ui(tmp_path):
    path = placed("cline", STORY, home=tmp_path)
    path.write_bytes(path.read_bytes()[:900])
    reader = AGENT.reader()
    steps = list(reader.read(AGENT.load(path, "")))
    assert reader.malformed == 1
    assert "Go on." in [step.text for step in steps if isinstance(step, Prompt)]


@BOTH
@pytest.mark.parametrize("wrong", [None, 7, -1.5, True, "text", [], [1, "x", None], {}, {"x": {"y": [1]}}])
def test_a_wrong_type_anywhere_raises_nothing(agent, wrong):
    task = json.loads(written(agent.name, STORY))
    for name in task:
        read(json.dumps({**task, name: wrong}).encode(), agent)
    for part in ("api", "ui"):
        for index, element in enumerate(task[part]):
            changed = list(task[part])
            for name in element:
                changed[index] = {**element, name: wrong}
                read(json.dumps({**task, part: changed}).encode(), agent)
            changed[index] = wrong
            read(json.dumps({**task, part: changed}).encode(), agent)


def test_a_wrong_type_costs_its_field_only():
    message = {"role": "user", "content": texts("<task>Fix it.</task>"), "ts": "soon", "modelInfo": 7}
    (_, prompt) = read(json.dumps([message]).encode())
    assert prompt == Prompt(0.0, "Fix it.")


@pytest.mark.parametrize(
    "record",
    [
        b"", b" ", b"null", b"7", b'"x"', b"[]", b"{}", b"[1,2]", b"[null]", b"\x00\xff", b"[" * 100_000,
        b"[{", b'{"api":', b'{"api":[{"role":"user"', b'{"api":7,"ui":{}}', b'[{"role":7}]',
    ],
)  # fmt: skip
def test_what_is_no_task_gives_nothing_and_raises_nothing(record):
    assert [step for step in read(record) if not isinstance(step, Start)] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: b"\xef\xbb\xbf" + whole,
        lambda whole: whole.replace(b"basket", b"bas\xff\xfeket"),
        lambda whole: whole.replace(b"basket", b"bas\\ud83dket"),
        lambda whole: whole + whole,
        lambda whole: whole[:-1] + b',{"role":"user","content":[{"type":"image","source":{"data":"'
        + b"A" * 1_000_000 + b'"}}]}]',
        lambda whole: whole.replace(b"1 failed", b"x" * 1_000_000),
        lambda whole: whole.replace(b"1 failed", b" " * 200_000),
        lambda whole: whole.replace(b"1 failed", b"<content>" * 20_000),
    ],
    ids=["bom", "utf-8", "surrogate", "glued", "image", "long", "blank", "tags"],
)  # fmt: skip
def test_a_damaged_or_large_document_is_still_read(change, tmp_path):
    path = placed("cline", STORY, home=tmp_path)
    path.write_bytes(change(path.read_bytes()))
    steps = read(AGENT.load(path, ""))
    assert sum(isinstance(step, Call) for step in steps) == 6


def test_a_document_that_is_rewritten_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    path = placed("cline", STORY, home=tmp_path)
    whole = path.read_bytes()
    halves = iter([whole[:300], whole])
    real = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda one: next(halves) if one == path else real(one))
    reader = AGENT.reader()
    assert kinds(list(reader.read(AGENT.load(path, "")))).count("Call") == 6
    assert reader.malformed == 0


def test_a_folder_without_documents_is_an_error_of_the_file_system(tmp_path):
    with pytest.raises(OSError):
        AGENT.load(tmp_path, "")


# where it is


def where(home: Path, *roots: str, **more: Any) -> SearchScope:
    return SearchScope(env={}, home=home, roots=tuple(Path(root) for root in roots), **more)


@BOTH
def test_the_tasks_of_a_project_are_found_newest_first(agent, tmp_path):
    for age, (native, cwd) in enumerate([("3", "/src/shop"), ("2", "/src/x"), ("1", "/src/shop/api")]):
        path = placed(agent.name, STORY, home=tmp_path, native=native, cwd=cwd)
        os.utime(path, (T - age, T - age))
    found = list(agent.find(where(tmp_path, "/src/shop")))
    assert [(one.agent, one.native, one.cwd) for one in found] == [
        (agent.name, "3", "/src/shop"),
        (agent.name, "1", "/src/shop/api"),
    ]
    assert [one.native for one in agent.find(where(tmp_path))] == ["3", "2", "1"]
    assert {one.sign for one in found} == {""}


@BOTH
def test_without_a_list_the_head_says_whose_it_is(agent, tmp_path):
    path = placed(agent.name, STORY, home=tmp_path)
    for name in ("state/taskHistory.json", f"tasks/{path.parent.name}/history_item.json"):
        (path.parents[2] / name).unlink(missing_ok=True)
    assert [one.cwd for one in agent.find(where(tmp_path, "/src/shop"))] == ["/src/shop"]
    assert list(agent.find(where(tmp_path, "/src/other"))) == []
    assert list(agent.find(where(tmp_path / "nobody", "/src/shop"))) == []


def logged(process: int, message: str) -> str:
    return json.dumps(
        {"level": 30, "pid": process, "channel": "Cline CLI", "msg": message}, separators=(",", ":")
    )


def test_of_a_task_that_died_at_once_the_log_says_where_it_worked(tmp_path):
    base = tmp_path / ".cline" / "data"
    for native, text in (("71", "Port the shop"), ("72", "Port the site")):
        folder = base / "tasks" / native
        folder.mkdir(parents=True)
        (folder / "ui_messages.json").write_text(
            json.dumps([{"ts": 1, "type": "say", "say": "task", "text": text}])
        )
    (base / "logs").mkdir()
    lines = [
        logged(5, "LOG [WorkspaceManager] Single-root mode: /src/shop"),
        logged(6, "LOG [WorkspaceManager] Single-root mode: /src/site"),
        logged(5, "DEBUG [Task 71] Task lock skipped"),
        logged(6, "DEBUG [Task 72] Task lock skipped"),
        logged(5, "LOG [WorkspaceManager] Single-root mode: /src/other"),
    ]
    (base / "logs" / "cline-cli.1.log").write_text("\n".join(lines))
    [found] = AGENT.find(where(tmp_path, "/src/shop"))
    assert (found.native, found.cwd) == ("71", "/src/shop")
    [named] = AGENT.transcripts_at(base / "tasks" / "72", where(tmp_path))
    assert named.cwd == "/src/site"


def test_no_more_files_are_opened_than_allowed_and_known_ones_not_at_all(tmp_path):
    paths = [placed("roo", STORY, home=tmp_path, native=f"n{count}") for count in range(4)]
    assert len(list(ROO.find(where(tmp_path, "/src/shop", heads_max=2)))) == 2
    known = {str(path): "/src/shop" for path in paths}
    for path in paths:
        path.with_name("history_item.json").unlink()
        path.write_bytes(b"")
    assert len(list(ROO.find(where(tmp_path, "/src/shop", heads_max=1, known=known)))) == 4


@pytest.mark.parametrize(
    "folder",
    [
        ".config/Cursor/User/globalStorage",
        ".config/Code - Insiders/User/globalStorage",
        "Library/Application Support/Code/User/globalStorage",
        ".vscode-server/data/User/globalStorage",
    ],
)
def test_the_storage_of_every_editor_is_looked_at(folder, tmp_path):
    path = placed("cline", STORY, home=tmp_path / "from")
    home = tmp_path / "home"
    target = home / folder / "saoudrizwan.claude-dev" / "tasks" / "9"
    target.parent.mkdir(parents=True)
    path.parent.rename(target)
    assert [one.native for one in AGENT.find(where(home, "/src/shop"))] == ["9"]
    assert list(ROO.find(where(home, "/src/shop"))) == []


def test_the_folder_of_the_command_may_be_elsewhere(tmp_path):
    placed("cline", STORY, home=tmp_path)
    env = {"CLINE_DIR": str(tmp_path / ".cline")}
    assert len(list(AGENT.find(SearchScope(env=env, home=tmp_path / "nobody", roots=())))) == 1


@BOTH
def test_each_recognises_its_own(agent, tmp_path):
    path = placed(agent.name, STORY, home=tmp_path)
    other = ROO if agent is AGENT else AGENT
    for head, name in ((path.read_bytes(), path.name), (path.read_bytes(), "x.json")):
        assert agent.recognises(head[:65_536], name)
        assert not other.recognises(head[:65_536], name)
    for head in (b"", b"[]", b"{}", b'{"type":"user"}', b"\xff\x00"):
        assert not agent.recognises(head, "x.json")
