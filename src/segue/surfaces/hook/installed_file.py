"""The file that agents run: it records, and where something is to be said it calls Segue.

`segue init` copies it, without what only people read (``services/hooks/hook_file.py``), to
``$SEGUE_HOME/hook/hook.py``, and agents run it as ``python -I -S /abs/hook.py AGENT EVENT MODE``. It
imports posix and sys alone, reads standard input to its end, and can only exit 0. Modes: ``record``
appends what it was told to the spool and is done; ``speak`` loads Segue and lets it answer; ``look``
speaks once the transcript has grown to the size that Segue left word of, and else records; ``glance``
does the same and else records nothing. Whatever fails is spooled, with a line in the log. What it writes
is what ``effects/files/spool.py`` reads: a test holds the bytes together.
"""

import posix
import sys

FORMAT = 1
PRIME = 0xFFFFFFFFFFFFFFC5
PAYLOAD_BYTES_MAX = 262_144
SPOOL_BYTES_MAX = 33_554_432
STDIN_BYTES_MAX = 16_777_216


def text_in(payload: bytes, key: bytes) -> str:
    """The text of a key at the top of a JSON object, if it stands there without an escape."""
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
    """Is there a mark for the working folder or one above it?"""
    while True:
        if exists(f"{folder}{cwd.rstrip('/')}/{name}"):
            return True
        if cwd in ("", "/"):
            return False
        cwd = cwd.rpartition("/")[0] or "/"


def wanted(home: str, agent: str, cwd: str) -> bool:
    """Is Segue switched on here, and meant for this folder?"""
    if exists(f"{home}/off/tree") and in_tree(f"{home}/off/tree", cwd, ".off"):
        return False
    roots = f"{home}/hook/roots/{agent}"
    return not exists(roots) or in_tree(roots, cwd, ".on")


def paused(home: str, cwd: str) -> bool:
    """Is there a PAUSE file for the data folder or the project? Then nothing is written."""
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
    """Append to the spool, durably: one write, synced; again if the spool was taken away meanwhile."""
    folder = f"{home}/spool"
    path = f"{folder}/hooks"
    id = posix.urandom(8).hex()
    cut = len(payload) > PAYLOAD_BYTES_MAX
    payload = payload[:PAYLOAD_BYTES_MAX]
    if not exists(folder):
        posix.mkdir(folder, 0o700)
    for _ in range(8):
        spool = posix.open(path, posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        posix.utime(spool)  # the one way to learn the time from posix alone
        found = posix.fstat(spool)
        if found.st_size > SPOOL_BYTES_MAX:
            return
        words = (id, found.st_mtime_ns, posix.getppid(), agent, event, int(cut), len(payload))
        head = f"segue-spool {FORMAT} {' '.join(map(str, words))} ".encode("ascii")
        total = int.from_bytes(b"\1" + head + payload, "big") % PRIME
        posix.write(spool, b"%s%016x\n%s\n" % (head, total, payload))
        (posix.fdatasync if hasattr(posix, "fdatasync") else posix.fsync)(spool)
        try:
            there = posix.stat(path).st_ino
        except OSError:
            there = 0
        posix.close(spool)
        if there == found.st_ino:
            return


def due(home: str, payload: bytes) -> bool:
    """Has the transcript grown to where the next look is due? Without word of it: yes."""
    native, transcript = text_in(payload, b"session_id"), text_in(payload, b"transcript_path")
    if not native or not transcript or "/" in native:
        return True
    try:
        word = posix.open(f"{home}/hook/looks/{native}", posix.O_RDONLY)
        size = int(posix.read(word, 32).split(b"\n")[0])
        posix.close(word)
        return posix.stat(transcript).st_size >= size
    except (OSError, ValueError):
        return True


def log(home: str, agent: str, event: str, fault: BaseException) -> None:
    """A line; nothing of what the hook was told."""
    line = f"hook {agent} {event}: {type(fault).__name__}: {str(fault)[:200]!r}\n"
    out = posix.open(f"{home}/segue.log", posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT, 0o600)
    posix.write(out, line.encode("utf-8", "replace"))
    posix.close(out)


def speak(home: str, agent: str, event: str, payload: bytes) -> None:
    """Let Segue answer; it spools what it cannot store."""
    paths = posix.open(f"{home}/hook/paths", posix.O_RDONLY)
    sys.path[:0] = posix.read(paths, 65536).decode("utf-8", "surrogateescape").split("\n")
    posix.close(paths)
    from segue.surfaces.hook import answered

    said = answered(home, agent, event, payload)
    while said:
        said = said[posix.write(1, said) :]


def main(home: str, agent: str, event: str, mode: str) -> None:
    payload = b""
    while len(payload) < STDIN_BYTES_MAX and not (not payload and posix.isatty(0)):
        more = posix.read(0, 1_048_576)
        if not more:
            break
        payload += more
    cwd = text_in(payload, b"cwd") or posix.getcwd()
    if not wanted(home, agent, cwd):
        return
    if mode in ("look", "glance") and not due(home, payload):
        if mode == "glance":
            return
        mode = "record"
    if mode == "record" and exists(f"{home}/off/session"):
        mode = "speak"  # Segue knows whose session this is
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
