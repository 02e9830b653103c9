"""The book: commands become durable, merge with others' or are told, and snapshots are a cache."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from segue.api.segue import Segue
from segue.core.sessions import commands as do, feature_commands as fc
from segue.core.sessions.budget import SetBudget
from segue.core.sessions.state import SessionState
from segue.errors import (
    NothingToUndo,
    SessionOver,
    StaleVersion,
    StoreBusy,
    UnknownAgent,
    UnknownCheckpoint,
    UnknownSession,
    UsageError,
)
from segue.services.sessions.repository import (
    SNAPSHOT_EVENTS_READ,
    SNAPSHOT_EVENTS_WRITTEN,
    fold_all,
    snapshot_of,
    stream_of,
)
from segue.stores.base import Append, Snapshot
from segue.stores.memory.store import VolatileStore
from segue.stores.sqlite import SqliteStore
from segue.testing.stores import draft


def test_commands_that_commute_are_merged(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    assert b.state.version == 4
    a.done("one")
    b.done("two")
    a.decide("x")
    b.decide("y")
    assert a.state == b.state
    assert a.status().done == ["one", "two"] and len(a.state.decisions) == 2


def test_the_same_item_finished_by_two_is_finished_once(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    assert b.state.version == 4
    assert (a.done("one").events, b.done("one").events) == (1, 0)


def test_a_command_that_does_not_commute_is_told(two: tuple[Segue, Segue], journal: VolatileStore) -> None:
    a, b = (seg.session("s") for seg in two)
    append = journal.append
    faster = iter([lambda: b.note("in between")])

    def slow(*appends, pieces=None, memories=None):
        for act in faster:
            journal.append = append  # type: ignore[method-assign]
            act()
        return append(*appends, pieces=pieces)

    journal.append = slow  # type: ignore[method-assign]
    with pytest.raises(StaleVersion) as raised:
        a.pause("for now")
    assert (raised.value.expected, raised.value.actual) == (4, 5)
    assert a.pause("again").events == 1


def test_a_cached_refusal_is_decided_again_on_what_is_there_now(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    a.complete()
    with pytest.raises(SessionOver):
        b.done("one")
    a.undo()
    assert a.state.status == "active"
    assert b.done("one").events == 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda seg: seg.session("absent"), UnknownSession),
        (lambda seg: seg.session("s").rewind("absent"), UnknownCheckpoint),
        (lambda seg: seg.session("s").load_agent("absent"), UnknownAgent),
        (lambda seg: seg.session("s").undo(), NothingToUndo),
        (lambda seg: seg.session("s").checkpoint(), UsageError),
        (lambda seg: seg.start("  "), UsageError),
        (lambda seg: seg.start("x", type="nonsense"), UsageError),
        (lambda seg: seg.session("s").see_changes([("f", "eaten")]), UsageError),
        (lambda seg: seg.session("s").pause(cause="whim"), UsageError),
    ],
)
def test_what_cannot_be_is_an_error_with_a_hint(two: tuple[Segue, Segue], call, error) -> None:
    with pytest.raises(error) as raised:
        call(two[0])
    assert raised.value.hint


def test_starting_with_an_id_that_exists_takes_that_session(two: tuple[Segue, Segue]) -> None:
    first, second = two
    other = first.start("other")
    assert second.session().id == other.id
    again = second.start("something else", id="s")
    assert again.state.goal == "shared" and again.state.version == 4
    assert first.session().id == "s"


def test_undo_takes_back_whole_commands_one_after_the_other(two: tuple[Segue, Segue]) -> None:
    session = two[0].session("s")
    states = [session.state]
    session.checkpoint(done="one", begin="two", decide="d", note="n")
    states.append(session.state)
    session.pause("p")
    session.undo()
    assert session.state.status == "active" and session.status().done == ["one"]
    session.undo()
    assert session.status().next == ["one", "two"] and len(session.state.decisions) == 0
    with pytest.raises(NothingToUndo):
        session.undo()


def test_rewind_brings_the_work_of_a_named_checkpoint_back_and_keeps_the_log(
    two: tuple[Segue, Segue],
) -> None:
    session = two[0].session("s")
    session.checkpoint("before", begin="one")
    session.save_agent("agent", {"step": 1})
    session.done("one", "two")
    length = len(session.log())
    session.rewind("before")
    assert session.status().active == ["one"] and session.state.agents == {}
    assert len(session.log()) == length + 1
    assert session.rewind("before").events == 0


def test_a_secret_is_masked_before_it_is_stored(two: tuple[Segue, Segue]) -> None:
    session = two[0].session("s")
    session.note("the token is ghp_" + "a1" * 18)
    assert all(b"ghp_" not in event.body for event in session.log())


def test_whoever_folds_much_leaves_a_snapshot_and_a_wrong_one_is_not_believed(
    two: tuple[Segue, Segue], journal: VolatileStore, tmp_path: Path
) -> None:
    session = two[0].session("s")
    for place in range(SNAPSHOT_EVENTS_READ + 1):
        session.note(f"note {place}")
    assert journal.snapshots([stream_of("s")]) == {}
    reader = Segue(journal, home=tmp_path / "home", folder=tmp_path)
    assert reader.session("s").state == fold_all(session.log())
    [kept] = journal.snapshots([stream_of("s")]).values()
    assert kept.version == session.state.version
    journal.keep(Snapshot(kept.stream, kept.version + 1, kept.fold, b"not a state", b""))
    fresh = Segue(journal, home=tmp_path / "home", folder=tmp_path)
    assert fresh.session("s").state == session.state


def test_a_list_shows_the_most_recent_first_and_takes_filters(two: tuple[Segue, Segue]) -> None:
    seg = two[0]
    other = seg.start("other", organization="acme", project="https://x/thing")
    other.complete()
    assert [c.id for c in seg.list(everywhere=True)] == [other.id, "s"]
    assert [c.id for c in seg.list(everywhere=True, status="completed")] == [other.id]
    assert [c.id for c in seg.list(organization="acme")] == [other.id]
    assert [c.id for c in seg.list(project="thing")] == [other.id]


def test_what_replaces_is_decided_on_the_newest_state(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    b.note("seen")
    a.focus(file="a.py", position="1")
    b.focus(file="b.py", position="2")
    a.checkpoint("one")
    b.checkpoint("two")
    assert a.state.focus.file == "b.py" and set(a.state.marks) == {"one", "two"}


@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.count(bogus=1),
        lambda s: s.note_context(bogus=1),
        lambda s: s.note_agent("a", bogus=1),
        lambda s: s.note_agent("a", pieces=[]),
    ],
)
def test_a_field_that_does_not_exist_is_refused(two: tuple[Segue, Segue], write: Any) -> None:
    s = two[0].session("s")
    version = s.state.version
    with pytest.raises(UsageError, match="unknown field"):
        write(s)
    assert s.state.version == version


def test_commits_that_wait_to_be_folded_are_seen_by_every_look(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    for i in range(150):
        a.done(f"item {i}")
        if i % 7 == 0:
            a.begin(f"item {i}")
        if i % 11 == 0:
            a.learn(f"finding {i}")
        if i % 50 == 0:
            b.done(f"other {i}")
    assert a.state == b.state == fold_all(a.log())


def test_undo_does_not_take_back_what_it_never_saw(
    two: tuple[Segue, Segue], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (seg.session("s") for seg in two)
    a.done("mine")
    commit = two[0].workspace.repository.commit

    def late(*args: Any, **rest: Any) -> Any:
        b.decide("keep me")
        return commit(*args, **rest)

    monkeypatch.setattr(two[0].workspace.repository, "commit", late)
    with pytest.raises(StaleVersion):
        a.undo()
    assert [d.text for d in b.state.decisions] == ["keep me"]


def test_the_same_version_of_another_history_is_another_state(tmp_path: Path) -> None:
    journal = VolatileStore()
    a, b = (Segue(journal, home=tmp_path, folder=tmp_path) for _ in range(2))
    a.start("first", id="x").done("i")
    version = a.session("x").state.version
    journal.drop(Append("session/x", version))
    other = b.start("second", id="x")
    while other.state.version < version:
        other.note("more")
    assert a.session("x").state.goal == "second"


def test_a_scrub_by_somebody_else_is_noticed(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.session("s") for seg in two)
    a.note("the secret word")
    assert b.status().last_action == "the secret word"
    two[0].scrub("secret")
    assert b.status().last_action == "the [scrubbed] word"


def test_a_pause_is_not_decided_again_behind_events_that_another_thread_has_read(
    two: tuple[Segue, Segue], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (seg.session("s") for seg in two)
    a.note("seen")
    append = two[0].workspace.store.append

    def late(*wishes: Append, **rest: Any) -> Any:
        monkeypatch.setattr(two[0].workspace.store, "append", append)
        b.done("theirs")
        two[0].workspace.repository.state("s")  # as another thread of this process would
        return append(*wishes, **rest)

    monkeypatch.setattr(two[0].workspace.store, "append", late)
    with pytest.raises(StaleVersion):
        a.pause("now")
    assert b.state.status == "active"


def test_what_is_made_of_a_state_is_made_anew_if_somebody_was_faster(tmp_path: Path) -> None:
    one, other = (Segue(home=tmp_path, folder=tmp_path, actor=name) for name in ("one", "other"))
    session = one.start("count", id="many").id
    other.workspace.repository.state(session)
    one.session(session).done("first")
    seen: list[int] = []

    def make(state: SessionState) -> tuple[list[do.Command], dict[str, bytes]]:
        seen.append(len(state.done))
        return [do.Done(f"item {len(state.done)}")], {}

    saved, state = other.workspace.repository.commit_made(session, make)
    assert seen == [0, 1] and saved.events == 1
    assert [state.items[place].text for place in state.done] == ["first", "item 1"]
    assert one.workspace.repository.state(session) == state
    for segue in (one, other):
        segue.close()


def test_threads_that_write_wait_their_turn_and_no_longer_than_they_may(tmp_path: Path) -> None:
    journal = SqliteStore(tmp_path / "segue.db", busy_timeout_ms=100)
    journal.append(Append("s", 0, [draft("first")]))
    faults: list[BaseException] = []

    def write() -> None:
        try:
            journal.append(Append("t", 0, [draft("second")]))
        except StoreBusy as fault:
            faults.append(fault)

    turn = journal.database.turn()
    thread = threading.Thread(target=write)
    thread.start()
    thread.join(10)
    assert len(faults) == 1 and not journal.head("t").version
    turn.release()
    write()
    assert len(faults) == 1 and journal.head("t").version == 1
    journal.close()


def test_what_a_slower_thread_knew_makes_no_commit_stale(two: tuple[Segue, Segue]) -> None:
    seg, _ = two
    known = seg.workspace.repository._known["s"]
    seen = seg.attach("s").note("the caller has seen this").version
    seg.workspace.repository._known["s"] = known
    assert seg.workspace.repository.commit("s", [do.Note("and then this")], since=seen).version == seen + 1


def test_sixteen_threads_share_a_handle_and_nothing_is_lost_or_mixed(tmp_path: Path) -> None:
    items = [f"{thread}-{number}" for thread in range(16) for number in range(8)]
    with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
        seg.start("g", id="s", items=items)
        faults: list[BaseException] = []

        def work(thread: int) -> None:
            try:
                for number in range(8):
                    seg.attach("s").done(f"{thread}-{number}")
                    seg.attach("s").learn(f"lesson {thread} {number}")
                    seg.attach("s").save_agent(f"agent {thread}".replace(" ", "-"), {"last": number})
                    assert seg.memories.recall(f"lesson {thread}")
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(16)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not faults, faults[0]
        state = seg.workspace.repository.state("s")
        assert state == fold_all(seg.workspace.store.read(stream_of("s")))
        assert {item.text for item in state.items if item.status == "done"} == set(items)
        assert all(seg.attach("s").load_agent(f"agent-{n}") == {"last": 7} for n in range(16))


# -- what is decided on the newest state ------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (do.Focus(file="a.py"), do.Focus(file="b.py")),
        (do.SeeChanges((("a.py", "modified"),)), do.SeeChanges((("b.py", "modified"),))),
        (do.NoteContext({"commits_count": 1}), do.NoteContext({"commits_count": 2})),
        (do.SaveAgent("agent", 1, ()), do.NoteAgent("agent", {"mode": "plan"})),
        (do.SaveAgent("agent", 1, ()), do.DropAgent("agent")),
        (do.Describe(goal="theirs"), do.Describe(goal="ours")),
        (do.Mark("m", "theirs"), do.Mark("m", "ours")),
        (SetBudget(limit_cost=1.0), SetBudget(limit_cost=2.0)),
        (fc.ChangeFeature("f", category="x"), fc.ChangeFeature("f", category="y")),
        (fc.ChangeFeature("f", category="x"), fc.RemoveFeature("f")),
        (do.Note("theirs"), do.Pause("ours")),
        (do.Note("theirs"), do.Complete()),
        (do.Note("theirs"), do.Abandon()),
    ],
    ids=lambda command: type(command).__name__,
)
def test_what_replaces_something_replaces_also_what_it_has_not_seen(
    two: tuple[Segue, Segue], theirs: do.Command, ours: do.Command
) -> None:
    a, b = (seg.workspace.repository for seg in two)
    a.commit("s", [fc.AddFeature("f", "d", by="user")], actor="user")
    if isinstance(ours, do.Complete):
        a.commit("s", [fc.RemoveFeature("f")], actor="user")
    b.state("s")
    a.commit("s", [theirs], actor="user")
    assert b.commit("s", [ours], actor="user").events == 1


def test_what_was_made_for_a_version_merges_unless_it_must_be_the_very_same(two: tuple[Segue, Segue]) -> None:
    a, b = (seg.workspace.repository for seg in two)
    seen = b.state("s").version
    assert b.commit("s", [do.Note("x")], since=seen, exact=True).version == seen + 1
    assert a.commit("s", [do.Note("y")], since=seen).version == seen + 2
    for commands, more in (([do.Note("z")], {"exact": True}), ([do.Pause()], {})):
        with pytest.raises(StaleVersion) as raised:
            b.commit("s", commands, since=seen, **more)  # type: ignore[arg-type]
        assert raised.value.expected == seen < raised.value.actual
    with pytest.raises(StaleVersion):
        b.commit("s", [do.Note("z")], since=seen + 3)
    assert a.state("s").version == seen + 2


def test_whoever_is_always_slower_gives_up_in_the_end(
    two: tuple[Segue, Segue], journal: VolatileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slower(own: Append, *_: Append, **__: Any) -> Any:
        raise StaleVersion(own.stream, own.expect, own.expect + 1)

    monkeypatch.setattr(journal, "append", slower)
    with pytest.raises(StoreBusy, match="times while writing"):
        two[0].session("s").note("x")


def test_a_demand_that_does_not_hold_is_asked_for_anew_and_without_one_the_fault_is_told(
    two: tuple[Segue, Segue], journal: VolatileStore
) -> None:
    repository, asked = two[0].workspace.repository, []

    def guards() -> list[Append]:
        asked.append(1)
        return [Append("other", 1 if len(asked) < 3 else 0)]

    assert repository.commit("s", [do.Note("x")], guards=guards).events == 1
    assert len(asked) == 3


# -- what is kept in memory and in snapshots --------------------------------------------------------


def test_what_was_seen_or_written_here_is_not_read_again(
    two: tuple[Segue, Segue], journal: VolatileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (seg.workspace.repository for seg in two)
    a.commit("s", [do.Note("x"), do.Note("y")])
    read, after = journal.read, []

    def watched(stream: str, **more: Any) -> Any:
        after.append(more.get("after", 0))
        return read(stream, **more)

    version = a.state("s").version
    b.commit("s", [do.Note("theirs")])
    monkeypatch.setattr(journal, "read", watched)
    assert a.state("s").version == version + 1 and a.state("s").last_action == "theirs"
    assert after == [version]


def test_a_session_that_was_never_begun_is_not_there(two: tuple[Segue, Segue]) -> None:
    repository = two[0].workspace.repository
    assert repository.cached("absent") is None
    assert repository.exists("s") and not repository.exists("absent")


def test_the_state_of_an_earlier_version_is_that_of_its_first_events(two: tuple[Segue, Segue]) -> None:
    session = two[0].session("s")
    session.note("fifth")
    session.note("sixth")
    repository = two[0].workspace.repository
    assert (repository.state_at("s", 5).version, repository.state_at("s", 5).last_action) == (5, "fifth")


def test_the_sessions_that_were_seen_last_are_kept(two: tuple[Segue, Segue]) -> None:
    seg = two[0]
    repository = seg.workspace.repository
    repository.sessions_max = 2
    for name in ("x", "y"):
        seg.start(name, id=name)
    assert repository.seen() == ["x", "y"]
    repository.state("x")
    seg.start("z", id="z")
    assert repository.seen() == ["y", "z"], "the one that was current is looked at for its rules"
    repository.forget("y")
    assert repository.seen() == ["z"]
    repository.forget()
    assert repository.seen() == []


def snapped(journal: VolatileStore) -> int:
    """The version of the snapshot; 0 without one."""
    kept = journal.snapshots([stream_of("s")]).get(stream_of("s"))
    return kept.version if kept else 0


@pytest.mark.parametrize(
    ("events", "leaves_one"), [(SNAPSHOT_EVENTS_READ, False), (SNAPSHOT_EVENTS_READ + 1, True)]
)
def test_a_reader_leaves_a_snapshot_after_more_events_than_are_read_quickly(
    two: tuple[Segue, Segue], journal: VolatileStore, events: int, leaves_one: bool
) -> None:
    a, b = (seg.workspace.repository for seg in two)
    b.forget()
    a.commit("s", [do.Note(str(number)) for number in range(events - 4)])
    b.state("s")
    assert snapped(journal) == (events if leaves_one else 0)


def test_a_writer_leaves_a_snapshot_every_so_many_events(
    two: tuple[Segue, Segue], journal: VolatileStore
) -> None:
    repository = two[0].workspace.repository
    most = SNAPSHOT_EVENTS_WRITTEN
    repository.commit("s", [do.Note(str(number)) for number in range(most - 5)])
    assert snapped(journal) == 0
    repository.commit("s", [do.Note("one more")])
    assert snapped(journal) == most
    repository.commit("s", [do.Note(str(number)) for number in range(most - 1)])
    assert snapped(journal) == most
    repository.commit("s", [do.Note("and one")])
    assert snapped(journal) == 2 * most


def test_a_large_state_is_snapped_only_after_as_many_events_as_it_has_kilobytes(
    two: tuple[Segue, Segue], journal: VolatileStore
) -> None:
    repository, most = two[0].workspace.repository, SNAPSHOT_EVENTS_WRITTEN
    repository.commit("s", [do.Learn(f"{number} {'x' * 2000}") for number in range(most)])
    first = snapped(journal)
    [kept] = journal.snapshots([stream_of("s")]).values()
    kilobytes = len(kept.state) // 1024
    assert first == most + 4 and kilobytes > 1.5 * most
    repository.commit("s", [do.Note(str(number)) for number in range(kilobytes - 1)])
    assert snapped(journal) == first
    repository.commit("s", [do.Note("one more")])
    assert snapped(journal) == first + kilobytes


@pytest.mark.parametrize("change", ["another fold", "a later version"])
def test_a_snapshot_of_another_fold_or_of_what_is_not_there_is_made_anew(
    two: tuple[Segue, Segue], journal: VolatileStore, tmp_path: Path, change: str
) -> None:
    state = two[0].session("s").state
    version = state.version + (change == "a later version")
    wrong = msgspec.structs.replace(state, goal="wrong", version=version)
    kept = snapshot_of("s", wrong)
    journal.keep(msgspec.structs.replace(kept, fold=kept.fold + (change == "another fold")))
    reader = Segue(journal, home=tmp_path / "home", folder=tmp_path)
    assert reader.session("s").state == state
    assert [card.goal for card in reader.list(everywhere=True)] == ["shared"]


def test_a_snapshot_of_the_newest_state_spares_a_reader_every_event(
    two: tuple[Segue, Segue], journal: VolatileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = two[0].session("s").state
    journal.keep(snapshot_of("s", state))
    reader = Segue(journal, home=tmp_path / "home", folder=tmp_path)
    monkeypatch.setattr(journal, "read", None)
    assert reader.workspace.repository.state("s") == state


def test_a_list_reads_no_session_that_ended_before(
    two: tuple[Segue, Segue], journal: VolatileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two[0].session("s").complete()
    Segue(journal, home=tmp_path / "home", folder=tmp_path).list(everywhere=True)
    assert snapped(journal) == two[0].session("s").state.version
    reader = Segue(journal, home=tmp_path / "home", folder=tmp_path)
    monkeypatch.setattr(journal, "read", None)
    assert [card.status for card in reader.workspace.repository.cards()] == ["completed"]


def test_whoever_lists_sessions_leaves_those_that_are_worked_on_alone(
    two: tuple[Segue, Segue], journal: VolatileStore, tmp_path: Path
) -> None:
    Segue(journal, home=tmp_path / "home", folder=tmp_path).list(everywhere=True)
    assert snapped(journal) == 0
