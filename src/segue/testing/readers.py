"""The contract of ``segue.agents.base`` as tests that any agent can run.

Subclass ``ReaderSuite``, set your ``agent`` and a ``maker`` that writes its format from steps (see
``segue.testing.transcripts``), and let pytest collect it. Declare what the format cannot express by
``unsaid``, ``acts``, ``typed``, ``ids``, ``pending`` and ``cache_writes``. Stories and damage are seeded, and
a failure shows its seed; ``scale`` sets how much fuzzing is done.
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
from ..core.runs import steps as s
from ..core.runs.brief_labels import Label
from ..core.runs.digest import decode, encode, fold
from ..core.runs.model import RunDigest
from ..services.brief.brief import Format, render_brief
from . import damage
from .stories import BEGAN, BRIEF, injected, mark_of, story
from .transcripts import Maker

S = TypeVar("S")
BUDGETS = (256, 700, 2_048)
FORMS: tuple[Format, ...] = ("text", "json", "markdown")
KEPT_BYTES_MAX = 65_536
_LAST_SECOND = 253_402_300_800  # of the year 9999
_USERS = (
    Label.GOAL,
    Label.REQUEST,
    Label.USER,
    Label.RULES,
    Label.BEFORE,
    Label.FIRST_REQUEST,
    Label.ADDS_TO,
)
_steps = msgspec.json.Decoder(list[s.Step])


class ReaderSuite(ABC):
    """The contract of an agent's reader. Subclass it under a name that begins with ``Test``."""

    agent: Agent
    maker: Maker
    unsaid: frozenset[type] = frozenset()
    """Kinds of steps, and ``s.Change``, that the format cannot express."""
    acts: frozenset[s.Act] = frozenset({"run", "read", "edit", "create"})
    """Kinds of calls that the format distinguishes."""
    typed: frozenset[s.Typed] = frozenset({"queued", "command", "refusal"})
    """Ways of typing a prompt that the format distinguishes."""
    ids = True
    """Whether calls have ids in the format."""
    pending = True
    """Whether a call is written before it has a result."""
    cache_writes = True
    """Whether it tells the tokens that were written to a cache from the others that were sent."""
    seed = 1
    scale = 1.0

    # -- building blocks -----------------------------------------------------------------------

    def count(self, most: int) -> int:
        """How many of the iterations of a full run to do."""
        return max(2, round(most * self.scale))

    def written(self, steps: Iterable[s.Step]) -> bytes:
        return self.maker.written(steps, native="run-1", cwd="/src/shop")

    def records(self, data: bytes) -> list[bytes]:
        """The records of a transcript, in order."""
        return [line for line in data.split(b"\n") if line] if self.agent.form == "lines" else [data]

    def read(self, data: bytes) -> list[s.Step]:
        """The steps of a whole transcript, checked for types and times."""
        reader = self.agent.reader()
        steps = [step for record in self.records(data) for step in reader.read(record)]
        assert _steps.decode(msgspec.json.encode(steps)) == steps
        for step in steps:
            assert 0 <= step.at < _LAST_SECOND, step
        return steps

    def story(self, number: int, length: int = 40, *, pending: bool = False) -> list[s.Step]:
        return story(Random(f"{self.seed}/{number}"), length, pending=pending)

    def briefed(self, digest: RunDigest, *budgets: int) -> None:
        """Assert that briefs of every form can be made and stay within their budgets."""
        for budget in budgets:
            for form in FORMS:
                text = render_brief(brief_facts([digest], agent=self.agent.name), budget=budget, form=form)
                assert len(text.encode()) <= budget, (budget, form)

    def survives(self, data: bytes, what: str, *, brief: bool) -> None:
        """Assert that any bytes give steps, a digest and a brief within its budget."""
        try:
            digest = fold(self.read(data))
            if brief:
                self.briefed(digest, BUDGETS[len(data) % len(BUDGETS)])
        except Exception as fault:
            raise AssertionError(f"{self.agent.name}, {what}: {fault!r}") from fault

    # -- contents ------------------------------------------------------------------------------

    def test_what_was_written_is_read_as_it_was_told(self) -> None:
        for number in range(self.count(60)):
            original = self.story(number)
            read_back = self.read(self.written(original))
            calls = {call.id for call in _of(original, s.Call) if call.act in self.acts}
            expected, actual = _facts(original, self, calls), _facts(read_back, self, calls)
            for kind in expected.keys() - self.unsaid:
                assert expected[kind] == actual[kind], f"story {self.seed}/{number}: {kind.__name__}"
            if s.Compact not in self.unsaid:
                summaries = "\0".join(step.summary for step in _of(read_back, s.Compact))
                assert all(step.summary in summaries for step in _of(original, s.Compact))
            if s.Model not in self.unsaid:
                models = {step.name for step in _of(read_back, s.Model)}
                assert models and models <= {step.name for step in _of(original, s.Model)}

    def test_steps_come_in_the_order_in_which_they_were_told(self) -> None:
        for number in range(self.count(20)):
            original = [step for step in self.story(number) if not isinstance(step, s.Plan)]
            read_back = self.read(self.written(original))
            assert _order(read_back) == _order(original), f"story {self.seed}/{number}"

    def test_a_call_without_a_result_is_pending_and_others_are_not(self) -> None:
        if not self.pending:
            return
        for number in range(self.count(10)):
            original = self.story(number, pending=True)
            digest = fold(self.read(self.written(original)))
            [call] = digest.pending.values()
            assert call.line == original[-1].command  # type: ignore[union-attr]

    def test_a_brief_that_was_given_is_told_as_such(self) -> None:
        original: list[s.Step] = [
            s.Given(BEGAN, BRIEF),
            s.Prompt(BEGAN + 1, "go on"),
            s.Say(BEGAN + 2, "I go on with the cart."),
        ]
        read_back = self.read(self.written(original))
        assert _texts(read_back, s.Given) == [BRIEF] and _texts(read_back, s.Prompt) == ["go on"]
        assert fold(read_back).told == "Make the cart count each discount once"

    def test_an_edit_says_what_it_changes(self) -> None:
        changes = [
            s.Change("shop/tax.py", "edit", "rate = 19\n", "rate = 20\n"),
            s.Change("shop/vat.py", "create", "", "RATE = 20\n\n+ 1\n"),
        ]
        original: list[s.Step] = [s.Prompt(BEGAN, "Raise the rate")]
        for number, change in enumerate(changes, 1):
            id = f"call_{number}"
            text = f"{change.path}\n{change.new}"
            call = s.Call(BEGAN + number, id, change.how, change.how, text, "", (change.path,), "", (change,))
            original += [call, s.Result(BEGAN + number, id, True, None, "Done.")]
        read_back = self.read(self.written(original))
        found = [change for call in _of(read_back, s.Call) for change in call.changes]
        expected = [change for change in changes if change.how in self.acts and s.Change not in self.unsaid]
        assert [_stripped(change) for change in found] == [_stripped(change) for change in expected]

    def test_a_thought_is_not_said(self) -> None:
        if s.Thought in self.unsaid:
            return
        original: list[s.Step] = [
            s.Prompt(BEGAN, "Raise the rate"),
            s.Thought(BEGAN + 1, "Cents are safer than floats."),
            s.Say(BEGAN + 2, "I use cents."),
        ]
        read_back = self.read(self.written(original))
        assert _texts(read_back, s.Thought) == ["Cents are safer than floats."]
        assert _texts(read_back, s.Say) == ["I use cents."] and _texts(read_back, s.Prompt) == [
            "Raise the rate"
        ]

    def test_what_goes_on_in_the_background_is_known_until_it_has_ended(self) -> None:
        if s.Settled in self.unsaid:
            return
        for ok in (True, False):
            original: list[s.Step] = [
                s.Prompt(BEGAN, "Build it"),
                s.Call(BEGAN + 1, "call_1", "shell", "run", "make", "make"),
                s.Result(BEGAN + 2, "call_1", None, None, "compiling", process="17"),
                s.Say(BEGAN + 3, "It builds."),
                s.Settled(BEGAN + 4, "17", ok, "the build has ended"),
            ]
            read_back = self.read(self.written(original))
            [result] = [step for step in _of(read_back, s.Result) if step.process]
            assert result.process == "17" and not fold(read_back).pending
            assert [(step.process, step.ok) for step in _of(read_back, s.Settled)] == [("17", ok)]

    def test_a_prompt_says_how_it_was_typed(self) -> None:
        original: list[s.Step] = [
            s.Prompt(BEGAN, "Raise the rate"),
            s.Call(BEGAN + 1, "call_1", "shell", "run", "make", "make"),
            s.Prompt(BEGAN + 2, "and the tax", "queued"),
            s.Result(BEGAN + 3, "call_1", True, 0, "done"),
            s.Say(BEGAN + 4, "Both are raised."),
            s.End(BEGAN + 5),
            s.Prompt(BEGAN + 6, "/review the cart", "command"),
            s.Call(BEGAN + 7, "call_2", "shell", "run", "git push", "git push"),
            s.Interrupt(BEGAN + 8, "ask me first", "call_2"),
            s.Result(BEGAN + 8, "call_2"),
            s.Prompt(BEGAN + 8, "ask me first", "refusal"),
        ]
        left_out = {"command", "refusal"} - self.typed
        original = [
            step
            for step in original
            if not (isinstance(step, s.Prompt | s.Interrupt) and _how(step) in left_out)
        ]
        expected = [
            (step.text, step.how if step.how in self.typed else "") for step in _of(original, s.Prompt)
        ]
        read_back = self.read(self.written(original))
        assert [(step.text, step.how) for step in _of(read_back, s.Prompt)] == expected
        assert len(_of(read_back, s.Interrupt)) == len(_of(original, s.Interrupt))

    # -- in any pieces -------------------------------------------------------------------------

    def test_any_beginning_of_a_transcript_gives_a_beginning_of_its_steps(self) -> None:
        if self.agent.form != "lines":
            return
        records = self.records(self.written(self.story(1, 60)))
        whole = self.read(b"\n".join(records))
        for end in range(len(records)):
            read_back = self.read(b"\n".join(records[:end]))
            assert read_back == whole[: len(read_back)], f"{end} records"

    def test_reading_in_any_pieces_gives_the_same_steps_and_the_same_digest(self) -> None:
        for number in range(self.count(30)):
            random = Random(f"{self.seed}/{number}")
            data = self.written(story(random, 60))
            data = random.choice(damage.ALL)(data, random) if number % 2 else data
            records, whole = self.records(data), self.read(data)
            read_back: list[s.Step] = []
            digest, state = RunDigest(), None
            for piece in _pieces(records, random):
                reader = self.agent.reader(state)
                steps = [step for record in piece for step in reader.read(record)]
                digest = decode(encode(fold(steps, digest))) or RunDigest()
                read_back += steps
                state = json.loads(json.dumps(reader.keep()))
            assert read_back == whole, f"seed {self.seed}/{number}"
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
        whole = [self.written(self.story(kind, 16, pending=kind % 3 == 0)) for kind in range(12)]
        for number in range(self.count(3_000)):
            random = Random(f"{self.seed}/{number}")
            data = random.choice(whole)
            chosen = random.choices(damage.ALL, k=random.choice((1, 1, 2)))
            for kind in chosen:
                data = _damaged(kind, data, random)
            names = "+".join(kind.__name__ for kind in chosen)
            self.survives(data, f"seed {self.seed}/{number}: {names}", brief=number % 10 == 0)

    def test_every_field_may_be_of_another_type(self) -> None:
        data = self.written(self.story(2, 8))
        every = max(1, round(1 / self.scale))
        for what, changed in damage.wrong_types(data, Random(self.seed), every):
            self.survives(changed, f"seed {self.seed}: {what}", brief=len(changed) % 20 == 0)

    def test_huge_and_deep_values_are_survived(self) -> None:
        for number in range(self.count(40)):
            random = Random(f"{self.seed}/{number}")
            kind = damage.SLOW[number % len(damage.SLOW)]
            data = kind(self.written(story(random, 8)), random)
            self.survives(data, f"seed {self.seed}/{number}: {kind.__name__}", brief=True)

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
            assert not [
                step for step in self.read(nothing) if isinstance(step, s.Prompt | s.Say | s.Call | s.Result)
            ]

    def test_half_an_emoji_costs_no_step(self) -> None:
        original = [
            *self.story(5, 8),
            s.Prompt(1_799_999_000.0, "Fix the 🙂 half"),
            s.Say(1_799_999_001.0, "Half an 🙂 here"),
            s.Call(1_799_999_002.0, "call_half", "shell", "run", "echo 🙂", "echo 🙂"),
            s.Result(1_799_999_003.0, "call_half", True, 0, "🙂 printed"),
        ]
        data = self.written(original)
        for half in (b"\\ud83d", b"\\\\ud83d"):  # as it is, and in JSON within JSON
            read_back = self.read(data.replace("🙂".encode(), half).replace(b"\\ud83d\\ude42", half))
            assert _kinds(read_back) == _kinds(self.read(data))

    def test_two_records_on_one_line_are_both_read(self) -> None:
        data = self.written(self.story(6))
        whole = self.read(data)
        lines = data.split(b"\n")
        if self.agent.form != "lines" or len(lines) < 4:
            return
        for number in range(self.count(20)):
            at = Random(f"{self.seed}/{number}").randrange(len(lines) - 2)
            joined = b"\n".join([*lines[:at], lines[at] + lines[at + 1], *lines[at + 2 :]])
            assert self.read(joined) == whole, f"lines {at} and {at + 1}"

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

    # -- only the user's words are prompts -----------------------------------------------------

    def test_only_the_users_words_are_prompts(self) -> None:
        for number in range(self.count(10)):
            original = injected(Random(f"{self.seed}/{number}"))
            read_back = self.read(self.written(original))
            prompts = [step.text for step in original if isinstance(step, s.Prompt)]
            assert [step.text for step in read_back if isinstance(step, s.Prompt)] == prompts
            assert not [step for step in read_back if isinstance(step, s.Given)]
            digest = fold(read_back)
            for budget in (700, 2_048, 16_384):
                text = render_brief(brief_facts([digest], agent=self.agent.name), budget=budget)
                for line in text.split("\n"):
                    if line.startswith(_USERS):
                        planted = any(mark in line for mark in map(mark_of, range(50)))
                        assert not planted, f"seed {self.seed}/{number}: {line}"

    # -- recognising and finding transcripts ---------------------------------------------------

    def test_its_transcripts_are_recognised_as_its_own_and_no_others(self, tmp_path: Path) -> None:
        path = self.maker.placed(self.story(8), native="run-1", cwd="/src/shop", home=tmp_path)
        head = path.read_bytes()[:HEAD_BYTES]
        assert self.agent.recognises(head, str(path))
        others = [other for other in agents() if other.name != self.agent.name]
        assert not [other.name for other in others if other.recognises(head, str(path))]
        if self.agent.form == "lines":
            assert self.agent.recognises(head, "transcript.jsonl")
            assert not [other.name for other in others if other.recognises(head, "transcript.jsonl")]

    def test_no_damage_makes_recognising_raise(self, tmp_path: Path) -> None:
        path = self.maker.placed(self.story(9), native="run-1", cwd="/src/shop", home=tmp_path)
        for number in range(self.count(200)):
            random = Random(f"{self.seed}/{number}")
            head = _damaged(random.choice(damage.ALL), path.read_bytes(), random)[:HEAD_BYTES]
            for name in (str(path), "x.jsonl", "x.json", "x", ""):
                assert self.agent.recognises(head, name) in (True, False)

    def test_a_transcript_in_its_place_is_read_from_there(self, tmp_path: Path) -> None:
        original = self.story(10)
        path = self.maker.placed(original, native="run-1", cwd="/src/shop", home=tmp_path)
        read_back = self.read(self.agent.load(path, "run-1"))
        assert _order(read_back) == _order(self.read(self.written(original)))


def _damaged(kind: damage.Damage, data: bytes, random: Random) -> bytes:
    """Damaged data; data that is empty or no longer JSON stays as it is."""
    try:
        return kind(data, random) if data else data
    except (ValueError, IndexError, RecursionError):
        return data


def _pieces(records: list[bytes], random: Random) -> Iterator[list[bytes]]:
    if len(records) == 1:
        yield records
        return
    cuts = sorted(random.randrange(len(records) + 1) for _ in range(random.randrange(6)))
    for start, end in zip([0, *cuts], [*cuts, len(records)], strict=True):
        yield records[start:end]


def _kinds(steps: list[s.Step]) -> list[type]:
    return [type(step) for step in steps if isinstance(step, s.Prompt | s.Say | s.Call | s.Result)]


def _order(steps: Sequence[s.Step]) -> list[Any]:
    """Messages and calls in order; parallel calls count as one, because their order may change."""
    order: list[Any] = []
    for step in steps:
        if isinstance(step, s.Prompt | s.Say):
            order.append((type(step), step.text.strip()))
        elif isinstance(step, s.Call) and step.act != "plan" and order[-1:] != [s.Call]:
            order.append(s.Call)
    return order


def _facts(steps: list[s.Step], suite: ReaderSuite, ids: set[str]) -> dict[type, Any]:
    """What steps say in a comparable form, by their kind; ``ids`` are those of the calls that count."""
    facts: dict[type, Any] = {kind: _texts(steps, kind) for kind in (s.Prompt, s.Say, s.Given)}
    return facts | {
        s.Call: _calls(steps, suite, ids),
        s.Result: _results(steps, suite, ids),
        s.Plan: _plan(steps),
        s.Fault: len(_of(steps, s.Fault)),
        s.Interrupt: len(_of(steps, s.Interrupt)),
        s.Usage: [_used(step, suite.cache_writes) for step in _of(steps, s.Usage)],
        s.Title: _texts(steps, s.Title)[-1:],
    }


def _used(step: s.Usage, cache_writes: bool) -> tuple[int, ...]:
    """The tokens of a response; where the format does not tell those apart that were written to a cache, they
    are among the others that were sent."""
    sent = (step.input, step.cache_write) if cache_writes else (step.input + step.cache_write,)
    return step.context, step.cache_read, step.output, *sent


def _how(step: s.Prompt | s.Interrupt) -> s.Typed:
    return step.how if isinstance(step, s.Prompt) else "refusal"


def _stripped(change: s.Change) -> tuple[str, ...]:
    return change.path, change.how, change.old.strip(), change.new.strip()


def _of(steps: list[s.Step], kind: type[S]) -> list[S]:
    return [step for step in steps if isinstance(step, kind)]


def _texts(steps: list[s.Step], kind: type) -> list[str]:
    return [step.text.strip() for step in steps if isinstance(step, kind)]  # type: ignore[union-attr]


def _calls(steps: list[s.Step], suite: ReaderSuite, ids: set[str]) -> list[Any]:
    """The calls in a comparable form, as far as the format expresses them."""
    return sorted(
        (call.id if suite.ids else "", call.act, call.command, call.paths[:1])
        for call in _of(steps, s.Call)
        if (call.id in ids if suite.ids else call.act in suite.acts)
    )


def _results(steps: list[s.Step], suite: ReaderSuite, ids: set[str]) -> list[Any]:
    """The results of calls in a comparable form; those of parallel calls may come in any order."""
    if not suite.ids:
        ids = {call.id for call in _of(steps, s.Call) if call.act in suite.acts}
    return sorted(
        (result.id if suite.ids else "", result.ok, result.exit or 0, result.text.strip())
        for result in _of(steps, s.Result)
        if result.id in ids
    )


def _plan(steps: list[s.Step]) -> list[tuple[str, str]]:
    plans = [plan for plan in _of(steps, s.Plan) if plan.whole]
    return [(item.text, item.state) for item in plans[-1].items] if plans else []
