"""The file that agents run: it records the event, and calls Segue if a reply is wanted.

`segue init` copies it, without comments and docstrings (``services/hooks/hook_file.py``), to
``$SEGUE_HOME/hook/hook.py``, and agents run it as ``python -I -S /abs/hook.py AGENT EVENT MODE``. It imports
only posix, sys and time, which are there anyway, reads standard input to its end, and always exits with 0.
Modes: ``record`` appends the payload to the spool; ``speak`` loads Segue for a reply; ``look`` speaks once
the transcript has grown to the size that Segue has noted, or was not written to for hours, and otherwise
records; ``glance`` does the same but otherwise records nothing. If anything fails, the payload is spooled,
with a line in the log. It writes the bytes that ``effects/files/spool.py`` reads; a test compares the two.
"""

import posix
import sys
import time

FORMAT = 1
PRIME = 0xFFFFFFFFFFFFFFC5
PAYLOAD_BYTES_MAX = 262_144
SPOOL_BYTES_MAX = 33_554_432
STDIN_BYTES_MAX = 16_777_216
RESTED_SECONDS = 7_200
FLAGS = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_NONBLOCK  # a pipe is not waited for


def text_in(payload: bytes, key: bytes) -> str:
    """The string value of a key in a JSON object; empty if there is none or it contains an escape."""
    at = payload.find(b'"%s"' % key)
    if at < 0:
        return ""
    start = payload.find(b'"', payload.find(b":", at + len(key) + 2))
    stop = payload.find(b'"', start + 1)
    text = payload[start + 1 : stop]
    return "" if start < 0 or stop < 0 or b"\\" in text else text.decode("utf-8", "surrogateescape")


def exists(path: str) -> bool:
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def in_tree(folder: str, cwd: str, name: str) -> bool:
    """Whether there is a marker file for the working folder or one above it."""
    while True:
        if exists(f"{folder}{cwd.rstrip('/')}/{name}"):
            return True
        if cwd in ("", "/"):
            return False
        cwd = cwd.rpartition("/")[0] or "/"


def wanted(home: str, agent: str, cwd: str) -> bool:
    """Whether Segue is switched on here, and installed for this folder."""
    if exists(f"{home}/off/tree") and in_tree(f"{home}/off/tree", cwd, ".off"):
        return False
    roots = f"{home}/hook/roots/{agent}"
    return not exists(roots) or in_tree(roots, cwd, ".on")


def paused(home: str, cwd: str) -> bool:
    """Whether there is a PAUSE file in the data folder or the project, so that nothing may be written."""
    if exists(f"{home}/PAUSE"):
        return True
    while cwd not in ("", "/"):
        if exists(f"{cwd}/PAUSE"):
            return True
        if exists(f"{cwd}/.git"):
            return False
        cwd = cwd.rpartition("/")[0]
    return False


def record(home: str, agent: str, event: str, payload: bytes) -> None:
    """Append to the spool with one write and a sync; again if the spool was renamed meanwhile."""
    folder = f"{home}/spool"
    path = f"{folder}/hooks"
    id = posix.urandom(8).hex()
    cut = len(payload) > PAYLOAD_BYTES_MAX
    payload = payload[:PAYLOAD_BYTES_MAX]
    if not exists(folder):
        posix.mkdir(folder, 0o700)
    for _ in range(8):
        spool = posix.open(path, FLAGS | posix.O_CLOEXEC, 0o600)
        posix.utime(spool)  # the only way to get the time from posix alone
        stat = posix.fstat(spool)
        if stat.st_size > SPOOL_BYTES_MAX:
            return
        words = (id, stat.st_mtime_ns, posix.getppid(), agent, event, int(cut), len(payload))
        head = f"segue-spool {FORMAT} {' '.join(map(str, words))} ".encode("ascii")
        total = int.from_bytes(b"\1" + head + payload, "big") % PRIME
        posix.write(spool, b"%s%016x\n%s\n" % (head, total, payload))
        (posix.fdatasync if hasattr(posix, "fdatasync") else posix.fsync)(spool)
        try:
            current = posix.stat(path).st_ino
        except OSError:
            current = 0
        posix.close(spool)
        if current == stat.st_ino:
            return


def due(home: str, payload: bytes) -> bool:
    """Whether the transcript has reached the size at which Segue wants to look again, or rested for hours;
    True if no size is noted."""
    native, transcript = text_in(payload, b"session_id"), text_in(payload, b"transcript_path")
    if not native or not transcript or "/" in native:
        return True
    try:
        noted = posix.open(f"{home}/hook/looks/{native}", posix.O_RDONLY | posix.O_NONBLOCK)
        size = int(posix.read(noted, 32).split(b"\n")[0])
        posix.close(noted)
    except (OSError, ValueError):
        return True
    if not exists(transcript):
        return False
    stat = posix.stat(transcript)
    return stat.st_size >= size or time.time() - stat.st_mtime >= RESTED_SECONDS


def log(home: str, agent: str, event: str, fault: BaseException) -> None:
    """Append a line to the log, without anything from the payload."""
    line = f"hook {agent} {event}: {type(fault).__name__}: {str(fault)[:200]!r}\n"
    out = posix.open(f"{home}/segue.log", FLAGS, 0o600)
    posix.write(out, line.encode("utf-8", "replace"))
    posix.close(out)


def speak(home: str, agent: str, event: str, payload: bytes) -> None:
    """Have Segue reply; it spools what it cannot store."""
    paths = posix.open(f"{home}/hook/paths", posix.O_RDONLY | posix.O_NONBLOCK)
    sys.path[:0] = posix.read(paths, 65536).decode("utf-8", "surrogateescape").split("\n")
    posix.close(paths)
    from segue.surfaces.hook import answered

    reply = answered(home, agent, event, payload)
    while reply:
        reply = reply[posix.write(1, reply) :]


def main(home: str, agent: str, event: str, mode: str) -> None:
    payload = b""
    while payload or not posix.isatty(0):
        block = posix.read(0, 1_048_576)
        if not block:
            break
        if len(payload) < STDIN_BYTES_MAX:
            payload += block  # the rest is read too: an agent may die of a pipe that nobody reads
    cwd = text_in(payload, b"cwd") or posix.getcwd()
    if not wanted(home, agent, cwd) or (event == "SubagentStop" and text_in(payload, b"agent_type")):
        return  # what sub-agents say is in their transcripts; only a summary comes without a type
    if mode in ("look", "glance") and not due(home, payload):
        if mode == "glance":
            return
        mode = "record"
    if mode == "record" and exists(f"{home}/off/session"):
        mode = "speak"  # only Segue knows whether this session is switched off
    try:
        if mode != "record":
            return speak(home, agent, event, payload)
    except BaseException as fault:
        if not paused(home, cwd):
            log(home, agent, event, fault)
    if not paused(home, cwd):
        record(home, agent, event, payload)


if __name__ == "__main__":
    try:
        main(__file__.rpartition("/")[0].rpartition("/")[0], *sys.argv[1:4])
    except BaseException:
        pass
    posix._exit(0)
