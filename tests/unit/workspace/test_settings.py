"""Settings: the order of the layers, their types, and what a project may not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.errors import BadSettings
from segue.settings import DECLARED, content_hash, data_folder, resolve, user_file


def toml(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_flag_beats_the_environment_beats_the_project_beats_the_user_beats_the_default(
    tmp_path: Path,
) -> None:
    user = toml(tmp_path / "user.toml", 'organization = "user"')
    project = toml(tmp_path / "segue.toml", 'organization = "project"')
    layers: dict[str, object] = {}
    seen = [resolve().text("organization")]
    for name, value in (
        ("user_config", user),
        ("project_file", project),
        ("environment", {"SEGUE_ORG": "environment"}),
        ("flags", {"organization": "flag"}),
    ):
        layers[name] = value
        settings = resolve(project_trusted=True, **layers)  # type: ignore[arg-type]
        seen.append(settings.text("organization"))
    assert seen == ["personal", "user", "project", "environment", "flag"]


def test_every_value_says_where_it_came_from(tmp_path: Path) -> None:
    user = toml(tmp_path / "user.toml", "backup_keep = 7")
    settings = resolve(user_config=user, environment={"SEGUE_TYPE": "focus"}, flags={"actor": "codex"})
    origins = {o.name: o.origin for o in settings.origins()}
    assert list(origins) == [s.name for s in DECLARED]
    assert (origins["backup_keep"], origins["type"], origins["actor"]) == (str(user), "SEGUE_TYPE", "flag")
    assert origins["redact"] == "default"


def test_a_project_counts_only_when_trusted(tmp_path: Path) -> None:
    project = toml(tmp_path / "segue.toml", 'organization = "evil"\nnonsense = 1')
    assert resolve(project_file=project).text("organization") == "personal"


@pytest.mark.parametrize("setting", [s for s in DECLARED if not s.in_project], ids=lambda s: s.name)
def test_a_trusted_project_may_still_not_set_store_keys_and_safety(tmp_path: Path, setting) -> None:
    value = {str: '"x"', int: "1", float: "1.0", bool: "false"}[setting.type]
    project = toml(tmp_path / "segue.toml", f"{setting.name} = {value}")
    with pytest.raises(BadSettings, match=setting.name):
        resolve(project_file=project, project_trusted=True)


def test_store_and_key_are_never_the_projects() -> None:
    assert {"store", "api_key"} <= {s.name for s in DECLARED if not s.in_project}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("organisation = 'x'", "unknown setting `organisation`", "did you mean `organization`?"),
        ("zzzzzz = 1", "unknown setting `zzzzzz`", "segue config"),
        ("backup_keep = '5'", "must be of type int, not str", ""),
        ("redact = 1", "must be of type bool, not int", ""),
        ("not toml", "user.toml", ""),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(BadSettings) as raised:
        resolve(user_config=toml(tmp_path / "user.toml", text))
    assert message in raised.value.message and hint in raised.value.hint


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("SEGUE_REDACT", "no", False), ("SEGUE_REDACT", "1", True), ("SEGUE_BACKUP_KEEP", "3", 3),
        ("SEGUE_LEASE_SECONDS", "2", 2.0), ("SEGUE_REDACT", "", True),
    ],
)  # fmt: skip
def test_the_environment_is_read_by_type(name: str, raw: str, value: object) -> None:
    setting = next(s for s in DECLARED if s.env == name)
    assert resolve(environment={name: raw})[setting.name] == value


@pytest.mark.parametrize(("name", "raw"), [("SEGUE_REDACT", "maybe"), ("SEGUE_BACKUP_KEEP", "many")])
def test_a_variable_of_the_wrong_type_is_refused(name: str, raw: str) -> None:
    with pytest.raises(BadSettings, match=name):
        resolve(environment={name: raw})


def test_a_whole_number_is_good_enough_for_a_float(tmp_path: Path) -> None:
    settings = resolve(user_config=toml(tmp_path / "u.toml", "lease_seconds = 60"))
    assert settings.number("lease_seconds") == 60.0


def test_folders_come_from_the_environment_that_is_handed_in(tmp_path: Path) -> None:
    assert data_folder({"SEGUE_HOME": str(tmp_path)}) == tmp_path
    assert user_file({"SEGUE_CONFIG": str(tmp_path / "x.toml")}) == tmp_path / "x.toml"
    assert str(data_folder({"HOME": str(tmp_path)})).startswith(str(tmp_path))


def test_the_content_hash_follows_the_content(tmp_path: Path) -> None:
    file = toml(tmp_path / "segue.toml", "a")
    first = content_hash(file)
    file.write_text("b")
    assert first and content_hash(file) not in ("", first)
    assert content_hash(tmp_path / "absent") == ""
