"""The contract of ``segue.agents.base`` as tests that any agent can run.

Subclass ``ReaderSuite``, name your ``agent`` and a ``maker`` that writes its format from steps (see
``segue.testing.transcripts``), and let pytest collect it. Where the format cannot say something, declare
it: ``unsaid``, ``acts``, ``ids``, ``pending``. Stories and damage are seeded; a failure says its seed, and
``scale`` says how much of the fuzzing is done.
"""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec

from ..agents import agents
from ..agents.base import HEAD_BYTES, Agent
from ..core.brief.facts import facts as brief_facts
from ..core.runs.brief_labels import Label
from ..core.runs.digest import decode, encode, fold
from ..core.runs.model import RunDigest
from ..core.runs.steps import (
    Act,
    Call,
    Compact,
    Fault,
    Given,
    Interrupt,
    Model,
    Plan,
    Prompt,
    Result,
    Say,
    Step,
    Title,
    Usage,
)
from ..services.brief.brief import Format, render_brief
from . import damage
from .stories import BEGAN, BRIEF, injected, mark_of, story
from .transcripts import Maker

S = TypeVar("S")
BUDGETS = (256, 700, 2_048)
FORMS: tuple[Format, ...] = ("text", "json", "markdown")
KEPT_BYTES_MAX = 65_536
_LAST_SECOND = 253_402_300_800  # of the year 9999
_USERS = (Label.GOAL, Label.STANDING, Label.LATEST_FROM_USER, Label.ASKED_BEFORE, Label.FIRST_ASKED)
_steps = msgspec.json.Decoder(list[Step])


class ReaderSuite(ABC):
    """All that an agent's reader must do. Subclass it; the name of the subclass begins with ``Test``."""

    agent: Agent
    maker: Maker
    unsaid: frozenset[type] = frozenset()
    """Kinds of steps that the format cannot tell."""
    acts: frozenset[Act] = frozenset({"run", "read", "edit", "create"})
    """Kinds of calls that the format tells apart."""
    ids = True
    """Whether calls keep their ids."""
    pending = True
    """Whether a call is written before it has a result."""
    seed = 1
    scale = 1.0

    # -- what the tests are made of ------------------------------------------------------------

    def count(self, most: int) -> int:
        """How often, of so many times in a full run."""
        return max(2, round(most * self.scale))

    def written(self, steps: Iterable[Step]) -> bytes:
        return self.maker.written(steps, native="run-1", cwd="/src/shop")

    def records(self, data: bytes) -> list[bytes]:
        """What a reader is given, one after the other."""
        return [line for line in data.split(b"\n") if line] if self.agent.form == "lines" else [data]

    def read(self, data: bytes) -> list[Step]:
        """The steps of a whole transcript, each of them of its own types."""
        reader = self.agent.reader()
        steps = [step for record in self.records(data) for step in reader.read(record)]
        assert _steps.decode(msgspec.json.encode(steps)) == steps
        for step in steps:
            assert 0 <= step.at < _LAST_SECOND, step
        return steps

    def story(self, number: int, length: int = 40, *, pending: bool = False) -> list[Step]:
        return story(Random(f"{self.seed}/{number}"), length, pending=pending)

    def briefed(self, digest: RunDigest, *budgets: int) -> None:
        """Briefs of every form can be made and stay within their budgets."""
        for budget in budgets:
            for form in FORMS:
                text = render_brief(brief_facts([digest], agent=self.agent.name), budget=budget, form=form)
                assert len(text.encode()) <= budget, (budget, form)

    def survives(self, data: bytes, what: str, *, brief: bool) -> None:
        """Whatever the bytes are: steps, a digest, and a brief within its budget."""
        try:
            digest = fold(self.read(data))
            if brief:
                self.briefed(digest, BUDGETS[len(data) % len(BUDGETS)])
        except Exception as fault:
            raise AssertionError(f"{self.agent.name}, {what}: {fault!r}") from fault

    # -- what was said and done is told --------------------------------------------------------

    def test_what_was_written_is_read_as_it_was_told(self) -> None:
        for number in range(self.count(60)):
            told = self.story(number)
            found = self.read(self.written(told))
            for kind, facts in _facts(told, found, self).items():
                one, other = facts
                assert one == other, f"story {self.seed}/{number}: {kind.__name__}"

    def test_steps_come_in_the_order_in_which_they_were_told(self) -> None:
        for number in range(self.count(20)):
            told = [step for step in self.story(number) if not isinstance(step, Plan)]
            found = self.read(self.written(told))
            assert _order(found) == _order(told), f"story {self.seed}/{number}"

    def test_a_call_without_a_result_is_pending_and_others_are_not(self) -> None:
        if not self.pending:
            return
        for number in range(self.count(10)):
            told = self.story(number, pending=True)
            digest = fold(self.read(self.written(told)))
            [call] = digest.pending.values()
            assert call.line == told[-1].command  # type: ignore[union-attr]

    def test_a_brief_that_was_given_is_told_as_such(self) -> None:
        told: list[Step] = [
            Given(BEGAN, BRIEF),
            Prompt(BEGAN + 1, "go on"),
            Say(BEGAN + 2, "I go on with the cart."),
        ]
        found = self.read(self.written(told))
        assert _texts(found, Given) == [BRIEF] and _texts(found, Prompt) == ["go on"]
        assert fold(found).inherited.goal == "Make the cart count each discount once"

    # -- in any pieces -------------------------------------------------------------------------

    def test_any_beginning_of_a_transcript_gives_a_beginning_of_its_steps(self) -> None:
        if self.agent.form != "lines":
            return
        records = self.records(self.written(self.story(1, 60)))
        whole = self.read(b"\n".join(records))
        for end in range(len(records)):
            found = self.read(b"\n".join(records[:end]))
            assert found == whole[: len(found)], f"{end} records"

    def test_reading_in_any_pieces_gives_the_same_steps_and_the_same_digest(self) -> None:
        for number in range(self.count(30)):
            random = Random(f"{self.seed}/{number}")
            data = self.written(story(random, 60))
            data = random.choice(damage.ALL)(data, random) if number % 2 else data
            records, whole = self.records(data), self.read(data)
            found: list[Step] = []
            digest, kept = RunDigest(), None
            for piece in _pieces(records, random):
                reader = self.agent.reader(kept)
                steps = [step for record in piece for step in reader.read(record)]
                digest = decode(encode(fold(steps, digest))) or RunDigest()
                found += steps
                kept = json.loads(json.dumps(reader.keep()))
            assert found == whole, f"seed {self.seed}/{number}"
            assert encode(digest) == encode(fold(whole)), f"seed {self.seed}/{number}"

    def test_a_reader_that_is_asked_again_says_the_same(self) -> None:
        if self.agent.form == "lines":
            return
        data = self.written(self.story(1))
        reader = self.agent.reader()
        first = list(reader.read(data))
        assert list(reader.read(data)) == first
        assert list(self.agent.reader(reader.keep()).read(data)) == first

    def test_what_a_reader_remembers_does_not_grow(self) -> None:
        records = self.records(self.written(story(Random(self.seed), 6_000)))
        if self.agent.form == "lines":
            records = (records * (20_000 // len(records) + 1))[:20_000]
        reader = self.agent.reader()
        sizes = []
        for at, record in enumerate(records, 1):
            for _ in reader.read(record):
                pass
            if at in (len(records) // 2, len(records)):
                sizes.append(len(json.dumps(reader.keep())))
        assert sizes[-1] <= min(KEPT_BYTES_MAX, 2 * sizes[0] + 1_024), sizes

    # -- damage --------------------------------------------------------------------------------

    def test_no_damage_makes_a_reader_raise_or_a_brief_too_long(self) -> None:
        whole = [self.written(self.story(one, 16, pending=one % 3 == 0)) for one in range(12)]
        for number in range(self.count(3_000)):
            random = Random(f"{self.seed}/{number}")
            data = random.choice(whole)
            chosen = random.choices(damage.ALL, k=random.choice((1, 1, 2)))
            for one in chosen:
                data = _damaged(one, data, random)
            names = "+".join(one.__name__ for one in chosen)
            self.survives(data, f"seed {self.seed}/{number}: {names}", brief=number % 10 == 0)

    def test_every_field_may_be_of_another_type(self) -> None:
        data = self.written(self.story(2, 8))
        every = max(1, round(1 / self.scale))
        for what, changed in damage.wrong_types(data, Random(self.seed), every):
            self.survives(changed, f"seed {self.seed}: {what}", brief=len(changed) % 20 == 0)

    def test_huge_and_deep_values_are_survived(self) -> None:
        for number in range(self.count(40)):
            random = Random(f"{self.seed}/{number}")
            one = damage.SLOW[number % len(damage.SLOW)]
            data = one(self.written(story(random, 8)), random)
            self.survives(data, f"seed {self.seed}/{number}: {one.__name__}", brief=True)

    def test_a_file_may_end_at_any_byte(self) -> None:
        data = self.written(self.story(3, 6))
        every = max(1, round(1 / self.scale))
        for end in range(self.seed % every, len(data), every):
            self.survives(data[:end], f"cut at byte {end} of {len(data)}", brief=end % 100 < every)

    def test_odd_beginnings_and_line_ends_cost_nothing(self) -> None:
        data = self.written(self.story(4))
        whole = self.read(data)
        for odd in (b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), data + b"\n\n", b"\n" + data):
            assert self.read(odd) == whole

    def test_nothing_and_nonsense_give_no_steps(self) -> None:
        for nothing in (b"", b"\n", b"\0" * 4_096, b"null", b"[]", b"{}", b"\xff\xfe\xff", b"[" * 100_000):
            assert not [step for step in self.read(nothing) if isinstance(step, Prompt | Say | Call | Result)]

    def test_half_an_emoji_costs_no_step(self) -> None:
        told = [
            *self.story(5, 8),
            Prompt(1_799_999_000.0, "Fix the 🙂 half"),
            Say(1_799_999_001.0, "Half an 🙂 here"),
            Call(1_799_999_002.0, "call_half", "shell", "run", "echo 🙂", "echo 🙂"),
            Result(1_799_999_003.0, "call_half", True, 0, "🙂 printed"),
        ]
        data = self.written(told)
        for half in (b"\\ud83d", b"\\\\ud83d"):  # as it is, and in JSON within JSON
            found = self.read(data.replace("🙂".encode(), half).replace(b"\\ud83d\\ude42", half))
            assert _kinds(found) == _kinds(self.read(data))

    def test_two_records_on_one_line_are_both_read(self) -> None:
        data = self.written(self.story(6))
        whole = self.read(data)
        lines = data.split(b"\n")
        if self.agent.form != "lines" or len(lines) < 4:
            return
        for number in range(self.count(20)):
            at = Random(f"{self.seed}/{number}").randrange(len(lines) - 2)
            glued = b"\n".join([*lines[:at], lines[at] + lines[at + 1], *lines[at + 2 :]])
            assert self.read(glued) == whole, f"lines {at} and {at + 1}"

    def test_a_torn_line_is_one_malformed_piece_and_no_record_of_its_own(self) -> None:
        if self.agent.form != "lines":
            return
        records = self.records(self.written(self.story(7)))
        for number in range(self.count(200)):
            random = Random(f"{self.seed}/{number}")
            record = random.choice(records)
            torn = record[: random.randrange(1, len(record))]
            reader = self.agent.reader()
            assert not list(reader.read(torn)), f"seed {self.seed}/{number}"
            assert reader.malformed + reader.skipped == 1, f"seed {self.seed}/{number}"

    # -- whose words ---------------------------------------------------------------------------

    def test_only_the_users_words_are_prompts(self) -> None:
        for number in range(self.count(10)):
            told = injected(Random(f"{self.seed}/{number}"))
            found = self.read(self.written(told))
            said = [step.text for step in told if isinstance(step, Prompt)]
            assert [step.text for step in found if isinstance(step, Prompt)] == said
            assert not [step for step in found if isinstance(step, Given)]
            digest = fold(found)
            for budget in (700, 2_048, 16_384):
                text = render_brief(brief_facts([digest], agent=self.agent.name), budget=budget)
                for line in text.split("\n"):
                    if line.startswith(_USERS):
                        planted = [mark_of(one) for one in range(50) if mark_of(one) in line]
                        assert not planted, f"seed {self.seed}/{number}: {line}"

    # -- whose file ----------------------------------------------------------------------------

    def test_its_transcripts_are_recognised_as_its_own_and_no_others(self, tmp_path: Path) -> None:
        path = self.maker.placed(self.story(8), native="run-1", cwd="/src/shop", home=tmp_path)
        head = path.read_bytes()[:HEAD_BYTES]
        assert self.agent.recognises(head, str(path))
        others = [one for one in agents() if one.name != self.agent.name]
        assert not [one.name for one in others if one.recognises(head, str(path))]
        if self.agent.form == "lines":
            assert self.agent.recognises(head, "transcript.jsonl")
            assert not [one.name for one in others if one.recognises(head, "transcript.jsonl")]

    def test_no_damage_makes_recognising_raise(self, tmp_path: Path) -> None:
        path = self.maker.placed(self.story(9), native="run-1", cwd="/src/shop", home=tmp_path)
        for number in range(self.count(200)):
            random = Random(f"{self.seed}/{number}")
            head = _damaged(random.choice(damage.ALL), path.read_bytes(), random)[:HEAD_BYTES]
            for name in (str(path), "x.jsonl", "x.json", "x", ""):
                assert self.agent.recognises(head, name) in (True, False)

    def test_a_transcript_in_its_place_is_read_from_there(self, tmp_path: Path) -> None:
        told = self.story(10)
        path = self.maker.placed(told, native="run-1", cwd="/src/shop", home=tmp_path)
        found = self.read(self.agent.load(path, "run-1"))
        assert _order(found) == _order(self.read(self.written(told)))


def _damaged(one: damage.Damage, data: bytes, random: Random) -> bytes:
    """Damage on damage: what no longer is JSON, or is nothing, stays as it is."""
    try:
        return one(data, random) if data else data
    except (ValueError, IndexError, RecursionError):
        return data


def _pieces(records: list[bytes], random: Random) -> Iterator[list[bytes]]:
    if len(records) == 1:
        yield records
        return
    cuts = sorted(random.randrange(len(records) + 1) for _ in range(random.randrange(6)))
    for start, end in zip([0, *cuts], [*cuts, len(records)], strict=True):
        yield records[start:end]


def _kinds(steps: list[Step]) -> list[type]:
    return [type(step) for step in steps if isinstance(step, Prompt | Say | Call | Result)]


def _order(steps: Sequence[Step]) -> list[Any]:
    """Who said and did what, in which order; parallel calls and their results may change places."""
    told: list[Any] = []
    for step in steps:
        if isinstance(step, Prompt | Say):
            told.append((type(step), step.text.strip()))
        elif isinstance(step, Call) and step.act != "plan" and told[-1:] != [Call]:
            told.append(Call)
    return told


def _facts(told: list[Step], found: list[Step], suite: ReaderSuite) -> dict[type, tuple[Any, Any]]:
    """What must be equal, by the kind of step that says it."""
    facts: dict[type, tuple[Any, Any]] = {}
    for kind in (Prompt, Say, Given):
        facts[kind] = (_texts(told, kind), _texts(found, kind))
    calls = {call.id for call in _of(told, Call) if call.act in suite.acts}
    facts[Call] = (_calls(told, suite, calls), _calls(found, suite, calls))
    facts[Result] = (_results(told, suite, calls), _results(found, suite, calls))
    facts[Plan] = (_plan(told), _plan(found))
    summaries = [one.summary for one in _of(told, Compact)]
    compacted = [one.summary for one in _of(found, Compact)]
    facts[Compact] = (summaries, [_within(one, compacted) for one in summaries])
    facts[Fault] = (len(_of(told, Fault)), len(_of(found, Fault)))
    facts[Interrupt] = (len(_of(told, Interrupt)), len(_of(found, Interrupt)))
    facts[Usage] = ([one.context for one in _of(told, Usage)], [one.context for one in _of(found, Usage)])
    facts[Title] = (_texts(told, Title)[-1:], _texts(found, Title)[-1:])
    known, named = {one.name for one in _of(told, Model)}, {one.name for one in _of(found, Model)}
    facts[Model] = (True, bool(named) and named <= known)
    return {kind: pair for kind, pair in facts.items() if kind not in suite.unsaid}


def _of(steps: list[Step], kind: type[S]) -> list[S]:
    return [step for step in steps if isinstance(step, kind)]


def _texts(steps: list[Step], kind: type) -> list[str]:
    return [step.text.strip() for step in steps if isinstance(step, kind)]  # type: ignore[union-attr]


def _within(wanted: str, texts: list[str]) -> str:
    return wanted if any(wanted in text for text in texts) else ""


def _calls(steps: list[Step], suite: ReaderSuite, ids: set[str]) -> list[Any]:
    """Calls as far as this format tells them; plans are told by themselves."""
    return sorted(
        (call.id if suite.ids else "", call.act, call.command, call.paths[:1])
        for call in _of(steps, Call)
        if (call.id in ids if suite.ids else call.act in suite.acts)
    )


def _results(steps: list[Step], suite: ReaderSuite, ids: set[str]) -> list[Any]:
    """Results of those calls; those of calls that ran beside each other come in any order."""
    if not suite.ids:
        ids = {call.id for call in _of(steps, Call) if call.act in suite.acts}
    return sorted(
        (one.id if suite.ids else "", one.ok, one.exit or 0, one.text.strip())
        for one in _of(steps, Result)
        if one.id in ids
    )


def _plan(steps: list[Step]) -> list[tuple[str, str]]:
    plans = [plan for plan in _of(steps, Plan) if plan.whole]
    return [(item.text, item.state) for item in plans[-1].items] if plans else []
