"""A file is copied only if it is one, and a copy is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from segue._files import copy_file


def test_a_copy_has_the_content_and_the_time_and_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 3_000_000)
    os.utime(tmp_path / "one", (1_700_000_000, 1_700_000_000))
    copy_file(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == b"x" * 3_000_000
    about = (tmp_path / "two").stat()
    assert (about.st_mtime, about.st_mode & 0o777) == (1_700_000_000, 0o600)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_a_device_is_not_copied(tmp_path: Path, device: str) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        copy_file(device, tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_a_copy_that_cannot_be_finished_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").write_bytes(b"x")

    def no_time(*_: object, **__: object) -> None:
        raise OSError("no time")

    monkeypatch.setattr(os, "utime", no_time)
    with pytest.raises(OSError, match="no time"):
        copy_file(tmp_path / "one", tmp_path / "two")
    assert not (tmp_path / "two").exists()
