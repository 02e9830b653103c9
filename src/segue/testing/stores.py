"""The contract of ``segue.stores.base.Journal`` as tests that any store can run.

Subclass ``JournalSuite`` and override ``make``; a store that outlives its process sets ``durable`` and, if it
needs more than closing and making it again, overrides ``reopen``. Every test takes a new folder, pytest's
``tmp_path``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from ..core.base import canonical
from ..core.journal.event import Draft, Event
from ..core.journal.pieces import address
from ..errors import StaleVersion
from ..stores.base import Append, Head, Journal, Rewrite, Snapshot

E = TypeVar("E", bound=BaseException)
AT = "2026-01-02T03:04:05.000006Z"


def draft(text: str = "x", *, kind: str = "note.taken", at: str = AT, run: str = "") -> Draft:
    """A draft of an event, with a text in its body."""
    return Draft(kind=kind, body=canonical.encode({"text": text}), at=at, actor="tester", run=run)


def drafts(*texts: str) -> list[Draft]:
    """Several drafts."""
    return [draft(text) for text in texts]


def verify_chain(events: list[Event]) -> None:
    """Assert that these events are a whole stream from its first event on, as it was written."""
    prev, left = canonical.GENESIS, 0
    for position, event in enumerate(events, 1):
        assert event.version == position, f"{event.stream}: version {event.version} is at {position}"
        assert event.prev == prev, f"{event.stream} {position}: its predecessor is another one"
        assert event.chained(), f"{event.stream} {position}: its envelope was changed"
        assert event.intact(), f"{event.stream} {position}: its body was changed"
        assert left == 0 or event.left == left - 1, f"{event.stream} {position}: a commit has a hole"
        prev, left = event.hash, event.left
    assert left == 0, f"{events[-1].stream}: the last commit is incomplete"


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Call ``work`` with each number below ``count`` at the same time; what one of them raises is raised."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def _raised(kind: type[E], call: Callable[[], object]) -> E:
    try:
        call()
    except kind as fault:
        return fault
    raise AssertionError(f"{kind.__name__} was not raised")


class JournalSuite(ABC):
    """The contract of a journal. Subclass it under a name that begins with ``Test``."""

    durable = False
    """Whether events survive ``reopen``."""

    @abstractmethod
    def make(self, tmp_path: Path) -> Journal:
        """A new, empty journal that keeps its files, if any, in this folder."""

    def reopen(self, journal: Journal, tmp_path: Path) -> Journal:
        """The same store, opened again as another process would."""
        journal.close()
        return self.make(tmp_path)

    # -- appending -----------------------------------------------------------------------------

    def test_an_append_gives_the_events_as_they_are_read_back(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        written = journal.append(Append("session/a", 0, [draft("one", run="r1"), draft("two")]))
        assert [e.version for e in written] == [1, 2]
        assert [e.left for e in written] == [1, 0]
        assert written[0].run == "r1" and written[0].actor == "tester" and written[0].at == AT
        assert journal.read("session/a") == written

    def test_appends_behind_each_other_are_dense_and_chained(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        for version in range(20):
            journal.append(Append("s", version, drafts(f"n{version}")))
        events = journal.read("s")
        assert len(events) == 20
        verify_chain(events)

    def test_a_wrong_expectation_is_refused_with_its_facts_and_keeps_nothing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("s", 0, drafts("a", "b")))
        for wrong in (0, 1, 3, 99):
            for texts in (["c"], ["c", "d"]):
                fault = _raised(StaleVersion, partial(journal.append, Append("s", wrong, drafts(*texts))))
                assert (fault.stream, fault.expected, fault.actual) == ("s", wrong, 2)
        assert journal.head("s").version == 2

    def test_an_append_over_several_streams_is_all_or_nothing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("a", 0, drafts("1")), Append("b", 0, drafts("2", "3")))
        assert (journal.head("a").version, journal.head("b").version) == (1, 2)
        piece = b"never"
        late = [Append("a", 1, drafts("4")), Append("new", 0, drafts("5")), Append("b", 1, drafts("6"))]
        fault = _raised(StaleVersion, lambda: journal.append(*late, pieces={address(piece): piece}))
        assert (fault.stream, fault.expected, fault.actual) == ("b", 1, 2)
        assert journal.streams() == [("a", 1), ("b", 2)]
        assert journal.head("new") == Head(0, canonical.GENESIS)
        assert journal.pieces([address(piece)]) == {}

    def test_an_append_without_drafts_is_a_demand(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("lease", 0, drafts("mine")))
        kept = journal.append(Append("s", 0, drafts("a")), Append("lease", 1), Append("nobody", 0))
        assert [e.stream for e in kept] == ["s"]
        fault = _raised(StaleVersion, lambda: journal.append(Append("s", 1, drafts("b")), Append("lease", 0)))
        assert fault.stream == "lease"
        assert journal.head("s").version == 1
        assert journal.streams() == [("lease", 1), ("s", 1)]

    def test_a_stream_that_was_only_demanded_is_not_there(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        assert journal.append(Append("ghost", 0)) == []
        assert journal.streams() == []
        assert journal.read("ghost") == []

    # -- reading -------------------------------------------------------------------------------

    def test_read_takes_a_start_and_a_limit(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("s", 0, drafts(*"abcdef")))

        def versions(after: int, limit: int) -> list[int]:
            return [e.version for e in journal.read("s", after=after, limit=limit)]

        assert versions(0, 0) == [1, 2, 3, 4, 5, 6]
        assert versions(4, 0) == [5, 6]
        assert versions(0, 2) == [1, 2]
        assert versions(3, 2) == [4, 5]
        assert versions(5, 9) == [6]
        assert versions(6, 0) == versions(99, 5) == []

    def test_reading_a_part_does_not_confuse_the_next_append(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("s", 0, drafts(*"abcd")))
        journal.read("s", limit=2)
        _raised(StaleVersion, lambda: journal.append(Append("s", 2, drafts("x"))))
        journal.append(Append("s", 4, drafts("e")))
        verify_chain(journal.read("s"))

    def test_the_head_of_nothing_is_the_genesis(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        assert journal.head("s") == Head(0, canonical.GENESIS)
        events = journal.append(Append("s", 0, drafts("a", "b")))
        assert journal.head("s") == Head(2, events[-1].hash)

    def test_streams_are_found_by_prefix_in_the_order_of_their_names(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        for name in ("session/b", "session/a", "session%", "hold/a", "sess", "Session/c"):
            journal.append(Append(name, 0, drafts("x")))
        journal.append(Append("session/a", 1, drafts("y")))
        assert journal.streams("session/") == [("session/a", 2), ("session/b", 1)]
        assert journal.streams("session%") == [("session%", 1)]
        assert [name for name, _ in journal.streams("sess")] == ["sess", "session%", "session/a", "session/b"]
        assert len(journal.streams()) == 6
        assert journal.streams("zzz") == []

    def test_names_of_streams_may_hold_any_text(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        names = [f"session/{text}" for text in ("日本語", "émoji-🙂", "שלום", "a b'c\"d;--", "n" * 300)]
        for name in names:
            journal.append(Append(name, 0, drafts(name)))
        assert journal.streams("session/") == sorted((name, 1) for name in names)
        assert journal.streams("session/日") == [("session/日本語", 1)]
        for name in names:
            assert journal.read(name)[0].stream == name

    # -- bodies --------------------------------------------------------------------------------

    def test_a_kind_that_nobody_knows_is_kept_byte_for_byte(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        body = b'{ "z":1,\n "a" : "\xc3\xa9", "future": [null, 1e3] }'
        odd = Draft("future.kind", body, AT, "somebody", "run-9", 7)
        journal.append(Append("s", 0, [odd]))
        [event] = journal.read("s")
        assert event.body == body and type(event.body) is bytes
        assert (event.kind, event.format, event.run, event.erased) == ("future.kind", 7, "run-9", False)
        verify_chain([event])

    def test_bodies_may_be_large_empty_or_not_even_text(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        bodies = [b"", b"\x00\xff\xfe" * 7, b"x" * 1_000_000, bytes(range(256)) * 4096]
        journal.append(Append("s", 0, [Draft("raw", body, AT, "t") for body in bodies]))
        journal.append(Append("s", 4, [Draft("raw", bodies[2], AT, "t")]))
        events = journal.read("s")
        assert [e.body for e in events] == [*bodies, bodies[2]]
        verify_chain(events)

    # -- pieces --------------------------------------------------------------------------------

    def test_pieces_come_with_an_append_and_those_missing_are_left_out(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        bodies = {address(body): body for body in (b"one", b"two" * 5000, b"")}
        journal.append(Append("s", 0, drafts("a")), pieces=bodies)
        assert journal.pieces([*bodies, address(b"absent")]) == bodies
        assert journal.pieces([]) == {}

    def test_a_piece_may_be_given_again(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        name = address(b"same")
        for version in range(3):
            journal.append(Append("s", version, drafts("a")), pieces={name: b"same"})
        assert journal.pieces([name, name]) == {name: b"same"}

    # -- snapshots -----------------------------------------------------------------------------

    def test_a_snapshot_never_goes_back_and_a_newer_fold_wins(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("s", 0, drafts(*"abcdef")))
        newest = Snapshot("s", 4, 1, b"four", b"card")
        for snapshot in (Snapshot("s", 2, 1, b"two"), newest, Snapshot("s", 3, 1, b"three")):
            journal.keep(snapshot)
        assert journal.snapshots(["s"]) == {"s": newest}
        mended = Snapshot("s", 4, 1, b"FOUR", b"card")
        journal.keep(mended)
        assert journal.snapshots(["s"]) == {"s": mended}
        refolded = Snapshot("s", 3, 2, b"by another fold")
        journal.keep(refolded)
        journal.keep(Snapshot("s", 6, 1, b"by the old fold"))
        assert journal.snapshots(["s"]) == {"s": refolded}

    def test_snapshots_are_given_for_the_streams_that_have_one(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("a", 0, drafts("1")), Append("b", 0, drafts("1")))
        assert journal.snapshots(["a", "b", "c"]) == {}
        journal.keep(Snapshot("a", 1, 1, b"state", b"card"))
        assert list(journal.snapshots(["a", "b", "c"])) == ["a"]
        assert journal.snapshots(["a"], cards=True)["a"].card == b"card"
        assert journal.snapshots([]) == {}

    # -- erasing and dropping ------------------------------------------------------------------

    def test_an_erased_body_is_gone_and_the_chain_stands(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        before = journal.append(Append("s", 0, drafts("keep", "secret", "keep")))
        piece = address(b"secret piece")
        journal.append(Append("s", 3, drafts("d")), pieces={piece: b"secret piece"})
        journal.keep(Snapshot("s", 4, 1, b"secret state"))
        request = Append("s", 4, drafts("erased"))
        journal.erase([Rewrite("s", 2, b'{"text":"-"}')], {piece: b"-"}, request)
        events = journal.read("s")
        assert [e.erased for e in events] == [False, True, False, False, False]
        assert events[1].body == b'{"text":"-"}' and events[1].hash == before[1].hash
        verify_chain(events)
        assert journal.pieces([piece]) == {piece: b"-"}
        assert journal.snapshots(["s"]) == {}

    def test_an_erasure_on_a_stale_version_changes_nothing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        before = journal.append(Append("s", 0, drafts("secret")))
        late = Append("s", 0, drafts("erased"))
        _raised(StaleVersion, lambda: journal.erase([Rewrite("s", 1, b"{}")], {}, late))
        assert journal.read("s") == before

    def test_a_dropped_stream_is_gone_and_its_name_is_free(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        piece = address(b"p")
        journal.append(Append("a", 0, drafts("1", "2")), Append("b", 0, drafts("1")), pieces={piece: b"p"})
        journal.keep(Snapshot("a", 2, 1, b"state"))
        journal.drop(Append("a", 2), pieces=[piece])
        assert journal.streams() == [("b", 1)]
        assert journal.read("a") == [] and journal.head("a") == Head(0, canonical.GENESIS)
        assert journal.snapshots(["a"]) == {} and journal.pieces([piece]) == {}
        fault = _raised(StaleVersion, lambda: journal.append(Append("a", 2, drafts("late"))))
        assert (fault.expected, fault.actual) == (2, 0)
        journal.append(Append("a", 0, drafts("anew")))
        verify_chain(journal.read("a"))

    def test_a_drop_of_a_stream_that_moved_on_drops_nothing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("a", 0, drafts("1")), Append("b", 0, drafts("1", "2")))
        fault = _raised(StaleVersion, lambda: journal.drop(Append("a", 1), Append("b", 1)))
        assert (fault.stream, fault.expected, fault.actual) == ("b", 1, 2)
        assert journal.streams() == [("a", 1), ("b", 2)]

    # -- together and over time ----------------------------------------------------------------

    def test_many_threads_that_append_to_one_stream_lose_nothing(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        threads, each = 6, 20

        def work(number: int) -> None:
            for place in range(each):
                _append_by_retry(journal, "s", draft(f"{number}-{place}"))

        in_threads(threads, work)
        events = journal.read("s")
        verify_chain(events)
        texts = [canonical.decode(e.body)["text"] for e in events]
        assert sorted(texts) == sorted(f"{n}-{p}" for n in range(threads) for p in range(each))

    def test_a_closed_journal_goes_on_with_the_next_call(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        journal.append(Append("s", 0, drafts("a")))
        journal.close()
        journal.close()
        version = journal.head("s").version
        assert version == 1
        journal.append(Append("s", version, drafts("b")))
        verify_chain(journal.read("s"))

    def test_what_was_appended_is_there_for_the_next_process(self, tmp_path: Path) -> None:
        journal = self.make(tmp_path)
        piece = address(b"p")
        journal.append(Append("s", 0, drafts("a", "b")), pieces={piece: b"p"})
        journal.keep(Snapshot("s", 2, 1, b"state", b"card"))
        events = journal.read("s")
        if not self.durable:
            return
        again = self.reopen(journal, tmp_path)
        assert again.read("s") == events
        assert again.pieces([piece]) == {piece: b"p"}
        assert again.snapshots(["s"]) == {"s": Snapshot("s", 2, 1, b"state", b"card")}
        again.append(Append("s", 2, drafts("c")))
        verify_chain(again.read("s"))

    def test_two_journals_on_one_store_see_and_refuse_each_other(self, tmp_path: Path) -> None:
        if not self.durable:
            return
        one, two = self.make(tmp_path), self.make(tmp_path)
        one.append(Append("s", 0, drafts("a")))
        assert two.head("s").version == 1
        two.append(Append("s", 1, drafts("b")))
        fault = _raised(StaleVersion, lambda: one.append(Append("s", 1, drafts("late"))))
        assert (fault.expected, fault.actual) == (1, 2)
        one.append(Append("s", 2, drafts("c")))
        assert one.read("s") == two.read("s")
        verify_chain(two.read("s"))

    def test_a_stream_that_another_journal_dropped_takes_no_late_append(self, tmp_path: Path) -> None:
        if not self.durable:
            return
        one, two = self.make(tmp_path), self.make(tmp_path)
        one.append(Append("s", 0, drafts("a")))
        one.append(Append("s", 1, drafts("b")))
        two.drop(Append("s", 2))
        fault = _raised(StaleVersion, lambda: one.append(Append("s", 2, drafts("late"))))
        assert (fault.expected, fault.actual) == (2, 0)
        assert one.read("s") == [] and two.streams() == []


def _append_by_retry(journal: Journal, stream: str, draft: Draft) -> None:
    while True:
        try:
            journal.append(Append(stream, journal.head(stream).version, [draft]))
            return
        except StaleVersion:
            continue
