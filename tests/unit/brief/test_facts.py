"""What is known of runs and sessions together, where no line of a brief says it alone."""

from __future__ import annotations

from segue.core.brief.compose import compose
from segue.core.brief.facts import facts
from segue.core.features.model import Attested, Feature
from segue.core.runs.carried_over import Inherited
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, Given, Plan, PlanItem, Prompt, Result, Say, Start, Step
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
    assert facts([fold([ASKED])], state, observed=True).goal == ASKED.text
    assert facts(session=state, observed=True).goal == "Write the guide"
    assert facts(session=SessionState(id="s1", goal="go on"), observed=True).goal == ""
    declared = facts([fold([ASKED])], state)
    assert (declared.goal, declared.declared_goal) == ("Write the guide", "Write the guide")


def test_a_run_leaves_only_so_much_to_the_next() -> None:
    names = ("main", "next", "beta")
    rules = [" ".join(f"Never push to {name}{number}." for number in range(5)) for name in names]
    steps: list[Step] = [ASKED, *(Prompt(1, text) for text in rules)]
    steps += [step for number in range(6) for step in failing(number)]
    left = facts([fold(steps)]).leaves
    assert len(left.standing) == 12 and len(left.failing) == 4
    assert left.failing[0][0] == "pytest tests/part_5"


def test_of_a_long_plan_a_run_leaves_the_first_open_items_and_the_last_finished_ones() -> None:
    def left(done: int) -> Inherited:
        items = tuple(PlanItem(f"part {n}", "done" if n < done else "pending") for n in range(120))
        return facts([fold([ASKED, Plan(2, items)])]).leaves

    assert left(done=50).plan == tuple(f"part {number}" for number in range(50, 110))
    assert left(done=70).done == tuple(f"part {number}" for number in range(10, 70))


def test_what_the_user_said_last_is_left_to_the_next_run_if_it_is_not_the_goal() -> None:
    said = facts([fold([ASKED, Prompt(2, "use postgres"), Prompt(3, "go on")])]).leaves
    assert (said.goal, said.since) == (ASKED.text, "use postgres")
    assert facts([fold([ASKED])]).leaves.since == ""
    long = facts([fold([ASKED, Prompt(2, f"Write {'word ' * 100}")])]).leaves
    assert long.since == "" and long.goal.startswith("Write word")


def test_how_many_other_things_were_asked_since_the_plan_is_counted_over_runs() -> None:
    plan, other = Plan(2, (PlanItem("round"),)), Prompt(3, "Write the release notes for the coming version")
    first = fold([ASKED, plan])
    assert facts([first]).leaves.asked == 0
    assert facts([fold([ASKED, plan, other])]).leaves.asked == 1
    assert facts([fold([other]), first]).leaves.asked == 1
    assert facts([fold([Prompt(1, "go on")]), first]).leaves.asked == 0
    assert facts([fold([Prompt(1, "also write the release notes for all")]), first]).leaves.asked == 0
    assert facts([fold([other, Plan(4, (PlanItem("round"),))]), fold([other]), first]).leaves.asked == 0


def test_the_newest_calls_without_a_result_are_pending() -> None:
    calls: list[Step] = [
        Call(number, f"c{number}", "Bash", "run", "x", f"./x{number}") for number in range(15)
    ]
    pending = facts([fold([ASKED, *calls])]).pending
    assert [step.command for step in pending] == [f"./x{number}" for number in range(3, 15)]


def test_what_a_line_rests_on_is_known_by_the_steps_that_said_it() -> None:
    ask: list[Step] = [
        Call(4, "q", "Ask", "ask", "Which?", note="Which?"),
        Result(5, "q", True, text="the first"),
    ]
    steps: list[Step] = [Prompt(1, f"{ASKED.text}. Never push to main."), Plan(2, (PlanItem("round"),)), *ask]
    sources = facts([fold(steps)]).sources
    assert sources == {"OPEN": (2,), "RULES": (1,), "DECIDED": (4,), "REQUEST": ()}
    given = Given(0, compose(facts([fold(steps)])))
    assert facts([fold([given, Prompt(1, "go on")])]).sources == dict.fromkeys(sources, (1,))
    written = Say(2, "Here is the plan:\n- [x] parse\n- [ ] round the totals\n- [ ] document the amounts")
    assert facts([fold([ASKED, written])]).sources["OPEN"] == (2,)
