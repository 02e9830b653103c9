"""segue search, and show of what it found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.rest import done, serving
from tests.support.runs import DAY, SECRET, opened, place
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core.search.index import Wanted
from segue.effects.vectors import weights_file
from segue.services.memories.service import memories_of
from segue.services.search.by_meaning import SAID
from segue.services.search.indexes import indexes_of

AGENTS = ("claude-code", "opencode")


@pytest.fixture
def runs(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of each of two agents, with a secret in what a failed command printed."""
    monkeypatch.delenv("XDG_DATA_HOME")
    for n, agent in enumerate(AGENTS):
        place(
            home, project, agent, native=f"{n}a1b2c3d-{agent}", old=(2 - n) * DAY, secret=SECRET,
            prompt=f"Make the {agent} login use signed tokens",
        )  # fmt: skip


def hits(cli: Cli, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("search", *words, "--json").value["hits"]
    return found


def test_what_agents_did_is_found_whether_it_was_synced_or_not(cli: Cli, runs: None) -> None:
    before = hits(cli, "signed token")
    assert {hit["agent"] for hit in before} == {*AGENTS}
    cli("sync")
    after = hits(cli, "signed token")
    assert [(hit["handle"], hit["text"]) for hit in after] == [(hit["handle"], hit["text"]) for hit in before]
    assert all(hit["session"] for hit in after), "a run that was synced has a session"


def test_a_hit_says_who_said_it_when_and_where_and_marks_the_words(cli: Cli, runs: None) -> None:
    cli("sync")
    out = cli("search", "signed", "tokens", "--agent", "opencode").out
    assert "1a1b2c3d-opencode#" in out.splitlines()[0] and "user" in out.splitlines()[0]
    assert "opencode" in out and "ago" in out and "shop" in out
    assert "Make the opencode login use [signed] [tokens]" in out
    assert "segue show 1a1b2c3d-opencode#" in out


def test_a_handle_leads_to_the_step_and_what_stands_around_it(cli: Cli, runs: None) -> None:
    [hit, *_] = hits(cli, "signed tokens", "--agent", "claude-code", "--in", "prompts")
    steps = cli("show", hit["handle"], "-C", "1", "--json").value
    assert [step["kind"] for step in steps][0:2] == ["prompt", "say"]
    shown = cli("show", hit["handle"], "-C", "1").out
    assert "HS256 because there is one issuer" in shown and f"segue continue {hit['run']}" in shown
    assert "has steps 1 to" in cli("show", f"{hit['run']}#9999", code=64).err
    assert "there is no run" in cli("show", "nobody#1", code=64).err


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (["pytest", "--in", "commands"], {"command"}),
        (["AssertionError", "--in", "output"], {"output"}),
        (["issuer", "--in", "answers"], {"answer"}),
        (["login", "--in", "prompts"], {"prompt"}),
        (["login", "--in", "files"], set()),
        (["pytest", "--failed"], {"command"}),
        (["login", "--since", "3h"], set()),
    ],
)
def test_filters_choose_what_is_searched(cli: Cli, runs: None, words: list[str], kinds: set[str]) -> None:
    found = hits(cli, *words)
    assert {hit["kind"] for hit in found} == kinds
    if "--failed" in words:
        assert all(hit["failed"] and "t0.py" in hit["text"] for hit in found)


def test_another_project_is_found_by_name_and_left_out_by_a_dot(
    cli: Cli, runs: None, home: Path, tmp_path: Path
) -> None:
    place(home, tmp_path / "bakery", "codex", native="bake-1", prompt="Sign the tokens of the bakery")
    assert {hit["project_name"] for hit in hits(cli, "tokens")} == {"shop", "bakery"}
    assert {hit["project_name"] for hit in hits(cli, "tokens", "--project", "bakery")} == {"bakery"}
    assert {hit["project_name"] for hit in hits(cli, "tokens", "--project", ".")} == {"shop"}
    [hit] = hits(cli, "tokens", "--project", "bakery", "--in", "prompts")
    shown = cli("show", hit["handle"]).out
    assert "Sign the tokens of the bakery" in shown
    assert f"segue --folder {tmp_path / 'bakery'} brief bake-1" in shown


def test_sessions_decisions_notes_memories_and_handovers_are_found(cli: Cli, project: Path) -> None:
    cli("start", "Move the shop to walrus storage", "--id", "shop-1", "--item", "count the walruses")
    cli("checkpoint", "--decide", "walrus tables", "--why", "fewer joins", "--note", "the walrus sleeps")
    cli("remember", "a walrus needs VACUUM on Sundays")
    layer = project / "memory" / "layer1" / "status.md"
    layer.parent.mkdir(parents=True)
    layer.write_text("# Walrus handover\nThe import is half done.\n")
    for words, kind in (
        ("walrus storage", "goal"), ("count walruses", "item"), ("walrus tables", "decision"),
        ("walrus sleeps", "note"), ("walrus vacuum", "memory"), ("walrus handover", "handover"),
    ):  # fmt: skip
        [first, *_] = hits(cli, words)
        assert first["kind"] == kind
        assert first["session"] == ("" if kind in ("memory", "handover") else "shop-1")
    cli("checkpoint", "--note", "a second walrus came")
    assert hits(cli, "second walrus")[0]["text"] == "note: a second walrus came"


def test_a_secret_is_neither_found_nor_in_the_index(cli: Cli, runs: None, home: Path) -> None:
    assert hits(cli, "AssertionError")
    for path in (home / "segue").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    assert SECRET not in json.dumps(cli("search", "AssertionError", "--json").value)
    assert not any(SECRET in hit["text"] for hit in hits(cli, SECRET[4:]))


def test_a_damaged_or_lost_index_is_made_again(cli: Cli, runs: None, home: Path) -> None:
    cli("sync")
    before = hits(cli, "signed tokens")
    index = home / "segue" / "archive" / "search.db"
    for suffix in ("-wal", "-shm"):
        Path(f"{index}{suffix}").unlink(missing_ok=True)
    index.write_bytes(b"no database at all" * 300)
    assert hits(cli, "signed tokens") == before
    index.unlink()
    assert hits(cli, "signed tokens") == before


def test_who_wants_no_copies_has_no_index_of_runs(
    cli: Cli, runs: None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hits(cli, "signed tokens")
    monkeypatch.setenv("SEGUE_ARCHIVE_BYTES_MAX", "0")
    assert hits(cli, "signed tokens") == []
    cli("start", "signed walrus", "--id", "w")
    assert [hit["session"] for hit in hits(cli, "signed")] == ["w"]


def test_what_is_switched_off_is_not_found(cli: Cli, runs: None) -> None:
    cli("sync")
    session = hits(cli, "signed tokens", "--agent", "opencode")[0]["session"]
    cli("off", "--session", session)
    assert all(hit["session"] != session for hit in hits(cli, "signed tokens"))
    cli("on", "--session", session)
    assert any(hit["session"] == session for hit in hits(cli, "signed tokens"))
    cli("off")
    assert hits(cli, "signed tokens") == []
    cli("on")
    assert hits(cli, "signed tokens")


def test_a_text_that_was_scrubbed_is_not_found_any_more(cli: Cli, home: Path, project: Path) -> None:
    cli("start", "work", "--id", "work")
    cli("checkpoint", "--note", "the word is xyzzyword")
    assert hits(cli, "xyzzyword")
    cli("scrub", "xyzzyword", "--yes")
    assert hits(cli, "xyzzyword") == []
    archive = home / "segue" / "archive"
    assert not any(b"xyzzyword" in path.read_bytes() for path in archive.rglob("*") if path.is_file())


def test_the_library_finds_the_same_as_the_command(cli: Cli, runs: None, home: Path, project: Path) -> None:
    found = opened(home, project).search("signed tokens", within=["prompts"], limit=5)
    assert [hit.handle for hit in found.hits] == [
        hit["handle"] for hit in hits(cli, "signed tokens", "--in", "prompts", "--limit", "5")
    ]


class Meanings:
    """An embedder that knows what three words mean."""

    name, semantic, ready = "meanings", True, True

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += len(texts)
        return [[float("login" in text or "entry" in text), float("cake" in text), 0.1] for text in texts]

    def __init__(self) -> None:
        self.asked = 0


def test_what_says_it_in_other_words_is_found_by_its_meaning(runs: None, home: Path, project: Path) -> None:
    embedder = Meanings()
    with Segue(home=home / "data", folder=project, embedder=embedder, environment={"HOME": str(home)}) as seg:
        assert not seg.search("entry").hits
        found = seg.search("entry", by_meaning=True).hits
        assert {hit.agent for hit in found} == {*AGENTS}
        assert all("login" in hit.text for hit in found[:2])
        assert not seg.search("cake", by_meaning=True).hits, "what is not alike is left out"
        before = embedder.asked
        assert seg.search("entry", by_meaning=True).hits == found
        assert embedder.asked == before + 1, "vectors are kept: only the question was new"


def test_what_was_said_is_found_by_its_meaning_after_a_sync_in_the_base_install(
    cli: Cli, runs: None, home: Path, project: Path
) -> None:
    cli("sync")
    with Segue(home=home / "data", folder=project, environment={"HOME": str(home)}) as seg:
        seg.sync()
        index = indexes_of(seg.workspace)[0]
        assert index.vectors(Wanted((), kinds=SAID), "static-128-2")
        assert index.lacking(Wanted((), kinds=SAID), "static-128-2", 5) == []
        [hit, *_] = seg.search("authentication with cryptographic credentials", by_meaning=True).hits
        assert "login" in hit.text or "token" in hit.text


def test_with_damaged_weights_a_search_by_meaning_goes_on_by_words(
    runs: None, home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights_file, "SHIPPED", tmp_path / "missing.bin")
    with Segue(home=home / "data", folder=project, environment={"HOME": str(home)}) as seg:
        assert seg.search("token", by_meaning=True).hits == seg.search("token").hits != []
        assert memories_of(seg.workspace).damage.startswith("the embedding is damaged at ")


def test_an_embedder_that_knows_no_meanings_says_how_to_get_one(
    cli: Cli, runs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_EMBEDDER", "hash")
    assert "[semantic]" in cli("search", "token", "--semantic", code=69).err


def test_a_server_without_meanings_refuses_to_search_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_EMBEDDER", "hash")
    with serving("", tmp_path / "server") as server:
        assert done(server.ask("GET", "/v1/search?q=token")) == {"hits": [], "not_indexed": 0}
        status, told, _ = server.ask("GET", "/v1/search?q=token&semantic=true")
        assert status == 400 and "by words" in told["detail"]


def test_a_question_without_words_or_with_a_wrong_filter_is_refused(cli: Cli) -> None:
    assert "nothing to search for" in cli("search", "?!", code=64).err
    cli("search", "x", "--agent", "nobody", code=64)
    cli("search", "x", "--since", "soon", code=64)
    cli("search", "x", "--limit", "0", code=64)
    cli("search", "x", "--in", "dreams", code=64)
    assert cli("search", "nothinglikethis").out == "nothing was found\n"


def test_what_a_transcript_says_to_a_terminal_is_not_done(cli: Cli, home: Path, project: Path) -> None:
    place(home, project, "codex", native="evil", prompt="walrus \x1b]0;owned\x07\x1b[2J\u202emoor")
    out = cli("search", "walrus").out
    assert "walrus" in out and "\x1b" not in out and "\x07" not in out and "\u202e" not in out


def test_two_stores_in_one_data_folder_do_not_see_each_others_sessions(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("start", "the first walrus", "--id", "one")
    assert [hit["session"] for hit in hits(cli, "walrus")] == ["one"]
    monkeypatch.setenv("SEGUE_STORE", f"sqlite:///{tmp_path}/other.db")
    cli("start", "the second walrus", "--id", "two")
    assert [hit["session"] for hit in hits(cli, "walrus")] == ["two"]
    monkeypatch.delenv("SEGUE_STORE")
    assert [hit["session"] for hit in hits(cli, "walrus")] == ["one"]


def test_an_index_that_cannot_be_written_is_searched_as_it_is(
    home: Path, project: Path, runs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    segue: Segue = opened(home, project)
    segue.sync()
    before = [hit.handle for hit in segue.search("signed tokens").hits]
    from segue.effects.files.search_index import SearchFile
    from segue.errors import StoreFull

    def full(*_: object, **__: object) -> None:
        raise StoreFull("no space left", hint="")

    monkeypatch.setattr(SearchFile, "put", full)
    place(home, project, "codex", native="new-1", prompt="signed tokens once more")
    assert [hit.handle for hit in segue.search("signed tokens").hits] == before


def test_what_is_not_indexed_yet_is_said_after_the_hits(
    cli: Cli, runs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.surfaces.cli.commands.search.FIRST_CATCH_UP_SECONDS", 1e-9)
    out = cli("search", "signed").out.splitlines()
    assert out[0] == "nothing was found"
    assert out[-1] == "there may be more; 2 runs not indexed yet: `segue sync --all` does that"
    ran = cli("search", "signed", "--json")
    assert ran.value["not_indexed"] == 2 and "2 runs not indexed yet" in ran.err


def test_a_first_search_waits_until_everything_is_indexed(
    cli: Cli, runs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.surfaces.cli.commands.search.CATCH_UP_SECONDS", 1e-9)
    assert "not indexed" not in cli("search", "signed").out


def test_the_command_that_a_hit_ends_with_is_not_ambiguous_among_ids_made_from_the_time(
    cli: Cli, home: Path, project: Path
) -> None:
    for end in "12":
        native = f"01a1ebf8-1{end}00-7000-8000-00000000000{end}"
        place(home, project, "codex", native=native)
    cli("sync")
    [*_, more] = cli("search", "login", "tokens").out.splitlines()
    words = more.partition("segue ")[2].split()
    assert words[0] == "show" and cli(*words).out
