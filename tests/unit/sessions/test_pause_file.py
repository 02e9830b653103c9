"""PAUSE: while the file is there every service write is refused, and reading works."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.api.segue import Segue
from segue.errors import Paused
from segue.stores.memory.store import VolatileStore


@pytest.mark.parametrize("where", ["project", "home", "configured", "dangling link"])
def test_every_write_is_refused_and_every_read_works(tmp_path: Path, where: str) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    seg = Segue(VolatileStore(), home=home, folder=project, pause_file="stop/here")
    session = seg.start("braked", items=["a"])
    session.checkpoint("mark", done="a")
    session.save_agent("agent", {"x": 1})
    file = {"project": project / "PAUSE", "home": home / "PAUSE", "configured": project / "stop" / "here",
            "dangling link": project / "PAUSE"}[where]  # fmt: skip
    file.parent.mkdir(exist_ok=True)
    if where == "dangling link":
        file.symlink_to(tmp_path / "nowhere")
    else:
        file.touch()
    before = seg.workspace.store.streams()
    for write in (
        lambda: session.note("x"),
        lambda: session.checkpoint(done="b"),
        lambda: session.pause(),
        lambda: session.undo(),
        lambda: session.rewind("mark"),
        lambda: session.save_agent("agent", {"x": 2}),
        lambda: session.hold(),
        lambda: seg.start("another"),
        lambda: seg.make_current(session.id),
        lambda: seg.switch(session.id),
    ):
        with pytest.raises(Paused) as raised:
            write()
        assert str(file) in raised.value.message and raised.value.exit_code == 65
    assert seg.workspace.store.streams() == before
    assert session.status().done == ["a"] and session.load_agent("agent") == {"x": 1}
    assert [card.id for card in seg.list()] == [session.id]
    file.unlink()
    assert session.note("on again").events == 1
