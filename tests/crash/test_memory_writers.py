"""Two processes add memories while a third recalls: all are there, and nobody sees an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from segue.api.segue import Segue
from segue.core.memories.model import MemoryFilter
from segue.effects.vectors.embedder import HashEmbedder

FULL, FULL_KILLS = 10_000, 200

WRITER = """
import sys
from segue.effects.vectors.embedder import HashEmbedder
from segue.api.segue import Segue
home, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Segue(home=home, folder=home, actor=name, embedder=HashEmbedder(), backup_events=10**9) as seg:
    for place in range(count):
        kept = seg.remember(f"{name} learnt fact {place} about module_{place % 97}", session=name)
        assert not kept.known
print("done")
"""

READER = """
import json, sys, time
from pathlib import Path
from segue.core.memories.model import MemoryFilter
from segue.effects.vectors.embedder import HashEmbedder
from segue.api.segue import Segue
home, stop = sys.argv[1], Path(sys.argv[2])
asked, most = 0, 0
with Segue(home=home, folder=home, actor="reader", embedder=HashEmbedder()) as seg:
    while not stop.exists():
        found = seg.recall(f"fact about module_{asked % 97}", top_k=20)
        assert all("learnt fact" in one.content for one in found)
        total = seg.memories.store.match(seg.memories.reader(), ["~"], MemoryFilter(), 1).total
        assert total >= most, "what was there is gone"
        asked, most = asked + 1, total
print(json.dumps([asked, most]))
"""


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_add_memories_while_a_third_recalls_and_all_are_there(
    tmp_path: Path, kill_count: int
) -> None:
    count = FULL if kill_count >= FULL_KILLS else 400
    home, stop = tmp_path / "home", tmp_path / "stop"
    with Segue(home=home, folder=home, embedder=HashEmbedder()) as seg:
        seg.remember("the first of all learnt fact about module_0")
    writers = [run(WRITER, home, name, count) for name in ("ana", "bert")]
    reader = run(READER, home, stop)
    for writer in writers:
        out, err = writer.communicate(timeout=3_000)
        assert (writer.returncode, out.strip()) == (0, "done"), err
    stop.touch()
    out, err = reader.communicate(timeout=120)
    assert reader.returncode == 0, err
    asked, _ = json.loads(out)
    assert asked > 0
    with Segue(home=home, folder=home, embedder=HashEmbedder()) as seg:
        found = seg.memories.store.listing(seg.memories.reader(), MemoryFilter(), "9")
        wanted = {f"{name} learnt fact {place} about module_{place % 97}"
                  for name in ("ana", "bert") for place in range(count)}  # fmt: skip
        assert {one.content for one in found if one.agent != "user"} == wanted
        assert len(found) == 2 * count + 1
        last = f"ana learnt fact {count - 1} about"
        assert any(one.content.startswith(last) for one in seg.recall(last, top_k=3))
    print(f"2 × {count:,} memories added, {asked:,} recalls beside them, no error")
