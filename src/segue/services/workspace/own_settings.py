"""Settings as they may be shown, without keys and passwords; and changing them in the user's own file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from ..._files import read_text
from ...effects.files.atomic import write_whole
from ...errors import BadSettings
from ...settings import Origin, data_folder, user_file, with_setting
from .open_store import shown
from .working_tree import check_pause

SECRET = ("api_key", "embedder_key")


def shown_settings(origins: Iterable[Origin]) -> list[Origin]:
    """Every setting. Of a secret it only says that it is set; a store's address is shown without its
    password."""
    return [_shown(one) for one in origins]


def _shown(origin: Origin) -> Origin:
    if origin.name in SECRET and origin.value:
        return replace(origin, value="(set)")
    if origin.name == "store" and "@" in str(origin.value):
        return replace(origin, value=shown(origin.value))
    return origin


def set_setting(environment: Mapping[str, str], folder: Path, name: str, text: str | None) -> Path:
    """Set a setting in the user's file to what ``text`` says, or take it out, and return the file's path.
    Raises BadSettings if there is no such setting or the text is no value of it, and Paused."""
    check_pause(folder, data_folder(environment))
    path = user_file(environment)
    try:
        content = read_text(path, encoding="utf-8")
    except FileNotFoundError:
        content = ""
    except (OSError, UnicodeDecodeError) as fault:
        raise BadSettings(f"{path}: {fault}", hint="correct the file, or move it away") from fault
    made = with_setting(content, name, text)
    if made != content:
        write_whole(path, made.encode())
    return path
