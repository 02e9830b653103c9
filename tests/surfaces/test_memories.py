"""The commands about what was learnt, as people and agents type them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli


@pytest.fixture(autouse=True)
def without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGUE_EMBEDDER", "hash")


def test_what_is_remembered_is_recalled(cli: Cli) -> None:
    id = cli("remember", "pytest needs JWT_SECRET set", "--type", "reflection", "--json").value["id"]
    assert (
        f"already known: {id}" in cli("remember", "pytest needs JWT_SECRET set", "--type", "reflection").out
    )
    cli("remember", "-", stdin=b"the pool has ten connections")
    [first, *_] = cli("recall", "why does pytest fail", "--json").value
    assert first["id"] == id and first["type"] == "reflection" and first["score"] > 0
    assert "JWT_SECRET" in cli("recall", "JWT_SECRET", "--limit", "1").out


def test_what_only_comes_next_to_a_query_is_said_to_be_far_from_it(cli: Cli) -> None:
    cli("remember", "pytest needs JWT_SECRET set")
    assert "nothing matches well" in cli("recall", "zzzz").out
    assert "nothing is near" not in cli("recall", "pytest secret").out + cli("recall", "*").out


def test_remembering_says_what_means_the_same_and_what_it_may_contradict(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_EMBEDDER", "static")
    same = cli("remember", "tests need docker to be running", "--json").value["id"]
    told = cli("remember", "docker has to be up for the tests").out
    assert f"see also {same}: they seem to mean the same" in told
    first = cli("remember", "the cache timeout is 30 seconds", "--json").value["id"]
    told = cli("remember", "cached entries expire after 60 seconds").out
    assert f"may contradict {first}: they say the same with different numbers" in told
    [again] = cli("remember", "cached entries expire after 90 seconds", "--json").value["contradictions"][:1]
    assert again["why"] == "they say the same with different numbers"
    assert len(cli("memories", "list", "--json").value) == 5, "nothing was merged"


def test_a_playbook_goes_by_votes(cli: Cli) -> None:
    ids = [
        cli("remember", f"add an endpoint {how}", "--type", "strategy", "--json").value["id"]
        for how in ("by copying health.py", "in nginx.conf")
    ]
    assert "1 helpful, 0 harmful" in cli("vote", ids[1], "helpful").out
    assert "0 helpful, 1 harmful" in cli("vote", ids[0][:8], "harmful", "--why", "it broke").out
    assert [one["id"] for one in cli("playbook", "add an endpoint", "--json").value] == [ids[1], ids[0]]


def test_forgetting_leaves_a_stone_and_an_unknown_id_is_an_error(cli: Cli) -> None:
    id = cli("remember", "wrong", "--json").value["id"]
    assert "forgotten" in cli("forget", id, "--reason", "it was wrong").out
    assert "no memories" in cli("memories", "list").out
    assert cli("memories", "show", id, "--json").value["memory"]["reason"] == "it was wrong"
    assert "there is no memory" in cli("forget", "m-none", code=64).err
    assert "there is no memory" in cli("vote", "m-none", "helpful", code=64).err


def test_upkeep_commands_say_what_they_did(cli: Cli, project: Path) -> None:
    for place in range(6):
        cli("remember", f"step {place}", "--session", "s1", "--meta", f"n={place}")
    assert "2 kept unchanged" in cli("memories", "prune", "--session", "s1", "--keep", "2").out
    told = cli("memories", "prune", "--session", "s1", "--keep", "2").out
    assert (
        "nothing to prune: session s1 has 2 memories, and 2 are kept; use --session for another session"
        in told
    )
    assert cli("memories", "prune", "-s", "s1", "--json").value["session"] == "s1"
    assert cli("memories", "audit", "--json").value["total"] == 3
    assert "memories" in cli("memories", "audit").out
    assert "exported 7 memories" in cli("memories", "export", "out.jsonl").out
    assert "imported 0 memories" in cli("memories", "import", "out.jsonl", "--keep-trust").out
    assert cli("memories", "audit", "--json").value["total"] == 3, "what is here stays as it is"
    assert cli("memories", "import", "-", stdin=b"nonsense", code=64).err
    assert "computed vectors" in cli("memories", "reembed").out
    assert "no longer count" in cli("memories", "decay", "--dry-run").out
    assert cli("memories", "consolidate", "--dry-run", "--json").value == {"pairs": [], "dry_run": True}
    assert [one["metadata"] for one in cli("recall", "step", "--meta", "n=5", "--json").value] == [{"n": 5}]
    listed = cli("memories", "list", "--session", "s1", "--type", "standard").out
    assert "step 5" in listed and "step 0" not in listed, "what was summarised no longer counts"


def test_a_prune_shows_first_what_would_go_and_lists_what_went(cli: Cli) -> None:
    for name in ("login", "logout", "token"):
        cli("remember", f"changed imports in src/auth/{name}.py to jwt", "--session", "s1")
    looked = cli("memories", "prune", "-s", "s1", "--keep", "1", "--dry-run").out
    assert "2 memories would be summarised; 1 would be kept" in looked and "logout.py" in looked
    assert len(cli("memories", "list", "--json").value) == 3
    pruned = cli("memories", "prune", "-s", "s1", "--keep", "1", "--json").value
    assert len(pruned["gone"]) == 2 and not pruned["dry_run"]
    assert "logout.py" in cli("recall", "logout.py imports").out
    gone = cli("memories", "list", "--deprecated", "--json").value
    assert {one["id"] for one in gone} == set(pruned["gone"])
    assert {one["superseded_by"] for one in gone} == {pruned["summary"]}
    assert "logout.py" in cli("memories", "list", "--deprecated", "-s", "s1").out
    assert (
        "no memory that user may read was pruned" in cli("memories", "list", "--deprecated", "-s", "s2").out
    )


def test_what_is_remembered_again_keeps_its_new_metadata(cli: Cli) -> None:
    cli("remember", "the pool has ten connections")
    assert "already known" in cli("remember", "the pool has ten connections", "--meta", "area=db").out
    assert len(cli("recall", "pool", "--meta", "area=db", "--json").value) == 1


def test_what_is_remembered_belongs_to_the_current_session_and_its_project(
    started: Cli, tmp_path: Path
) -> None:
    id = started("remember", "rotation of passwords", "--json").value["id"]
    assert started("memories", "show", id, "--json").value["memory"]["session"]
    started("handoff", "--to", "codex", "--note", "rotation in project A")
    (tmp_path / "elsewhere").mkdir()
    told = started("-C", str(tmp_path / "elsewhere"), "recall", "rotation").out
    assert "project A" not in told and "of passwords" not in told


def test_bad_wishes_are_told(cli: Cli) -> None:
    assert "nothing to remember" in cli("remember", code=64).err
    assert "KEY=VALUE" in cli("remember", "x", "--meta", "nokey", code=64).err
    assert "top_k" in cli("recall", "x", "--limit", "0", code=64).err
    assert "which one" in cli("memories", "show", code=64).err
    assert "no session 'nope'" in cli("memories", "prune", "--session", "nope", code=64).err
    assert "since is not a time" in cli("recall", "x", "--since", "nonsense", code=64).err
    assert "time to live" in cli("remember", "x", "--ttl", "-5", code=64).err


def test_an_empty_question_is_refused_and_not_taken_for_one_without_an_answer(cli: Cli) -> None:
    assert cli("recall", " ", code=64).err.startswith("segue: the query is empty")


def test_what_a_checkpoint_learns_is_recalled_and_an_agents_own_is_not(started: Cli) -> None:
    started("learn", "tokens last 15 minutes")
    started("remember", "my own plan for tokens", "--scope", "agent-private", "--actor", "planner")
    assert [one["content"] for one in started("recall", "tokens", "--json").value] == [
        "tokens last 15 minutes"
    ]
    assert len(started("recall", "tokens", "--json", "--actor", "planner").value) == 2


def test_a_status_loads_nothing_of_memories(started: Cli) -> None:
    script = (
        "import sys; from segue.surfaces.cli.main import main; main(['status']);"
        "print([m for m in sys.modules if 'numpy' in m or m.startswith('segue') and 'memor' in m])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_list_of_memories_that_is_cut_says_so(cli: Cli) -> None:
    for number in range(4):
        cli("remember", f"fact number {number} of the converter")
    cut = cli("recall", "*", "--limit", "3")
    assert "the first 3; `--limit 1000` lists more" in cut.out + cut.err
    assert len(cli("recall", "*", "--limit", "3", "--json").value) == 3
    whole = cli("recall", "*", "--limit", "4")
    assert "lists more" not in whole.out + whole.err
