"""The real agents, installed by npm in a folder that is kept between test runs.

Versions are pinned. Install scripts of packages are not run: what they would do, a link to the native
program, is done here. An installation is used only once it has answered with its version.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from segue.core.base.values import Value


class Program(Value):
    """An agent's package."""

    agent: str
    command: str
    package: str
    version: str
    native: tuple[str, ...]  # where the program is, as globs in node_modules; the first that exists
    beside: tuple[str, ...] = ()  # packages that it would fetch itself when it runs


PROGRAMS = {
    one.agent: one
    for one in (
        Program(
            "claude-code", "claude", "@anthropic-ai/claude-code", "2.1.325",
            ("@anthropic-ai/claude-code-*[!l]/claude", "@anthropic-ai/claude-code-*/claude"),
        ),
        Program("codex", "codex", "@openai/codex", "0.166.0", ("@openai/codex/bin/codex.js",)),
        Program(
            "opencode", "opencode", "opencode-ai", "1.18.18",
            ("opencode-*[!l]/bin/opencode", "opencode-*/bin/opencode"), ("@opencode-ai/plugin@1.18.18",),
        ),
        Program(
            "gemini-cli", "gemini", "@google/gemini-cli", "0.61.0", ("@google/gemini-cli/bundle/gemini.js",)
        ),
        Program("cline", "cline", "cline", "2.18.0", ("cline/dist/cli.mjs",)),
    )
}  # fmt: skip


class CannotInstall(Exception):
    """The program cannot be installed here; the text says why."""


def npm() -> str:
    """The path of npm. Raises CannotInstall if there is none."""
    found = shutil.which("npm")
    if not found or not shutil.which("node"):
        raise CannotInstall("npm and node were not found on PATH")
    return found


def installed(agent: str, cache: Path) -> Path:
    """The folder with an agent's command, which is installed if necessary; one process at a time."""
    program = PROGRAMS[agent]
    folder = cache / f"{agent}-{program.version}"
    if not (folder / "works").exists():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "works").exists():
                _install(program, folder)
    return folder / "bin"


def beside(agent: str, cache: Path) -> Path | None:
    """The folder with what an agent would fetch when it runs."""
    return cache / f"{agent}-{PROGRAMS[agent].version}" / "beside" if PROGRAMS[agent].beside else None


def _install(program: Program, folder: Path) -> None:
    npm_install(folder, f"{program.package}@{program.version}")
    if program.beside:
        npm_install(folder / "beside", *program.beside)
    modules = folder / "node_modules"
    native = next((found for glob in program.native for found in sorted(modules.glob(glob))), None)
    if native is None:
        raise CannotInstall(f"{program.package} has no program for this machine")
    command = folder / "bin" / program.command
    command.parent.mkdir(exist_ok=True)
    command.unlink(missing_ok=True)
    command.symlink_to(native)
    env = {"PATH": f"{command.parent}:{search_path()}", "HOME": str(folder)}
    tried = subprocess.run(
        [str(command), "--version"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    if tried.returncode or program.version not in tried.stdout:
        raise CannotInstall(f"{program.command} --version: {tried.stdout[-300:]}{tried.stderr[-300:]}")
    (folder / "works").touch()


def npm_install(folder: Path, *packages: str) -> None:
    """Install packages into a folder, without running their scripts. Raises CannotInstall."""
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    done = subprocess.run(
        [npm(), "install", "--prefix", str(folder), *quiet, *packages],
        capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise CannotInstall(f"npm install {' '.join(packages)}: {done.stderr[-1000:]}")


def search_path() -> str:
    """A PATH with the system's folders and node's, without the developer's own."""
    node = shutil.which("node")
    folders = [os.path.dirname(node)] if node else []
    return ":".join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"]))
