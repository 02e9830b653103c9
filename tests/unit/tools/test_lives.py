"""The generator of lives, and the judge of what was told: a teller that tells all of it, one that forgets,
and one that tells what is gone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.support.lives import model as m
from tests.support.lives.generate import life
from tests.support.lives.judge import Tally, judged, normal, present_lines
from tests.support.lives.names import is_clear
from tests.support.lives.player import Player
from tests.support.lives.rules import LANGUAGES
from tests.support.lives.tasks import TASKS

from segue.agents import agent as agent_of
from segue.core.runs.steps import Plan, Prompt, Result, Say, Step

SEEDS = range(1_000, 1_030)
LABELS = {"task": "REQUEST", "rule": "RULES", "choice": "DECIDED", "item": "OPEN", "failing": "TREE: FAILING"}


@cache
def all_moments() -> list[m.Moment]:
    return [moment for seed in SEEDS for moment in m.moments(life(seed))]


def tally_of(teller: Callable[[m.Moment], str]) -> Tally:
    tally = Tally()
    for moment in all_moments():
        tally.add(judged(moment, teller(moment)))
    return tally


def tells_all(moment: m.Moment) -> str:
    """Whatever holds, with what is gone in the trail."""
    lines = ["[segue] Where the last run stopped."]
    for one in moment.holds:
        lines += [
            f'{LABELS.get(one.kind, "REQUEST")}: "{one.words[0]}"',
            *(f"  {more}" for more in one.words[1:]),
        ]
    lines += ["TRAIL (oldest first):", *(f'- said: "{one.statement.core}"' for one in moment.gone)]
    return "\n".join((*lines, "[/segue] more: segue show"))


def test_a_teller_that_tells_all_of_it_is_told_so() -> None:
    tally = tally_of(tells_all)
    assert (tally.share, tally.wrongs) == (1.0, 0)
    assert tally.moments > 150 and all(tally.held[kind] > 5 for kind in m.KINDS)


def test_a_teller_that_forgets_is_caught() -> None:
    assert tally_of(lambda moment: "[segue] Nothing is known.").share == 0.0
    halves = tally_of(lambda moment: tells_all(moment._replace(holds=moment.holds[::2])))
    assert 0.45 < halves.share < 0.6


@pytest.mark.parametrize("kind", m.KINDS)
def test_a_teller_that_forgets_one_kind_is_caught_at_that_kind(kind: m.Kind) -> None:
    def tells(moment: m.Moment) -> str:
        return tells_all(moment._replace(holds=tuple(one for one in moment.holds if one.kind != kind)))

    tally = tally_of(tells)
    assert tally.told[kind] == 0 < tally.held[kind]
    assert all(tally.told[other] == tally.held[other] for other in m.KINDS if other != kind)


def test_a_teller_that_cuts_what_was_said_is_caught() -> None:
    def tells(moment: m.Moment) -> str:
        return "\n".join(f'REQUEST: "{one.words[0][: len(one.words[0]) * 2 // 3]}…"' for one in moment.holds)

    assert tally_of(tells).share == 0.0


def test_a_teller_that_never_lets_go_is_caught() -> None:
    def tells(moment: m.Moment) -> str:
        return f"{tells_all(moment)}\n" + "\n".join(f"OPEN: {one.statement.core}" for one in moment.gone)

    tally = tally_of(tells)
    assert tally.share == 1.0
    assert tally.wrong == tally.gone and tally.wrongs > 250


def test_a_check_that_passed_is_no_longer_told_as_failing_in_the_tree() -> None:
    check = m.Statement(1, "failing", ("tests/test_a.py", "assert 1 == 2"), "assert 1 == 2")
    moment = m.Moment(1, "codex", "start", (), (m.Gone(check, ""),))
    assert judged(moment, 'TREE: FAILING: `pytest`: "assert 1 == 2"').wrong
    assert judged(moment, 'TREE: FAILING, not run since: `pytest`: "assert 1 == 2"').wrong
    assert judged(moment, 'TREE: Uncommitted now: a.py\n  FAILING: `pytest`: "assert 1 == 2"').wrong
    assert not judged(
        moment, 'TRAIL (oldest first):\n- $ pytest → FAILED: "assert 1 == 2"\n— here —\n- x'
    ).wrong


def test_words_are_found_whatever_their_quotation_marks_case_and_line_ends() -> None:
    said = "Don't touch  “legacy”,\n ever."
    assert normal(said) in normal('RULES: "dont\n  Touch "legacy", EVER" | another')
    assert normal("Never touch a/.") not in normal("Never touch ab/.")


CHOICE = m.Statement(
    1, "choice", ("How do we store it?", "as files"), "", answer="2", rivals=("in a table", "as JSON")
)
ASKED = "How do we store it? 1. in a table 2. as files 3. as JSON"


@pytest.mark.parametrize(
    ("told", "missing"),
    [
        ("DECIDED: as files (asked: How do we store it?)", False),
        (f'USER: "2"\n  IN REPLY TO: "{ASKED}"', False),
        (f"DECIDED: 2 (asked: {ASKED})", False),
        (f'USER: "go on"\n  IN REPLY TO: "{ASKED}"', True),
        ("DECIDED: as files", True),
    ],
)
def test_of_a_question_with_options_the_answer_is_told(told: str, missing: bool) -> None:
    assert bool(judged(m.Moment(1, "codex", "start", (CHOICE,), ()), told).missing) is missing


def test_lines_about_the_past_end_with_the_next_label() -> None:
    text = """[segue] x
USER (1 call before the end): "a"
  BEFORE: "b"
  b continued
  FIRST REQUEST: "c"
TRAIL (oldest first):
- d
— user: "d" —
- d
LAST WORDS (its turn was over): "e"
ANSWERED: f
RULES: g
  h
TREE: i
  i
[/segue] j"""
    kept = "\n".join(present_lines(text))
    assert re.findall(r"\b[a-j]\b", kept) == ["a", "c", "g", "h", "j"]


# A part of a message was taken back, and another one holds

RULE = "Never touch old_part/."
TASK = "Move the new_part to cents."
WHOLE = f"{TASK} {RULE} Use tabs."
TASK_SAID = m.Statement(1, "task", (TASK,), TASK, message=WHOLE)
RULE_GONE = m.Gone(m.Statement(2, "rule", (RULE,), RULE, message=WHOLE), "Forget the rule about old_part.")


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (f'REQUEST: "{TASK}"', False),
        (f'REQUEST: "{WHOLE}"', True),
        (f'REQUEST: "{TASK} {RULE}"', True),
        (f'REQUEST: "{WHOLE}"\nUSER (1 call before the end): "Forget the rule about old_part."', False),
        (f'REQUEST: "{TASK} {RULE}…"\nBEFORE: "Forget the rule about old_part."', False),
        (f'REQUEST: "{WHOLE}"\nUSER: "Forget the rule about old_part."\nRULES: {RULE}', True),
    ],
)
def test_what_was_taken_back_may_stand_in_its_message_beside_the_words_that_took_it_back(
    told: str, wrong: bool
) -> None:
    verdict = judged(m.Moment(1, "codex", "start", (TASK_SAID,), (RULE_GONE,)), told)
    assert verdict.missing == () and bool(verdict.wrong) is wrong


POINTS = "Please do these too:\n1. add one_part\n2. add two_part\n3. add six_part"
OPEN_POINTS = tuple(
    m.Statement(at, "point", (f"add {name}_part",), f"add {name}_part", message=POINTS)
    for at, name in ((1, "one"), (3, "six"))
)
DONE_POINT = m.Gone(m.Statement(2, "point", ("add two_part",), "add two_part", message=POINTS), "")


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ("OPEN: add one_part; add six_part", False),
        (f'REQUEST: "{POINTS}"', True),
        (f'REQUEST: "{POINTS}"\nOPEN: add one_part; add six_part', False),
        (f'REQUEST: "{POINTS}"\nOPEN: add one_part', True),
        (f'REQUEST: "{POINTS}"\nOPEN: add one_part; add two_part; add six_part', True),
        ("OPEN: add one_part; add two_part; add six_part", True),
    ],
)
def test_a_point_that_is_done_may_stand_in_its_message_beside_a_list_of_the_open_ones(
    told: str, wrong: bool
) -> None:
    verdict = judged(m.Moment(1, "codex", "start", OPEN_POINTS, (DONE_POINT,)), told)
    assert bool(verdict.wrong) is wrong


def test_a_message_whose_points_are_all_done_may_be_quoted_as_long_as_nobody_has_confirmed_it() -> None:
    gone = (DONE_POINT, *(m.Gone(one, "") for one in OPEN_POINTS))
    moment = m.Moment(1, "codex", "start", (), gone)
    assert not judged(moment, f'USER (4 calls before the end): "{POINTS}"\nOPEN: nothing').wrong
    assert len(judged(moment, "OPEN: add one_part; add two_part; add six_part").wrong) == 3


def test_what_the_summary_of_a_window_has_need_not_be_told_again() -> None:
    moment = m.Moment(1, "codex", "compaction 1", (TASK_SAID, *OPEN_POINTS), (), f"It is about: {TASK}")
    verdict = judged(moment, "OPEN: add one_part")
    assert verdict.wanted == OPEN_POINTS and verdict.missing == OPEN_POINTS[1:]
    gone = moment._replace(gone=(DONE_POINT,), summary="add two_part")
    assert judged(gone, "").wrong == ()


# Lives


def test_a_seed_gives_one_life_and_another_seed_another() -> None:
    assert life(7) == life(7) != life(8)


def test_there_is_enough_to_draw_from() -> None:
    assert len(TASKS) >= 30 and all(2 <= len(form.items) <= 5 for form in TASKS)
    assert len(LANGUAGES) == 8
    for forms in LANGUAGES.values():
        rules = [*forms.rules, *(rule for rule, _ in forms.corrected)]
        assert len(set(rules)) >= 8 and len(forms.withdrawals) >= 2
        assert any(rule[0].islower() or not rule[0].isascii() for rule in rules)
        assert all(len(rule.split()) <= 12 for rule in rules)


@pytest.mark.parametrize("seed", range(40))
def test_whoever_withdraws_something_names_it_or_uses_words_that_nothing_else_has(seed: int) -> None:
    *_, last = m.moments(life(seed))
    for statement, by in last.gone:
        names = re.findall(r"[a-z]+[_-][a-z]+", statement.core.lower())
        named = any(name.replace("-", "_") in by.lower().replace("-", "_") for name in names)
        assert not by or named or is_clear(statement.about, statement.core, ())


def test_lives_have_all_there_is() -> None:
    agents: Counter[tuple[str, bool]] = Counter()
    acts: Counter[str] = Counter()
    for seed in range(100):
        one = life(seed)
        assert m.EVERYTHING.runs_min <= len(one.runs) <= m.EVERYTHING.runs_max
        for run in one.runs:
            agents[run.agent, run.hooks] += 1
            acts.update(type(act).__name__ for act in run.acts)
            acts["queued"] += any(isinstance(act, m.UserSays) and act.how for act in run.acts)
            acts["unwritten"] += not run.writes
            acts["cleared"] += run.source == "clear"
            assert isinstance(run.acts[0], m.UserSays) and isinstance(run.acts[-1], m.Stops | m.Ends | m.Dies)
            assert run.hooks or run.writes, "of such a run nothing would be left"
            assert run.writes or [type(act) for act in run.acts] == [m.UserSays, m.Dies]
        assert one.runs[-1].hooks
    assert all(agents[name, True] and agents[name, False] for name in m.HOOKED)
    assert all(agents[name, False] and not agents[name, True] for name in m.UNHOOKED)
    kinds = {act.__name__ for act in m.Act.__subclasses__()}
    assert all(acts[name] > 10 for name in (*kinds, "queued", "unwritten", "cleared"))


@pytest.mark.parametrize("seed", range(40))
def test_nothing_that_is_gone_has_the_words_of_something_that_holds(seed: int) -> None:
    for moment in m.moments(life(seed)):
        held = [normal(words) for one in moment.holds for words in one.words]
        for gone in moment.gone:
            core = normal(gone.statement.core)
            assert not any(core in words for words in held)
            assert core not in normal(gone.by), "who takes it back does not say it again"


@pytest.mark.parametrize("seed", range(40))
def test_a_task_has_an_open_item_as_long_as_it_holds(seed: int) -> None:
    planned = False
    for moment in m.moments(life(seed)):
        kinds = {one.kind for one in moment.holds}
        planned = planned or "item" in kinds
        assert "task" in kinds
        assert "item" in kinds or not planned or any(one.statement.kind == "task" for one in moment.gone)


@pytest.mark.parametrize("seed", range(12))
def test_transcripts_have_what_users_and_agents_say_in_a_life(tmp_path: Path, seed: int) -> None:
    """Whatever holds can be known from what is on disk."""
    with Player(tmp_path, seed=seed) as player:
        for run in life(seed).runs:
            player.play(run._replace(hooks=False))
            if run.writes:
                assert_says(read_back(player), run)


def read_back(player: Player) -> list[Step]:
    actor = player.actors[-1]
    agent = agent_of(actor.agent)
    assert actor.path is not None
    reader = agent.reader()
    if agent.form == "lines":
        return [step for line in actor.path.read_bytes().splitlines() for step in reader.read(line)]
    return [*reader.read(agent.load(actor.path, actor.native))]


def assert_says(steps: list[Step], run: m.LifeRun) -> None:
    said = [act.text for act in run.acts if isinstance(act, m.UserSays)]
    assert [step.text for step in steps if isinstance(step, Prompt)] == said
    words = {normal(step.text) for step in steps if isinstance(step, Say)}
    answers = {normal(step.text) for step in steps if isinstance(step, Result)}
    for act in run.acts:
        if isinstance(act, m.AgentSays):
            assert normal(act.text) in words
        elif isinstance(act, m.Stops):
            assert normal(act.words) in words
        elif isinstance(act, m.Asks):
            assert normal(act.answer) in answers
        elif isinstance(act, m.Reports):
            assert normal(act.text) in answers
    lists = [act.items for act in run.acts if isinstance(act, m.Lists)]
    assert not lists or listed(steps) == dict(lists[-1])


def listed(steps: list[Step]) -> dict[str, str]:
    """The states of the items of the last list."""
    states: dict[str, str] = {}
    texts: dict[str, str] = {}
    for step in steps:
        if isinstance(step, Plan):
            states = {} if step.whole else states
            texts |= {item.key: item.text for item in step.items if item.key and item.text}
            states |= {item.text or texts[item.key]: item.state for item in step.items}
    return {text: state for text, state in states.items() if state != "dropped"}
