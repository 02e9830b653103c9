"""The spool and the file that records into it."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from segue.effects.files import spool as spool_module
from segue.effects.files.spool import MAGIC, PAYLOAD_BYTES_MAX, PRIME, Spool, SpoolRecord, decoded, encoded
from segue.services.hooks import hook_file
from segue.services.workspace.data_folder import DataFolder
from segue.surfaces.hook import installed_file as source

names = st.from_regex(r"[a-z][a-zA-Z-]{0,20}", fullmatch=True)
records = st.builds(
    SpoolRecord,
    names,
    names,
    st.binary(max_size=300) | st.just(MAGIC + b"abc 1 2 a b 0 3 "),
    st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
    st.integers(1, 4_000_000_000_000_000_000),
    st.integers(1, 99_999),
)


@given(st.lists(records, max_size=6), st.binary(max_size=60))
def test_what_was_written_is_read_whatever_stands_between(wanted: list[SpoolRecord], noise: bytes) -> None:
    noise = noise.replace(b"segue", b"")
    body = noise.join([b"", *map(encoded, wanted), b""])
    assert list(decoded(body)) == wanted


@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_a_torn_tail_costs_the_last_record_alone(wanted: list[SpoolRecord], data: st.DataObject) -> None:
    body = b"".join(map(encoded, wanted))
    last = len(encoded(wanted[-1]))
    kept = data.draw(st.integers(len(body) - last, len(body) - 1))
    more = encoded(SpoolRecord("codex", "Stop", b"{}", "ab" * 8, 5, 7))
    assert list(decoded(body[:kept])) == wanted[:-1]
    assert list(decoded(body[:kept] + more))[-1].id == "ab" * 8, "what comes behind is read"


@given(st.lists(records, min_size=2, max_size=4), st.data())
def test_a_flipped_byte_costs_one_record_at_most(wanted: list[SpoolRecord], data: st.DataObject) -> None:
    wanted = [
        SpoolRecord(r.agent, r.event, r.payload.replace(MAGIC, b""), r.id, r.at_ns, r.pid) for r in wanted
    ]
    body = bytearray(b"".join(map(encoded, wanted)))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= data.draw(st.integers(1, 255))
    found = list(decoded(bytes(body)))
    assert len(found) >= len(wanted) - 1
    assert all(one in wanted for one in found)


def test_the_spool_is_private_and_a_record_that_is_too_long_is_cut(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    assert spool.append(SpoolRecord("codex", "Stop", b"x" * (PAYLOAD_BYTES_MAX + 5)))
    assert stat.S_IMODE(spool.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(spool.folder.stat().st_mode) == 0o700
    [found] = decoded(spool.path.read_bytes())
    assert (len(found.payload), found.cut) == (PAYLOAD_BYTES_MAX, True)


def test_a_full_spool_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "SPOOL_BYTES_MAX", 100)
    spool = Spool(tmp_path / "spool")
    assert spool.append(SpoolRecord("codex", "Stop", b"x" * 200))
    assert not spool.append(SpoolRecord("codex", "Stop", b"y"))
    assert len(list(decoded(spool.path.read_bytes()))) == 1


def test_nothing_is_lost_between_writers_and_who_drains(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    told: list[str] = []
    stop = threading.Event()

    def write(worker: int) -> None:
        for number in range(60):
            id = f"{worker:08x}{number:08x}"
            assert spool.append(SpoolRecord("codex", "Stop", b"{}", id))
            told.append(id)

    def take() -> None:
        while not stop.is_set():
            drain()

    seen: list[str] = []

    def drain() -> None:
        for path in spool.take():
            seen.extend(record.id for record in spool.read(path))
            spool.drop(path)

    drainer = threading.Thread(target=take)
    drainer.start()
    writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    drainer.join()
    drain()
    assert set(seen) == set(told)


# -- the file --------------------------------------------------------------------------------------


@pytest.fixture
def installed(home: Path) -> DataFolder:
    found = DataFolder(home / "se gue'")
    found.make()
    hook_file.put(found)
    return found


def run(
    home: DataFolder, *words: str, stdin: bytes = b"{}", **more: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-S", str(hook_file.file_of(home)), *words]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=60, env={**os.environ, **more})
    assert done.returncode == 0, done
    return done


def waiting(home: DataFolder) -> list[SpoolRecord]:
    path = home.path / "spool" / "hooks"
    return list(decoded(path.read_bytes())) if path.exists() else []


def test_the_file_imports_only_what_is_there_anyway() -> None:
    tree = ast.parse(hook_file.built())
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [alias.name for node in imports for alias in node.names] == ["posix", "sys", "time"]
    inner = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert [node.module for node in inner] == ["segue.surfaces.hook"], "and Segue, where it speaks"


def test_the_file_and_the_spool_agree_about_everything_in_a_record() -> None:
    for name in ("FORMAT", "PRIME", "PAYLOAD_BYTES_MAX", "SPOOL_BYTES_MAX"):
        assert getattr(source, name) == getattr(spool_module, name), name


@pytest.mark.parametrize("payload", [b"", b"{}", b"\xff\x00garbage", b"x" * (PAYLOAD_BYTES_MAX + 1)])
def test_what_the_file_writes_is_byte_for_byte_what_the_spool_writes(
    installed: DataFolder, payload: bytes
) -> None:
    run(installed, "codex", "SessionEnd", "record", stdin=payload)
    body = (installed.path / "spool" / "hooks").read_bytes()
    [found] = decoded(body)
    assert (found.agent, found.event, found.payload) == ("codex", "SessionEnd", payload[:PAYLOAD_BYTES_MAX])
    assert found.pid == os.getpid()
    assert encoded(found) == body
    assert abs(found.at - os.stat(installed.path / "spool" / "hooks").st_mtime) < 2


def test_without_segue_a_hook_that_speaks_spools_logs_and_exits_0(
    installed: DataFolder, tmp_path: Path
) -> None:
    (installed.path / "hook" / "paths").write_bytes(os.fsencode(tmp_path))
    done = run(installed, "claude-code", "SessionStart", "speak", stdin=b'{"session_id":"a"}')
    assert (done.stdout, done.stderr) == (b"", b"")
    [found] = waiting(installed)
    assert (found.event, found.payload) == ("SessionStart", b'{"session_id":"a"}')
    assert "hook claude-code SessionStart: ModuleNotFoundError" in (installed.path / "segue.log").read_text()


@pytest.mark.parametrize("words", [(), ("codex",), ("codex", "Stop"), ("codex", "Stop", "dance", "x")])
def test_a_command_line_that_is_none_exits_0(installed: DataFolder, words: tuple[str, ...]) -> None:
    done = run(installed, *words, stdin=b'{"session_id":"a"}')
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_data_folder_that_is_gone_or_cannot_be_written_exits_0(
    installed: DataFolder, tmp_path: Path
) -> None:
    copy = tmp_path / "gone" / "hook"
    copy.mkdir(parents=True)
    (copy / "hook.py").write_bytes(hook_file.built())
    (tmp_path / "gone" / "spool").write_text("a file where a folder should be")
    done = run(DataFolder(tmp_path / "gone"), "codex", "Stop", "record")
    assert (done.stdout, done.stderr) == (b"", b"")
    assert (tmp_path / "gone" / "spool").read_text() == "a file where a folder should be"


def test_a_folder_that_is_switched_off_is_not_recorded_nor_what_lies_in_it(installed: DataFolder) -> None:
    mark = installed.path / "off" / "tree" / "src" / "shop" / ".off"
    mark.parent.mkdir(parents=True)
    mark.touch()
    for cwd, count in (("/src/shop", 0), ("/src/shop/deep", 0), ("/src/shopping", 1), ("/src", 2)):
        run(installed, "codex", "Stop", "record", stdin=b'{"cwd": "%s"}' % cwd.encode())
        assert len(waiting(installed)) == count, cwd


def test_an_install_for_some_projects_acts_in_those_alone(installed: DataFolder) -> None:
    mark = installed.path / "hook" / "roots" / "codex" / "src" / "shop" / ".on"
    mark.parent.mkdir(parents=True)
    mark.touch()
    for cwd, count in (("/src/other", 0), ("/src/shop/deep", 1)):
        run(installed, "codex", "Stop", "record", stdin=b'{"cwd":"%s"}' % cwd.encode())
        assert len(waiting(installed)) == count, cwd
    run(installed, "gemini-cli", "AfterAgent", "record", stdin=b'{"cwd":"/src/other"}')
    assert len(waiting(installed)) == 2, "another agent has no such list"


def test_below_the_size_that_segue_left_word_of_a_look_records_and_a_glance_does_nothing(
    installed: DataFolder, tmp_path: Path
) -> None:
    transcript = tmp_path / "run.jsonl"
    transcript.write_bytes(b"x" * 100)
    (installed.path / "hook" / "paths").write_bytes(b"")
    word = installed.path / "hook" / "looks" / "abc"
    word.parent.mkdir()
    word.write_text("101")
    payload = b'{"session_id": "abc", "transcript_path": "%s"}' % os.fsencode(transcript)
    run(installed, "claude-code", "PostToolBatch", "glance", stdin=payload)
    assert waiting(installed) == []
    run(installed, "claude-code", "UserPromptSubmit", "look", stdin=payload)
    assert len(waiting(installed)) == 1
    log = installed.path / "segue.log"
    assert not log.exists()
    word.write_text("100")
    run(installed, "claude-code", "PostToolBatch", "glance", stdin=payload)
    assert "ModuleNotFoundError" in log.read_text(), "it tried to speak"


def test_the_prime_is_one() -> None:
    assert all(pow(base, PRIME - 1, PRIME) == 1 for base in (2, 3, 5, 7, 11, 13))
