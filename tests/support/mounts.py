"""Commands with mounts of their own: small disks, and disks that can only be read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def mounting(script: str) -> list[str]:
    """A prefix for a command: mounts of its own, by a line of shell, gone with the process."""
    unshare = shutil.which("unshare") or "unshare"
    for flags in (["-m"], ["-Urm"]):
        try:
            subprocess.run([unshare, *flags, "true"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return [unshare, *flags, "sh", "-ec", f'{script}\nexec "$@"', "sh"]
    pytest.skip("NOT TESTED: this needs mounts of its own (root, or user namespaces)")


def read_only(folder: Path) -> list[str]:
    """A prefix for a command that may only read this folder."""
    return mounting(f'mount --bind "{folder}" "{folder}"; mount -o remount,ro,bind "{folder}"')
