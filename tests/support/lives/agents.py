"""What agents do in a life, each with what holds afterwards.

An item holds until the agent ticks it. A choice holds until the user corrects it. A check that failed holds
until it passes. What was tried in vain holds. Agents without hooks know only what was said in their own run,
so they never touch the list of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import speech
from .author import Question, capitalised
from .model import AgentSays, Asks, Change, Compacts, Edits, Reports, Runs
from .users import Users


class Check(NamedTuple):
    command: str
    failed: str
    passed: str
    name: str
    why: str


class Agents(Users):
    """Writes what the agent does."""

    def act(self) -> None:
        """The agent does one of the things that it can do now."""
        moves: dict[Callable[[], bool], int] = {
            self.work: 8, self.fail: 3, self.mend: 3, self.decide: 4, self.attempt: 2, self.ask: 2,
            self.ask_in_words: 2, self.review: 2, self.finish: 4, self.compact: 3,
        }  # fmt: skip
        self.be_at_work()
        while moves:
            [move] = self.rng.choices([*moves], [*moves.values()])
            del moves[move]
            if move():
                return

    def plan(self) -> None:
        """The agent makes a list of the task."""
        items = [self.statement("item", one.text, about=one.about, name=one.name) for one in self.planned]
        self.planned = []
        self.of_task = {one.id for one in items}
        self.be_at_work()
        self.do(AgentSays(self.pick(speech.BEGINNINGS)))
        self.write_list(begins=items)

    def work(self) -> bool:
        if self.planned and self.knows_task():
            self.plan()
        listed = self.listed()
        self.do(AgentSays(self.pick(speech.WORKING)))
        if not listed:
            self.do(Edits(f"src/{self.names.pair()}.py", "STEP = 1"))
            return True
        statement = self.rng.choice(listed[:2])
        self.scene.under_way = statement.id
        if self.chance(0.6):
            self.write_list()
        self.work_on(statement)
        if self.chance(0.55) and not self.is_last_of_task(statement):
            self.scene.under_way = 0
            self.write_list(ends=[Change(statement)])
        return True

    def check(self) -> Check:
        """A check of its own."""
        x = self.names.pair()
        one, other, passed = self.rng.sample(range(100, 9_999), 3)
        passed %= 40
        if self.chance(0.6):
            why = f"assert {one} == {other}"
            fails = f"tests/test_{x}.py F\nE   {why}\nFAILED tests/test_{x}.py::test_sum - {why}"
            failed = f"{fails}\n1 failed, {passed} passed in 0.42s"
            name = f"tests/test_{x}.py"
            return Check(f"pytest -q {name}", failed, f"{passed + 1} passed in 0.40s", name, why)
        why = f"{x}_test.go:{passed}: got {one}, want {other}"
        failed = f"--- FAIL: TestSum (0.00s)\n    {why}\nFAIL\nFAIL\texample.org/{x}\t0.012s"
        return Check(f"go test ./{x}/...", failed, f"ok  \texample.org/{x}\t0.010s", f"./{x}/...", why)

    def fail(self) -> bool:
        if not self.has_room("failing"):
            return False
        check = self.check()
        failing = self.statement("failing", check.name, check.why, core=check.why)
        self.checks[failing.id] = check.command, check.passed
        self.do(Runs(check.command, check.failed, 1, begins=(failing,)))
        return True

    def mend(self) -> bool:
        failing = self.known("failing")
        if not failing:
            return False
        check = self.rng.choice(failing)
        command, passed = self.checks[check.id]
        self.do(Edits(f"src/{self.names.pair()}.py", "FIXED = True"))
        self.do(Runs(command, passed, 0, ends=(Change(check),)))
        return True

    def decide(self) -> bool:
        if not self.has_room("choice") or not self.choices:
            return False
        form = self.choices.pop()
        text, name = self.names.filled(form.decision)
        choice = self.statement("choice", text, name=name)
        self.corrections[choice.id] = self.names.filled(form.correction, name)[0]
        self.do(AgentSays(text, begins=(choice,)))
        self.do(Edits(f"src/{name}.py", "CHOSEN = True"))
        return True

    def attempt(self) -> bool:
        if not self.has_room("attempt") or not self.attempts:
            return False
        text, name = self.names.filled(self.attempts.pop())
        check = self.check()
        self.do(Edits(f"src/{name}.py", "TRIED = True"))
        self.do(Runs(check.command, check.failed, 1))
        self.do(Runs(f"git checkout -- src/{name}.py", "Updated 1 path from the index"))
        self.do(Runs(check.command, check.passed))
        self.do(AgentSays(text, begins=(self.statement("attempt", text, name=name),)))
        return True

    def ask(self) -> bool:
        """A question by the agent's tool. Roo does not write down the answer."""
        if (
            not self.has_room("choice")
            or self.scene.agent == "roo"
            or not self.questions
            or not self.able.asks
        ):
            return False
        form = self.questions.pop()
        question, _ = self.names.filled(form.question)
        answer = self.pick(form.options)
        self.do(Asks(question, answer, begins=(self.statement("choice", question, answer),)))
        return True

    def ask_in_words(self) -> bool:
        if not self.has_room("choice") or not self.questions:
            return False
        if self.chance(0.3):
            question = Question(self.names.filled(self.pick(speech.SHALL))[0])
        else:
            form = self.questions.pop()
            asked, _ = self.names.filled(form.question)
            options = [f"{at}. {option}" for at, option in enumerate(form.options, 1)]
            question = Question("\n".join((asked, *options)), form.options)
        self.stop(question.text)
        self.question = question
        return True

    def review(self) -> bool:
        """A sub-agent's findings, which the agent works through: on its list, or by their numbers."""
        number = self.rng.randint(2, 4)
        if not self.able.reviews or not self.has_room("item", number) or len(self.findings) < number:
            return False
        findings = []
        for _ in range(number):
            form, _, about = self.findings.pop().partition("|")
            text, name = self.names.filled(form)
            findings.append(self.statement("item", text, about=about, name=name))
        lines = (f"{at}. {one.words[0]}" for at, one in enumerate(findings, 1))
        self.do(Reports(self.pick(speech.REVIEW_TASKS), "\n".join(("Findings:", *lines))))
        if self.scene.has_list or self.chance(0.5):
            self.do(AgentSays(self.pick(speech.WORKS_THROUGH)))
            self.write_list(begins=findings)
            return True
        self.unlisted |= {one.id for one in findings}
        self.do(AgentSays(self.pick(speech.WORKS_THROUGH), begins=tuple(findings)))
        self.work_on(findings[0])
        self.do(AgentSays(self.pick(speech.FINDING_DONE).format(n=1), ends=(Change(findings[0]),)))
        return True

    def finish(self) -> bool:
        """The agent does what was asked for, ticks it, and reports it by its name."""
        requests = self.known("request")
        if not requests:
            return False
        request = self.rng.choice(requests)
        about = self.spoken_of(request)
        self.scene.under_way = request.id
        if self.chance(0.5):
            self.write_list()
        path = self.work_on(request)
        self.scene.under_way = 0
        self.write_list(ends=[Change(request, "unclear")])
        self.stop(capitalised(self.pick(speech.FINISHED).format(b=about, p=path)))
        self.reported[request.id] = request
        if self.chance(0.6) and self.may_prompt():
            self.confirm()
        return True

    def compact(self) -> bool:
        if len(self.scene.acts) < 3 or self.able.compacts == "never":
            return False
        is_between = self.able.compacts == "between turns"
        if is_between and not self.may_prompt():
            return False
        for _ in range(1 if is_between else self.rng.randint(1, 3)):
            if is_between:
                self.stop()
            self.do(Compacts(self.summary()))
            self.be_at_work()
            self.do(AgentSays(self.pick(speech.WORKING)))
            self.do(Edits(f"src/{self.names.pair()}.py", "AFTER = 1"))
        return True

    def summary(self) -> str:
        """What an agent keeps of its window: some things in their words, most not at all."""
        tasks = [one.about for one in self.standing.of_kind("task")]
        kept = [one for one in self.standing.holds.values() if self.chance(0.3)]
        return "\n".join(
            (
                f"The conversation is about {' and '.join(tasks) or 'some changes'}.",
                *(f"- {' / '.join(one.words)}" for one in kept),
                "The user wants the work to go on.",
            )
        )
