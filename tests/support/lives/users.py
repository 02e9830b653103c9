"""What users say in a life, each with what holds afterwards.

A task holds until another one takes its place, a request until it was reported as done and confirmed, a
point of a list until the agent says that it is done, a rule until it is withdrawn or corrected. A permission
softens a rule in part: both hold. A correction ends what it corrects, and holds itself. An answer holds, with
the question. Whoever withdraws something names it.
"""

from __future__ import annotations

from collections.abc import Callable

from . import speech
from .author import Author, Planned, Question, capitalised
from .model import AgentSays, Change, Edits, Kind, Statement
from .rules import LANGUAGES

_SENTENCE_ENDS = (".", "!", "?", "。", "？")


class Users(Author):
    """Writes what the user says."""

    def task(self, number: int) -> tuple[str, Statement]:
        """The words of a task; what the agent will plan for it is noted."""
        form = self.tasks[number]
        goal, area = self.names.filled(form.goal)
        kept = [one for one in form.more if self.chance(0.5)]
        sentences = (goal, *(self.names.filled(one, area)[0] for one in kept))
        items = [one for one in form.items if self.chance(0.7)]
        self.planned = []
        for item in items if len(items) > 1 else form.items[:2]:
            text, _, about = item.partition("|")
            worded, name = self.names.filled(text)
            self.planned.append(Planned(worded, self.names.filled(about, name)[0], name))
        about = self.names.filled(form.about, area)[0]
        return " ".join(sentences), self.statement("task", *sentences, about=about, name=area)

    def give_task(self) -> None:
        """The first prompt of a life, often with rules in it."""
        text, task = self.task(0)
        rules = [self.rule(is_sentence=True) for _ in range(self.rng.choice((0, 1, 1, 2)))]
        self.user(" ".join((text, *(rule.words[0] for rule in rules))), [task, *rules])

    def begin_turn(self, *, goes_on: bool = False) -> None:
        """The user says something after a turn or at the start of a run."""
        if self.scene.is_open:
            self.stop()
        if self.question is not None:
            if self.chance(0.85):
                self.answer(self.question)
            else:
                self.say_something()
        elif self.reported and self.chance(0.6):
            self.confirm()
        elif goes_on or self.chance(0.45):
            self.user(self.pick(speech.GO_ON))
        else:
            self.say_something()

    def say_something(self) -> None:
        """The user says one of the things that can be said now."""
        moves: dict[Callable[[], bool], int] = {self.add: 5, self.give_rule: 4, self.give_points: 3}
        if self.question is None:  # anything else might answer it
            moves |= {
                self.permit: 3, self.correct_choice: 4, self.correct_rule: 2, self.withdraw: 4,
                self.ask_state: 2, self.thank: 1, self.replace_task: 1,
            }  # fmt: skip
        while moves:
            [move] = self.rng.choices([*moves], [*moves.values()])
            del moves[move]
            if move():
                break
        else:
            self.question = None
            self.ask_state()
        if self.has_only_heard() and self.chance(0.6):
            self.do(AgentSays(self.pick(speech.NOTED)))

    def add(self) -> bool:
        if not self.has_room("request") or not self.actions:
            return False
        begins = [self.request()]
        text = begins[0].words[0]
        if text.endswith(_SENTENCE_ENDS) and self.has_room("rule") and self.chance(0.2):
            begins.append(self.rule(is_sentence=True))
            text = f"{text} {begins[1].words[0]}"
        self.user(text, begins)
        return True

    def request(self) -> Statement:
        form, _, about = self.actions.pop().partition("|")
        action, name = self.names.filled(form)
        text = self.pick(speech.OPENERS).format(a=action)
        return self.statement("request", text, core=action, about=about, name=name)

    def give_rule(self) -> bool:
        if not self.has_room("rule", 2):
            return False
        rules = [self.rule() for _ in range(2 if self.chance(0.25) else 1)]
        lines = [f"- {rule.words[0]}" for rule in rules]
        self.user("\n".join(("Some rules:", *lines)) if len(rules) > 1 else rules[0].words[0], rules)
        return True

    def rule(self, *, is_sentence: bool = False) -> Statement:
        """A rule; one that is a whole sentence can stand among others."""
        language = self.language if self.chance(0.7) else self.pick([*LANGUAGES])
        forms = LANGUAGES[language]
        replaced = dict(forms.corrected)
        candidates = [*forms.rules, *[forms.rules[0]] * 2, *replaced]
        form = self.pick([one for one in candidates if one.endswith(_SENTENCE_ENDS) or not is_sentence])
        text, name = self.names.filled(form)
        if not is_sentence and self.chance(0.3):
            text = (text[:1].lower() + text[1:]).rstrip(".。")
        rule = self.statement("rule", text, name=name, language=language)
        if form == forms.rules[0]:
            self.soft[rule.id] = name
        if form in replaced:
            self.corrections[rule.id] = self.names.filled(replaced[form], name)[0]
        return rule

    def give_points(self) -> bool:
        number = self.rng.randint(2, 4)
        if not self.has_room("point", number) or len(self.actions) < number:
            return False
        points = []
        for _ in range(number):
            form, _, about = self.actions.pop().partition("|")
            action, name = self.names.filled(form)
            points.append(self.statement("point", action, about=about, name=name))
        is_numbered = self.chance(0.6)
        lines = [f"{at}. {one.words[0]}" if is_numbered else f"- {one.words[0]}"
                 for at, one in enumerate(points, 1)]  # fmt: skip
        self.user("\n".join((self.pick(speech.POINT_INTROS), *lines)), points)
        if is_numbered and self.chance(0.4):
            self.report_point(self.rng.randrange(number), points)
        return True

    def report_point(self, at: int, points: list[Statement]) -> None:
        """The agent does a point at once, and reports it by its number."""
        self.work_on(points[at])
        point = self.standing.holds[points[at].id]
        self.do(AgentSays(self.pick(speech.POINT_DONE).format(n=at + 1), ends=(Change(point),)))

    def permit(self) -> bool:
        rules = [
            one
            for one in self.standing.of_kind("rule")
            if one.id in self.soft and one.id not in self.softened
        ]
        if not rules or not self.has_room("permission"):
            return False
        rule = self.rng.choice(rules)
        form = self.pick(LANGUAGES[rule.language].permissions)
        text, name = self.names.filled(form, self.soft[rule.id])
        self.softened[rule.id] = self.statement("permission", text, name=name, language=rule.language)
        self.user(text, [self.softened[rule.id]])
        return True

    def correct_choice(self) -> bool:
        return self._correct("choice")

    def correct_rule(self) -> bool:
        return self._correct("rule")

    def _correct(self, kind: Kind) -> bool:
        corrected = [one for one in self.standing.of_kind(kind) if one.id in self.corrections]
        if not corrected:
            return False
        before = self.rng.choice(corrected)
        text, name = self.corrections.pop(before.id), self.name_of[before.id]
        now = self.statement(kind, text, name=name, language=before.language)
        self.user(text, [now], [Change(before, by=text)])
        if self.chance(0.5):
            self.do(Edits(f"src/{name}.py", f"VALUE = {now.id}"))
        return True

    def withdraw(self) -> bool:
        held = [
            one
            for one in self.standing.of_kind("request", "rule", "point", "item")
            if not self.is_last_of_task(one)
        ]
        if not held:
            return False
        statement = self.rng.choice(held)
        if statement.kind == "rule":
            forms = LANGUAGES[statement.language].withdrawals
            text = self.names.filled(self.pick(forms), self.name_of[statement.id])[0]
        else:
            text = self.pick(speech.WITHDRAWN).format(b=self.spoken_of(statement))
        ends = [Change(statement, by=text)]
        permission = self.softened.pop(statement.id, None)
        if permission is not None and permission.id in self.standing.holds:
            ends.append(Change(permission, "unclear"))
        self.user(text, ends=ends)
        return True

    def confirm(self) -> None:
        """The user is content with something that was reported, and may want something else."""
        request = self.reported.pop(self.rng.choice([*self.reported]))
        text = capitalised(self.pick(speech.CONFIRMED).format(b=self.spoken_of(request)))
        begins = []
        if self.has_room("request") and self.actions and self.chance(0.25):
            begins.append(self.request())
        self.user(" ".join((text, *(one.words[0] for one in begins))), begins, [Change(request, by=text)])

    def answer(self, question: Question) -> None:
        if not question.options:
            answer = self.pick(speech.YES)
            self.user(answer, [self.statement("choice", question.text, answer)])
            return
        at = self.rng.randrange(len(question.options))
        option, asked = question.options[at], question.text.partition("\n")[0]
        answer = self.pick((str(at + 1), f"{at + 1}, please", option, f"{option}, I think"))
        rivals = tuple(one for one in question.options if one != option)
        choice = self.statement("choice", asked, option)._replace(answer=answer, rivals=rivals)
        self.user(answer, [choice])

    def ask_state(self) -> bool:
        self.user(self.pick(speech.STATE_QUESTIONS))
        self.do(AgentSays(self.pick(speech.STATE_ANSWERS)))
        return True

    def thank(self) -> bool:
        self.user(self.pick(speech.THANKS))
        return True

    def replace_task(self) -> bool:
        """The task is cancelled for another one. Rules stay; whether a wish, a choice or a failing check was
        about the old task alone, nobody can say."""
        tasks = self.standing.of_kind("task")
        if not self.may_replace_task or not tasks:
            return False
        self.may_replace_task = False
        words, task = self.task(1)
        cancelled, _, instead = self.pick(speech.REPLACED).partition(" | ")
        by = cancelled.format(b=tasks[0].about)
        old = (*tasks, *self.standing.of_kind("item"))
        doubtful = self.standing.of_kind("request", "point", "choice", "failing", "attempt")
        ends = [*(Change(one, by=by) for one in old), *(Change(one, "unclear") for one in doubtful)]
        self.user(" ".join(filter(None, (by, instead, words))), [task], ends)
        return True
