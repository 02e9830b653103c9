"""Blind reading: a cut is what it says, no reader is told what came after, and points are counted right."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest
from bench.blind import score
from bench.blind.__main__ import main
from bench.blind.contenders import Contender, tail, texts
from bench.blind.cuts import Case, Plan, candidates, cases
from bench.blind.formats import read
from bench.blind.formats.gemini_cli import GeminiDocument
from bench.blind.formats.opencode import OpenCode
from bench.blind.round import AnswersMissing, Key, write_judgement, write_round
from bench.blind.transcript import Transcript
from bench.blind.truth import NEXT, truth
from tests.support.told_runs import ToldRun

from segue.core.runs import steps as s
from segue.testing.transcripts import MAKERS, placed, written

AGENTS = sorted(MAKERS)
NAMES = {
    "claude-code": "0a.jsonl", "codex": "rollout-0a.jsonl", "opencode": "ses_0a.json",
    "gemini-cli": "session-0a.jsonl", "copilot-cli": "events.jsonl",
}  # fmt: skip
BEGAN = 1_794_700_000.0
CALLS, COMPACTED_AT = 60, 35
MARK = re.compile(r"(?:ask|say|run|got|sum)-(\d\d)-mark")
SHOW = f"{shlex.quote(sys.executable)} -c 'import pathlib, sys; print(pathlib.Path(sys.argv[1]).read_text())'"


def marked(compacted_at: int = 0) -> list[s.Step]:
    """A run in which every text has the number of the call that it belongs to."""
    told: list[s.Step] = [s.Start(BEGAN, "start", "run-1", "/src/shop", "main")]
    for number in range(CALLS):
        at = BEGAN + 10 * number
        if number % 12 == 0:
            told.append(s.Prompt(at + 1, f"Please ask-{number:02}-mark the shop."))
        if compacted_at and number == compacted_at:
            told.append(s.Compact(at + 2, f"So far sum-{number:02}-mark was done.", "auto", 150_000))
        command = f"make run-{number:02}-mark"
        told += [
            s.Say(at + 3, f"Now I say-{number:02}-mark this."),
            s.Call(at + 4, f"call_{number:02}", "shell", "run", command, command),
            s.Result(at + 5, f"call_{number:02}", True, 0, f"ok got-{number:02}-mark"),
        ]
    return told


def made(agent: str, folder: Path, *, compacted_at: int = 0) -> Path:
    """A marked transcript where this agent's format is recognised."""
    told = marked(compacted_at)
    if agent in NAMES:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / NAMES[agent]
        path.write_bytes(written(agent, told))
        return path
    return placed(agent, told, home=folder)


def transcript_of(agent: str, folder: Path, *, compacted_at: int = 0) -> Transcript:
    transcript = read(made(agent, folder, compacted_at=compacted_at))
    assert transcript is not None and transcript.agent == agent
    return transcript


def numbers(text: str) -> set[int]:
    return {int(number) for number in MARK.findall(text)}


def all_text(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def case_of(agent: str, folder: Path, *, compacted: bool = False) -> Case:
    made(agent, folder, compacted_at=COMPACTED_AT if compacted else 0)
    plan = Plan(seed=3, cases=1, compactions=int(compacted))
    return cases(list(candidates([folder], plan)), plan)[0]


# -- transcripts


@pytest.mark.parametrize("agent", AGENTS)
def test_the_events_of_a_transcript_are_what_happened(agent: str, tmp_path: Path) -> None:
    events = transcript_of(agent, tmp_path).events
    told = [(event.kind, *MARK.findall(event.text)) for event in events if MARK.search(event.text)]
    expected = [
        (kind, f"{number:02}")
        for number in range(CALLS)
        for kind in (["user"] if number % 12 == 0 else []) + ["said", "call", "result"]
    ]
    assert told == expected
    assert not [event for event in events if not MARK.search(event.text)]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_cut_keeps_all_that_came_before_and_nothing_after(agent: str, tmp_path: Path) -> None:
    transcript = transcript_of(agent, tmp_path / "corpus")
    calls = [event for event in transcript.events if event.kind == "call"]
    for number in (0, 1, 23, 24, CALLS - 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = transcript.write_until(calls[number].record, folder)
        text = all_text(folder)
        assert f"run-{number:02}-mark" not in text and f"got-{number:02}-mark" not in text
        assert numbers(text) <= set(range(number + 1))  # what the agent said before the call is there
        assert all(f"got-{before:02}-mark" in text for before in range(number))
        again = read(path)
        if number:
            assert again is not None and again.agent == agent
            past = [event for event in transcript.events if event.record < calls[number].record]
            assert [(e.kind, e.text) for e in again.events] == [(e.kind, e.text) for e in past]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_cut_at_a_compaction_is_before_everything_that_tells_of_it(agent: str, tmp_path: Path) -> None:
    case = case_of(agent, tmp_path, compacted=True)
    folder = tmp_path / "prefix"
    folder.mkdir()
    case.transcript.write_until(case.record, folder)
    assert case.kind == "compaction" and f"sum-{COMPACTED_AT}-mark" in case.summary
    assert numbers(all_text(folder)) == set(range(COMPACTED_AT))
    assert "ompact" not in all_text(folder).replace("auto-compact", "")
    assert f"run-{COMPACTED_AT}-mark" in next(event.text for event in case.future if event.kind == "call")


@pytest.mark.parametrize("agent", ["claude-code", "copilot-cli", "gemini-cli"])
def test_what_is_typed_while_the_agent_works_is_the_users_and_is_told_once(
    agent: str, tmp_path: Path
) -> None:
    call = s.Call(BEGAN + 2, "call_1", "shell", "run", "make", "make")
    told: list[s.Step] = [
        s.Start(BEGAN, "start", "run-1", "/src/shop", "main"), s.Prompt(BEGAN + 1, "Build it."), call,
        s.Prompt(BEGAN + 3, "And hurry.", "queued"), s.Result(BEGAN + 4, "call_1", True, 0, "built"),
    ]  # fmt: skip
    path = tmp_path / NAMES[agent]
    path.write_bytes(written(agent, told))
    transcript = read(path)
    assert transcript is not None
    assert [event.text for event in transcript.events if event.kind == "user"] == ["Build it.", "And hurry."]


@pytest.mark.parametrize("agent", ["claude-code", "cline", "roo"])
def test_words_with_which_a_call_was_refused_are_the_users(agent: str, tmp_path: Path) -> None:
    call = s.Call(BEGAN + 2, "call_1", "shell", "run", "make", "make")
    told: list[s.Step] = [
        s.Start(BEGAN, "start", "run-1", "/src/shop", "main"), s.Prompt(BEGAN + 1, "Build it."), call,
        s.Interrupt(BEGAN + 3, "Not like that.", "call_1"), s.Prompt(BEGAN + 3, "Not like that.", "refusal"),
        s.Result(BEGAN + 4, "call_1", False, None, "refused"), s.Say(BEGAN + 5, "Then not."),
    ]  # fmt: skip
    if agent in NAMES:
        path = tmp_path / NAMES[agent]
        path.write_bytes(written(agent, told))
    else:
        path = placed(agent, told, home=tmp_path)
    transcript = read(path)
    assert transcript is not None
    assert [event.text for event in transcript.events if event.kind == "user"] == [
        "Build it.",
        "Not like that.",
    ]


def test_a_document_of_gemini_is_cut_before_the_calls_of_a_message(tmp_path: Path) -> None:
    call = {"id": "1", "name": "read_file", "args": {"path": "late"}, "status": "success", "result": []}
    messages = [
        {"id": "a", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "Begin."},
        {"id": "b", "timestamp": "2026-01-01T00:00:09Z", "type": "gemini", "content": "I look.",
         "toolCalls": [call], "tokens": {"input": 1}},
    ]  # fmt: skip
    head = {"sessionId": "x", "projectHash": "y", "summary": "the end", "lastUpdated": "2026-02-02"}
    path = tmp_path / "session-1.json"
    path.write_text(json.dumps({**head, "messages": messages}))
    document = GeminiDocument(path)
    assert [(event.kind, event.record) for event in document.events[:3]] == [
        ("user", 0), ("said", 2), ("call", 3),
    ]  # fmt: skip
    folder = tmp_path / "cut"
    folder.mkdir()
    text = document.write_until(3, folder).read_text()
    assert "I look." in text
    assert not [word for word in ("late", "the end", "2026-02-02", "tokens") if word in text]
    assert json.loads(document.write_until(2, folder).read_text())["messages"] == messages[:1]


def test_what_opencode_wrote_over_later_is_taken_back_at_a_cut(tmp_path: Path) -> None:
    def tool(start: int, end: int, text: str) -> dict[str, object]:
        state = {"status": "completed", "input": {"command": text}, "output": f"got {text}",
                 "time": {"start": start, "end": end}}  # fmt: skip
        return {"type": "tool", "tool": "bash", "callID": text, "state": state}

    document = {
        "info": {"id": "ses_1", "summary": {"diffs": ["in the end"]}, "time": {"created": 1}},
        "messages": [
            {"info": {"role": "user", "summary": {"diffs": ["in the end"]}},
             "parts": [{"type": "text", "text": "Begin."}]},
            {"info": {"role": "assistant", "finish": "in the end", "time": {"created": 2, "completed": 9}},
             "parts": [tool(3, 4, "early"), tool(5, 8, "slow"), tool(6, 7, "late")]},
        ],
    }  # fmt: skip
    path = tmp_path / "ses_1.json"
    path.write_text(json.dumps(document))
    transcript = OpenCode(path)
    late = [event for event in transcript.events if event.kind == "call"][-1]
    folder = tmp_path / "cut"
    folder.mkdir()
    text = transcript.write_until(late.record, folder).read_text()
    assert "got early" in text and "slow" in text and '"running"' in text
    assert "got slow" not in text and "late" not in text and "in the end" not in text
    told = [(event.kind, event.text) for event in transcript.events if event.record < late.record]
    assert ("result", "got early") in told and ("result", "got slow") not in told


def test_a_history_that_was_copied_is_not_cut_inside(tmp_path: Path) -> None:
    path = made("codex", tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    calls = [number for number, line in enumerate(lines) if '"function_call"' in line]
    same = [re.sub(r'"timestamp": "[^"]+"', '"timestamp": "2026-01-01T00:00:00Z"', line) for line in lines]
    path.write_text("".join(same[: calls[40]] + lines[calls[40] :]))
    (found,) = candidates([tmp_path], Plan())
    assert found.records["cut"] and min(found.records["cut"]) >= calls[40]


# -- cases


def test_no_cut_is_between_the_calls_of_one_response(tmp_path: Path) -> None:
    told: list[s.Step] = [s.Start(BEGAN, "start", "run-1", "/src/shop", "main"), s.Prompt(BEGAN, "Go.")]
    for number in range(CALLS):
        at, ids = BEGAN + 10 * number, (f"a{number}", f"b{number}")
        told += [s.Call(at, id, "shell", "run", f"make {id}", f"make {id}") for id in ids]
        told += [s.Result(at + 1, id, True, 0, "ok") for id in ids]
    path = tmp_path / NAMES["claude-code"]
    path.write_bytes(written("claude-code", told))
    (found,) = candidates([tmp_path], Plan())
    transcript = read(path)
    assert transcript is not None
    cut = [event for event in transcript.events if event.record in found.records["cut"]]
    assert cut and all("make a" in event.text for event in cut if event.kind == "call")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two transcripts of every agent but Roo, from two sources; one of each pair was compacted."""
    folder = tmp_path / "corpus"
    for number in range(2):
        for agent in sorted(NAMES):
            told = written(agent, marked(COMPACTED_AT * number), native=f"run-{number}")
            name = f"source{number}--{agent}-{number}{Path(NAMES[agent]).suffix}"
            (folder / agent).mkdir(parents=True, exist_ok=True)
            (folder / agent / name).write_bytes(told)
    placed("cline", marked(), home=folder)
    return folder


def chosen(corpus: Path, plan: Plan) -> list[tuple[str, str, int]]:
    return [(one.name, one.kind, one.record) for one in cases(list(candidates([corpus], plan)), plan)]


def test_the_same_seed_gives_the_same_cases_and_another_gives_others(corpus: Path) -> None:
    plan = Plan(seed=5, cases=8, compactions=2)
    assert chosen(corpus, plan) == chosen(corpus, plan)
    assert chosen(corpus, plan) != chosen(corpus, Plan(seed=6, cases=8, compactions=2))


def test_where_a_transcript_is_cut_does_not_depend_on_the_others(corpus: Path) -> None:
    plan = Plan(seed=5, cases=11, compactions=0)
    before = {name: record for name, _, record in chosen(corpus, plan)}
    (corpus / "codex" / "source0--codex-0.jsonl").unlink()
    after = {name: record for name, _, record in chosen(corpus, plan)}
    assert len(before) == 11 and len(after) == 10
    assert all(before[name] == record for name, record in after.items())


def test_formats_take_turns_up_to_their_limits_and_no_transcript_gives_two_cases(corpus: Path) -> None:
    plan = Plan(cases=8, compactions=3, most={"codex": 1, "opencode": 0})
    picked = chosen(corpus, plan)
    agents = Counter(name.partition("/")[0] for name, _, _ in picked)
    assert Counter(kind for _, kind, _ in picked) == {"compaction": 3, "cut": 5}
    assert len({name for name, _, _ in picked}) == 8
    assert agents["codex"] == 1 and not agents["opencode"] and agents[".cline"] == 1


def test_a_source_gives_a_second_case_only_after_the_others_gave_one(tmp_path: Path) -> None:
    for source in ("a--0", "a--1", "a--2", "b--0", "c--0"):
        (tmp_path / f"{source}.jsonl").write_bytes(written("codex", marked()))
    for seed in range(5):
        picked = chosen(tmp_path, Plan(seed=seed, cases=3, compactions=0))
        assert {name[0] for name, _, _ in picked} == set("abc")


def test_a_round_uses_no_transcript_of_another(corpus: Path) -> None:
    first = chosen(corpus, Plan(cases=6))
    without = frozenset(name for name, _, _ in first)
    second = chosen(corpus, Plan(cases=6, without=without))
    assert len(second) == 5 and not without & {name for name, _, _ in second}


def test_a_cut_leaves_a_past_and_twelve_calls(corpus: Path) -> None:
    plan = Plan(cases=11, compactions=0)
    for case in cases(list(candidates([corpus], plan)), plan):
        calls = [event for event in case.past if event.kind == "call"]
        assert len(calls) >= 20 and any(event.kind == "user" for event in case.past)
        assert 6 <= sum(event.kind == "call" for event in case.future) <= 12


# -- texts


@pytest.mark.parametrize("agent", AGENTS)
def test_no_contender_is_told_what_came_after_the_cut(agent: str, tmp_path: Path) -> None:
    case = case_of(agent, tmp_path)
    number = len([event for event in case.past if event.kind == "call"])
    segue = f"{shlex.quote(sys.executable)} -m segue brief {{path}} --max-bytes {{bytes}}"
    given = texts(case, [Contender("segue", segue), Contender("file", SHOW)], 2_048)
    assert not given.failed and set(given.said) == {"tail", "segue", "file"}
    for text in given.said.values():
        assert text.strip() and numbers(text) <= set(range(number + 1))
        assert f"run-{number:02}-mark" not in text
    assert len(given.said["segue"].encode()) <= 2_048
    assert f"run-{number - 1:02}-mark" in given.said["segue"]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_truth_begins_right_after_the_cut(agent: str, tmp_path: Path) -> None:
    case = case_of(agent, tmp_path)
    number = len([event for event in case.past if event.kind == "call"])
    before, _, after = truth(case).partition(NEXT)
    assert numbers(before) <= set(range(number + 1)) and f"run-{number:02}-mark" not in before
    assert f"got-{number - 1:02}-mark" in before and f"ask-{number - number % 12:02}-mark" in before
    assert "CALL 1 " in after and "CALL 12 " in after and "CALL 13 " not in after
    assert re.search(rf"CALL 1 .*run-{number:02}-mark", after)
    assert f"run-{number - 1:02}-mark" not in after and "got-" not in after


def test_the_tail_is_the_end_of_the_conversation_without_results(tmp_path: Path) -> None:
    case = case_of("codex", tmp_path)
    text = tail(case.past, 300)
    assert len(text.encode()) <= 300 and "got-" not in text
    assert text.endswith(case.past[-1].text)


def test_a_contender_is_asked_only_for_formats_that_it_reads_and_its_failure_is_kept(tmp_path: Path) -> None:
    case = case_of("codex", tmp_path)
    contenders = [
        Contender("broken", "false"), Contender("silent", "true"), Contender("absent", "no-such-command"),
        Contender("other", "cat", frozenset({"roo"})), Contender("budget", "echo {bytes} of {path}"),
    ]  # fmt: skip
    given = texts(case, contenders, 900)
    assert set(given.failed) == {"broken", "silent", "absent"} and "other" not in given.said
    assert given.said["budget"].startswith("900 of /")


# -- rounds


def write(corpus: Path, out: Path) -> Key:
    plan = Plan(seed=7, cases=9, compactions=2)
    made_cases = cases(list(candidates([corpus], plan)), plan)
    contenders = [Contender("new", "echo new of"), Contender("old", "echo old of")]
    return write_round(out, [(case, texts(case, contenders, 500)) for case in made_cases], seed=7, budget=500)


def test_no_reader_sees_two_texts_of_a_case_and_every_text_has_a_reader(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    key = write(corpus, out)
    assert {len(one.letters) for one in key.cases} == {3, 4}
    for one in key.cases:
        assert sorted(one.letters.values()) == sorted(one.readers.values())
        for reader, name in one.readers.items():
            given = (out / "readers" / reader / f"{one.case}.txt").read_text()
            assert given == (out / "texts" / name / f"{one.case}.txt").read_text()
    given_files = list((out / "readers").glob("*/*.txt"))
    assert len(given_files) == sum(len(one.letters) for one in key.cases)
    seen = Counter((reader, name) for one in key.cases for reader, name in one.readers.items())
    readers = {reader for reader, _ in seen}
    assert all(1 <= seen[reader, name] <= 3 for reader in readers for name in ("new", "old", "tail"))
    assert {"words.md"} == {path.name for path in (out / "readers").glob("*/*.md")}


def test_letters_are_dealt_anew_for_every_case_and_stand_in_the_key_alone(
    corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    key = write(corpus, out)
    assert len({one.letters["A"] for one in key.cases}) > 1
    assert Key.read(out) == key == write(corpus, tmp_path / "again")
    for folder in ("readers", "judge"):
        names = [path.relative_to(out).as_posix() for path in (out / folder).rglob("*")]
        assert not [name for name in names if re.search("new|old|tail|summary|key", name)]


def answer(out: Path, key: Key) -> None:
    for reader in {reader for one in key.cases for reader in one.readers}:
        own = [one for one in key.cases if reader in one.readers]
        text = "\n\n".join(f"## {one.case}\n\nGOAL: {one.readers[reader]} of {one.case}" for one in own)
        (out / "readers" / reader / "answers.md").write_text(f"Some words first.\n\n{text}\n")


def test_the_judge_sees_each_answer_under_the_letter_of_its_text(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    key = write(corpus, out)
    with pytest.raises(AnswersMissing):
        write_judgement(out)
    answer(out, key)
    assert len(write_judgement(out)) == 9
    for one in key.cases:
        parts = re.split(r"^## (?=Text|Answer)", (out / "judge" / f"{one.case}.md").read_text(), flags=re.M)
        assert NEXT in parts[0]
        answers = {part[7]: part for part in parts if part.startswith("Answer")}
        assert {letter: name for letter, name in one.letters.items() if f"GOAL: {name} of {one.case}" in
                answers[letter]} == one.letters  # fmt: skip
    rows = (out / "judge" / "verdict.md").read_text().splitlines()
    assert len(rows) == 2 + sum(len(one.letters) for one in key.cases)


# -- points


def judge(out: Path, key: Key, points: dict[str, str]) -> None:
    rows = [
        f"| {one.case} | **{letter}** | {points[name]} | the words |"
        for one in key.cases
        for letter, name in one.letters.items()
    ]
    (out / "judge").mkdir(exist_ok=True)
    (out / "judge" / "verdict.md").write_text(
        "# Verdict\n\n| case | text | … |\n|---|---|\n" + "\n".join(rows)
    )


POINTS = {"new": "2 | 2 | 2 | 0", "old": "2 | 1 | 1 | 1", "tail": "1 | 2 | 2 | 0", "summary": "2 | 2 | 2 | 0"}


def test_points_are_counted_by_contender_and_compared_case_by_case(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    key = write(corpus, out)
    judge(out, key, POINTS)
    rows = score.judged(out)
    assert len(rows) == sum(len(one.letters) for one in key.cases)
    score.show(rows, against="tail")
    printed = re.sub(" +", " ", capsys.readouterr().out)
    assert "| new | 9 | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) |" in printed
    half = "0.50 (0.50 to 0.50)"
    assert f"| old | 9 | 1.00 (1.00 to 1.00) | {half} | {half} | 9 of 9 (0.70 to 1.00) |" in printed
    assert "### old against tail, case by case" in printed and "### tail against" not in printed
    assert "| goal | +0.50 (+0.50 to +0.50) | 9 | 0 | 0 |" in printed
    assert "| next1 | -0.50 (-0.50 to -0.50) | 0 | 0 | 9 |" in printed
    assert "| misled | +1.00 (+1.00 to +1.00) | 9 | 0 | 0 |" in printed
    assert "2/1/1 misled against 1/2/2" in printed


@pytest.mark.parametrize("wrong", ["2 | 3 | 2 | 0", "2 | 2 | 2 | 2", "2 | | 2 | 0", "2 | 2"])
def test_a_verdict_with_points_missing_or_out_of_range_is_an_error(
    corpus: Path, tmp_path: Path, wrong: str
) -> None:
    key = write(corpus, tmp_path / "out")
    judge(tmp_path / "out", key, {**POINTS, "old": wrong})
    with pytest.raises(score.VerdictIncomplete):
        score.judged(tmp_path / "out")


def test_a_verdict_without_a_row_or_with_one_too_many_is_an_error(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    judge(out, write(corpus, out), POINTS)
    path = out / "judge" / "verdict.md"
    whole = path.read_text()
    for text in (whole.rpartition("\n")[0], f"{whole}\n| 77 | A | 1 | 1 | 1 | 0 | |"):
        path.write_text(text)
        with pytest.raises(score.VerdictIncomplete):
            score.judged(out)


def test_an_interval_holds_its_mean_and_narrows_with_more_cases() -> None:
    few, many = [0.0, 1.0, 1.0, 0.5], [0.0, 1.0, 1.0, 0.5] * 25
    for values in (few, many):
        low, high = score.interval(values)
        assert low <= 0.625 <= high
    assert score.interval(many)[1] - score.interval(many)[0] < score.interval(few)[1] - score.interval(few)[0]
    low, high = score.share_interval(1, 24)
    assert (round(low, 3), round(high, 3)) == (0.007, 0.202)
    assert score.share_interval(0, 48)[0] == 0.0


def test_a_round_goes_from_transcripts_to_points_on_the_command_line(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    main(["cases", str(corpus), "--out", str(out), "--seed", "2", "--cases", "6", "--compactions", "1",
          "--contender", "new=echo new of", "--only", "new=codex,opencode", "--most", "codex=2"])  # fmt: skip
    key = Key.read(out)
    assert len(key.cases) == 6 and {one.agent for one in key.cases if "new" in one.letters.values()} == {
        "codex", "opencode",
    }  # fmt: skip
    assert "6 cases:" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="holds a round already"):
        main(["cases", str(corpus), "--out", str(out)])
    with pytest.raises(SystemExit, match=r"answers\.md is not there"):
        main(["judge", str(out)])
    answer(out, key)
    main(["judge", str(out)])
    with pytest.raises(SystemExit, match="points are missing"):
        main(["score", str(out)])
    judge(out, key, POINTS)
    main(["score", str(out)])
    assert "### new against tail, case by case" in capsys.readouterr().out
    second = tmp_path / "second"
    main(["cases", str(corpus), "--out", str(second), "--without", str(out)])
    assert not {one.transcript for one in key.cases} & {one.transcript for one in Key.read(second).cases}


# -- with and without habits


def test_a_round_of_habits_has_two_briefs_a_case_that_differ_and_knows_only_earlier_runs(
    tmp_path: Path,
) -> None:
    for number in range(6):
        run = ToldRun("/src/shop", native=f"0a1b2c3d-{number}", at=BEGAN + 10_000 * number).asked("Mend it")
        for _ in range(14):
            run.edited("a.py").ran("pytest -q").ran("ruff check ." if number < 5 else "tox run")
        run.over().placed(tmp_path / "corpus")
    out = tmp_path / "out"
    main(["cases", str(tmp_path / "corpus"), "--habits", "--calls-min", "24", "--out", str(out)])
    key = Key.read(out)
    assert key.cases and all(sorted(one.letters.values()) == ["habits", "plain"] for one in key.cases)
    for one in key.cases:
        habits, plain = (
            (out / "texts" / name / f"{one.case}.txt").read_text() for name in ("habits", "plain")
        )
        assert (
            "Usually next" in habits
            and "Usually next" not in plain
            and "tox run" not in habits.partition("Usually")[2]
        )
    names = {one.transcript for one in key.cases}
    assert not [name for name in names if "0a1b2c3d-0" in name], "nothing came before the first run"
    seen = Counter((reader, name) for one in key.cases for reader, name in one.readers.items())
    assert max(seen.values()) - min(seen.values()) <= 1
