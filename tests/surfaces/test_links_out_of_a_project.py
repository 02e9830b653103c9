"""Links that came with a clone and lead out of the project: nothing is written through them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.surfaces.conftest import Cli
from tests.surfaces.test_init import snapshot

from segue.effects.files.project_links import leads_out
from segue.errors import NotWritable
from segue.handover import Checkpoint, MemoryStore
from segue.handover.adapters import codex, opencode


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "bashrc").write_text("export A=1\n")
    return folder


@pytest.mark.parametrize("target", ["bashrc", "none"])
@pytest.mark.parametrize("agent", ["codex", "opencode"])
def test_a_handoff_writes_no_rules_through_a_link_out_of_the_project(
    started: Cli, project: Path, outside: Path, agent: str, target: str
) -> None:
    (project / "AGENTS.md").symlink_to(os.path.relpath(outside / target, project))
    before = snapshot(outside)
    said = started("handoff", "--to", agent, "--note", "x", "--rules", code=69).err
    assert "leads out of the project" in said and "link" in said
    assert snapshot(outside) == before
    assert started("handoff", "--list", "--json").value == [], "nothing was offered"
    offered = started("handoff", "--to", agent, "--note", "x", "--json").value["offer"]["id"]
    started("handoff", "--withdraw", offered)
    assert snapshot(outside) == before


def test_a_link_inside_the_project_is_followed_but_not_into_its_repository(
    started: Cli, project: Path
) -> None:
    (project / ".git" / "hooks").mkdir(parents=True, exist_ok=True)
    (project / "RULES.md").write_text("Be kind.\n")
    (project / "AGENTS.md").symlink_to("RULES.md")
    started("handoff", "--to", "codex", "--note", "x", "--rules")
    assert "Be kind." in (project / "RULES.md").read_text() != "Be kind.\n"
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").symlink_to(".git/hooks/post-checkout")
    started("handoff", "--to", "opencode", "--note", "x", "--rules", code=69)
    assert not (project / ".git" / "hooks" / "post-checkout").exists()


LINKS = (
    ("claude-code", ".claude", ()),
    ("claude-code", ".claude/settings.local.json", ()),
    ("claude-code", ".mcp.json", ("--shared",)),
    ("codex", ".codex", ("--shared",)),
    ("opencode", ".opencode", ("--shared",)),
    ("opencode", ".opencode/plugin", ("--shared",)),
    ("opencode", "opencode.json", ("--shared",)),
    ("gemini-cli", ".gemini", ("--shared",)),
    ("cline", ".clinerules", ("--shared",)),
    ("agents-md", "AGENTS.md", ()),
)


@pytest.mark.parametrize("agent, link, scope", LINKS)
def test_init_leaves_out_an_agent_whose_project_files_lead_out_of_the_project(
    cli: Cli, project: Path, outside: Path, agent: str, link: str, scope: tuple[str, ...]
) -> None:
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(outside if "." not in link.strip(".") else outside / "none.json")
    before = snapshot(outside, project)
    said = cli("init", "--agent", agent, *scope, "--yes", code=69).err
    assert "leads out of the project" in said and "hint" in said
    assert snapshot(outside, project) == before
    cli("uninit", *scope, "--yes")
    assert snapshot(outside, project) == before


def test_uninit_changes_nothing_behind_a_link_out_of_the_project(
    cli: Cli, project: Path, outside: Path
) -> None:
    cli("init", "--agent", "codex", "--shared", "--yes")
    os.rename(project / ".codex" / "hooks.json", outside / "hooks.json")
    (project / ".codex" / "hooks.json").symlink_to(outside / "hooks.json")
    before = snapshot(outside)
    cli("uninit", "--shared", "--yes")
    assert snapshot(outside) == before


def test_links_of_the_user_in_his_home_are_followed_even_if_that_is_a_repository(
    cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "gemini.json").write_text("{}\n")
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").symlink_to(dotfiles / "gemini.json")
    (home / ".git").mkdir()
    monkeypatch.chdir(home)
    cli("init", "--agent", "gemini-cli", "--yes")
    assert "segue" in (dotfiles / "gemini.json").read_text()
    cli("uninit", "--yes")
    assert (dotfiles / "gemini.json").read_text() == "{}\n"


def test_a_repository_that_has_its_exclude_file_elsewhere_is_no_hindrance(
    cli: Cli, project: Path, outside: Path
) -> None:
    info = project / ".git" / "info"
    (project / ".git").mkdir(exist_ok=True)
    if info.exists():
        info.rename(project / ".git" / "info.old")
    info.symlink_to(outside)
    before = snapshot(outside)
    cli("init", "--agent", "claude-code", "--yes")
    assert (project / ".claude" / "settings.local.json").exists() and snapshot(outside) == before


def test_a_plugin_is_not_rendered_through_a_link_out_of_the_project(
    cli: Cli, project: Path, outside: Path
) -> None:
    (project / ".git").mkdir(exist_ok=True)
    (project / "shipped").mkdir()
    (project / "shipped" / "plugins").symlink_to(outside)
    before = snapshot(outside)
    cli("init", "--plugin", "shipped", "--yes", code=69)
    assert snapshot(outside) == before


@pytest.mark.parametrize("adapter", [codex, opencode])
def test_handover_files_are_not_written_through_a_link_out_of_a_repository(
    tmp_path: Path, outside: Path, adapter: object
) -> None:
    clone = tmp_path / "clone"
    (clone / ".git").mkdir(parents=True)
    (clone / "AGENTS.md").symlink_to(outside / "bashrc")
    (clone / ".agent-handover").symlink_to(outside)
    (clone / "memory").symlink_to(outside)
    before = snapshot(outside)
    with pytest.raises(NotWritable):
        adapter.install_agents_md(clone / "AGENTS.md")  # type: ignore[attr-defined]
    with pytest.raises(NotWritable):
        Checkpoint(clone / ".agent-handover" / "checkpoint.json").start(["a"])
    with pytest.raises(ValueError, match="leads out of the project"):
        MemoryStore(clone / "memory").write(1, "x")
    assert snapshot(outside) == before


def test_what_lies_behind_a_link_belongs_to_the_project_with_the_link(tmp_path: Path) -> None:
    for name in ("clone", "victim"):
        (tmp_path / name / ".git").mkdir(parents=True)
    (tmp_path / "clone" / "sub").symlink_to(tmp_path / "victim")
    (tmp_path / "linked").symlink_to(tmp_path / "clone")
    assert leads_out(tmp_path / "clone" / "sub" / "AGENTS.md") == str(tmp_path / "victim" / "AGENTS.md")
    assert leads_out(tmp_path / "linked" / "AGENTS.md") == ""
    assert leads_out(tmp_path / "AGENTS.md") == ""


def test_what_lies_behind_a_link_out_of_the_project_is_not_quoted(
    started: Cli, project: Path, outside: Path
) -> None:
    repository = Repository(project)
    repository.git("commit", "--allow-empty", "-m", "begin")
    (outside / "diary.txt").write_text("VICTIM diary\n")
    (project / "readme.txt").symlink_to(outside / "diary.txt")
    (project / "folder").symlink_to(outside)
    (project / "own.txt").write_text("OWN words\n")
    (project / "inner.txt").symlink_to("own.txt")
    started("checkpoint", "--focus", "readme.txt:1")
    for words in (("resume", "--budget", "20000"), ("resume", "--budget", "full"), ("status",), ("brief",)):
        said = started(*words)
        assert "VICTIM" not in said.out + said.err, words
    restored = started("resume", "--budget", "20000").out
    assert "OWN words" in restored and "readme.txt" in restored
