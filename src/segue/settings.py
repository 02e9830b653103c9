"""Settings: flag > environment > the project's segue.toml > the user's file > default.

The one place that reads the environment. Every setting is declared here with its type, its
default and whether a project may set it: store, keys and endpoints never come from a project,
and a project's file counts only once its content was accepted (``segue trust``). Unknown keys
are refused with the nearest name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._files import read_bytes, read_text
from ._folders import data_path
from .core.base.values import Value
from .errors import BadSettings


class Setting(Value):
    """The declaration of a setting."""

    name: str
    default: str | int | float | bool
    """Its default, whose type every value must have."""
    about: str
    variable: str = ""
    """Its environment variable, if that is not SEGUE_ and the name in capitals."""
    in_project: bool = True

    @property
    def type(self) -> type[str] | type[int] | type[float] | type[bool]:
        return type(self.default)

    @property
    def env(self) -> str:
        return self.variable or f"SEGUE_{self.name.upper()}"


DECLARED: tuple[Setting, ...] = (
    Setting(
        "store",
        "",
        "where sessions are kept: sqlite:///PATH, postgresql://… or https://…; empty: in the data folder",
        in_project=False,
    ),
    Setting(
        "read_store",
        "",
        "the address of a Postgres standby, for commands that only read; empty: the store itself",
        in_project=False,
    ),
    Setting(
        "otel_endpoint",
        "",
        "where `segue serve` sends traces: an OTLP collector, as http://127.0.0.1:4318; empty: none",
        in_project=False,
    ),
    Setting(
        "traceparent",
        "",
        "the trace that this process belongs to, as W3C writes it; a server is told",
        variable="TRACEPARENT",
        in_project=False,
    ),
    Setting("api_key", "", "the key for a Segue server", in_project=False),
    Setting("actor", "user", "who declares events: `user` or an agent's name", in_project=False),
    Setting("organization", "personal", "the organization of new sessions", variable="SEGUE_ORG"),
    Setting("project", "", "the project's key; empty: taken from git, or else the path"),
    Setting("type", "coding", "the type of new sessions"),
    Setting("pause_file", "", "another path at which a PAUSE file stops all writes"),
    Setting("busy_timeout_ms", 10_000, "how long to wait for a busy store", in_project=False),
    Setting("backup_keep", 5, "how many backups are kept", in_project=False),
    Setting("backup_events", 500, "after how many writes a backup is due", in_project=False),
    Setting(
        "backup_hours",
        24.0,
        "how old the last backup may be before a write makes a new one",
        in_project=False,
    ),
    Setting("lease_seconds", 900.0, "how long a hold lasts without renewal"),
    Setting("resumable_days", 7, "how long a paused or crashed session is listed as resumable"),
    Setting("cleanup_days", 30, "how long ago a session must have ended to be archived"),
    Setting(
        "archive_bytes_max",
        1_000_000_000,
        "the maximum size of the archive of transcripts; 0: keep none",
        in_project=False,
    ),
    Setting(
        "archive_days_max",
        365,
        "after how many days without activity the copy of a run is removed; 0: never",
        in_project=False,
    ),
    Setting(
        "share_transcripts",
        False,
        "whether `segue sync` also keeps masked copies of transcripts in a store that others share",
        in_project=False,
    ),
    Setting("attest", True, "whether a person may confirm a step that has no check"),
    Setting("check_jobs", 2, "how many checks run at once"),
    Setting(
        "check_environment",
        "",
        "names of more variables that checks get, separated by spaces",
        in_project=False,
    ),
    Setting(
        "check_output_bytes_max",
        4_000_000,
        "how much of a check's output is kept; of longer output, the beginning and the end",
        in_project=False,
    ),
    Setting(
        "evidence_bytes_max",
        1_000_000_000,
        "the maximum size of all kept outputs of checks; the oldest are removed first",
        in_project=False,
    ),
    Setting(
        "embedder",
        "auto",
        "how memories are compared: auto, static, hash, minilm or endpoint",
        in_project=False,
    ),
    Setting("embedder_url", "", "an endpoint with OpenAI's API, up to /v1", in_project=False),
    Setting("embedder_model", "", "the model to request from that endpoint", in_project=False),
    Setting("embedder_key", "", "the key for that endpoint", in_project=False),
    Setting(
        "windows",
        "",
        "context window sizes that differ from the known ones: MODEL=TOKENS …, or TOKENS for all",
    ),
    Setting(
        "prices",
        "",
        "prices that differ from the list, in dollars per million tokens: MODEL=INPUT/OUTPUT …; with a cache"
        " MODEL=INPUT/OUTPUT/READ/WRITE",
        in_project=False,
    ),
    Setting("pressure_threshold", 0.8, "how full the window must be before the recovery is prepared"),
    Setting("notes", "", "folders with notes, in addition to the conventional ones, separated by commas"),
    Setting("habits", True, "whether to learn a project's habits from its runs and mention them in briefs"),
    Setting(
        "hook_brief_bytes",
        8_192,
        "the most bytes that hooks, `run`, `continue`, `resume` and MCP tell a run; it is as short as what"
        " was said allows",
    ),
    Setting(
        "gate_stops_max",
        2,
        "how often a run that says it is done is sent back while features are unproven; 0: never",
    ),
    Setting("models", True, "whether Segue may ask the configured models", in_project=False),
    Setting("budget_usd", 0.0, "what a session may cost before it is paused; 0: no limit"),
    Setting("budget_tokens", 0, "how many tokens a session may use before it is paused; 0: no limit"),
    Setting(
        "idle_minutes",
        120.0,
        "how long an active session may be idle before it times out (noticed on resume); 0: never",
    ),
    Setting(
        "notify",
        "terminal",
        "how `segue run` tells you that it ended, needs an answer or fills a window: terminal (OSC 9) or off",
        in_project=False,
    ),
    Setting(
        "notify_command",
        "",
        "a command that notifies you instead: it gets the text as its last argument and JSON on its stdin",
        in_project=False,
    ),
    Setting("redact", True, "mask secrets in every text that is stored", in_project=False),
)
_BY_NAME = {setting.name: setting for setting in DECLARED}
PROJECT_FILE = "segue.toml"
TABLES = ("handover",)
"""Tables of a settings file that other modules read; see ``table_of``."""


class Origin(Value):
    """A setting's value and where it came from."""

    name: str
    value: Any
    origin: str
    about: str


class Settings:
    """All settings, resolved. Attributes are not typed per name; ``get`` is."""

    def __init__(self, values: Mapping[str, Origin]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name].value

    def text(self, name: str) -> str:
        """A setting that is text."""
        return str(self._values[name].value)

    def number(self, name: str) -> float:
        """A setting that is a number."""
        return float(self._values[name].value)

    def origins(self) -> list[Origin]:
        """Every setting, in the order of its declaration."""
        return [self._values[setting.name] for setting in DECLARED]


def data_folder(environment: Mapping[str, str]) -> Path:
    """``$SEGUE_HOME``, else the platform's data folder."""
    return Path(data_path(environment))


def user_file(environment: Mapping[str, str]) -> Path:
    """The user's own settings file."""
    given = environment.get("SEGUE_CONFIG")
    if given:
        return Path(given).expanduser()
    home = Path(environment.get("HOME") or Path.home())
    if os.name == "nt":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming") / "segue" / "config.toml"
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "segue" / "config.toml"


def environment_now() -> dict[str, str]:
    """The environment of the process; only ``Segue()`` and the surfaces read it."""
    return dict(os.environ)


def store_of(environment: Mapping[str, str]) -> str:
    """The store that the environment or else the user's file names, for callers that need no other
    setting."""
    given = environment.get("SEGUE_STORE", "")
    if given:
        return given
    file = user_file(environment)
    return str(_read_toml(file).get("store", "")) if file.is_file() else ""


def read_store_of(environment: Mapping[str, str]) -> str:
    """The same for the store that commands look at which change nothing; empty if it is no other one."""
    given = environment.get("SEGUE_READ_STORE", "")
    if given:
        return given
    file = user_file(environment)
    return str(_read_toml(file).get("read_store", "")) if file.is_file() else ""


def content_hash(path: Path) -> str:
    """The hash of a project's file that ``segue trust`` accepts; empty if there is no file."""
    import hashlib

    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except OSError:
        return ""


def resolve(
    *,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    project_file: Path | None = None,
    project_trusted: bool = False,
    user_config: Path | None = None,
) -> Settings:
    """All settings, each from the first layer that has it. Raises BadSettings."""
    values = {s.name: Origin(s.name, s.default, "default", s.about) for s in DECLARED}
    if user_config is not None and user_config.is_file():
        for name, value in _read_toml(user_config).items():
            values[name] = _origin(name, value, str(user_config))
    if project_file is not None and project_file.is_file() and project_trusted:
        for name, value in _read_toml(project_file).items():
            if not _BY_NAME[name].in_project:
                raise BadSettings(
                    f"{project_file}: `{name}` may not be set by a project",
                    hint="set it in your own settings file or in the environment",
                )
            values[name] = _origin(name, value, str(project_file))
    for setting in DECLARED:
        raw = (environment or {}).get(setting.env, "")
        if raw:
            values[setting.name] = _origin(setting.name, _from_text(setting, raw), setting.env)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = _origin(name, value, "flag")
    return Settings(values)


def with_setting(content: str, name: str, text: str | None) -> str:
    """The content of a settings file with a setting changed to what ``text`` says, or taken out; everything
    else stays as it is. Raises BadSettings."""
    import json
    import re
    import tomllib

    setting = _BY_NAME.get(name)
    if setting is None:
        raise BadSettings(f"unknown setting `{name}`", hint=_nearest(name))
    value = None if text is None else _from_text(setting, text, name)
    shown = json.dumps(value, ensure_ascii=False) if value is not None else ""
    end = re.search(r"^\s*\[", content, re.MULTILINE)
    top, tables = (content[: end.start()], content[end.start() :]) if end else (content, "")
    line = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=.*(?:\n|$)", re.MULTILINE)
    new = "" if value is None else f"{name} = {shown}\n"
    if line.search(top):
        top = line.sub(lambda _: new, top, count=1)
    elif new:
        top = f"{top}{'' if not top or top.endswith(chr(10)) else chr(10)}{new}"
    made = top + tables
    wanted = {**tomllib.loads(content), name: value}
    if tomllib.loads(made) != {key: one for key, one in wanted.items() if one is not None}:
        raise BadSettings(f"`{name}` cannot be changed in this file", hint="change it in an editor")
    return made


def _toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(read_text(path, encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise BadSettings(f"{path}: {fault}", hint="correct the file; see `segue config --help`") from fault


def _read_toml(path: Path) -> dict[str, Any]:
    content = _toml(path)
    for name in content:
        if name not in _BY_NAME and name not in TABLES:
            raise BadSettings(f"{path}: unknown setting `{name}`", hint=_nearest(name))
    return {name: value for name, value in content.items() if name not in TABLES}


def table_of(name: str, *files: Path | None) -> tuple[dict[str, Any], str]:
    """A table and its file, from the first of these files that has it; empty if none has."""
    for path in files:
        found = _toml(path).get(name) if path is not None and path.is_file() else None
        if found is None:
            continue
        if not isinstance(found, dict):
            raise BadSettings(f"{path}: `{name}` must be a table", hint=f"write it as [{name}]")
        return found, str(path)
    return {}, ""


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, _BY_NAME, n=1)
    return f"did you mean `{near[0]}`?" if near else "`segue config` lists them all"


def _origin(name: str, value: Any, origin: str) -> Origin:
    setting = _BY_NAME.get(name)
    if setting is None:
        raise BadSettings(f"unknown setting `{name}`", hint=_nearest(name))
    if setting.type is float and type(value) is int:
        value = float(value)
    if type(value) is not setting.type:
        wanted = setting.type.__name__
        raise BadSettings(
            f"{origin}: `{name}` must be of type {wanted}, not {type(value).__name__}", hint=setting.about
        )
    return Origin(name, value, origin, setting.about)


_BOOLS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True), **dict.fromkeys(("0", "false", "no", "off"), False)
}  # fmt: skip
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _from_text(setting: Setting, text: str, named: str = "") -> Any:
    try:
        return _BOOLS[text.lower()] if setting.type is bool else setting.type(text)
    except (KeyError, ValueError) as fault:
        raise BadSettings(
            f"{named or setting.env}={text!r} is not {_KINDS[setting.type]}", hint=setting.about
        ) from fault


def own_version() -> str:
    """The installed version of Segue; empty if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("segue")
    except PackageNotFoundError:
        return ""
