"""Where SQLite's log of writes can be used: with a version that keeps what it wrote, on a local disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..._files import read_text

STORE_BYTES_MIN = 512
"""No database with anything in it is smaller."""
_NETWORK = frozenset("nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre webdav afpfs".split())


def wal_is_safe(version: str) -> bool:
    """Whether this SQLite keeps committed transactions when processes write and checkpoint."""
    numbers = tuple(int(part) for part in version.split(".")[:3])
    return numbers >= (3, 51, 3) or (3, 50, 7) <= numbers < (3, 51, 0) or (3, 44, 6) <= numbers < (3, 45, 0)


def is_network(path: Path, mounts: str) -> bool:
    """Whether a path lies on a network file system, by a text like /proc/self/mounts or mount(8)."""
    best, kind = "", ""
    real = os.path.realpath(path)
    for line in mounts.splitlines():
        if " on " in line and " (" in line:  # mount(8), as on macOS
            point, _, options = line.partition(" on ")[2].rpartition(" (")
            name = options.split(",")[0].strip(") ")
        else:
            fields = line.split(" ")
            if len(fields) < 3:
                continue
            point, name = fields[1].replace("\\040", " "), fields[2]
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, name
    return kind in _NETWORK or kind.startswith("fuse.sshfs")


def read_mounts() -> str:
    """The mounts of this machine, as text."""
    try:
        if sys.platform != "darwin":
            return read_text(Path("/proc/self/mounts"), errors="replace")
        import subprocess

        command = ["/sbin/mount"]
        return subprocess.run(command, capture_output=True, text=True, timeout=2, check=False).stdout
    except Exception:  # a hint only: whatever goes wrong, the file system counts as local
        return ""
