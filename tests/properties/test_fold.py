"""The fold of any session: total, the same in any split, and its lists in order."""

from __future__ import annotations

import random
from itertools import takewhile

from hypothesis import given, strategies as st
from tests.properties.strategies import grow, journals, json_values, names, words
from tests.support.examples import examples

from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.base.persistent_list import Rows
from segue.core.sessions import commands as do, snapshot
from segue.core.sessions.fold import fold
from segue.core.sessions.state import SessionState
from segue.core.sessions.status import card_of, status_of
from segue.services.sessions.repository import fold_all


def whole(state: SessionState) -> list[int]:
    """The places of all items, by the lists that name them; dropped items are in none."""
    dropped = [i for i, item in enumerate(state.items) if item.status == "dropped"]
    return [*state.next, *state.active, *state.blocked, *state.done, *dropped]


@examples(150)
@given(journals)
def test_every_item_is_in_exactly_one_list_and_all_places_exist(events: list[ev.Event]) -> None:
    state = SessionState()
    for event in events:
        state = fold(state, event)
    assert sorted(whole(state)) == list(range(len(state.items)))
    for name in ("next", "active", "blocked"):
        places = getattr(state, name)
        assert list(places) == sorted(places)
        assert all(state.items[i].status == name for i in places)
    assert all(state.items[i].status == "done" for i in state.done)
    assert len({*state.done}) == len(state.done)
    assert state.version == len(events)


@examples(100)
@given(journals)
def test_items_are_done_in_the_order_in_which_they_were_finished(events: list[ev.Event]) -> None:
    events = list(takewhile(lambda e: e.kind != ev.Rewound.KIND, events))  # after it, items are done again
    state = fold_all(events)
    times = [state.items[i].at for i in state.done]
    finished = [e.at for e in events if e.kind == ev.ItemDone.KIND]
    assert [finished.index(at) for at in times] == sorted(finished.index(at) for at in times)


@examples(200)
@given(journals, st.integers(), json_values)
def test_a_fold_never_fails_whatever_was_lost_doubled_or_not_known(
    events: list[ev.Event], seed: int, body: object
) -> None:
    chance = random.Random(seed)
    mixed: list[ev.Event] = []
    for event in events:
        mixed += [event] * chance.choice((0, 1, 1, 1, 2))
        if chance.random() < 0.2:
            kind = chance.choice(("future.kind", *ev.BODIES))
            draft = ev.Draft(kind, canonical.encode(body), event.at, "x", "", chance.choice((1, 9)))
            mixed += ev.seal("session/s", event.version, event.hash, [draft])
    chance.shuffle(mixed)
    state = fold_all(mixed)
    assert snapshot.decode(snapshot.encode(state)) == state
    assert sorted(whole(state)) == list(range(len(state.items)))
    assert card_of(state).id == state.id
    assert status_of(state).version == state.version


@examples(150)
@given(journals)
def test_a_snapshot_gives_the_state_back_and_always_the_same_bytes(events: list[ev.Event]) -> None:
    state = fold_all(events)
    body = snapshot.encode(state)
    assert snapshot.decode(body) == state
    assert snapshot.encode(snapshot.decode(body)) == body
    assert snapshot.encode(fold_all(events)) == body


@examples(150)
@given(journals, st.integers(0, 100))
def test_folding_on_from_a_snapshot_gives_the_same_state_and_bytes(events: list[ev.Event], cut: int) -> None:
    cut = cut % (len(events) + 1)
    state = snapshot.decode(snapshot.encode(fold_all(events[:cut])))
    for event in events[cut:]:
        state = fold(state, event)
    assert state == fold_all(events)
    assert snapshot.encode(state) == snapshot.encode(fold_all(events))
    assert status_of(state) == status_of(fold_all(events))


@given(st.lists(st.builds(do.Thread, words) | st.builds(do.NoteAgent, names, st.just({})), max_size=6))
def test_what_a_status_says_does_not_depend_on_a_snapshot(commands: list[do.Command]) -> None:
    state = fold_all(grow([commands], [0]))
    assert status_of(snapshot.decode(snapshot.encode(state))) == status_of(state)


@examples(150)
@given(st.lists(st.tuples(st.integers(0, 9), words, st.booleans()), max_size=150))
def test_rows_that_share_a_past_never_see_each_others_rows(steps: list[tuple[int, str, bool]]) -> None:
    known: list[tuple[Rows[str], list[str]]] = [(Rows(), [])]
    for which, word, appends in steps:
        rows, model = known[which % len(known)]
        place = rows.find(word, str)
        assert place == (model.index(word) if word in model else -1)
        if place < 0 and appends:
            rows, model = rows.append_keyed(word, word, str), [*model, word]
        elif place >= 0:
            rows, model = rows.replace(place, word), list(model)
        known.append((rows, model))
        assert list(rows) == model == list(Rows(model)) == [rows[i] for i in range(len(model))]
        assert rows == Rows(model)
