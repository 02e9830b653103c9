"""What compactions lose: nothing is told before it happened, each arm has its own summary, the points are
right."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from bench.blind import cuts, score
from bench.blind.cuts import Plan
from bench.blind.round import Key
from bench.compactions import cases, points, rounds, standing
from bench.compactions.__main__ import main
from bench.compactions.conversations import (
    Conversation,
    Limits,
    Passage,
    conversations,
    in_stretches,
    opened,
    passages,
    stretch_ends,
)
from bench.compactions.hooks import HookFailed, PlayedRun
from bench.compactions.places import repository_of
from bench.compactions.retold import Compacted, retold
from bench.compactions.rounds import ARMS, Chains, RoundIncomplete
from bench.compactions.stretch import rendered, shortened

from segue.core.runs import steps as s
from segue.services.brief.runs_summary import summary_of_transcript
from segue.testing.transcripts import written

BEGAN = 1_794_700_000.0
TURNS, CALLS = 18, 5
RULE = "Never touch the ledger_export table"
MARK = re.compile(r"(?:ask|say|run|got|sum)-(\d\d)-mark")


def told_steps(compacted: dict[int, str] | None = None, native: str = "run-1") -> list[s.Step]:
    """A conversation in which every text has the number of its turn; the rule is said in the second turn."""
    steps: list[s.Step] = [s.Start(BEGAN, "start", native, "/src/shop", "main")]
    for turn in range(TURNS):
        at = BEGAN + 100 * turn
        if compacted and turn in compacted:
            steps.append(s.Compact(at, compacted[turn], "auto", 150_000))
        rule = f" {RULE}." if turn == 1 else ""
        steps.append(s.Prompt(at + 1, f"How does ask-{turn:02}-mark work in the shop?{rule}"))
        for call in range(CALLS):
            id, command = f"c{turn}-{call}", f"make run-{turn:02}-mark part{call}"
            steps += [
                s.Call(at + 2 + call, id, "Bash", "run", command, command),
                s.Result(at + 2 + call, id, True, 0, f"ok got-{turn:02}-mark"),
            ]
        steps += [s.Say(at + 90, f"It works so: say-{turn:02}-mark."), s.End(at + 91)]
    return steps


def placed(
    folder: Path, name: str, *, compacted: dict[int, str] | None = None, agent: str = "claude-code"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_bytes(written(agent, told_steps(compacted, name), native=name))
    return path


def marks(text: str) -> set[int]:
    return {int(number) for number in MARK.findall(text)}


# -- compactions that happened


LACKING = "The shop was explained up to ask-08-mark, and sum-09-mark comes next."
ASKED = "How does ask-00-mark work in the shop?"
KNOWING = f"The user asked: {ASKED} The user said: {RULE}. Next comes sum-09-mark."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Three transcripts that were compacted: one summary lacks the rule, two say it."""
    folder = tmp_path / "corpus"
    placed(folder / "ann__shop", "run-a", compacted={9: LACKING})
    placed(folder / "ann__shop", "run-b", compacted={9: KNOWING})
    placed(folder / "bob__till", "run-c", compacted={9: f"{KNOWING} It is codex."}, agent="codex")
    return folder


def case_names(out: Path) -> dict[str, str]:
    """The case of each transcript."""
    return {Path(one.transcript).stem: one.case for one in Key.read(out).cases}


def test_what_the_hook_says_stands_after_the_summary_and_knows_nothing_that_came_later(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["cases", str(corpus), "--out", str(tmp_path / "out")])
    case = case_names(tmp_path / "out")["run-a"]
    texts = tmp_path / "out" / "texts"
    summary = (texts / "summary" / f"{case}.txt").read_text()
    added = (texts / "added" / f"{case}.txt").read_text()
    assert summary.endswith(LACKING) and RULE not in summary
    assert added.startswith(f"{summary}\n\n[segue] ")
    told = added.removeprefix(summary)
    assert RULE in told and told.endswith("(after compaction 1 of this run)")
    assert marks(told) <= set(range(9))
    printed = capsys.readouterr().out
    assert f"something is added in 1 of 3, median {len(told.strip())} of these" in printed
    assert "3 cases, median 0 bytes added over all" in printed


def test_equal_texts_are_marked_read_once_and_count_for_both(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    main(["cases", str(corpus), "--out", str(out)])
    names, key = case_names(out), Key.read(out)
    same = {one.case: one.same for one in key.cases}
    equal = {"summary": "added"}
    assert same == {names["run-a"]: {}, names["run-b"]: equal, names["run-c"]: equal}
    assert len(list((out / "readers").glob("*/*.txt"))) == 4
    rows = [
        f"| {one.case} | {letter} | {2 if name == 'added' else 1} | 1 | 1 | 0 | |"
        for one in key.cases
        for letter, name in one.letters.items()
    ]
    (out / "judge" / "verdict.md").write_text("\n".join(rows))
    goals = {(row.case, row.contender): row.goal for row in score.judged(out)}
    assert goals[names["run-a"], "summary"] == 1 and goals[names["run-a"], "added"] == 2
    assert goals[names["run-b"], "summary"] == goals[names["run-b"], "added"] == 2
    assert len(goals) == 6


def test_a_case_has_been_compacted_before_and_the_hooks_were_played_there_too(tmp_path: Path) -> None:
    placed(tmp_path / "corpus", "run-a", compacted={5: "Nothing is known.", 16: LACKING})
    plan = Plan(cases=1, compactions=1, calls_min=20)
    [case] = cuts.cases(list(cases.able([tmp_path / "corpus"], plan)), plan)
    case.record = max(event.record for event in case.transcript.events if event.kind == "compacted")
    assert "(after compaction 2 of this run)" in cases.told_at(case)


def test_a_copied_conversation_is_no_second_case(corpus: Path, tmp_path: Path) -> None:
    placed(corpus / "eve__copy", "run-z", compacted={9: LACKING})
    main(["cases", str(corpus), "--out", str(tmp_path / "out")])
    assert len(case_names(tmp_path / "out").keys() & {"run-a", "run-z"}) == 1


def test_a_repository_gives_four_cases_or_as_many_more_as_it_takes() -> None:
    assert cases.most_of_repository(Counter({"a": 30, "b": 9, "c": 9, "d": 9, "e": 9, "f": 4}), 24) == 4
    assert cases.most_of_repository(Counter({"a": 30, "b": 9}), 24) == 15
    assert cases.most_of_repository(Counter({"a": 2}), 24) == 4
    assert repository_of(Path("/corpus/x/ann__shop/__tests__/r.jsonl"), "x/ann__shop/__tests__/r.jsonl") == (
        "ann__shop"
    )
    assert repository_of(Path("/corpus/ann--r.jsonl"), "ann--r.jsonl") == "ann"


def test_a_hook_that_fails_is_an_error_and_not_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        raise OSError("no room")

    monkeypatch.setattr("segue.services.hooks.handler.brief_for_hook", broken)
    run = PlayedRun(tmp_path, "claude-code", "run-1")
    with pytest.raises(HookFailed, match="no room"):
        run.after(written("claude-code", told_steps({9: LACKING})))


# -- conversations in stretches


def conversation(folder: Path, compacted: dict[int, str] | None = None) -> Conversation:
    placed(folder / "ann__shop", "run-a", compacted=compacted)
    [found] = conversations([folder], Limits())
    return found


def test_six_stretches_are_about_equal_and_no_call_waits_at_their_ends(tmp_path: Path) -> None:
    one = conversation(tmp_path)
    told = passages(opened(Path(one.path)))
    stretches = in_stretches(told, one.ends)
    assert len(stretches) == 6 and [p for stretch in stretches for p in stretch] == told
    sizes = [len(stretch) for stretch in stretches]
    assert max(sizes) - min(sizes) <= 4
    for stretch in stretches:
        calls = Counter(p.role for p in stretch)
        assert calls["call"] == calls["result"] and stretch[0].role in ("user", "call", "said")


def test_conversations_that_were_compacted_come_first_then_the_longest_two_a_repository(
    tmp_path: Path,
) -> None:
    for name in ("a", "b", "c"):
        path = placed(tmp_path / "ann__shop", f"run-{name}")
        path.write_text(path.read_text().replace("ask-00-mark", f"ask-{name}"))
    path = placed(tmp_path / "bob__till", "run-d", compacted={9: LACKING})
    path.write_text(path.read_text().replace("ask-00-mark", "ask-d"))
    found = conversations([tmp_path], Limits())
    assert [Path(one.name).parent.name for one in found] == ["bob__till", "ann__shop", "ann__shop"]
    assert [one.compactions for one in found] == [1, 0, 0] and found[0].native == "run-d"
    assert not conversations([tmp_path], Limits(messages_min=40))


def test_what_the_user_said_is_in_a_stretch_however_short_it_must_be() -> None:
    told = [Passage(0, "user", "first words"), Passage(1, "choice", "the answer")]
    for number in range(200):
        told += [
            Passage(3 * number + 2, "call", "c" * 400, "Bash"),
            Passage(3 * number + 3, "result", "r" * 900),
        ]
    told.append(Passage(900, "user", "u" * 2_900))
    whole = rendered(told, 1_000_000)
    assert "r" * 300 in whole and "[… 400 characters …]" in whole and "not shown" not in whole
    short = rendered(told, 20_000)
    assert len(short) <= 20_500 and "USER: first words" in short and "u" * 2_900 in short
    assert "THE USER'S ANSWER: the answer" in short and "steps are not shown" in short
    longer = rendered(told, 120_000)
    results = [len(re.findall("r{300}", part)) for part in (longer[:40_000], longer[40_000:80_000])]
    assert len(longer) <= 120_000 and results[0] > results[1], "its beginning is shown before its middle"
    assert shortened("abcdefghij", 6) == "abcd [… 4 characters …] ij"


def test_stretches_end_only_where_a_window_could_be_full() -> None:
    told = [Passage(number, "call", "make", "Bash") for number in range(12)]
    assert stretch_ends(told, 12) == []


# -- the transcript that would have been written


def test_only_the_made_up_compactions_are_in_the_transcript_each_in_its_place(tmp_path: Path) -> None:
    one = conversation(tmp_path, {9: "What the agent really wrote: sum-09-mark."})
    transcript = opened(Path(one.path))
    made = [Compacted(one.ends[0], "The first summary."), Compacted(one.ends[1], "The second.")]
    before = retold(transcript, one.ends[1], made[:1])
    after = retold(transcript, one.ends[1], made)
    assert after.startswith(before), "agents only append"
    assert b"sum-09-mark" not in retold(transcript, one.ends[5], made)
    path = tmp_path / "retold.jsonl"
    path.write_bytes(after)
    events = [event for event in opened(path).events if event.kind == "compacted"]
    assert [event.text.rpartition("\n")[2] for event in events] == ["The first summary.", "The second."]
    runs = summary_of_transcript(path)
    assert runs.digests[0].compactions == 2 and runs.digests[0].summary is not None
    assert runs.digests[0].summary.text == "The second."


def test_a_record_follows_the_summary_that_stands_before_it_now(tmp_path: Path) -> None:
    one = conversation(tmp_path, {9: "What the agent really wrote."})
    text = retold(opened(Path(one.path)), one.ends[5], [Compacted(one.ends[2], "Ours.")]).decode()
    records = [json.loads(line) for line in text.splitlines()]
    ids = {record["uuid"] for record in records if "uuid" in record}
    assert not [r for r in records if r.get("parentUuid") and r["parentUuid"] not in ids]
    place = next(at for at, record in enumerate(records) if record.get("isCompactSummary"))
    assert next(r for r in records[place + 1 :] if "uuid" in r)["parentUuid"] == records[place]["uuid"]


# -- six compactions in a row


def begun(tmp_path: Path) -> tuple[Path, Conversation]:
    placed(tmp_path / "corpus" / "ann__shop", "run-a", compacted={9: "Really sum-09-mark."})
    out = tmp_path / "out"
    main(["chains", str(tmp_path / "corpus"), "--out", str(out)])
    return out, Chains.read(out).conversations[0]


def summarise(out: Path, round: int, alone: str, segue: str) -> None:
    for arm, text in zip(ARMS, (alone, segue), strict=True):
        (out / "rounds" / str(round) / arm / "01.summary.md").write_text(text)


def given(out: Path, round: int, arm: str) -> str:
    return (out / "rounds" / str(round) / arm / "01.md").read_text()


def turns(one: Conversation, stretches: int) -> set[int]:
    """The turns of the first stretches."""
    told = in_stretches(passages(opened(Path(one.path))), one.ends)[:stretches]
    return {number for stretch in told for p in stretch for number in marks(p.text)}


def test_nothing_of_a_later_stretch_is_in_what_a_round_is_given_or_told(tmp_path: Path) -> None:
    out, one = begun(tmp_path)
    for round in (1, 2):
        for arm in ARMS:
            assert marks(given(out, round, arm)) <= turns(one, round), (round, arm)
        summarise(out, round, "Nothing is known.", "Nothing is known.")
        main(["next", "--out", str(out)])
        told = (out / "rounds" / str(round) / "segue" / "01.told.md").read_text()
        assert RULE in told and marks(told) <= turns(one, round)
        assert f"(after compaction {round} of this run)" in told
    said = rounds.said_after(one, ["Nothing is known."] * 5)
    assert marks(said.told) <= turns(one, 5) and RULE in said.words
    assert "sum-09-mark" not in f"{said} {given(out, 3, 'segue')}", "what the agent really wrote is not there"
    assert turns(one, 1) < turns(one, 2) < turns(one, 5) < set(range(TURNS))


def test_both_arms_read_the_same_and_only_one_has_what_segue_says(tmp_path: Path) -> None:
    out, _ = begun(tmp_path)
    alone, segue = given(out, 1, "alone"), given(out, 1, "segue")
    assert "egue" not in alone and segue.startswith(alone.rstrip())
    assert "## Additional instructions" in segue and RULE in segue.partition("## Additional")[2]
    summarise(out, 1, "Only alone knows.", "Only segue knows.")
    main(["next", "--out", str(out)])
    alone, segue = given(out, 2, "alone"), given(out, 2, "segue")
    assert "Only alone knows.\n\n## What happened since" in alone and "egue" not in alone
    assert "Only segue knows.\n\n[segue] What the summary of this run lacks" in segue
    assert "Only alone knows" not in segue


def test_segue_compares_with_the_summary_of_its_own_arm(tmp_path: Path) -> None:
    out, one = begun(tmp_path)
    chains = Chains.read(out)
    summarise(out, 1, "Nothing is known.", f"The user said: {RULE}.")
    assert f"RULES: {RULE}" not in rounds.said_after(one, chains.summaries("segue", one, 1)).told
    summarise(out, 1, f"The user said: {RULE}.", "Nothing is known.")
    assert f"RULES: {RULE}" in rounds.said_after(one, chains.summaries("segue", one, 1)).told


def test_the_next_round_waits_for_every_summary_and_refuses_one_that_is_too_long(
    tmp_path: Path,
) -> None:
    out, _ = begun(tmp_path)
    with pytest.raises(SystemExit, match=r"alone.01\.summary\.md is not there"):
        main(["next", "--out", str(out)])
    summarise(out, 1, "Short.", "x" * 7_501)
    with pytest.raises(SystemExit, match="7501 characters, more than 7500"):
        main(["next", "--out", str(out)])
    assert not (out / "rounds" / "2").exists()
    with pytest.raises(SystemExit, match="holds chains already"):
        main(["chains", str(tmp_path / "corpus"), "--out", str(out)])


# -- what was kept


LIST = f"""
1. rule: The table is not touched. "{RULE}" (stretch 1)
2. request: Build ask-13-mark. "Please build" (stretch 4)
3. **choice**: Nothing more. "no" (stretch 4)
"""


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A benchmark after its sixth round, with the list of what stands."""
    out, _ = begun(tmp_path)
    for round in range(1, 7):
        for arm in ARMS:
            (out / "rounds" / str(round) / arm).mkdir(parents=True, exist_ok=True)
        summarise(out, round, "Alone knows little.", "Segue's arm knows little.")
    main(["truth", "--out", str(out)])
    (out / "truth" / "01.list.md").write_text(LIST)
    return out


def last_told(out: Path) -> None:
    (out / "rounds" / "6" / "segue" / "01.told.md").write_text(f"[segue] RULES: {RULE}.\n")


def test_the_truth_is_what_the_user_said_and_how_turns_ended(finished: Path) -> None:
    first, _, last = (finished / "truth" / "01.md").read_text().partition(standing.LAST)
    one = Chains.read(finished).conversations[0]
    before = turns(one, 5)
    assert {int(n) for n in re.findall(r"ask-(\d\d)-mark", first)} <= before and RULE in first
    assert {int(n) for n in re.findall(r"ask-(\d\d)-mark", first + last)} == set(range(TURNS))
    assert "say-03-mark" in first and "run-" not in first + last and "got-" not in first + last


def test_the_judge_sees_letters_and_the_key_knows_the_arms(finished: Path) -> None:
    with pytest.raises(SystemExit, match="the step `next` comes first"):
        main(["final", "--out", str(finished)])
    last_told(finished)
    main(["final", "--out", str(finished)])
    [arms] = standing.letters(finished).values()
    texts = {arm: (finished / "final" / f"01-{letter}.md").read_text() for letter, arm in arms.items()}
    assert texts["alone"] == "Alone knows little.\n"
    assert texts["segue"] == f"Segue's arm knows little.\n\n[segue] RULES: {RULE}.\n"
    assert (finished / "final" / "verdict.md").read_text().count("| 01 |") == 6
    assert not [path for path in (finished / "final").rglob("*") if re.search("alone|key", path.name)]


def verdict(out: Path, words: dict[str, str], name: str = "verdict.md") -> None:
    """The judge's table: the letters of what became of the items in each arm (k, h, l)."""
    word = {"k": "kept", "h": "half", "l": "**lost**"}
    [arms] = standing.letters(out).values()
    rows = [
        f"| 01 | {letter} | {item} | {word[what]} |"
        for letter, arm in arms.items()
        for item, what in enumerate(words[arm], 1)
    ]
    (out / "final" / name).write_text("| case | letter | item | |\n|---|---|---|---|\n" + "\n".join(rows))


def test_kept_counts_one_and_half_a_half_by_arm_and_by_kind(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last_told(finished)
    main(["final", "--out", str(finished)])
    verdict(finished, {"alone": "lhk", "segue": "khk"})
    capsys.readouterr()
    main(["chains-score", "--out", str(finished)])
    printed = re.sub(" +", " ", capsys.readouterr().out)
    assert (
        "| alone | 3 | 1 | 1 | 1 | 0.500 | 19 |" in printed and "| segue | 3 | 2 | 1 | 0 | 0.833 |" in printed
    )
    assert "| rule | 1 | 0.000 | 1.000 |" in printed and "| request | 1 | 0.500 | 0.500 |" in printed
    assert "| +0.333 (+0.333 to +0.333) | 1 | 2 | 0 |" in printed
    verdict(finished, {"alone": "llk", "segue": "klk"}, "verdict-2.md")
    assert points.share([row for row in points.judged(finished) if row.arm == "alone"]) == 1.25 / 3


def test_a_list_or_a_verdict_that_lacks_something_is_an_error(finished: Path) -> None:
    last_told(finished)
    main(["final", "--out", str(finished)])
    with pytest.raises(RoundIncomplete, match="says neither"):
        points.judged(finished)
    verdict(finished, {"alone": "kk", "segue": "kkk"})
    with pytest.raises(RoundIncomplete, match="no verdict on case 01"):
        points.judged(finished)
    verdict(finished, {"alone": "kkkk", "segue": "kkk"})
    with pytest.raises(RoundIncomplete, match="not listed"):
        points.judged(finished)
    (finished / "truth" / "01.list.md").write_text("1. rule: this\n2. wish: that\n")
    with pytest.raises(SystemExit, match="one of: rule, request"):
        main(["final", "--out", str(finished)])
