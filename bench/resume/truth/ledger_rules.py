"""Rules for what a brief tells that was said and holds: requests with their points, rules, choices, what was
tried, plans and lists.

Words must stand in one message of the one who is said to have said them, in their order, or in a brief that
the run was given. What was taken back, ticked off or answered anew by the cut holds no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from bench.resume.truth.events import Message, Plan, values_of
from bench.resume.truth.ground import FOLDED, NO_WORDS, Finding, Ground, Parts, Rule, finding, unfolded
from bench.resume.truth.words import content, is_verbatim, share, stands, words

_QUESTION_TOOLS = (
    "AskUserQuestion", "ExitPlanMode", "request_user_input", "ask_followup_question", "question", "ask_user",
)  # fmt: skip
_MORE = re.compile(r"and \d+ more\.?")
_SETTLED = re.compile(r"\[(done|withdrawn|superseded)\]")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_TAKES_BACK = re.compile(
    r"\b(?:never ?mind|forget|scrap|scratch|cancel|drop|skip|undo|no longer|not needed|take (?:that|it) back"
    r"|don'?t (?:need|want|bother)|ignore|leave (?:out|it)|lift|instead|revert|vergiss|nicht mehr|oublie"
    r"|olvida|ya no|esquece|dimentica)\b|不用|不需要|算了|取消|忘掉|やめて|不要になった",
    re.I,
)
_CONTENT = re.compile(
    r"\b(?:thanks?|thank you|thx|works?|working|perfect|great|good|nice|awesome|done|fixed|cool|love|ok|okay"
    r"|danke|super|merci|gracias|obrigado)\b|谢谢|好的|可以|ありがとう|고마",
    re.I,
)
_TICKED = re.compile(
    r"✅|☑|✔|\[x\]|\b(?:is|are|was|now|:|—|-) *(?:done|finished|complete[d]?|implemented)\b", re.I
)
_UNTICKED = re.compile(
    r"\bnot\b|n't\b|\bremain|\bleft\b|\bnext\b|\btodo\b|pending|\bonce\b|\bwhen\b|\bif\b", re.I
)
_BOX = re.compile(r"\[[xX]\]")
_MARK = re.compile(r"\w{1,2}\. ")
_ALIKE, _HALF, _RECENT = 0.8, 0.5, 6
_NEARLY = 0.95
"""A point that goes over several lines is told without what stands between them."""
_SHORT_MESSAGE = 600
"""A message that is longer says other things besides what it takes back."""
_PLAN_CHARS = 160
_GO_AHEAD = 2
"""So few words ask for nothing new."""


class LedgerRules:
    """One rule for each form of statement."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.told = ground, ground.told

    def rules(self) -> dict[str, Rule]:
        return {
            "request": self._request, "adds to": self._request, "before": self._request,
            "goal": self._goal, "first request": self._first_request, "forked": self._goal,
            "marks": self._marks, "in order": self._in_order, "cut": self._cut,
            "in reply to": self._in_reply_to, "points": self._points, "answered": self._answered,
            "rules": self._rules, "decided": self._decided, "tried": self._tried, "plan": self._plan,
            "findings": self._findings, "open": self._open,
        }  # fmt: skip

    # -- requests

    def _request(self, parts: Parts) -> Iterator[Finding]:
        found = self.ground.asked_with(parts["quote"])
        yield finding(bool(found), "a message of the user", NO_WORDS)
        if not found:
            return
        yield from self._dated(parts["how"], found)
        first = min(one.record for one in found)
        yield self._holds(parts["quote"], found, first, "it holds")

    def _dated(self, told: str, found: list[Message]) -> Iterator[Finding]:
        """A request of another day has its date."""
        date = re.search(r"\d{4}-\d\d-\d\d", told)
        days = {self.ground.day(one.record) for one in found}
        now = self.ground.day(self.told.times[-1][0]) if self.told.times else ""
        if "" in days or not now:
            return
        good = date[0] in days if date else now in days
        yield finding(good, f"of {date[0] if date else 'today'}", f"it is of {sorted(days)}, now is {now}")

    def _goal(self, parts: Parts) -> Iterator[Finding]:
        yield finding(bool(self.ground.asked_with(parts["quote"])), "a message of the user", NO_WORDS)

    def _first_request(self, parts: Parts) -> Iterator[Finding]:
        found = self.ground.asked_with(parts["quote"])
        if not found:
            yield finding(False, "the first request", NO_WORDS)
            return
        asked = min(one.record for one in found)
        earlier = [one for one in self._typed() if one.record < asked and len(one.text.split()) > 4]
        why = f"earlier: {earlier[0].text[:80]!r}" if earlier else ""
        yield finding(not earlier, "the first request", why)

    def _holds(self, quote: str, found: list[Message], since: int, claim: str) -> Finding:
        """Whether no later message of the user takes it back, as far as its words tell: a sentence that takes
        something back and names half of what the words are about."""
        about = content(quote)
        for later in self._typed():
            if later.record <= since or later in found or len(later.text) > _SHORT_MESSAGE:
                continue
            for sentence in _SENTENCE.split(later.text):
                if not _TAKES_BACK.search(sentence):
                    continue
                named = content(sentence) & about
                if len(named) >= max(2, _HALF * len(about)):
                    return finding(False, claim, f"record {later.record} takes it back: {sentence[:80]!r}")
        return finding(True, claim)

    def _typed(self) -> list[Message]:
        """What the user certainly wrote, in order."""
        return [one for one in self.told.users if one.sure]

    def _in_order(self, parts: Parts) -> Iterator[Finding]:
        """The messages are told once each, in the order in which they were written, the last one last."""
        quotes = parts["messages"].split("\n")
        places = [[one.record for one in self.ground.asked_with(quote)] for quote in quotes]
        known = [records for records in places if records]
        good = all(min(one) <= max(other) for one, other in pairwise(known))
        yield finding(good, "in their order", f"they are in records {known}")
        whole = [quote for quote in quotes if "…" not in quote and "[" not in quote]
        yield finding(len(set(whole)) == len(whole), "each once", "one is told twice")

    def _cut(self, parts: Parts) -> Iterator[Finding]:
        """How many messages are told, and how many of them not whole."""
        quotes = parts["messages"].split("\n")
        count = int(parts["of"] or parts["all"] or 1)
        left_out = int(parts["left"] or 0)
        claim = f"{count} messages, {left_out} left out"
        yield finding(len(quotes) + left_out == count, claim, f"{len(quotes)} are told")
        if parts["all"] and not parts["also"]:
            cut = 0
        else:
            cut = int(parts["cut"] or parts["also"] or 1)
        short = [quote for quote in quotes if not self._is_whole(quote)]
        folded = [quote for quote in quotes if FOLDED.search(quote) and quote not in short]
        good = len(short) <= cut <= len(short) + len(folded)  # a fold may have been shortened too
        yield finding(good, f"{cut} are cut", f"{len(short)} are: {[one[:30] for one in short]}")

    def _is_whole(self, quote: str) -> bool:
        """Whether no words of a message are missing but those that the quotation says are folded or hold no
        more."""
        found = self.ground.asked_with(quote)
        if FOLDED.search(quote) or _SETTLED.search(quote):  # what is folded or settled says so itself
            return unfolded(quote).count("…") == len(FOLDED.findall(quote))
        if "…" in quote and not any("…" in one.text for one in found):
            return False
        many = len(words(quote).split())
        return not found or any(len(words(one.text).split()) <= many + 2 + many // 12 for one in found)

    def _marks(self, parts: Parts) -> Iterator[Finding]:
        """What a request says of its own parts: that they are done, or hold no more."""
        quote = parts["quote"]
        for mark in _SETTLED.finditer(quote):
            claim = f"{mark[0]} in {quote[:30]}"
            gone = [
                (one, text)
                for one in self.ground.asked_with(quote)
                if (text := _between(quote[: mark.start()], quote[mark.end() :], one.text))
            ]
            if not gone:
                if not any(mark[0] in one.text for one in self.ground.asked_with(quote)):
                    yield finding(None, claim, "what stood there is not found")
                continue
            good = any(self._is_settled(text, mark[1], one.record) for one, text in gone)
            yield finding(good, claim, f"nothing shows it of {gone[0][1][:60]!r}")

    def _is_settled(self, text: str, state: str, since: int) -> bool:
        """Whether something shows that a part of a message is done or holds no more."""
        about = content(text)
        later = [one for one in self._typed() if one.record > since]
        if state != "done":
            return any(content(one.text) & about for one in later)
        ticked = [
            name
            for record, plan in self.told.plans
            for name, its in plan
            if record > since and its == "done" and (share(name, text) >= _HALF or share(text, name) >= _HALF)
        ]
        said = [one for one in self.told.said if one.record > since and _TICKED.search(one.text)]
        content_with = [one for one in later if _CONTENT.search(one.text)]
        return bool(ticked or content_with) or any(content(one.text) & about for one in said)

    def _points(self, parts: Parts) -> Iterator[Finding]:
        """The points that are left stand in the message; the others are done or taken back."""
        found = self.ground.asked_with(parts["message"])
        shown = [] if parts["quote"] == "none is left" else parts["quote"].split("; ")
        count = re.search(r"(\d+) of (\d+) done", parts["about"])
        if not found or count is None:
            yield finding(False, "points", "no message above has them")
            return
        text, left = "\n".join(one.text for one in found), 0
        for point in _joined(shown):
            left += 1
            bare = re.sub(r"^\w{1,2}\. ", "", point)
            claim = f"left: {point[:50]}"
            if not self.ground.stands(bare, text) and share(bare, text) < _NEARLY:
                yield finding(False, claim, "the message does not say so")
                continue
            mark = re.match(r"(\w{1,2})\. ", point)
            if mark and not re.search(rf"(?i)(?<!\w){mark[1]}\W", text):
                yield finding(False, claim, "it has no such mark")
                continue
            state = self._state(bare, of_user=True)
            yield finding(state != "done", claim, "the list has it as done")
        done, total = int(count[1]), int(count[2])
        yield finding(done + left <= total, f"{done} of {total} done", f"{left} are left")
        gone = [one for one in _entries(found[-1].text) if not any(stands(p, one) for p in shown)]
        shows = [one for one in gone if self._is_settled(one, "done", found[0].record)]
        if done:
            why = f"of {len(gone)} others {len(shows)} are shown to be"
            yield finding(len(shows) >= done or None if gone else None, f"{done} done", why)

    # -- the agent's words on them

    def _in_reply_to(self, parts: Parts) -> Iterator[Finding]:
        """What it answers was said or asked by the agent shortly before it."""
        answering = [one.record for one in self.ground.asked_with(parts["message"])]
        claim = "what it answers"
        for end in answering or [self.ground.asked]:
            before = [one.text for one in self.told.said if one.record <= end][-_RECENT:]
            asked = [
                values_of(call.arguments)
                for call in self.told.calls
                if call.record < end and call.tool in _QUESTION_TOOLS
            ]
            texts = [*before, *asked[-2:], *(one.text for one in self.told.given if one.record <= end)]
            if any(self.ground.stands(parts["quote"], text) for text in texts):
                yield finding(True, claim)
                return
        yield finding(False, claim, "the agent had not said so")

    def _plan(self, parts: Parts) -> Iterator[Finding]:
        """The agent's first answer, in its own words, to a request that is told."""
        quote = parts["quote"].removeprefix('"').removesuffix('"')
        found = [
            one
            for one in self.told.said
            if is_verbatim(self.ground.short(quote), self.ground.short(one.text))
        ]
        if not found:
            yield finding(False, "the agent's plan", "the agent did not say so")
            return
        rows = parts["messages"].split("\n") if parts["messages"] else []
        told = [one for quote in rows for one in self.ground.asked_with(quote)]
        yield finding(
            any(self._is_first_answer(one, told) for one in found),
            "the first answer to a request",
            f"record {found[0].record} answers another message, or is not the first",
        )

    def _is_first_answer(self, said: Message, told: list[Message]) -> bool:
        """Whether it answers one of these messages: no other one stands between, and no other long answer."""
        for asked in told:
            if asked.record > said.record:
                continue
            between = [
                one
                for one in self._typed()
                if asked.record < one.record <= said.record
                and one.how != "queued"
                and words(one.text) != words(asked.text)
                and len(words(one.text).split()) > _GO_AHEAD
            ]
            earlier = [
                one for one in self.told.said if asked.record < one.record < said.record and _tells_plan(one)
            ]
            if not between and not earlier:
                return True
        return False

    def _answered(self, parts: Parts) -> Iterator[Finding]:
        """Earlier requests, each of which the agent answered with words: the one that opened the work and
        then the latest ones in their order, or the last first, as the label says."""
        asked: list[list[int]] = []
        for text in re.findall(r"\"(.*?)\"(?:; |$)", parts["quote"]):
            found = self.ground.asked_with(text)
            claim = f"answered: {text[:40]}"
            if not found:
                yield finding(False, claim, NO_WORDS)
                continue
            records = sorted(one.record for one in found)
            said = [one for one in self.told.said if one.record > records[0]]
            yield finding(bool(said), claim, "the agent said nothing since")
            asked.append(records)
        claim = "the last first" if "the last first" in parts["about"] else "in their order"
        for first, second in pairwise(asked):
            early, late = (second, first) if claim == "the last first" else (first, second)
            yield finding(early[0] <= late[-1], claim, f"records {first} and {second}")

    def _tried(self, parts: Parts) -> Iterator[Finding]:
        for text in _rows(parts["quote"]):
            found = any(self.ground.says(text, one.text) for one in [*self.told.said, *self.told.given])
            yield finding(found, f"tried: {text[:40]}", "the agent did not say so")

    def _findings(self, parts: Parts) -> Iterator[Finding]:
        everything = self._everything()
        for text in _rows(parts["quote"]):
            text = re.sub(r"^\w{1,2}\. ", "", text)
            yield finding(self.ground.stands(text, everything), f"found: {text[:40]}", "it stands nowhere")

    # -- rules and choices

    def _rules(self, parts: Parts) -> Iterator[Finding]:
        for row in _rows(parts["quote"]):
            rule, _, softer = row.removesuffix(")").partition(" (but: ")
            rule = rule if softer else row
            found = self._said_by_user(rule)
            yield finding(bool(found), f"a rule: {rule[:50]}", "the user did not say so")
            if softer:
                # several may stand there, one behind the other
                good = all(self._said_by_user(one) for one in _SENTENCE.split(softer))
                yield finding(good, f"but: {softer[:50]}", "the user did not say so")
            if found:
                last = max(one.record for one in found)
                yield self._holds(rule, found, last, f"it holds: {rule[:40]}")

    def _said_by_user(self, text: str) -> list[Message]:
        sources = [*self.told.users, *self.ground.refusals(), *self.told.given]
        return [one for one in sources if self.ground.says(unfolded(text), one.text)]

    def _decided(self, parts: Parts) -> Iterator[Finding]:
        for row in _rows(parts["quote"]):
            if row.startswith("the agent: "):
                text = row.removeprefix("the agent: ")
                found = [
                    one for one in [*self.told.said, *self.told.given] if self.ground.says(text, one.text)
                ]
                yield finding(bool(found), f"the agent chose: {text[:40]}", "the agent did not say so")
                if found:
                    last = max(one.record for one in found)
                    yield self._holds(text, [], last, f"it stands: {text[:40]}")
            else:
                yield from self._chosen(row)

    def _chosen(self, row: str) -> Iterator[Finding]:
        """An answer of the user, and the question before it; or the option that a number picks."""
        answer, _, question = row.partition(" (asked: ")
        question = question.removesuffix(")")
        claim = f"chose: {answer[:40]}"
        answers = [*self._said_by_user(answer), *self._answers_with(answer)]
        if not answers and (picked := re.match(r"(\w{1,2})[.)] ", row)):
            answers = [one for one in self._typed() if re.match(rf"\W*{picked[1]}\b", one.text.strip())]
            question = row
        yield finding(bool(answers), claim, "the user did not answer so")
        if not answers or not question:
            return
        last = max(one.record for one in answers)
        asked = [one for one in self._asked() if self.ground.stands(question, one.text)]
        yield finding(
            any(one.record <= last for one in asked), f"asked: {question[:40]}", "it was not asked before"
        )
        anew = [
            call
            for call in self.told.calls
            if call.tool in _QUESTION_TOOLS and call.result is not None and not call.result.failed
            and call.result.record > last
            and words(question).strip() in words(values_of(call.arguments))
        ]  # fmt: skip
        why = f"answered anew in record {anew[-1].record}" if anew else ""
        yield finding(not anew, f"it stands: {answer[:40]}", why)

    def _asked(self) -> list[Message]:
        """All that the agent said or asked."""
        asked = [
            Message(call.record, values_of(call.arguments))
            for call in self.told.calls
            if call.tool in _QUESTION_TOOLS or call.result is not None
        ]
        return [*self.told.said, *asked, *self.told.given]

    def _answers_with(self, text: str) -> list[Message]:
        """The answers to questions with these words; where a result pairs both, its questions are none."""
        found = []
        for call in self.told.calls:
            if call.result is None or call.tool not in _QUESTION_TOOLS:
                continue
            output = self.ground.output(call)
            pairs = re.findall(r"\"[^\"]+\"=\"([^\"]+)\"", output)
            if any(self.ground.says(text, answer) for answer in pairs or [output]):
                found.append(Message(call.result.record, output))
        return found

    # -- lists

    def _open(self, parts: Parts) -> Iterator[Finding]:
        """Each item stands in a list and was not done, dropped or said to be done since."""
        yield from self._as_of(parts["about"])
        if parts["quote"] == "nothing":
            plan = self.told.plans[-1][1] if self.told.plans else []
            left = [name for name, state in plan if state in ("open", "now")]
            yield finding(bool(plan) and not left, "nothing is open", f"open: {left[:3]}")
            return
        named, before = False, False
        for item in parts["quote"].split("; "):
            if not item.strip() or _MORE.fullmatch(item):
                continue
            before = before or item.startswith("from before: ")
            item = item.removeprefix("from before: ")
            if item.endswith("…") and len(item.split()) < 4:
                continue  # too little of it is told
            verdict, is_named = self._item(item, before)
            named = named or is_named
            yield verdict
        count = re.search(r"(\d+) of (\d+) done", parts["about"])
        if count and named:
            yield self._counted(parts["quote"], int(count[1]), int(count[2]))

    def _as_of(self, about: str) -> Iterator[Finding]:
        """How many calls ago the list was touched."""
        told = re.search(r"as of (\d+) calls before the end", about)
        if told is None or not self.told.counts_calls:
            return
        touched = [record for record, _ in self.told.plans]
        touched += [one.record for one in [*self.told.said, *self.told.users]]
        ages = {len(self.ground.calls_after(record)) for record in touched}
        ages |= {len(self.told.calls) - 1 - call.at for call in self.told.calls}
        yield finding(int(told[1]) in ages, f"as of {told[1]} calls before the end", f"{sorted(ages)[:4]}")

    def _item(self, item: str, before: bool) -> tuple[Finding, bool]:
        """The finding on an item, and whether the agent's own list has it."""
        text = item.removeprefix("now ")
        claim = f"open: {text[:50]}"
        text = text if self._plans_with(text) else item if self._plans_with(item) else text
        state, record = self._state(text), self._last_listed(text)
        if not state:
            if not self.ground.stands(text, self._everything()):
                return finding(False, claim, "there is no such item"), False
            ticked = self._said_done(text, -1)
            return finding(not ticked, claim, f"said to be done: {ticked[:80]!r}"), False
        if state in ("done", "dropped", "left out"):
            return finding(False, claim, f"it is {state}"), True
        if text != item and state != "now":
            return finding(False, claim, "it is not under way"), True
        if before and record == self.told.plans[-1][0]:
            newer = any(one.record > record for one in self._typed())
            older = len(self.told.plans) > 1
            return finding(newer or older, claim, "it is of the newest list"), True
        ticked = self._said_done(text, record)
        return finding(not ticked, claim, f"said to be done: {ticked[:80]!r}"), True

    def _plans_with(self, text: str) -> list[tuple[int, Plan]]:
        return [(record, plan) for record, plan in self.told.plans if _named(text, plan)]

    def _last_listed(self, text: str) -> int:
        found = self._plans_with(text)
        return found[-1][0] if found else -1

    def _state(self, text: str, *, of_user: bool = False) -> str:
        """The state of an item in the last list that has it; "left out" if a later state of the same list
        does not have it, and nothing if none ever had it."""
        found = self._plans_with(text)
        if not found:
            return ""
        record, plan = found[-1]
        names = {words(name) for name, _ in plan}
        later = [one for at, one in self.told.plans if at > record]
        if not of_user and any(names & {words(name) for name, _ in one} for one in later[-1:]):
            return "left out"
        states = [state for name, state in _named(text, plan)]
        return next((one for one in ("now", "open") if one in states), states[0])

    def _said_done(self, text: str, since: int) -> str:
        """A line of the agent, after a record, that has the words of an item and says that it is done."""
        wanted = words(text.rstrip("…")).strip()
        if len(wanted.split()) < 3:
            return ""
        for one in self.told.said:
            if one.record <= since or wanted not in words(one.text):
                continue
            for line in one.text.split("\n"):
                if "[ ]" in line or (_TICKED.search(text) and not _BOX.search(line)):
                    continue  # the box says that it is open, or the mark is one of the item itself
                if wanted in words(line) and _TICKED.search(line) and not _UNTICKED.search(line):
                    return f"{one.record}: {line.strip()}"
        return ""

    def _counted(self, items: str, done: int, total: int) -> Finding:
        """How many items are done: all that are not told are, of this list and of those before it."""
        texts = [one for one in items.split("; ") if not _MORE.fullmatch(one)]
        left = len(texts) + sum(int(one) for one in re.findall(r"(?:^|; )and (\d+) more(?=$|; )", items))
        ever = {name for _, plan in self.told.plans for name, state in plan if state == "done"}
        newest = self.told.plans[-1][1] if self.told.plans else []
        first = texts[0].removeprefix("from before: ").removeprefix("now ") if texts else ""
        least = sum(state == "done" for _, state in newest) if _named(first, newest) else 0
        good = total - done == left and least <= done <= max(len(ever), least)
        why = f"{left} are open, {least} to {len(ever)} were done"
        return finding(good, f"{done} of {total} done", why)

    def _everything(self) -> str:
        """All that stands in the transcript."""
        texts = [
            one.text for one in [*self.told.said, *self.told.users, *self.told.thoughts, *self.told.given]
        ]
        for call in self.told.calls:
            texts += [
                values_of(call.arguments),
                *(edit.added for edit in call.edits),
                self.ground.output(call),
            ]
        return "\n".join([*texts, *(one.text for one in self.told.notices)])


def _tells_plan(said: Message) -> bool:
    return len(said.text) >= _PLAN_CHARS


def _rows(text: str) -> list[str]:
    """The texts of a line, which are put one behind the other."""
    texts = text.strip().removeprefix('"').removesuffix('"').split(" | ")
    return [one for one in texts if not _MORE.fullmatch(one)]


def _joined(shown: list[str]) -> list[str]:
    """The points of a line; a semicolon may stand inside one that has a mark."""
    points: list[str] = []
    for piece in shown:
        if points and _MARK.match(points[0]) and not _MARK.match(piece):
            points[-1] += f"; {piece}"
        else:
            points.append(piece)
    return points


def _named(text: str, plan: Plan) -> list[tuple[str, str]]:
    """The items of a list that are meant: in these words, or else in nearly the same."""
    exact = [(name, state) for name, state in plan if stands(text, name)]
    head = words(text.partition(" (")[0])  # behind it agents write how it stands
    exact = exact or [(name, state) for name, state in plan if words(name) == head]
    return exact or [
        (name, state)
        for name, state in plan
        if len(content(text)) > 3 and share(text, name) >= _ALIKE and share(name, text) >= _ALIKE
    ]


def _entries(text: str) -> list[str]:
    """The entries of the lists in a message."""
    lines = re.findall(r"(?m)^\s{0,8}(?:\W{0,4}(?:\d{1,2}|[a-h])[.):]|[-*•+]) +(\S.*)$", text)
    return lines or re.split(r"(?:^|\s)\(?\d[.)]\s", text)[1:]


def _between(before: str, after: str, source: str) -> str:
    """The words of a source between two pieces of a quotation."""
    there = words(source)
    heads = words(re.split(r"…|\[\w+\]", before)[-1]).split()[-6:]
    tails = words(re.split(r"…|\[\w+\]", after)[0]).split()[:6]
    start = there.find(f" {' '.join(heads)} ") + len(" ".join(heads)) + 1 if heads else 0
    end = there.find(f" {' '.join(tails)} ", start) if tails else len(there)
    return there[start:end].strip() if 0 <= start <= end else ""
