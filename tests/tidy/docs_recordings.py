"""Recordings in the documents are real: this runs them, and writes them anew.

A block ``console`` under the line ``<!-- recorded -->`` holds commands behind ``$ `` and what they
said. All such blocks of a page are one shell, in a new folder `shop` beside a link to `demo`, with
a data folder of its own. ``test_docs.py`` runs them and compares, without what differs each time;
``python -m tests.tidy.docs_recordings README.md …`` puts what they say now into the page.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from segue.agents import agent_variables

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(<!-- recorded -->\n+```console\n)(.*?)(```)", re.DOTALL)
HOME, HOST = "/home/you", "laptop"
"""What a recording shows in the place of the temporary folder and of this machine."""
MARK = "=-=-= next =-=-="

# A sleep in a recording waits for what was started before it: until that has spoken and is quiet.
PRELUDE = r"""
exec 2>&1
sleep() {
    local from size; from=$(wc -c < "$RECORD")
    for _ in $(seq 600); do command sleep 0.1; [ "$(wc -c < "$RECORD")" != "$from" ] && break; done
    for _ in $(seq 600); do
        size=$(wc -c < "$RECORD"); command sleep 1.5
        [ "$(wc -c < "$RECORD")" = "$size" ] && return
    done
}
"""

VARIES = (
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"\d\d:\d\d(:\d\d)?(\.\d+)?( UTC|Z)?", "TIME"),
    (r"just now|\d+ (s|min|h) ago", "AGO"),
    (r"\b(worker|pid) \d+", r"\1 N"),
    (r"\brun-[0-9a-f]+", "run-ID"),
    (r"\d+ ms", "N ms"),
    (r"offset [\d,]+|after [\d,]+ of [\d,]+ bytes", "PLACE"),
    (r"[\d.]+ (days|GB|MB)", r"N \1"),
    (r"(Python|SQLite) [\d.]+", r"\1 N"),
    (r"segue-\d{8}T\d{6}Z", "segue-STAMP"),
    (r"/damaged/\S+", "/damaged/…"),
    (r"layer1/\d{4}-\d\d", "layer1/MONTH"),
    (r"\b[0-9a-f]{10}(?=[)`])", "COMMIT"),
    (r"<!-- note [0-9a-f]+ -->", "<!-- note ID -->"),
    (r" +", " "),
)


class Step:
    """A command and what it said."""

    def __init__(self, command: str, said: str) -> None:
        self.command, self.said = command, said


def steps(block: str) -> Iterator[Step]:
    """The commands of a block; one that ends in a backslash goes on in the next line."""
    command, open_ = "", False
    said: list[str] = []
    for line in block.splitlines():
        if open_:
            command, open_ = f"{command}\n{line.removeprefix('> ')}", line.endswith("\\")
        elif line.startswith("$ "):
            if command:
                yield Step(command, "\n".join(said).strip("\n"))
            command, said, open_ = line[2:], [], line.endswith("\\")
        else:
            said.append(line)
    if command:
        yield Step(command, "\n".join(said).strip("\n"))


def play(commands: list[str]) -> list[str]:
    """What the commands say, in one shell."""
    with tempfile.TemporaryDirectory(prefix="segue-docs-") as name:
        folder = Path(name)
        (folder / "shop").mkdir()
        (folder / "demo").symlink_to(ROOT / "demo")
        record = folder / "record"
        foreign = ("SEGUE_", "GIT_", "XDG_")
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(foreign) and k not in agent_variables()
        }
        environment = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": name,
            "SEGUE_HOME": f"{name}/.local/share/segue",
            "RECORD": str(record),
            "PYTHONIOENCODING": "utf-8",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        script = PRELUDE + "".join(f"{command}\necho '{MARK}'\n" for command in commands)
        with record.open("wb") as out:
            subprocess.run(
                ["bash", "-c", script], cwd=folder / "shop", env=environment, stdout=out, check=True,
                timeout=90, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        text = record.read_text(encoding="utf-8").replace(str(folder), HOME)
    text = text.replace(f" on {platform.node()})", f" on {HOST})")
    text = re.sub(r"bash: line \d+: +\d+ Killed.*\n", "\n", text)  # the shell's own words
    return [part.strip("\n") for part in text.split(MARK)[: len(commands)]]


def alike(said: str) -> str:
    """What was said, without what differs each time."""
    for pattern, instead in VARIES:
        said = re.sub(pattern, instead, said)
    return said.strip()


def recorded(page: str) -> list[Step]:
    """All steps of a page."""
    return [step for match in BLOCK.finditer(page) for step in steps(match[2])]


def rewritten(page: str) -> str:
    """The page with what its commands say now."""
    said = iter(play([step.command for step in recorded(page)]))

    def block(match: re.Match[str]) -> str:
        body = ""
        for step in steps(match[2]):
            words = next(said)
            body += f"$ {step.command}\n" + (f"{words}\n" if words else "")
        return match[1] + body + match[3]

    return BLOCK.sub(block, page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = ROOT / name
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"recorded {name}")
