"""Rules for what a brief says of the place, the user's last message and the end of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from bench.resume.truth.events import Call
from bench.resume.truth.ground import NO_WORDS, Finding, Ground, Parts, Rule, finding
from bench.resume.truth.words import is_folder, stands, words

_LIST_TOOLS = frozenset(
    {
        "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "update_plan", "todowrite",
        "write_todos", "update_todo",
    }
)  # fmt: skip
"""Tools of the list, which is told elsewhere."""


def _only_asks(call: Call) -> bool:
    """Whether a call only waits for what runs already."""
    return call.tool in ("write_stdin", "wait") and not call.arguments.get("chars")


class UserRules:
    """One rule for each form of statement."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.told = ground, ground.told

    def rules(self) -> dict[str, Rule]:
        return {
            "folder": self._folder, "branch": self._branch, "calls": self._calls, "when": self._when,
            "pull request": self._pull_request, "last message": self._last_message, "age": self._age,
            "calls since": self._calls_since, "recap": self._recap,
            "last words": self._last_words, "last thought": self._last_thought,
            "its turn was over": self._turn_over, "the user stopped it": self._stopped_by_user,
            "the model could not be reached": self._fault, "fault": self._fault,
            "its last call has no result": self._pending, "nothing of its work is known": self._nothing,
            "its turn was over, but a sub-agent was still at work": self._turn_over,
        }  # fmt: skip

    # -- the place

    def _folder(self, parts: Parts) -> Iterator[Finding]:
        shown = parts["folder"]
        folders = [folder.replace("\\", "/").rstrip("/") for _, folder in self.told.folders]
        known = [folders[0], folders[-1]] if folders else []
        good = any(is_folder(shown, one) for one in known)
        yield finding(good, f"in {shown}", f"folders are {known}")

    def _branch(self, parts: Parts) -> Iterator[Finding]:
        shown = parts["branch"].rstrip("…")
        recorded = self.told.branches
        latest = recorded[-1][1] if recorded else ""
        changed = max((now[0] for last, now in pairwise(recorded) if last[1] != now[1]), default=-1)
        possible = {latest}
        for call in self.told.calls:
            if call.result is None or not call.command or call.result.record < changed:
                continue
            for name in re.findall(r"Switched to (?:a new )?branch '([^']+)'", call.result.text):
                possible = {name, latest}
            told = r"^\[(\S+)(?: \([\w-]+\))? [0-9a-f]{7,}\]|^On branch (\S+)"
            possible |= {one or other for one, other in re.findall(told, call.result.text, re.M)}
        good = any(one.startswith(shown) for one in possible)
        yield finding(good, f"branch {shown}", f"branches are {sorted(possible)}")

    def _calls(self, parts: Parts) -> Iterator[Finding]:
        count = len(self.told.calls)
        good = int(parts["calls"]) == count if self.told.counts_calls else None
        yield finding(good, f"after {parts['calls']} calls", f"there are {count}")

    def _when(self, parts: Parts) -> Iterator[Finding]:
        sure = [one for one in self.told.users if one.sure]
        records = [one.record for one in self.told.calls] + [one.record for one in [*self.told.said, *sure]]
        since = max(records, default=0)
        times = sorted({time[:16].replace("T", " ") for record, time in self.told.times if record >= since})
        good = times[0] <= parts["when"] <= times[-1] if times else None
        yield finding(good, f"at {parts['when']}", f"the last records are of {times}")

    def _pull_request(self, parts: Parts) -> Iterator[Finding]:
        number = parts["number"]
        texts = [f"{call.command}\n{self.ground.output(call)}" for call in self.told.calls]
        texts += [one.text for one in [*self.told.said, *self.told.users, *self.told.notices]]
        good = any(re.search(rf"(?:pull/|pulls/|#|pr \w+ ){number}\b", text) for text in texts)
        yield finding(good, f"pull request {number}", "it is named nowhere")

    # -- the user

    def _last_message(self, parts: Parts) -> Iterator[Finding]:
        claim = "the last message"
        found = [one for one in self.ground.users(parts["quote"]) if one.how != "notice"]
        if "refusing a call" in parts["how"]:
            found += self.ground.refusals_with(parts["quote"])
        if not found:
            yield finding(False, claim, NO_WORDS)
            return
        last = max(found, key=lambda one: one.record)
        self.ground.asked = last.record
        later = [
            one
            for one in self.told.users
            if one.sure and one.record > last.record and words(one.text) != words(last.text)
        ]
        yield finding(
            not later, claim, f"later: {later[-1].record}: {later[-1].text[:80]!r}" if later else ""
        )

    def _age(self, parts: Parts) -> Iterator[Finding]:
        found = [one.record for one in self.ground.users(parts["quote"])]
        found += [one.record for one in self.ground.refusals_with(parts["quote"])]
        if not found:
            return
        ages = sorted({len(self.ground.calls_after(record)) for record in found})
        age = int(parts["calls"])
        # a message that waited in a queue stands in several records
        good = age in ages or (len(found) > 1 and ages[0] <= age <= ages[-1])
        claim = f"{age} calls before the end"
        yield finding(good if self.told.counts_calls else None, claim, f"it is {ages}")
        said = self.ground.said_after(max(found))
        if "nothing came after it" in parts["how"]:
            yield finding(not said, "nothing came after it", "the agent spoke since")
        elif "answered below" in parts["how"]:
            yield finding(bool(said), "answered below", "the agent said nothing since")

    def _calls_since(self, parts: Parts) -> Iterator[Finding]:
        records = [one.record for one in [*self.told.users, *self.ground.refusals()] if one.how != "notice"]
        ages = {len(self.ground.calls_after(record)) for record in [*records, -1]}
        good = int(parts["calls"]) in ages if self.told.counts_calls else None
        yield finding(good, f"{parts['calls']} calls since", f"it is {sorted(ages)[:4]}")

    def _recap(self, parts: Parts) -> Iterator[Finding]:
        texts = "\n".join(one.text for one in [*self.told.notices, *self.told.said])
        yield finding(self.ground.stands(parts["quote"], texts), "a recap", "it stands nowhere")

    # -- the end

    def _last_words(self, parts: Parts) -> Iterator[Finding]:
        claim, said = "last words", self.told.said
        if not said:
            yield finding(False, claim, "the agent said nothing")
            return
        last = said[-1]
        together = "\n".join(one.text for one in said if one.record >= last.record - 6)
        if not self.ground.stands(parts["quote"], together):
            where = [one.record for one in said if self.ground.stands(parts["quote"], one.text)]
            why = f"they are of record {where[-1]}" if where else "they stand nowhere"
            yield finding(False, claim, f"{why}; the last ones: {last.text[:60]!r}")
            return
        later = [
            call
            for call in self.ground.calls_after(last.record)
            if call.tool not in _LIST_TOOLS and not _only_asks(call)
        ]
        why = f"a call came after: {later[0].tool} in record {later[0].record}" if later else ""
        yield finding(not later, claim, why)

    def _last_thought(self, parts: Parts) -> Iterator[Finding]:
        found = [one for one in self.told.thoughts if self.ground.stands(parts["quote"], one.text)]
        if not found:
            yield finding(False, "last thought", "no thought has these words")
        else:
            later = self.ground.calls_after(found[-1].record)
            yield finding(not later, "last thought", "a call came after")

    def _turn_over(self, parts: Parts) -> Iterator[Finding]:
        end = self.told.turn_ends[-1] if self.told.turn_ends else -1
        calls = self.ground.calls_after(end)
        asked = [one.record for one in self.told.users if one.sure and one.record > end]
        why = "nothing says so"
        if end >= 0:
            why = (
                f"a call came after, in record {calls[0].record}"
                if calls
                else f"the user wrote in {asked[:1]}"
            )
        yield finding(end >= 0 and not calls and not asked, "the turn is over", why)

    def _stopped_by_user(self, parts: Parts) -> Iterator[Finding]:
        refused = [call.result.record for call in self.told.calls if call.result and call.result.refused]
        end = max([*self.told.interrupts, *refused], default=-1)
        went_on = self.ground.calls_after(end) or self.ground.said_after(end)
        why = "no interruption" if end < 0 else "it went on after it"
        yield finding(end >= 0 and not went_on, "the user stopped it", why)

    def _fault(self, parts: Parts) -> Iterator[Finding]:
        end = self.told.faults[-1].record if self.told.faults else -1
        went_on = self.ground.calls_after(end) or self.ground.said_after(end)
        told = "\n".join(one.text for one in self.told.faults)
        good = end >= 0 and not went_on and stands(parts.get("quote", ""), told)
        yield finding(
            good, "the model failed", "no fault" if end < 0 else "it went on after it, or said otherwise"
        )

    def _pending(self, parts: Parts) -> Iterator[Finding]:
        last = self.told.calls[-1] if self.told.calls else None
        together = [call for call in self.told.calls if last and call.record >= last.record - 8]
        good = any(call.result is None for call in together)
        yield finding(
            good, "the last call has no result", f"it has one (record {last.record})" if last else "no call"
        )

    def _nothing(self, parts: Parts) -> Iterator[Finding]:
        known = bool(self.told.calls) or any(one.sure for one in self.told.users)
        yield finding(not known, "nothing is known", "there is work")
