"""The process at the other end of a connection on loopback; 0 if the system does not say."""

from __future__ import annotations

import os
from contextlib import suppress


def pid_of_client(port: int, server_port: int) -> int:
    """The process whose socket has this port and is connected to the server's; 0 if it is gone. A child that
    it has just forked has the socket too, for a moment."""
    inode = next(filter(None, (_inode(table, port, server_port) for table in ("tcp", "tcp6"))), "")
    if not inode:
        return 0
    wanted = f"socket:[{inode}]"
    names = [name for name in _listed("/proc") if name.isdigit()]
    holders = {int(name): _parent(name) for name in names if _has(name, wanted)}
    return next((pid for pid, parent in holders.items() if parent not in holders), 0)


def _has(name: str, wanted: str) -> bool:
    for number in _listed(f"/proc/{name}/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/{name}/fd/{number}") == wanted:
                return True
    return False


def _parent(name: str) -> int:
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])
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
