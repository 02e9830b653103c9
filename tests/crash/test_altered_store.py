"""A store whose tables, indexes, triggers or settings others changed: it is said, and mended."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from segue import Segue
from segue.errors import DamagedError
from segue.services.upkeep.doctor.checkup import examine
from segue.services.upkeep.rebuild import rebuild
from segue.services.upkeep.recover.ladder import recover
from segue.services.upkeep.recover.result import Recovery
from segue.services.workspace.data_folder import DataFolder
from segue.settings import resolve
from segue.stores.base import RunRow
from segue.stores.sqlite import Database, SqliteStore
from segue.stores.sqlite.schema import SCHEMA
from segue.stores.sqlite.schema_check import deviations_of

SETTINGS = resolve(flags={})
FILLED: dict[str, Path] = {}
_EATS = "CREATE TRIGGER eater BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END"
_RUN = RunRow("claude/one", "claude-code", "one", "p", "s0", "/gone/one.jsonl", "/gone", 1.0, b"{}")


def declared() -> list[tuple[str, str]]:
    """(kind, name) of all that a new store has."""
    db = apsw.Connection(":memory:")
    from segue.stores.sqlite.schema import prepare

    prepare(db)
    sql = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    found: list[tuple[str, str]] = [(str(kind), str(name)) for kind, name in db.execute(sql)]
    return found


def opened(home: Path) -> Segue:
    return Segue(home=home, folder=FILLED["project"])


def database_of(seg: Segue) -> Database:
    assert isinstance(seg.workspace.store, SqliteStore)
    return seg.workspace.store.database


@pytest.fixture
def home(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """A store with a session, an agent's state, memories with a vote, a run, and a backup of most of it."""
    if "home" not in FILLED:
        folder, FILLED["project"] = tmp_path_factory.mktemp("filled"), tmp_path_factory.mktemp("project")
        with opened(folder) as seg:
            session = seg.start("goal", id="s0", items=["one", "two"])
            session.save_agent("agent", {"words": ["state"] * 40})
            memory = seg.memories.remember("the key for signing is in JWT_KEY_FILE")
            seg.memories.vote(memory.id, "helpful", voter="ada", context="it was so")
            seg.workspace.store.runs.put([_RUN])
            seg.workspace.backups.make()
            session.note("after the backup")
            seg.memories.remember("run make lint before every push")
        FILLED["home"] = folder
    shutil.copytree(FILLED["home"], tmp_path / "home")
    return DataFolder(tmp_path / "home")


def alter(home: DataFolder, *statements: str) -> None:
    db = apsw.Connection(str(home.database))
    for statement in statements:
        db.execute(statement).fetchall()
    db.close()


def doctor_says(home: DataFolder) -> str:
    found = examine(home, SETTINGS, {"HOME": str(home.path)})
    return "\n".join(f"{one.detail} · {one.hint}" for one in found if one.status == "bad")


def mended(home: DataFolder) -> Recovery:
    found = recover(home, SETTINGS)
    assert found.changed and found.kept
    assert doctor_says(home) == ""
    assert not recover(home, SETTINGS).changed
    return found


def everything_works(home: DataFolder) -> list[str]:
    """Do what commands do; what is found by a word of the memories."""
    with opened(home.path) as seg:
        session = seg.session("s0")
        session.note("as always")
        assert session.load_agent("agent") == {"words": ["state"] * 40}
        seg.memories.remember("a new lesson")
        seg.workspace.store.runs.rows()
        checked = rebuild(seg.workspace, check=True)
        assert not checked.different
        return [found.memory.content for found in seg.memories.recall("signing key push lint")]


@pytest.mark.parametrize(("kind", "name"), declared())
def test_whatever_is_dropped_is_named_and_made_anew(home: DataFolder, kind: str, name: str) -> None:
    try:
        alter(home, f'DROP {kind} "{name}"')
    except apsw.SQLError:  # SQLite does not let go of it
        assert doctor_says(home) == ""
        return
    told = doctor_says(home)
    assert f"the {kind} {name} is missing" in told and "`segue recover`" in told
    mended(home)
    everything_works(home)


def test_a_file_with_a_trigger_that_eats_what_is_written_takes_no_write(home: DataFolder) -> None:
    alter(home, _EATS)
    assert "the trigger eater on the table events is not Segue's" in doctor_says(home)
    with opened(home.path) as seg:
        session = seg.session("s0")
        assert session.state.goal == "goal"
        with pytest.raises(DamagedError, match="eater") as raised:
            session.note("never there")
    assert "segue recover" in raised.value.hint
    mended(home)
    everything_works(home)


def test_a_trigger_that_appears_under_a_process_loses_nothing_that_was_acknowledged(home: DataFolder) -> None:
    with opened(home.path) as seg:
        session = seg.session("s0")
        session.note("before")
        alter(home, _EATS)
        with pytest.raises(DamagedError):
            session.note("eaten")
    mended(home)
    with opened(home.path) as seg:
        assert seg.session("s0").state.version == len(seg.session("s0").log())


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("PRAGMA application_id = 7", "the application id in the file's header is not Segue's"),
        ("PRAGMA user_version = 0", "the schema version in the file's header is 0"),
        ("PRAGMA user_version = 3", "the schema version in the file's header is 3"),
        ("PRAGMA user_version = 999", "the schema version in the file's header is 999"),
        ("DELETE FROM meta WHERE key = 'readable_from'", "the entry readable_from of the table meta is gone"),
        ("CREATE UNIQUE INDEX mine ON runs (agent)", "the index mine on the table runs is not Segue's"),
        ("ALTER TABLE runs DROP COLUMN facts", "the table runs lacks the column facts"),
        (
            "ALTER TABLE memory_counts DROP COLUMN recalled",
            "the table memory_counts lacks the column recalled",
        ),
        ("ALTER TABLE snapshots ADD COLUMN more TEXT", "the table snapshots was changed"),
        ("ALTER TABLE events ADD COLUMN more TEXT", "the table events was changed"),
    ],
)
def test_what_was_changed_is_named_and_set_right(home: DataFolder, statement: str, told: str) -> None:
    alter(home, statement)
    said = doctor_says(home)
    assert told in said and "`segue recover`" in said
    mended(home)
    assert [lesson for lesson in everything_works(home) if "JWT_KEY_FILE" in lesson]


@pytest.mark.parametrize("mode", ["delete", "truncate"])
def test_another_journal_mode_is_set_right_by_whoever_opens_the_file(home: DataFolder, mode: str) -> None:
    alter(home, f"PRAGMA journal_mode = {mode}", "PRAGMA auto_vacuum = 1", "VACUUM")
    assert doctor_says(home) == ""
    with opened(home.path) as seg:
        seg.session("s0").note("as always")
        assert database_of(seg).journal_mode == "wal"
    everything_works(home)


@pytest.mark.parametrize("table", ["runs", "memories", "streams", "snapshots", "memory_words", "audiences"])
def test_a_command_that_meets_a_missing_table_leads_to_the_recovery(home: DataFolder, table: str) -> None:
    alter(home, f"DROP TABLE {table}")
    missing = f"the table {table} is missing"
    with pytest.raises(DamagedError, match=missing) as raised, opened(home.path) as seg:
        seg.workspace.store.runs.rows()
        seg.session("s0").note("a note")
        seg.memories.recall("signing key")
        seg.workspace.store.snapshots(["session/s0"])
    assert "segue recover" in raised.value.hint and raised.value.exit_code == 70


def test_memories_come_back_with_their_votes_from_the_file_itself(home: DataFolder) -> None:
    alter(home, "DROP TABLE memory_words", "DROP TABLE memory_bits", "DROP TABLE memory_counts")
    mended(home)
    with opened(home.path) as seg:
        [first, second] = seg.workspace.store.memories.carried()
        assert first.kept.memory.helpful == 1 and [vote.context for vote in first.votes] == ["it was so"]
        assert first.trail and second.kept.memory.content == "run make lint before every push"


def test_runs_come_back_from_the_newest_backup(home: DataFolder) -> None:
    alter(home, "DROP TABLE runs")
    found = mended(home)
    [rung] = [rung for rung in found.rungs if rung.name == "tables"]
    assert "segue-" in rung.detail and "`segue sync`" in rung.detail
    with opened(home.path) as seg:
        assert [row.key for row in seg.workspace.store.runs.rows()] == [_RUN.key]


def test_what_nothing_else_holds_is_called_lost(home: DataFolder) -> None:
    alter(home, "DROP TABLE server_keys", "DROP TABLE memory_trail", "DROP TABLE memory_bodies")
    [rung] = [rung for rung in mended(home).rungs if rung.name == "tables"]
    assert "the table server_keys: made anew; what it held is lost" in rung.detail
    assert "memory_trail: what it held is lost" in rung.detail


def test_a_journal_that_is_gone_is_built_of_what_is_left_and_the_rest_stays(home: DataFolder) -> None:
    alter(home, "DROP TABLE events")
    found = mended(home)
    assert found.rungs[0].detail == "the table events is missing" and found.doubt
    with opened(home.path) as seg:
        assert seg.session("s0").state.goal == "goal"
        assert [row.key for row in seg.workspace.store.runs.rows()] == [_RUN.key]


def test_a_dry_run_says_what_would_be_made_right_and_changes_nothing(home: DataFolder) -> None:
    alter(home, "DROP TABLE runs", "PRAGMA user_version = 999")
    before = home.database.read_bytes()
    found = recover(home, SETTINGS, dry_run=True)
    [rung] = [rung for rung in found.rungs if rung.name == "tables"]
    assert "the table runs is missing" in rung.detail and "999" in rung.detail and not found.changed
    assert home.database.read_bytes() == before and deviations_of(home.database)


def test_the_same_piece_that_was_stored_twice_is_kept_once(home: DataFolder) -> None:
    alter(
        home,
        "DROP INDEX pieces_by_address",
        "INSERT INTO pieces (address, erased, body) SELECT address, erased, body FROM pieces",
    )
    mended(home)
    everything_works(home)
    with opened(home.path) as seg:
        sql = "SELECT count(*) - count(DISTINCT address) FROM pieces"
        assert database_of(seg).fetch(sql) == [(0,)]


def test_a_store_of_today_deviates_in_nothing(home: DataFolder) -> None:
    assert deviations_of(home.database) == []
    with opened(home.path) as seg:
        assert database_of(seg).connection().pragma("user_version") == SCHEMA
