"""A sync that is interrupted keeps what it has read: the next one reads only the rest."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.runs import environment, opened, place

from segue import Segue
from segue.services.runs import sync as syncing, sync_workers
from segue.services.runs.observed import runs_of
from segue.services.runs.sync_workers import ImportedTranscript, Job, TranscriptImporter

CHILD = """
import sys, time
from pathlib import Path
from tests.support.runs import opened
from segue.services.runs import sync, sync_workers
sync.SAVE_SECONDS = sync_workers.SEND_SECONDS = 0.05
sync.FORK_BYTES_MIN = 1
read = sync_workers.TranscriptImporter.read
def slowly(self, index, job):
    time.sleep(0.03)
    return read(self, index, job)
sync_workers.TranscriptImporter.read = slowly
with opened(Path(sys.argv[1]), Path(sys.argv[2])) as seg:
    seg.sync(workers=int(sys.argv[3]))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def kept(home: Path, project: Path) -> int:
    with opened(home, project) as seg:
        return len(runs_of(seg.workspace).runs.rows())


def put(home: Path, project: Path, count: int) -> None:
    for n in range(count):
        agent = ("codex", "opencode", "claude-code")[n % 3]
        place(home, project, agent, native=f"run-{n:03}", prompt=f"Task number {n} of many", old=9000 - n)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_sync_that_is_killed_leaves_what_it_has_read_for_the_next(
    workers: int, home: Path, project: Path
) -> None:
    put(home, project, 90)
    command = [sys.executable, "-c", CHILD, str(home), str(project), str(workers)]
    process = subprocess.Popen(command, env={**environment(home), "PYTHONPATH": ":".join(sys.path)})
    deadline = time.monotonic() + 60
    while kept(home, project) < 12 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    process.wait(30)
    time.sleep(0.3)  # forked processes see that nobody reads, and end
    before = kept(home, project)
    assert 12 <= before < 90
    with opened(home, project) as seg:
        done = seg.sync()
        assert (done.new, done.read + done.unchanged) == (90 - before, 90)
        assert all(run.session and run.archived for run in seg.runs())
        assert seg.sync().read == 0


@pytest.mark.parametrize("workers", [1, 3])
def test_ctrl_c_costs_only_the_transcript_that_was_being_read(
    workers: int, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, project, 12)
    monkeypatch.setattr(syncing, "FORK_BYTES_MIN", 1)
    monkeypatch.setattr(sync_workers, "SEND_SECONDS", 0.0)
    whole = TranscriptImporter.read
    calls: list[int] = []

    def read(self: TranscriptImporter, index: int, job: Job) -> ImportedTranscript:
        calls.append(index)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return whole(self, index, job)

    with opened(home, project) as seg:
        monkeypatch.setattr(TranscriptImporter, "read", read)
        with pytest.raises(KeyboardInterrupt):
            seg.sync(workers=workers)
        assert len(runs_of(seg.workspace).runs.rows()) >= 3
        monkeypatch.setattr(TranscriptImporter, "read", whole)
        done = seg.sync()
        assert done.new <= 9 and len(seg.runs()) == 12


@pytest.mark.parametrize("agent", ["codex", "copilot-cli", "opencode"])
def test_one_sync_takes_in_more_transcripts_than_a_look_for_the_newest_opens(
    agent: str, home: Path, project: Path
) -> None:
    for n in range(270):
        place(home, project, agent, native=f"run-{n:03}", calls=0)
    with opened(home, project) as seg:
        assert seg.sync().new == 270
        assert seg.sync().unchanged == 270


def test_progress_tells_bytes_files_and_where_it_is(home: Path, project: Path) -> None:
    put(home, project, 4)
    told: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, what: str) -> None:
        told.append((done, total, what))

    with opened(home, project) as seg:
        _sync(seg, progress)
    assert [what.partition("  ")[0] for _, _, what in told] == [f"{n} of 4 files" for n in (1, 2, 3, 4)]
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert all(0 <= done < total for done, total, _ in told)


def _sync(seg: Segue, progress: Callable[[int, int, str], None]) -> None:
    seg.sync(progress=progress)
