"""The process at the other end of a connection on loopback; 0 if the system does not say."""

from __future__ import annotations

import os
from contextlib import suppress


def pid_of_client(port: int, server_port: int) -> int:
    """The process whose socket has this port and is connected to the server's."""
    inode = next(filter(None, (_inode(table, port, server_port) for table in ("tcp", "tcp6"))), "")
    if not inode:
        return 0
    wanted, own = f"socket:[{inode}]", os.getpid()
    for name in reversed(_listed("/proc")):  # the newest processes are checked first
        if name.isdigit() and int(name) != own:
            for number in _listed(f"/proc/{name}/fd"):
                with suppress(OSError):
                    if os.readlink(f"/proc/{name}/fd/{number}") == wanted:
                        return int(name)
    return 0


def _inode(table: str, port: int, server_port: int) -> str:
    with suppress(OSError), open(f"/proc/net/{table}") as lines:
        for line in lines:
            words = line.split()
            if words[1].endswith(f":{port:04X}") and words[2].endswith(f":{server_port:04X}"):
                return words[9]
    return ""


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder), key=lambda name: (len(name), name))
    except OSError:
        return []
