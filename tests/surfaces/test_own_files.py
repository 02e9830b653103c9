"""What Segue itself writes into a working tree is never counted as the user's uncommitted work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import place
from tests.surfaces.conftest import Cli

FIVE = ("claude-code", "codex", "opencode", "gemini-cli", "cline")
OWN = (
    ".claude", ".mcp.json", ".codex", ".opencode", "opencode.json", ".gemini", ".clinerules", "AGENTS.md",
    "segue-data", "session_recovery_latest.json",
)  # fmt: skip


@pytest.fixture
def repository(project: Path, home: Path) -> Repository:
    """A project with a run of an agent, and with a file of the user's that is not committed."""
    made = Repository(project)
    made.write({"shop.py": "a = 1\n", ".gitignore": "*.log\n"})
    made.commit("first")
    made.write({"mine.py": "b = 2\n"})
    place(home, project, "codex")
    return made


def init_local(cli: Cli) -> None:
    for agent in FIVE:
        cli("init", "--yes", "--agent", agent)


def init_shared(cli: Cli) -> None:
    for agent in (*FIVE, "agents-md"):
        cli("init", "--yes", "--agent", agent, "--shared")


def init_as_before(cli: Cli) -> None:
    """As an earlier version installed it, which did not have git ignore the file."""
    cli("init", "--yes", "--agent", "claude")
    Path(".git/info/exclude").unlink(missing_ok=True)


def init_into_a_file_of_the_user(cli: Cli) -> None:
    Path(".claude").mkdir()
    Path(".claude/settings.local.json").write_text('{"model": "opus"}\n')
    Repository(Path(), fresh=False).commit("settings")
    Path("mine.py").write_text("b = 3\n")
    cli("init", "--yes", "--agent", "claude")


def prepare_here(cli: Cli) -> None:
    cli("prepare", "--here")


WAYS = (init_local, init_shared, init_as_before, init_into_a_file_of_the_user, prepare_here)


def assert_only_mine(cli: Cli) -> None:
    """Assert that everything that counts or shows uncommitted work has the user's one file, and no other."""
    assert "Uncommitted now: mine.py." in cli("brief").out
    quoted = cli("brief", "--max-bytes", "20000").out.partition("UNCOMMITTED NOW")[2]
    assert "mine.py" in quoted and not any(name in quoted for name in OWN), quoted
    cli("start", "Sort the shop")
    manifest = json.loads(Path(cli("prepare", "--json").value["path"]).read_text())
    assert manifest["active_state"]["environment_status"].endswith("; uncommitted: mine.py")
    assert "git status: 1 file not committed" in " ".join(manifest["bootstrap_instructions"])
    assert "1 uncommitted change\n" in cli("pause").out
    assert "1 file left uncommitted" in cli("bootstrap").out
    since = cli("since").out
    assert "still there: mine.py\n" in since and not any(name in since for name in OWN), since
    status = cli("status", "--json").out
    assert "mine.py" in status and not any(name in status for name in OWN), status
    restored = cli("resume", "--budget", "3000").out.partition("WORK UNDER WAY")[2].partition("COMMANDS")[0]
    assert "mine.py" in restored and not any(name in restored for name in OWN), restored


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_segue_writes_into_a_project_is_no_work_of_the_user(
    cli: Cli, repository: Repository, way: Callable[[Cli], None]
) -> None:
    way(cli)
    assert_only_mine(cli)


def test_a_data_folder_in_the_project_is_no_work_of_the_user(
    cli: Cli, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_HOME", str(Path("segue-data").resolve()))
    assert_only_mine(cli)


def test_a_project_without_git_has_no_work_of_segues_either(cli: Cli, project: Path, home: Path) -> None:
    (project / "mine.py").write_text("b = 2\n")
    cli("start", "Sort the shop")
    cli("pause")
    init_shared(cli)
    assert not any(name in cli("since").out for name in OWN)
    (project / ".mcp.json").write_text("{}")
    assert ".mcp.json" in cli("since").out, "the user changed it"


def test_what_the_user_changed_in_a_file_that_segue_wrote_is_the_users_work(
    cli: Cli, repository: Repository
) -> None:
    init_shared(cli)
    settings = Path(".gemini/settings.json")
    settings.write_text(settings.read_text().replace("{", '{"theme": "dark", ', 1))
    Path(".codex/notes.md").write_text("mine")
    cli("start", "Sort the shop")
    brief = cli("brief").out
    assert all(name in brief for name in (".gemini/", ".codex/", "mine.py")), brief
    assert ".opencode" not in brief and ".mcp.json" not in brief
