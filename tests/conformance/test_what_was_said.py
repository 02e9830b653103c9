"""What was said holds until it is done, withdrawn or replaced: the stories of trials that lost it.

A project goes through eleven runs and ten resets; then each loss by itself: a second request, a list that is
older than the last message, a choice of the agent, a rule of three words, a run that Segue did not brief.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.lives.judge import normal
from tests.support.lives.model import (
    Act,
    AgentSays,
    Compacts,
    Dies,
    Edits,
    Ends,
    LifeRun,
    Lists,
    Runs,
    Stops,
    UserSays,
)
from tests.support.lives.player import Player

from segue.core.runs.steps import Call, End, Plan, PlanItem, Prompt, Result, Say, Start, Step
from segue.services.brief.brief import brief_of_transcript
from segue.services.brief.project_brief import brief_here
from segue.services.resume.bootstrap import Boot, bootstrap
from segue.services.resume.prepare import prepare
from segue.testing.transcripts import placed, written

BRIEF_BYTES = 2_048


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    with Player(tmp_path) as player:
        yield player


def run(player: Player, agent: str, *acts: Act, hooks: bool = True, source: str = "startup") -> str:
    """Play a run; what it is told at its start."""
    told = player.play(LifeRun(agent, acts, hooks, source=source, after_seconds=1_700.0))
    return told[0] if told else ""


def brief(player: Player) -> str:
    """`segue brief`."""
    with player.open() as segue:
        return brief_here(segue.workspace)


def manifest(player: Player) -> str:
    """`segue brief --json`."""
    with player.open() as segue:
        return brief_here(segue.workspace, form="json")


def booted(player: Player) -> Boot:
    """`segue prepare && segue bootstrap --no-checks`."""
    with player.open() as segue:
        path = prepare(segue.workspace, reason="on request").path
        os.utime(path, (player.clock.now, player.clock.now))
        return bootstrap(segue.workspace, checks=False)


def part(text: str, label: str) -> str:
    """The lines of a label, with those that continue it."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(label) or (lines and line.startswith(("  ", "- "))):
            lines.append(line)
        elif lines:
            break
    return "\n".join(lines)


# Eleven runs, ten resets

TASK = "Move the invoicing service from float to Decimal, in src/ and in the API."
RULES = ("Never touch legacy/.", "Always run ruff check before a commit.", "Use ROUND_HALF_EVEN everywhere.")
DECISION = "I decided to quantize after the multiplication, not before."
ADDED = (
    "Also add a CHANGELOG entry when everything is finished, and store cents as integers in the cache, not"
    " Decimal."
)
PERMITTED = "You may touch legacy/ledger.py now, but nothing else in legacy/."
ITEMS = (
    "Convert src/invoice.py to Decimal", "Convert src/vat.py to Decimal",
    "Round with ROUND_HALF_EVEN in src/rounding.py", "Migrate the column amount to NUMERIC(12,2)",
    "Serialise Decimal as string in the API", "Convert the PDF export", "Update the fixtures in tests/",
    "Write docs/money.md", "Remove the float helpers",
)  # fmt: skip
WHY = "AssertionError: assert Decimal('19.00') == Decimal('18.99')"
VAT_FAILS = Runs(
    "pytest -q tests/test_vat.py",
    f"E   {WHY}\nFAILED tests/test_vat.py::test_reduced_rate\n1 failed, 14 passed in 0.42s",
    1,
)
VAT_PASSES = Runs("pytest -q tests/test_vat.py", "15 passed in 0.4s")
INVOICE, VAT, ROUNDING, COLUMN, API, PDF, FIXTURES = range(7)


SAID = {
    TASK: "Move the invoicing service from float to Decimal",
    RULES[0]: "legacy/",
    RULES[1]: "ruff check",
    RULES[2]: "ROUND_HALF_EVEN",
}
"""What hooks must tell, verbatim, and what a brief and a manifest of two kilobytes must have of it."""
FAILING = {"tests/test_vat.py": "test_vat", WHY: ""}


class Reset(NamedTuple):
    """What the run after a reset was told, what the commands said before it started, and what held."""

    told: str
    brief: str
    manifest: str
    boot: Boot
    holds: dict[str, str]


class Story:
    """The whole story, run by run."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.states = dict.fromkeys(ITEMS, "pending")
        self.resets: list[Reset] = []
        self._asked: Reset | None = None

    def tick(self, *, done: tuple[int, ...] = (), active: int | None = None) -> Lists:
        """The agent's list, with these items done and this one under way."""
        self.states |= {ITEMS[at]: "done" for at in done}
        self.states |= {ITEMS[active]: "active"} if active is not None else {}
        return Lists(tuple(self.states.items()))

    def run(self, agent: str, *acts: Act, source: str = "startup") -> None:
        told = run(self.player, agent, *acts, source=source)
        if self._asked is not None:
            self.resets.append(self._asked._replace(told=told))

    def holds(self, *more: dict[str, str]) -> None:
        """This holds now, and the open items."""
        held = {item: item[:22] for item, state in self.states.items() if state != "done"}
        for one in (SAID, *more):
            held |= one
        player = self.player
        self._asked = Reset("", brief(player), manifest(player), booted(player), held)


def played(player: Player) -> list[Reset]:
    """The resets of the story."""
    story, decided = Story(player), {DECISION: "quantize after"}
    added, permitted = {ADDED: "CHANGELOG"}, {PERMITTED: "legacy/ledger.py"}

    story.run(
        "claude-code", UserSays(" ".join((TASK, *RULES))), AgentSays("I'll plan this."),
        story.tick(active=INVOICE), Edits("src/invoice.py", "def total(x): return Decimal(x)"),
        Runs("pytest -q", "15 passed in 0.4s"), story.tick(done=(INVOICE,), active=VAT),
        Edits("src/vat.py", "def vat(x): return x*Decimal('0.19')"), VAT_FAILS,
        AgentSays(f"The reduced rate is now off by a cent. {DECISION}"),
        Stops("The reduced rate is off by a cent."), Ends(),
    )  # fmt: skip
    story.holds(FAILING, decided)

    story.run(
        "claude-code", UserSays("go on"), AgentSays("Looking at vat."),
        Edits("src/rounding.py", "def q(x): return x.quantize(D2, ROUND_HALF_EVEN)"),
        Runs("pytest -q tests/test_vat.py", exit=None), Dies(),
    )  # fmt: skip
    story.holds(FAILING, decided)

    story.run(
        "codex", UserSays("weiter"), story.tick(done=(ROUNDING,)),
        AgentSays("Rounding helper is there. test_vat still fails for the reduced rate."), VAT_FAILS,
        UserSays(ADDED), AgentSays("Noted: cache keeps integer cents."), Stops("Noted."),
    )  # fmt: skip
    story.holds(FAILING, decided, added)

    story.run(
        "codex", UserSays("continue"), story.tick(active=COLUMN),
        Edits("migrations/004.sql", "ALTER TABLE invoice ALTER COLUMN amount TYPE NUMERIC(12,2);"),
        Runs("ruff check src", "All checks passed!"), Dies(),
    )  # fmt: skip
    story.holds(FAILING, decided, added)

    story.run(
        "claude-code", UserSays("ok go ahead"), story.tick(done=(COLUMN,), active=API),
        Edits("src/api.py", "def dump(d): return str(d)"),
        Compacts("The conversation was about converting floats. The user wants the work continued."),
        Runs("pytest -q tests/test_api.py", "4 passed"),
        Compacts("Summary: API serialisation is being converted."),
        Stops("API done for invoices; credit notes remain."), Ends(cleared=True),
    )  # fmt: skip
    story.holds(FAILING, decided, added)

    story.run(
        "claude-code", UserSays(PERMITTED), AgentSays("Understood."),
        Edits("legacy/ledger.py", "L=Decimal(1)"), Stops("Understood."), Ends(), source="clear",
    )  # fmt: skip
    story.holds(FAILING, decided, added, permitted)

    story.run(
        "codex", UserSays("go on"), story.tick(done=(API,), active=PDF),
        Edits("src/pdf.py", "def pdf(d): return f'{d:.2f}'"), Stops("PDF export half done."),
    )  # fmt: skip
    story.holds(FAILING, decided, added, permitted)

    story.run(
        "claude-code", UserSays("mach weiter"), VAT_FAILS, Edits("src/vat.py", "def vat(x): return x*RATE"),
        VAT_PASSES, story.tick(done=(VAT,)), AgentSays("test_vat passes now: RATE was rounded too early."),
        Stops("test_vat passes now."), Ends(),
    )  # fmt: skip
    story.holds(decided, added, permitted)

    story.run("codex", UserSays("yes please"), Dies())
    story.holds(decided, added, permitted)

    story.run(
        "claude-code", UserSays("Go on, and tell me first what is left."),
        story.tick(done=(PDF,), active=FIXTURES), Stops("Left: fixtures, docs, float helpers."), Ends(),
    )  # fmt: skip
    story.holds(decided, added, permitted)

    story.run("codex", UserSays("go on"), Stops("On it."))
    return story.resets


@pytest.fixture(scope="module")
def resets(tmp_path_factory: pytest.TempPathFactory) -> list[Reset]:
    with Player(tmp_path_factory.mktemp("story")) as player:
        found = played(player)
        assert player.log() == ""
    assert len(found) == 10
    return found


TEN = pytest.mark.parametrize("number", range(1, 11))


@TEN
def test_after_each_of_ten_resets_hooks_tell_all_that_was_said(resets: list[Reset], number: int) -> None:
    reset = resets[number - 1]
    assert [words for words in reset.holds if normal(words) not in normal(reset.told)] == [], reset.told


@TEN
def test_after_each_of_ten_resets_the_brief_has_all_of_it(resets: list[Reset], number: int) -> None:
    reset = resets[number - 1]
    assert len(reset.brief.encode()) <= BRIEF_BYTES
    assert [mark for mark in reset.holds.values() if mark not in reset.brief] == [], reset.brief


@TEN
def test_after_each_of_ten_resets_the_manifest_has_all_of_it(resets: list[Reset], number: int) -> None:
    reset = resets[number - 1]
    assert len(reset.manifest.encode()) <= BRIEF_BYTES
    assert [mark for mark in reset.holds.values() if mark not in reset.manifest] == [], reset.manifest


@TEN
def test_after_each_of_ten_resets_bootstrap_tells_of_the_same_work(resets: list[Reset], number: int) -> None:
    boot = resets[number - 1].boot
    assert boot.goal.startswith("Move the invoicing service from float to Decimal")
    assert boot.done > 0 and boot.pending > 0


@pytest.mark.parametrize("number", [8, 9, 10])
def test_a_check_that_passed_is_not_told_as_failing_again(resets: list[Reset], number: int) -> None:
    reset = resets[number - 1]
    for text in (reset.told, reset.brief):
        assert not re.search(r"FAILING[^\n]*test_vat", text), text


# A second request

SHORT_TASK = "Move the invoicing service from float to Decimal."
MORE = "Also add a CHANGELOG entry when everything is finished, and store cents as integers in the cache."
LIFTED = "You may touch legacy/ledger.py now."
PLAN = Lists((("convert a.py", "done"), ("convert b.py", "active"), ("convert c.py", "pending")))


def work(path: str) -> tuple[Act, ...]:
    words = f"{path} is converted."
    return Edits(path, "x = 1"), Runs("pytest -q", "3 passed"), AgentSays(words), Stops(words)


@pytest.mark.parametrize("how", ["in one run", "in a run of its own", "while it works", "as first prompt"])
def test_a_second_request_is_told_whenever_it_was_made(player: Player, how: str) -> None:
    first = UserSays(f"{SHORT_TASK} {RULES[0]} {RULES[2]}"), PLAN, *work("a.py")
    noted = AgentSays("Noted."), Stops("Noted."), Ends()
    if how == "in one run":
        run(player, "claude-code", *first, UserSays(MORE), *work("b.py"), Ends())
    else:
        run(player, "claude-code", *first, Ends())
    if how == "in a run of its own":
        run(player, "claude-code", UserSays("go on"), *work("b.py"), UserSays(MORE), *noted)
    elif how == "while it works":
        failed = Runs("pytest -q", "1 failed", 1)
        run(player, "claude-code", UserSays("go on"), failed, UserSays(MORE, "queued"), *noted)
    elif how == "as first prompt":
        run(player, "claude-code", UserSays(MORE), *work("b.py"), Ends())
    texts = [brief(player)]
    texts.append(run(player, "claude-code", UserSays("continue"), *work("c.py"), Ends()))
    texts.append(brief(player))
    texts.append(run(player, "claude-code", UserSays(LIFTED), *work("legacy/ledger.py"), Ends()))
    texts += [brief(player), run(player, "claude-code", UserSays("go on"), Stops("On it."))]
    for text in texts:
        for words in (SHORT_TASK, MORE, RULES[2]):
            assert normal(words) in normal(text), text
    for text in texts[-2:]:
        assert normal(LIFTED) in normal(text) and f'REQUEST: "{LIFTED}"' not in text, text


# A list that is older than the last message


ADDS = "Also add a CHANGELOG entry at the end."


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("last", [ADDS, "How far are we?", "Please use tabs in the new files.", "continue"])
def test_a_list_that_is_older_than_the_last_message_is_told(tmp_path: Path, agent: str, last: str) -> None:
    at = time.time() - 500
    states = ("done", "active", "pending")
    items = [PlanItem(f"convert {name}.py", state) for name, state in zip("abc", states, strict=True)]  # type: ignore[arg-type]
    steps: list[Step] = [
        Start(at, "start", native="r1", cwd="/nowhere/x"), Prompt(at + 1, SHORT_TASK),
        Plan(at + 2, tuple(items)), *checked("c1", at + 3), Say(at + 5, "a.py is converted."),
        Prompt(at + 60, last), *checked("c2", at + 61), Say(at + 65, "Noted."), End(at + 66),
    ]  # fmt: skip
    text = told_of(tmp_path, agent, steps)
    assert "convert b.py" in part(text, "OPEN") and "convert c.py" in part(text, "OPEN"), text
    assert SHORT_TASK in text and (last == "continue" or last in text), text


def checked(id: str, at: float) -> tuple[Call, Result]:
    return Call(at, id, "Bash", "run", "pytest -q", "pytest -q"), Result(at + 1, id, True, 0, "3 passed")


def told_of(folder: Path, agent: str, steps: list[Step]) -> str:
    """`segue brief FILE`."""
    path = folder / "transcript.jsonl"
    path.write_bytes(written(agent, steps, native="r1", cwd="/nowhere/x"))
    return brief_of_transcript(path)


# A choice of the agent

CHOICE = "I decided to compare expires_at in UTC because the server has no zone."


@pytest.mark.parametrize("says", [(CHOICE,), (CHOICE, "Next come the cookies.")], ids=["last", "earlier"])
def test_a_choice_that_the_agent_named_goes_from_run_to_run(player: Player, says: tuple[str, ...]) -> None:
    acts: list[Act] = [UserSays("Move login to JWT."), Edits("ticket.py", "class Ticket: pass")]
    for words in says[:-1]:
        acts += [AgentSays(words), Runs("ls", "ticket.py")]
    run(player, "claude-code", *acts, Stops(says[-1]), Ends())
    assert CHOICE in brief(player)
    for number in (2, 3, 4):
        work = Edits("ticket.py", f"x{number} = 1"), Stops(f"Part {number} done.")
        told = run(player, "claude-code", UserSays("go on"), *work, Ends())
        assert CHOICE in told, told
        assert CHOICE in brief(player), (number, brief(player))
        assert "expires_at in UTC" in manifest(player), (number, manifest(player))


# Rules

SHORT_RULES = (
    "Never touch legacy/.", "Never touch the legacy folder.", "Never edit legacy/ledger.py.",
    "Do not push to main.", "Don't ever commit to main.", "Use ROUND_HALF_EVEN everywhere.",
    "Always use ROUND_HALF_EVEN.", "Only use the standard library.", "No new dependencies.",
    "You must not change the public API.", "Keep Python 3.8 compatibility.",
    "Never touch legacy/ at all, it is used by accounting.", "Niemals legacy/ anfassen.",
    "Never edit `legacy/ledger.py`.", "Never use float in src/.", "Always use Decimal.",
    "Never edit legacy/ledger.py, ever.", "Never delete migrations.",
    "Never call requests.get without a timeout.", "Always format with black before committing.",
    "Never touch src/old.", "Never touch the legacy login in src/old.",
    "Do not edit generated files in gen/.", "Don't modify config.yml.", "Always write tests first.",
    "Never use os.system.",
)  # fmt: skip
LATER = (
    "Now add a page for refunds in src/refunds.py with tests.",
    "Then write the docs for it in docs/refunds.md.",
)  # fmt: skip


def told_after(folder: Path, *prompts: str) -> str:
    at = time.time() - 100
    steps: list[Step] = [Start(at, "start", native="r1", cwd="/nowhere/x")]
    for number, text in enumerate(prompts, 1):
        steps += [Prompt(at + 10 * number + 1, text), *checked(f"c{number}", at + 10 * number + 2)]
    return told_of(folder, "claude-code", steps)


@pytest.mark.parametrize("rule", SHORT_RULES)
def test_a_rule_in_a_request_is_a_rule_however_short(tmp_path: Path, rule: str) -> None:
    text = told_after(tmp_path, f"Move the invoicing service to Decimal. {rule} Thanks.", *LATER)
    assert normal(rule) in normal(part(text, "RULES")), text


@pytest.mark.parametrize("rule", [SHORT_RULES[0], SHORT_RULES[2], SHORT_RULES[6]])
def test_a_rule_in_a_message_of_its_own_is_a_rule_however_short(tmp_path: Path, rule: str) -> None:
    text = told_after(tmp_path, "Move the invoicing service to Decimal.", rule, *LATER)
    assert normal(rule) in normal(part(text, "RULES")), text


# What the commands count, and which run they mean


def test_bootstrap_counts_what_the_manifest_lists(player: Player) -> None:
    items = Lists((("cart", "done"), ("vat", "active"), ("pdf", "pending"), ("docs", "pending")))
    run(
        player, "claude-code", UserSays("Move the shop to Decimal."), items, Runs("pytest -q", "3 passed"),
        AgentSays("cart is done."), Stops("cart is done."), Ends(),
    )  # fmt: skip
    assert "OPEN (1 of 4 done)" in brief(player)
    boot = booted(player)
    assert (boot.done, boot.pending) == (1, 3)


def test_the_brief_is_about_the_newest_run_by_what_transcripts_say(player: Player) -> None:
    """The older file was written last, as by a copy of a home or a restore."""

    def ran(native: str, days: int, text: str) -> Path:
        at = player.clock.now - 86_400 * days
        steps: list[Step] = [
            Start(at, "start", native=native, cwd=str(player.project)), Prompt(at + 1, text),
            *checked("c", at + 2), Say(at + 4, f"Done: {text}"), End(at + 5),
        ]  # fmt: skip
        return placed("claude-code", steps, home=player.home, native=native, cwd=str(player.project))

    newer = ran("22222222-2222-4222-8222-222222222222", 1, "Write the new importer.")
    older = ran("11111111-1111-4111-8111-111111111111", 3, "Fix the old exporter.")
    os.utime(newer, (player.clock.now - 60, player.clock.now - 60))
    os.utime(older, (player.clock.now, player.clock.now))
    with player.open() as segue:
        segue.sync()
        assert segue.runs()[0].goal == "Write the new importer."
    assert "Write the new importer." in brief(player), brief(player)


# A run that Segue did not brief

NOTES = "Save the notes in src/notes.py."
FORBIDDEN = "Never touch src/index.py."


@pytest.mark.parametrize("is_briefed", [True, False], ids=["briefed", "not briefed"])
@pytest.mark.parametrize(
    ("prompt", "calls"),
    [
        ("what is left?", 2), ("what is left?", 0), ("go on", 2), ("Also sort the notes by date.", 2),
        ("Look at src/notes.py and tell me what is left to do there.", 0),
        ("Look at src/notes.py and tell me what is left to do there.", 2),
    ],
)  # fmt: skip
def test_a_run_without_hooks_does_not_cut_off_the_task_and_the_prohibition(
    player: Player, is_briefed: bool, prompt: str, calls: int
) -> None:
    asked = UserSays(f"{NOTES} {FORBIDDEN}"), Edits("src/notes.py", "NOTES = 1")
    run(player, "claude-code", *asked, Stops("Half of it is there."), Ends())
    did = [Runs("ls", "src"), Edits("src/notes.py", "NOTES = 2")][:calls]
    run(player, "codex", UserSays(prompt), *did, Stops("Looking at it."), hooks=is_briefed)
    texts = [brief(player), run(player, "claude-code", UserSays("go on"), Stops("On it."), Ends())]
    for text in (*texts, brief(player)):
        assert NOTES in text and FORBIDDEN in text, text


# A run that was killed before anybody filed it, and other work after it


def test_a_prompt_finds_the_killed_run_that_it_names_after_other_work(player: Player) -> None:
    run(
        player, "codex", UserSays("Convert the bamobapi price list to signed tokens with an expiry."),
        Edits("src/bamobapi.py", "TOKENS = 1"), Dies(), hooks=False,
    )  # fmt: skip
    other = "Write a script tools/resize.sh that makes pictures of the gallery smaller and uploads them."
    run(
        player,
        "claude-code",
        UserSays(other),
        Edits("tools/resize.sh", "exit"),
        Stops("That is it."),
        hooks=False,
    )
    told = run(
        player, "claude-code", UserSays("Take up the bamobapi price list where it was left."), Stops("Yes.")
    )
    assert "signed tokens" in told and "tools/resize.sh" not in told.partition("TREE")[0], told


def test_a_prompt_that_names_nothing_of_the_work_before_is_told_its_rules_and_how_to_come_back(
    player: Player,
) -> None:
    task = "Convert the price list to signed tokens with an expiry. Never touch src/index.py."
    run(
        player,
        "claude-code",
        UserSays(task),
        Edits("src/prices.py", "TOKENS = 1"),
        Stops("Half is there."),
        Ends(),
    )
    told = run(player, "claude-code", UserSays("make the text output fields scrollable"), Stops("Yes."))
    assert FORBIDDEN in told and "was left open here" in told
    assert "TRAIL" not in told and len(told.encode()) < 700, told


# The first sync of a history


def test_the_rules_of_a_history_that_is_synced_at_once_hold_in_the_work_after_it(player: Player) -> None:
    run(
        player, "claude-code", UserSays("Write the mailer of the invoices. Never push to main."),
        Edits("src/mailer.py", "A = 1"), Stops("It is written."), hooks=False,
    )  # fmt: skip
    logo = "Draw a new logo for the landing page in SVG with rounded corners and no text at all."
    run(player, "codex", UserSays(logo), Edits("logo.svg", "<svg/>"), Stops("It is drawn."), hooks=False)
    with player.open() as segue:
        segue.sync()
        ids = [card.id for card in segue.list()]
        rules = [[one.text for one in segue.session(id).ledger.entries(kind="rule")] for id in ids]
    assert len(rules) == 2 and all("Never push to main." in texts for texts in rules), rules


# A summary that is not in the transcript yet


def test_a_summary_that_hooks_report_before_it_is_written_down_is_what_words_are_compared_with(
    player: Player,
) -> None:
    said = f"The user wants: {NOTES}\n{FORBIDDEN}"
    acts = (
        UserSays(f"{NOTES} {FORBIDDEN}"), Edits("src/notes.py", "N = 1"), Compacts(said), AgentSays("On."),
        Edits("src/notes.py", "N = 2"), Compacts("The notes are under way."), AgentSays("On."), Dies(),
    )  # fmt: skip
    told = player.play(LifeRun("claude-code", acts, True))
    assert told[1] == "", told[1]
    assert NOTES in told[2] and FORBIDDEN in told[2], told[2]
