"""Runs programs as a user to whom file permissions apply, whoever runs the tests."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: only Linux has capabilities")


def as_anybody(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Segue."""
    return run_as_anybody("-m", "segue", *words)


def run_as_anybody(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a program with this Python."""
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=60, preexec_fn=like_anybody
    )


def like_anybody() -> None:
    """Drop the two capabilities that let root read and write everywhere."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
