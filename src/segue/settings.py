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

from ._folders import data_path
from .core.base.values import Value
from .errors import BadSettings


class Setting(Value):
    """A setting that exists."""

    name: str
    type: type[str] | type[int] | type[float] | type[bool]
    default: Any
    about: str
    env: str = ""
    in_project: bool = True


DECLARED: tuple[Setting, ...] = (
    Setting(
        "store",
        str,
        "",
        "where sessions are kept: sqlite:///PATH, postgresql://… or https://…; empty: segue.db of the home",
        "SEGUE_STORE",
        False,
    ),
    Setting("api_key", str, "", "the key for a Segue server", "SEGUE_API_KEY", False),
    Setting("actor", str, "user", "who declares events: `user` or an agent's name", "SEGUE_ACTOR", False),
    Setting("organization", str, "personal", "the organization of new sessions", "SEGUE_ORG"),
    Setting("project", str, "", "the project's key; empty: found from git, else the path", "SEGUE_PROJECT"),
    Setting("type", str, "coding", "the type of new sessions", "SEGUE_TYPE"),
    Setting("pause_file", str, "", "one more place where a PAUSE file brakes", "SEGUE_PAUSE_FILE"),
    Setting(
        "busy_timeout_ms", int, 10_000, "how long to wait for a busy store", "SEGUE_BUSY_TIMEOUT_MS", False
    ),
    Setting("backup_keep", int, 5, "how many backups are kept", "SEGUE_BACKUP_KEEP", False),
    Setting("backup_events", int, 500, "a backup is due after so many writes", "SEGUE_BACKUP_EVENTS", False),
    Setting(
        "backup_hours",
        float,
        24.0,
        "or, after any write, when the last is so old",
        "SEGUE_BACKUP_HOURS",
        False,
    ),
    Setting("lease_seconds", float, 900.0, "how long a hold lasts without renewal", "SEGUE_LEASE_SECONDS"),
    Setting(
        "resumable_days", int, 7, "how long a paused or crashed session is offered", "SEGUE_RESUMABLE_DAYS"
    ),
    Setting("cleanup_days", int, 30, "ended sessions older than this are archived", "SEGUE_CLEANUP_DAYS"),
    Setting(
        "archive_bytes_max",
        int,
        1_000_000_000,
        "how large the archive of transcripts may become; 0: none is kept",
        "SEGUE_ARCHIVE_BYTES_MAX",
        False,
    ),
    Setting(
        "archive_days_max",
        int,
        365,
        "copies of runs that were active last before so many days go; 0: age is no reason",
        "SEGUE_ARCHIVE_DAYS_MAX",
        False,
    ),
    Setting(
        "share_transcripts",
        bool,
        False,
        "whether `segue sync` also keeps masked copies of transcripts in a store that others share",
        "SEGUE_SHARE_TRANSCRIPTS",
        False,
    ),
    Setting(
        "attest",
        bool,
        True,
        "whether a step without a check may be proven by somebody's word",
        "SEGUE_ATTEST",
    ),
    Setting("check_jobs", int, 2, "how many checks run at once", "SEGUE_CHECK_JOBS"),
    Setting(
        "check_environment",
        str,
        "",
        "names of more variables that checks are given, separated by spaces",
        "SEGUE_CHECK_ENVIRONMENT",
        False,
    ),
    Setting(
        "check_output_bytes_max",
        int,
        4_000_000,
        "how much of a check's output is kept; of more, the beginning and the end",
        "SEGUE_CHECK_OUTPUT_BYTES_MAX",
        False,
    ),
    Setting(
        "evidence_bytes_max",
        int,
        1_000_000_000,
        "how large the kept outputs of checks may become; the oldest go first",
        "SEGUE_EVIDENCE_BYTES_MAX",
        False,
    ),
    Setting(
        "embedder",
        str,
        "auto",
        "how memories are compared: auto, hash, minilm or endpoint",
        "SEGUE_EMBEDDER",
        False,
    ),
    Setting(
        "embedder_url",
        str,
        "",
        "an endpoint that speaks OpenAI's form, up to /v1",
        "SEGUE_EMBEDDER_URL",
        False,
    ),
    Setting(
        "embedder_model", str, "", "the model that the endpoint is asked for", "SEGUE_EMBEDDER_MODEL", False
    ),
    Setting("embedder_key", str, "", "the key for that endpoint", "SEGUE_EMBEDDER_KEY", False),
    Setting(
        "windows",
        str,
        "",
        "sizes of context windows that are other than known: MODEL=TOKENS …, or TOKENS for all",
        "SEGUE_WINDOWS",
    ),
    Setting(
        "pressure_threshold",
        float,
        0.8,
        "from which share of the window on the recovery is prepared",
        "SEGUE_PRESSURE_THRESHOLD",
    ),
    Setting(
        "notes",
        str,
        "",
        "folders with notes, beside those found by convention, separated by commas",
        "SEGUE_NOTES",
    ),
    Setting(
        "hook_brief_bytes",
        int,
        2_048,
        "how large a brief may be that is put before an agent",
        "SEGUE_HOOK_BRIEF_BYTES",
    ),
    Setting(
        "gate_stops_max",
        int,
        2,
        "how often a run that claims to be done is kept going while features are unproven; 0: never",
        "SEGUE_GATE_STOPS_MAX",
    ),
    Setting("models", bool, True, "whether a model that was set may be asked", "SEGUE_MODELS", False),
    Setting(
        "budget_usd",
        float,
        0.0,
        "what a session may cost before it is paused; 0: no limit",
        "SEGUE_BUDGET_USD",
    ),
    Setting(
        "budget_tokens",
        int,
        0,
        "how many tokens a session may use before it is paused; 0: no limit",
        "SEGUE_BUDGET_TOKENS",
    ),
    Setting(
        "idle_minutes",
        float,
        120.0,
        "an active session that was silent for longer had a timeout, noticed when it is resumed; 0: never",
        "SEGUE_IDLE_MINUTES",
    ),
    Setting("redact", bool, True, "mask secrets in every text that is stored", "SEGUE_REDACT", False),
)
_BY_NAME = {setting.name: setting for setting in DECLARED}
PROJECT_FILE = "segue.toml"
TABLES = ("handover",)
"""Tables of a settings file that have a reader of their own; see ``table_of``."""


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
    """The process's environment: read by ``Segue()`` and the surfaces, by nothing else."""
    return dict(os.environ)


def store_of(environment: Mapping[str, str]) -> str:
    """The store that the environment names, or else the user's file; for whoever needs no other setting."""
    return _one(environment, "store")


def api_key_of(environment: Mapping[str, str]) -> str:
    """The key for a Segue server, from the same places."""
    return _one(environment, "api_key")


def _one(environment: Mapping[str, str], name: str) -> str:
    given = environment.get(_BY_NAME[name].env, "")
    if given:
        return given
    file = user_file(environment)
    return str(_read_toml(file).get(name, "")) if file.is_file() else ""


def content_hash(path: Path) -> str:
    """What ``segue trust`` accepts of a project's file; empty if there is no file."""
    import hashlib

    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
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
    """Every setting's value, by the order of the layers."""
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
        if setting.env and raw:
            values[setting.name] = _origin(setting.name, _from_text(setting, raw), setting.env)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = _origin(name, value, "flag")
    return Settings(values)


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise BadSettings(f"{path}: {fault}", hint="mend the file; see `segue config --help`") from fault
    for name in content:
        if name not in _BY_NAME and name not in TABLES:
            raise BadSettings(f"{path}: unknown setting `{name}`", hint=_nearest(name))
    return {name: value for name, value in content.items() if name not in TABLES}


def table_of(name: str, *files: Path | None) -> tuple[dict[str, Any], str]:
    """A table and the file that has it: the first of these files in which it stands; empty if none has."""
    import tomllib

    for path in files:
        if path is None or not path.is_file():
            continue
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8")).get(name)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
            raise BadSettings(f"{path}: {fault}", hint="mend the file; see `segue config --help`") from fault
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


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _from_text(setting: Setting, text: str) -> Any:
    if setting.type is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
    try:
        return setting.type(text) if setting.type is not bool else _not_a_bool(text)
    except ValueError as fault:
        raise BadSettings(
            f"{setting.env}={text!r} is not {_KINDS[setting.type]}", hint=setting.about
        ) from fault


def _not_a_bool(text: str) -> bool:
    raise ValueError(text)


def own_version() -> str:
    """The version of the Segue that is installed; empty if none is."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("segue")
    except PackageNotFoundError:
        return ""
