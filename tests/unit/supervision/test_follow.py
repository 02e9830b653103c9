"""Following a run while it works: which transcript it is, and what is seen of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.support.scripted_agents import Clock

from segue import Segue
from segue.core.runs.steps import Call, Compact, End, Fault, Model, Prompt, Result, Say, Start, Step, Usage
from segue.services.supervision import follow
from segue.services.supervision.follow import Following, Look, known_runs
from segue.testing.transcripts import placed

AT = 1_795_000_000.0
OPUS = 200_000
"""The tokens of the window of the model that is followed."""


class Project:
    """A project in which transcripts of Claude Code appear."""

    def __init__(self, seg: Segue, home: Path, clock: Clock) -> None:
        self.seg, self.home, self.clock = seg, home, clock
        self.folder = str(seg.workspace.working_tree.root)

    def write(self, native: str, *steps: Step) -> Path:
        begun: list[Step] = [
            Start(AT, "start", native=native, cwd=self.folder), Model(AT, "claude-opus-4-7"), Prompt(AT, "p"),
        ]  # fmt: skip
        return placed("claude-code", [*begun, *steps], home=self.home, native=native, cwd=self.folder)

    def follow(
        self, native: str = "", *, began: float = 0.0, known: frozenset[str] = frozenset()
    ) -> Following:
        return Following(self.seg.workspace, "claude-code", native, began=began, known=known)

    def look(self, *steps: Step) -> Look:
        self.write("n", *steps)
        return self.follow("n").look()


@pytest.fixture
def project(seg: Segue, home: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    clock = Clock()
    monkeypatch.setattr(follow, "time", clock)
    return Project(seg, home, clock)


# -- which transcript -------------------------------------------------------------------------------


def test_before_there_is_a_transcript_nothing_is_seen(project: Project) -> None:
    look = project.follow("n").look()
    assert look.native == "n" and not any(msgspec.structs.astuple(look)[1:])


def test_a_transcript_is_looked_for_twice_a_second_or_at_once_if_somebody_asks(project: Project) -> None:
    following = project.follow("n")
    following.look()
    project.write("n", Say(AT, "hello"))
    project.clock.now += 0.4
    assert following.look().last_said == ""
    assert following.look(now=True).last_said == "hello"
    other = project.follow("m")
    other.look()
    project.write("m", Say(AT, "hello"))
    project.clock.now += 0.5
    assert other.look().last_said == "hello"


def test_a_run_of_a_known_id_is_found_by_it_and_no_other_is_taken(project: Project) -> None:
    project.write("another", Say(AT, "not me"))
    following = project.follow("n")
    assert following.look().path == ""
    project.write("n", Say(AT, "me"))
    assert following.look(now=True).last_said == "me"


def test_without_an_id_it_is_the_run_that_is_new_since_the_launch(project: Project) -> None:
    project.write("old", Say(AT, "old"))
    known = known_runs(project.seg.workspace, "claude-code")
    assert known == {"old"}
    following = project.follow(known=known)
    assert following.look().native == ""
    path = project.write("new", Say(AT, "new"))
    look = following.look(now=True)
    assert (look.native, look.path, following.native) == ("new", str(path), "new")


@pytest.mark.parametrize(("late", "found"), [(-2.5, False), (-2.0, True), (1.0, True)])
def test_without_an_id_a_run_that_was_last_written_before_the_launch_is_another(
    project: Project, late: float, found: bool
) -> None:
    path = project.write("n", Say(AT, "hello"))
    began = path.stat().st_mtime
    assert bool(project.follow(began=began - late).look().path) is found, "clocks of disks lag"


# -- what is seen of it -----------------------------------------------------------------------------


def test_what_it_did_spent_and_said_is_seen(project: Project) -> None:
    look = project.look(
        Call(AT, "a", "Bash", "run", text="ls", command="ls"), Result(AT, "a", ok=True, text="x"),
        Usage(AT, "u", context=50_000, output=10), Say(AT, "first"), Say(AT, "last"), End(AT),
    )  # fmt: skip
    assert (look.calls, look.tokens, look.last_said) == (1, 50_010, "last")
    assert (look.share, look.filled) == (0.25, 0.25)
    assert look.ended and not look.in_call and (look.trouble, look.fault) == ("", "")


def test_a_command_without_a_result_is_under_way_and_the_turn_has_not_ended(project: Project) -> None:
    look = project.look(Call(AT, "a", "Bash", "run", text="make", command="make"))
    assert look.in_call and not look.ended


def test_what_was_filled_before_a_compaction_counts_no_more(project: Project) -> None:
    look = project.look(
        Usage(AT, "u", context=150_000, output=1), Say(AT, "x"), Compact(AT, "summary"),
        Usage(AT, "v", context=40_000, output=1), Say(AT, "y"), Prompt(AT, "go on"),
        Usage(AT, "w", context=20_000, output=1), Say(AT, "z"),
    )  # fmt: skip
    assert (look.filled, look.share) == (40_000 / OPUS, 20_000 / OPUS)


def test_an_agent_that_says_nothing_of_its_window_has_filled_none_of_it(project: Project) -> None:
    assert project.look(Say(AT, "hello")).filled == 0.0
    compacted = project.look(Usage(AT, "u", context=150_000, output=1), Say(AT, "x"), Compact(AT, "summary"))
    assert compacted.filled == 0.0


def test_what_grew_is_read_on_and_the_moment_is_noted(project: Project) -> None:
    project.write("n", Say(AT, "first"))
    following = project.follow("n")
    following.look()
    project.clock.now += 5
    began = following.changed
    following.look()
    assert following.changed == began, "nothing is new"
    project.write("n", Say(AT, "first"), Say(AT, "second"))
    assert following.look().last_said == "second"
    assert following.changed == began + 5


# -- trouble ----------------------------------------------------------------------------------------


def test_a_refusal_is_trouble_until_the_agent_says_something_again(project: Project) -> None:
    limited = Fault(AT, "rate limited", 429)
    look = project.look(Say(AT, "hello"), limited)
    assert (look.trouble, look.fault) == ("rate", "rate limited")
    assert project.look(limited, Say(AT, "again")).trouble == ""
    call = Call(AT, "a", "Bash", "run", text="make", command="make")
    assert project.look(limited, call, Usage(AT, "u", context=10, output=1)).trouble == ""


def test_what_others_say_does_not_end_the_trouble_of_an_agent(project: Project) -> None:
    limited = Fault(AT, "rate limited", 429)
    assert project.look(Say(AT, "hello"), limited, Prompt(AT, "are you there?")).trouble == "rate"


def test_trouble_lasts_since_its_first_refusal(project: Project) -> None:
    project.write("n", Say(AT, "hello"))
    following = project.follow("n")
    following.look()
    assert following.troubled == 0.0
    steps: list[Step] = [Say(AT, "hello")]
    moments = []
    for _ in range(2):
        project.clock.now += 5
        steps.append(Fault(AT, "rate limited", 429))
        project.write("n", *steps)
        following.look()
        moments.append(following.troubled)
    assert moments == [project.clock.monotonic() - 5] * 2
    project.write("n", *steps, Say(AT, "again"))
    following.look()
    assert following.troubled == 0.0


def test_what_an_agent_only_prints_is_heard_from_its_first_try_until_it_goes_on(project: Project) -> None:
    following = project.follow("n")
    following.hear("")
    assert (following.troubled, following.look().trouble) == (0.0, "")
    following.hear("429 Too Many Requests")
    began = following.troubled
    assert began == project.clock.monotonic()
    assert (following.look().trouble, following.look().fault) == ("rate", "429 Too Many Requests")
    project.clock.now += 5
    following.hear("connect ECONNREFUSED 127.0.0.1:9")
    assert following.troubled == began and following.look().trouble == "unreachable"
    assert following.look().retrying == "connect ECONNREFUSED 127.0.0.1:9"
    following.hear("")
    assert (following.troubled, following.look().trouble, following.look().retrying) == (0.0, "", "")
