"""`segue export --format notebook`: a project as sources that notebook tools take in."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest
from tests.support.runs import SECRET, opened, work
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.errors import Paused, UsageError
from segue.services.handoff.notebook import FILE_BYTES_MAX, MARK, Notebook, export_notebook
from segue.testing.transcripts import placed


@pytest.fixture
def seg(home: Path, tmp_path: Path) -> Segue:
    return opened(home, tmp_path / "shop")


def filled(seg: Segue, home: Path, *, calls: int = 3, secret: str = "") -> None:
    """Two sessions, one with a run, and a memory."""
    seg.start("Tokens for the login", id="login")
    session = seg.session("login")
    session.decide("Use HS256", why="there is one issuer")
    steps = work(at=time.time(), native="run-1", cwd=str(seg.workspace.folder), calls=calls, secret=secret)
    placed("codex", steps, home=home, native="run-1", cwd=str(seg.workspace.folder))
    seg.sync()
    seg.start("Faster export", id="export")
    seg.remember("Invoices are kept in cents", type="semantic")


def exported(seg: Segue, folder: Path, file_bytes_max: int = FILE_BYTES_MAX) -> Notebook:
    return export_notebook(seg.workspace, folder, file_bytes_max=file_bytes_max)


def test_each_session_and_the_project_have_a_file_and_the_index_names_them(
    seg: Segue, home: Path, tmp_path: Path
) -> None:
    with seg:
        filled(seg, home)
        done = exported(seg, tmp_path / "sources")
    assert set(done.written) == {"project.md", "session-login.md", "session-export.md", "index.md"}
    texts = {name: (tmp_path / "sources" / name).read_text() for name in done.files}
    assert all(name in texts["index.md"] for name in done.files if name != "index.md")
    assert "Use HS256" in texts["project.md"] and "Invoices are kept in cents" in texts["project.md"]
    assert "Make the login use tokens, please" in texts["session-login.md"], "what was said in its run"
    assert "AssertionError" not in texts["session-login.md"].partition("What was said")[2], "output of tools"
    assert "<details>" not in "".join(texts.values())
    modes = {stat.S_IMODE((tmp_path / "sources" / name).stat().st_mode) for name in done.files}
    assert modes == {0o600}


def test_again_only_what_has_changed_is_written_and_what_is_gone_is_taken_out(
    seg: Segue, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sources"
    with seg:
        filled(seg, home)
        exported(seg, folder)
        before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
        assert exported(seg, folder).written == ()
        assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
        seg.session("export").decide("Write the file in blocks")
        assert set(exported(seg, folder).written) == {"project.md", "session-export.md", "index.md"}
        (folder / "session-login.md").write_text("something else")
        assert exported(seg, folder).written == ("session-login.md",), "somebody changed it"
        known = json.loads((folder / "notebook.json").read_text())
        known["sources"]["session-gone.md"] = known["sources"]["session-login.md"]
        (folder / "notebook.json").write_text(json.dumps(known))
        (folder / "session-gone.md").write_text("gone")
        assert exported(seg, folder).removed == ("session-gone.md",)
    assert not (folder / "session-gone.md").exists()


def test_no_file_is_larger_than_allowed_and_one_that_is_cut_says_so(
    seg: Segue, home: Path, tmp_path: Path
) -> None:
    with seg:
        filled(seg, home)
        for number in range(200):
            seg.session("login").note(f"note {number} " + "word " * 40)
        done = exported(seg, tmp_path / "sources", file_bytes_max=8_000)
    assert all(source.bytes <= 8_000 for source in done.files.values())
    text = (tmp_path / "sources" / "session-login.md").read_text()
    assert "left out" in text and text.endswith(f"{MARK}\n") and len(text.encode()) <= 8_000


def test_secrets_are_masked(seg: Segue, home: Path, tmp_path: Path) -> None:
    with seg:
        filled(seg, home, secret=SECRET)
        seg.session("login").note(f"the key is {SECRET}")
        exported(seg, tmp_path / "sources")
    assert SECRET not in "".join(path.read_text() for path in (tmp_path / "sources").iterdir())


def test_files_of_others_are_not_touched_and_those_of_an_export_that_was_cut_off_are_ours(
    seg: Segue, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "project.md").write_text("mine")
    with seg:
        filled(seg, home)
        with pytest.raises(UsageError, match=r"project\.md"):
            exported(seg, folder)
        assert (folder / "project.md").read_text() == "mine"
        (folder / "project.md").unlink()
        exported(seg, folder)
        (folder / "notebook.json").unlink()
        assert exported(seg, folder).written == ()


def test_nothing_is_written_while_paused(seg: Segue, home: Path, tmp_path: Path) -> None:
    with seg:
        filled(seg, home)
        (seg.workspace.folder / "PAUSE").touch()
        with pytest.raises(Paused):
            exported(seg, tmp_path / "sources")
    assert not (tmp_path / "sources").exists()


def test_the_command_says_what_it_wrote_and_wants_a_folder(cli: Cli) -> None:
    cli("start", "Ship it", "--id", "ship")
    words = ("export", "--format", "notebook", "-o", "sources")
    assert set(cli("--json", *words).value["written"]) == {"project.md", "session-ship.md", "index.md"}
    assert cli("--json", *words).value["written"] == []
    assert "3 files in sources: 0 written" in cli(*words).out
    cli("export", "--format", "notebook", code=64)
