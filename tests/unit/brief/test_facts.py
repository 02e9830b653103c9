"""What is known of runs and sessions together, where no line of a brief says it alone."""

from __future__ import annotations

from tests.support.briefs import known

from segue.core.brief.facts import facts
from segue.core.features.model import Attested, Feature
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, Plan, PlanItem, Prompt, Result, Say, Start, Step
from segue.core.sessions.state import SessionState

ASKED = Prompt(1, "Fix the parser so that amounts are kept in cents")
PROVEN = Feature("totals", "totals", attested={"totals": Attested("ann", "seen", covered="abc")})


def failing(number: int) -> list[Step]:
    name = f"pytest tests/part_{number}"
    return [
        Call(number, f"c{number}", "Bash", "run", name, name),
        Result(number, f"c{number}", False, 1, f"E   AssertionError: {number}"),
    ]


def test_whether_a_proof_is_stale_is_told_only_where_the_files_were_looked_at() -> None:
    state = SessionState(id="s1", features={"totals": PROVEN})
    assert facts(session=state).unproven == []
    assert facts(session=state, covered={"totals": "abc"}).unproven == []
    [stale] = facts(session=state, covered={"totals": "other"}).unproven
    assert stale.startswith("totals (stale: covered files changed since it was proven; `segue verify")


def test_the_name_of_a_project_is_the_declared_one_or_that_of_its_folder() -> None:
    run = fold([Start(0, "start", cwd="/home/ann/shop/"), ASKED])
    assert facts([run]).project == "shop"
    assert facts([run], SessionState(id="s1")).project == "shop"
    assert facts([run], SessionState(id="s1", project_name="Ann's shop")).project == "Ann's shop"


def test_a_session_whose_goal_nobody_declared_has_the_request_of_the_run() -> None:
    state = SessionState(id="s1", goal="Write the guide")
    assert known([ASKED], session=state, observed=True).goal == ASKED.text
    assert facts(session=state, observed=True).goal == "Write the guide"
    assert facts(session=SessionState(id="s1", goal="go on"), observed=True).goal == ""
    declared = known([ASKED], session=state)
    assert (declared.goal, declared.declared_goal) == ("Write the guide", "Write the guide")


def test_the_newest_calls_without_a_result_are_pending() -> None:
    calls: list[Step] = [
        Call(number, f"c{number}", "Bash", "run", "x", f"./x{number}") for number in range(15)
    ]
    pending = known([ASKED, *calls]).pending
    assert [step.command for step in pending] == [f"./x{number}" for number in range(3, 15)]


def test_what_a_line_rests_on_is_known_by_the_steps_that_said_it() -> None:
    ask: list[Step] = [
        Call(4, "q", "Ask", "ask", "Which?", note="Which?"),
        Result(5, "q", True, text="the first"),
    ]
    steps: list[Step] = [Prompt(1, f"{ASKED.text}. Never push to main."), Plan(2, (PlanItem("round"),)), *ask]
    sources = known(steps).sources
    assert sources == {"OPEN": (2,), "RULES": (1,), "DECIDED": (4,), "TRIED": ()}
    written = Say(2, "Here is the plan:\n- [x] parse\n- [ ] round the totals\n- [ ] document the amounts")
    assert known([ASKED, written]).sources["OPEN"] == (2,)


def test_a_point_that_the_user_took_back_is_no_longer_open_though_the_agents_list_has_it() -> None:
    points = ("sort the orders by name", "document the flag --fast in docs/flags.md")
    wishes = Prompt(2, "Some more wishes:\n" + "\n".join(f"- {one}" for one in points))
    listed = Plan(3, (*(PlanItem(one, "pending") for one in points), PlanItem("write the parser", "pending")))
    run: list[Step] = [ASKED, wishes, listed, Prompt(4, "Scratch the sorting of the orders.", how="queued")]
    assert {task.text for task in known(run).plan} == {points[1], "write the parser"}
