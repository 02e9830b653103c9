"""Real agents in a world of their own: a home, a repository, a clean environment, and a scripted model.

Nothing of the developer's is seen and nothing outside the rig's folder is written. Several agents may share
a rig, as they share a user's machine. Closing ends every process that has the rig's home, also
those that a killed agent left behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.programs import PROGRAMS, beside, installed, search_path
from tests.support.screen import Screen
from tests.support.scripted import Script, ScriptedModel

from segue.core.base.values import Value

_GIT = (
    "[user]\n name = Rig\n email = rig@example.org\n[init]\n defaultBranch = main\n[safe]\n directory = *\n"
)


class Finished(Value):
    """An agent's process that has ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def native(self) -> str:
        """The agent's own id of the conversation, from its output; empty if that has none."""
        for record in _records(self.out):
            for key in ("session_id", "thread_id", "sessionID", "taskId"):
                if isinstance(record.get(key), str):
                    return str(record[key])
        return ""


class Running:
    """An agent at work."""

    def __init__(self, rig: Rig, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self._rig, self.process, self._out, self._err = rig, process, out, err
        self._began = time.monotonic()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait(self, seconds: float = 90.0) -> Finished:
        """Wait for its end; if it takes too long it is killed, and its code is -9."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        took = time.monotonic() - self._began
        code = self.process.returncode
        return Finished(
            code, self._out.read_text(errors="replace"), self._err.read_text(errors="replace"), took
        )

    def kill(self) -> None:
        """kill -9 the agent and its launcher, but nothing that its tools started."""
        cache = str(self._rig.cache)
        own = [self.pid, *(pid for pid in descendants(self.pid) if cache in _command_line(pid))]
        for pid in reversed(own):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)

    def kill_group(self) -> None:
        """kill -9 the agent's process group at once, with the tools and hooks in it."""
        own = {
            self.pid,
            *(pid for pid in descendants(self.pid) if str(self._rig.cache) in _command_line(pid)),
        }
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for pid in own:  # a launcher may have given the agent a group of its own
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)

    def terminate(self, number: int = signal.SIGTERM) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Rig:
    """A user's machine in a folder, with the agents that are wanted on its PATH."""

    def __init__(
        self, folder: Path, agents: Sequence[str], scripts: Iterable[Script] = (), *, cache: Path,
        queue: Iterable[str] = (), environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.folder, self.agents, self.cache = folder, tuple(agents), cache
        self.home, self.work, self.logs = folder / "home", folder / "work", folder / "logs"
        for one in (self.home, self.logs, folder / "tmp"):
            one.mkdir(parents=True, exist_ok=True)
        self.more = dict(environment or {})
        self.bins = [installed(agent, cache) for agent in agents]
        self.model = ScriptedModel(scripts, folder=self.work, queue=queue, log=self.logs / "model")
        self._count = 0

    def __enter__(self) -> Rig:
        self.model.open()
        self.repository(self.work)
        for agent in self.agents:
            CONFIGURE[agent](self)
        return self

    def __exit__(self, *_: object) -> None:
        self.model.close()
        self.end_all()

    # -- the world -----------------------------------------------------------------------------

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of a process in the rig: nothing of ours but the folder of this Python and of
        Segue."""
        path = ":".join([*map(str, self.bins), str(Path(sys.executable).parent), search_path()])
        known = {
            "PATH": path, "HOME": str(self.home), "TERM": "xterm", "LANG": "C.UTF-8",
            "TMPDIR": str(self.folder / "tmp"), "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        for agent in self.agents:
            known |= ENVIRONMENT[agent](self)
        if os.environ.get("PYTHONPATH"):
            known["PYTHONPATH"] = os.environ["PYTHONPATH"]  # another Segue than the one that is installed
        return known | self.more | more

    def repository(self, folder: Path) -> Path:
        """A git repository with one commit on a branch."""
        folder.mkdir(parents=True, exist_ok=True)
        (self.home / ".gitconfig").write_text(_GIT)
        if not (folder / ".git").exists():
            (folder / "README.txt").write_text("A small project.\n")
            for words in ("init -q", "checkout -q -b feat/calc", "add .", "commit -q -m begin"):
                subprocess.run(["git", *words.split()], cwd=folder, env=self.environment(), check=True)
        return folder

    def move_to(self, folder: Path) -> None:
        """Go on in another repository of the same user."""
        self.work = self.repository(folder)
        self.model.folder = str(folder)

    # -- agents --------------------------------------------------------------------------------

    def start(
        self,
        agent: str,
        prompt: str,
        *more: str,
        resume: str = "",
        first: Sequence[str] = (),
        **environment: str,
    ) -> Running:
        """Start an agent without a screen on a prompt; ``first`` and ``more`` are words for its command line,
        right after its name and before the prompt."""
        command, *options = COMMAND[agent](resume)
        before = ["--"] if agent == "codex" else []  # or it takes "resume" for a command of its own
        return self.spawn([command, *first, *options, *more, *before, prompt], name=agent, **environment)

    def run(
        self, agent: str, prompt: str, *more: str, resume: str = "", first: Sequence[str] = (),
        seconds: float = 90.0, **environment: str,
    ) -> Finished:  # fmt: skip
        """Run an agent from its start to its end."""
        return self.start(agent, prompt, *more, resume=resume, first=first, **environment).wait(seconds)

    def spawn(self, words: Sequence[str], *, name: str = "command", **environment: str) -> Running:
        """Start any command in the rig, in a process group of its own."""
        self._count += 1
        out, err = (self.logs / f"{self._count:02d}-{name}.{kind}" for kind in ("out", "err"))
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = subprocess.Popen(
                words, cwd=self.work, env=self.environment(**environment), stdin=subprocess.DEVNULL,
                stdout=to_out, stderr=to_err, start_new_session=True,
            )  # fmt: skip
        return Running(self, process, out, err)

    def screen(self, command: str, **environment: str) -> Screen:
        """Run what a user types into a shell, in a terminal, for the agents' own screens."""
        return Screen(
            ["/bin/sh", "-c", command], folder=self.work, environment=self.environment(**environment)
        )

    def segue(self, *words: str, seconds: float = 60.0, **environment: str) -> Finished:
        """Run a command of Segue, as a user of the rig would."""
        return self.spawn([sys.executable, "-m", "segue", *words], name="segue", **environment).wait(seconds)

    def end_all(self) -> None:
        """kill -9 every process that has the rig's home."""
        mark = f"\0HOME={self.home}\0".encode()
        for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
            with suppress(OSError):
                if name.isdigit() and mark in b"\0" + Path("/proc", name, "environ").read_bytes() + b"\0":
                    os.kill(int(name), signal.SIGKILL)


# -- what each agent needs -------------------------------------------------------------------------


def _configure_claude(rig: Rig) -> None:
    (rig.home / ".claude").mkdir(exist_ok=True)


def _configure_codex(rig: Rig) -> None:
    folder = rig.home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f"""model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{rig.model.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[tools.update_plan]
enabled = true
"""
    )


def _configure_opencode(rig: Rig) -> None:
    folder = rig.home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    limit = {"context": 200_000, "output": 8_000}
    scripted = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{rig.model.url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "Scripted", "tool_call": True, "limit": limit}},
    }
    _write_json(
        folder / "opencode.json",
        {
            "autoupdate": False, "share": "disabled", "model": "scripted/scripted",
            "small_model": "scripted/scripted", "permission": {"edit": "allow", "bash": "allow"},
            "provider": {"scripted": scripted},
        },
    )  # fmt: skip
    fetched = beside("opencode", rig.cache)
    if fetched is not None:  # without them it waits for npm as soon as it has a plugin
        for name in ("package.json", "package-lock.json", "node_modules"):
            if not (folder / name).exists():
                (folder / name).symlink_to(fetched / name)


def _configure_gemini(rig: Rig) -> None:
    (rig.home / ".gemini").mkdir(exist_ok=True)
    _write_json(
        rig.home / ".gemini" / "settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        },
    )  # fmt: skip


def _configure_cline(rig: Rig) -> None:
    data = rig.home / ".cline" / "data"
    data.mkdir(parents=True, exist_ok=True)
    chosen: dict[str, str] = {}
    for mode in ("act", "plan"):
        chosen |= {f"{mode}ModeApiProvider": "openai", f"{mode}ModeOpenAiModelId": "scripted"}
    told = {"openAiBaseUrl": f"{rig.model.url}/v1", "welcomeViewCompleted": True}
    _write_json(data / "globalState.json", {**chosen, **told, "telemetrySetting": "disabled"})
    _write_json(data / "secrets.json", {"openAiApiKey": "none"})
    folders = rig.home / ".config" / "user-dirs.dirs"
    folders.parent.mkdir(parents=True, exist_ok=True)
    folders.write_text('XDG_DOCUMENTS_DIR="$HOME/Documents"\n')  # where it looks for hooks


def _environment_claude(rig: Rig) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": rig.model.url, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CONFIG_DIR": str(rig.home / ".claude"), "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1",
    }  # fmt: skip


def _environment_gemini(rig: Rig) -> dict[str, str]:
    return {
        "GOOGLE_GEMINI_BASE_URL": rig.model.url, "GEMINI_API_KEY": "none",
        "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }  # fmt: skip


CONFIGURE = {
    "claude-code": _configure_claude,
    "codex": _configure_codex,
    "opencode": _configure_opencode,
    "gemini-cli": _configure_gemini,
    "cline": _configure_cline,
}
ENVIRONMENT = {
    "claude-code": _environment_claude,
    "codex": lambda rig: {"CODEX_HOME": str(rig.home / ".codex"), "SCRIPTED_KEY": "none"},
    "opencode": lambda rig: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                             "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
    "gemini-cli": _environment_gemini,
    "cline": lambda rig: {"CLINE_NO_AUTO_UPDATE": "1"},
}  # fmt: skip
COMMAND = {
    "claude-code": lambda resume: [
        "claude", "--output-format", "json", "--dangerously-skip-permissions",
        *(["--resume", resume] if resume else []), "-p",
    ],
    "codex": lambda resume: [
        "codex", "exec", *(["resume", resume] if resume else []), "--json", "--skip-git-repo-check",
    ],
    "opencode": lambda resume: ["opencode", "run", "--format", "json", *(["-s", resume] if resume else [])],
    "gemini-cli": lambda resume: [
        "gemini", "-o", "json", "--approval-mode", "yolo", "-m", "gemini-2.5-pro",
        *(["--resume", resume] if resume else []), "-p",
    ],
    "cline": lambda resume: ["cline", "task", "-y", "--json", *(["-T", resume] if resume else [])],
}  # fmt: skip
assert set(COMMAND) == set(PROGRAMS)


# -- processes -------------------------------------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs, according to /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            if name.isdigit():
                parent = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(name))
    found, queue = [], [pid]
    while queue:
        queue += (more := children.get(queue.pop(0), []))
        found += more
    return found


def _command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def _records(text: str) -> list[dict[str, Any]]:
    """The JSON objects in an output: a single one, or one per line."""
    found = []
    for piece in (text, *text.splitlines()):
        with suppress(ValueError):
            value = json.loads(piece)
            found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
    return found


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")
