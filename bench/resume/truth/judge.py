"""Holds the statements of a brief against the raw transcript up to the cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from bench.resume.truth.events import Call, Edit, Message, Transcript, values_of
from bench.resume.truth.shell import (
    is_check, is_hidden, shown_form, simple_commands, tells_failure, tells_success,
)  # fmt: skip
from bench.resume.truth.statements import Kind, ReadBrief, Statement, read_brief
from bench.resume.truth.tree import FileStory, commits, failed, matches, pushes
from bench.resume.truth.words import Folders, share, stands, words

Verdict = Literal["true", "false", "not checkable"]


@dataclass(slots=True)
class Judgement:
    """A statement, whether it is so, and why it is not."""

    kind: Kind
    line: str
    verdict: Verdict
    claim: str = ""
    why: str = ""


_NO_HITS = re.compile(r"^(?:grep|egrep|rg|ag|git grep|diff|cmp|test|\[|which|type|pgrep|command -v|lsof|git diff)\b")
_STOPPERS = frozenset({"KillShell", "KillBash", "TaskStop", "close_agent"})
_LISTS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "update_plan", "todowrite", "write_todos"})
"""Tools of the plan, which is told elsewhere."""
_PROSE = (".md", ".txt", ".rst", ".adoc", ".mdx")


def judge(text: str, transcript: Transcript) -> tuple[list[Judgement], list[str]]:
    """The judgements on a brief, and its lines that no form fits."""
    brief = read_brief(text)
    return _Judge(transcript).all(brief), brief.unknown


class _Judge:
    def __init__(self, transcript: Transcript) -> None:
        self.told = transcript
        self.folders = Folders([folder for _, folder in transcript.folders[:1]])
        self.asked = max((one.record for one in transcript.users if one.how != "notice"), default=0)
        self.done: list[Judgement] = []
        self.told_after = ""  # the lines of the trail below the one in hand
        self.line = ""
        self.kind: Kind = "outcome"

    # -- the course

    def all(self, brief: ReadBrief) -> list[Judgement]:
        for statement in brief.statements:
            if statement.form == "folder":
                self.folders = Folders(self._known_as(statement.parts["folder"]) or [one for _, one in self.told.folders[:1]])
        for statement in brief.statements:
            self._one(statement, self._forms()[statement.form])
        self._trail(brief.trail)
        return self.done

    def _one(self, statement: Statement, rule: Callable[[dict[str, str]], None]) -> None:
        self.line, self.kind = statement.line, statement.kind
        rule(statement.parts)

    def _say(self, verdict: Verdict | bool, claim: str, why: str = "") -> None:
        if isinstance(verdict, bool):
            verdict = "true" if verdict else "false"
        self.done.append(Judgement(self.kind, self.line, verdict, claim, why if verdict != "true" else ""))

    def _forms(self) -> dict[str, Callable[[dict[str, str]], None]]:
        return {
            "folder": self._folder, "branch": self._branch, "calls": self._calls, "when": self._when,
            "last message": self._last_message, "age": self._age, "calls since": self._calls_since,
            "request": self._request, "adds to": self._request, "before": self._before,
            "first request": self._first_request, "in reply to": self._in_reply_to, "rules": self._rules,
            "last words": self._last_words, "last thought": self._last_thought,
            "its turn was over": self._turn_over, "the user stopped it": self._stopped_by_user,
            "the model could not be reached": self._fault, "fault": self._fault,
            "its last call has no result": self._pending, "nothing of its work is known": self._nothing,
            "open": self._open, "failing": self._failing, "checked": self._checked,
            "unchecked": self._unchecked, "changed": self._changed, "unchanged": self._unchanged,
            "doubt": self._doubt, "stashed": self._stashed, "last commit": self._last_commit,
            "running": self._running, "pull request": self._pull_request, "refused": self._refused, "recap": self._recap,
        }  # fmt: skip

    def _stands(self, quote: str, source: str) -> bool:
        return stands(quote, source) or stands(self.folders.short(quote), source)

    # -- place

    def _folder(self, parts: dict[str, str]) -> None:
        shown = parts["folder"]
        folders = [folder.replace("\\", "/").rstrip("/") for _, folder in self.told.folders]
        known = [folders[0], folders[-1]] if folders else []
        tail = shown.removeprefix("~").strip("/").rstrip("…")
        self._say(any(one == shown or tail in one for one in known), f"in {shown}", f"folders are {known}")

    def _known_as(self, shown: str) -> list[str]:
        """The folders of the run that a brief may call so."""
        tail = shown.removeprefix("~").strip("/").rstrip("…")
        folders = dict.fromkeys(folder.replace("\\", "/").rstrip("/") for _, folder in self.told.folders)
        return [one for one in folders if one == shown or one.endswith(f"/{tail}") or (shown.endswith("…") and tail in one)]

    def _branch(self, parts: dict[str, str]) -> None:
        shown = parts["branch"].rstrip("…")
        recorded = self.told.branches
        latest = recorded[-1][1] if recorded else ""
        changed = max((now[0] for last, now in zip(recorded, recorded[1:], strict=False) if last[1] != now[1]), default=-1)
        possible = {latest}
        for call in self.told.calls:
            if call.result is None or not call.command or call.result.record < changed:
                continue
            for found in re.findall(r"Switched to (?:a new )?branch '([^']+)'", call.result.text):
                possible = {found, latest}
            for found in re.findall(r"^\[(\S+)(?: \([\w-]+\))? [0-9a-f]{7,}\]|^On branch (\S+)", call.result.text, re.M):
                possible.add(found[0] or found[1])
        self._say(any(one.startswith(shown) for one in possible), f"branch {shown}", f"branches are {possible}")

    def _calls(self, parts: dict[str, str]) -> None:
        if not self.told.counts_calls:
            self._say("not checkable", f"after {parts['calls']} calls", "calls cannot be counted")
            return
        self._say(int(parts["calls"]) == len(self.told.calls), f"after {parts['calls']} calls", f"there are {len(self.told.calls)}")

    def _when(self, parts: dict[str, str]) -> None:
        since = max(
            (one.record for one in [*self.told.calls, *self.told.said, *(user for user in self.told.users if user.sure)]),
            default=0,
        )
        possible = sorted({time[:16].replace("T", " ") for record, time in self.told.times if record >= since})
        good = bool(possible) and possible[0] <= parts["when"] <= possible[-1]
        self._say(good if possible else "not checkable", f"at {parts['when']}", f"the last records are of {possible}")

    # -- the user

    def _users(self, quote: str) -> list[Message]:
        quote = self._unfolded(quote)
        if not words(quote).strip() and "…" not in quote:
            return [one for one in self.told.users if one.text.strip() == quote.strip()]
        return [one for one in self.told.users if stands(quote, self.folders.short(one.text))]

    @staticmethod
    def _unfolded(quote: str) -> str:
        """A quotation without what a brief folded: pasted lines, pictures."""
        while match := re.search(r"\[(?:\d+ pasted|Image)", quote):
            depth, end = 0, len(quote)
            for at in range(match.start(), len(quote)):
                depth += {"[": 1, "]": -1}.get(quote[at], 0)
                if depth == 0:
                    end = at + 1
                    break
            quote = f"{quote[: match.start()]}…{quote[end:]}"
        return quote

    def _refusals(self) -> list[Message]:
        return [
            Message(call.result.record, call.result.text)
            for call in self.told.calls
            if call.result is not None and (call.result.refused or call.result.failed)
        ]

    def _last_message(self, parts: dict[str, str]) -> None:
        quote = parts["quote"]
        found = [one for one in self._users(quote) if one.how != "notice"]
        if "refusing a call" in parts["how"]:
            found += [one for one in self._refusals() if stands(quote, one.text)]
        if not found:
            self._say(False, "the last message", "no message of the user has these words")
            return
        last = max(found, key=lambda one: one.record)
        self.asked = last.record
        later = [
            one
            for one in self.told.users
            if one.sure and one.record > last.record and words(one.text) != words(last.text)
        ]
        self._say(not later, "the last message", f"later: {later[-1].record}: {later[-1].text[:80]!r}" if later else "")

    def _age(self, parts: dict[str, str]) -> None:
        found = [one.record for one in self._users(parts["quote"])]
        found += [one.record for one in self._refusals() if stands(parts["quote"], one.text)]
        if not found:
            return
        ages = {sum(call.record > record for call in self.told.calls) for record in found}
        least, most = min(ages), max(ages)
        age = int(parts["calls"])
        # a message that waited in a queue stands in several records
        good: Verdict | bool = age in ages or (len(found) > 1 and least <= age <= most)
        good = good if self.told.counts_calls else "not checkable"
        self._say(good, f"{age} calls before the end", f"it is {sorted(ages)}")
        said = [one.record for one in self.told.said if one.record > max(found)]
        if "nothing came after it" in parts["how"]:
            self._say(not said, "nothing came after it", f"the agent spoke in record {said[:1]}")
        elif "answered below" in parts["how"]:
            self._say(bool(said), "answered below", "the agent said nothing since")

    def _calls_since(self, parts: dict[str, str]) -> None:
        last = [one.record for one in [*self.told.users, *self._refusals()] if one.how != "notice"]
        ages = {sum(call.record > record for call in self.told.calls) for record in [*last, -1]}
        good: Verdict | bool = int(parts["calls"]) in ages if self.told.counts_calls else "not checkable"
        self._say(good, f"{parts['calls']} calls since", f"it is {sorted(ages)[:4]}")

    def _request(self, parts: dict[str, str]) -> None:
        self._say(bool(self._users(parts["quote"])), "a message of the user", "no message of the user has these words")

    def _before(self, parts: dict[str, str]) -> None:
        if "checks" in parts:
            self._checked_before(parts)
        else:
            self._request(parts)

    def _first_request(self, parts: dict[str, str]) -> None:
        found = self._users(parts["quote"])
        first = [one for one in self.told.users if one.sure and one.how != "notice"]
        if not found:
            self._say(False, "the first request", "no message of the user has these words")
        elif first:
            asked = min(one.record for one in found)
            earlier = [one for one in first if one.record < asked and len(one.text.split()) > 4]
            self._say(not earlier, "the first request", f"earlier: {earlier[0].text[:80]!r}" if earlier else "")

    def _in_reply_to(self, parts: dict[str, str]) -> None:
        answering = [one.record for one in self._users(parts["message"])]
        answering += [one.record for one in self._refusals() if stands(parts["message"], one.text)]
        end = max(answering, default=self.asked)
        texts = [one.text for one in self.told.said if one.record < end]
        asked = [
            values_of(call.arguments)
            for call in self.told.calls
            if call.record < end and call.tool in ("AskUserQuestion", "ExitPlanMode", "request_user_input")
        ]
        recent = texts[-12:] + asked[-4:]
        quote = parts["quote"]
        if stands(quote, self.folders.short("\n".join(recent))):
            self._say(True, "what it answers")
        else:
            where = "only earlier" if stands(quote, self.folders.short("\n".join(texts + asked))) else "nowhere"
            self._say(False, "what it answers", f"the agent said it {where}")

    def _rules(self, parts: dict[str, str]) -> None:
        everything = self.folders.short("\n".join(one.text for one in self.told.users))
        for rule in re.split(r" · | \| |; (?=and \d+ more$)", parts["quote"]):
            if not re.fullmatch(r"and \d+ more", rule):
                self._say(stands(rule, everything), f"a rule: {rule[:50]}", "the user did not say so")

    def _recap(self, parts: dict[str, str]) -> None:
        texts = "\n".join(one.text for one in [*self.told.notices, *self.told.said])
        self._say(stands(parts["quote"], self.folders.short(texts)), "a recap", "it stands nowhere")

    # -- the end

    def _last_words(self, parts: dict[str, str]) -> None:
        if not self.told.said:
            self._say(False, "last words", "the agent said nothing")
            return
        last = self.told.said[-1]
        same = "\n".join(one.text for one in self.told.said if one.record >= last.record - 6)
        if not stands(parts["quote"], self.folders.short(same)):
            where = next(
                (one.record for one in reversed(self.told.said) if stands(parts["quote"], self.folders.short(one.text))), -1
            )
            why = f"they are of record {where}" if where >= 0 else "they stand nowhere"
            self._say(False, "last words", f"{why}; the last ones: {last.text[:60]!r}")
            return
        later = [call for call in self.told.calls if call.record > last.record and call.tool not in _LISTS]
        self._say(not later, "last words", f"a call came after: {later[0].tool} in record {later[0].record}" if later else "")

    def _last_thought(self, parts: dict[str, str]) -> None:
        found = [one for one in self.told.thoughts if stands(parts["quote"], self.folders.short(one.text))]
        if not found:
            self._say(False, "last thought", "no thought has these words")
            return
        later = [call for call in self.told.calls if call.record > found[-1].record]
        self._say(not later, "last thought", "a call came after" if later else "")

    def _turn_over(self, parts: dict[str, str]) -> None:
        ends = self.told.turn_ends
        end = ends[-1] if ends else -1
        calls = [call.record for call in self.told.calls if call.record > end]
        asked = [one.record for one in self.told.users if one.sure and one.record > end]
        why = "nothing says so" if end < 0 else f"a call came after, in record {calls[0]}" if calls else f"the user wrote after, in {asked[:1]}"
        self._say(end >= 0 and not calls and not asked, "the turn is over", why)

    def _stopped_by_user(self, parts: dict[str, str]) -> None:
        end = max(self.told.interrupts, default=-1)
        end = max([end, *(call.result.record for call in self.told.calls if call.result is not None and call.result.refused)])
        later = [one.record for one in [*self.told.calls, *self.told.said] if one.record > end]
        self._say(end >= 0 and not later, "the user stopped it", "no interruption" if end < 0 else "it went on after it")

    def _fault(self, parts: dict[str, str]) -> None:
        end = self.told.faults[-1].record if self.told.faults else -1
        later = [one.record for one in [*self.told.calls, *self.told.said] if one.record > end]
        good = end >= 0 and not later and stands(parts.get("quote", ""), "\n".join(one.text for one in self.told.faults))
        self._say(good, "the model failed", "no fault" if end < 0 else "it went on after it")

    def _pending(self, parts: dict[str, str]) -> None:
        last = self.told.calls[-1] if self.told.calls else None
        batch = [call for call in self.told.calls if last and call.record >= last.record - 8]
        good = any(call.result is None for call in batch)
        self._say(good, "the last call has no result", f"it has one, in record {last.result.record}" if last and last.result else "")

    def _nothing(self, parts: dict[str, str]) -> None:
        self._say(not (self.told.calls or [one for one in self.told.users if one.sure]), "nothing is known", "there is work")

    # -- the list

    def _open(self, parts: dict[str, str]) -> None:
        plan = self.told.plans[-1][1] if self.told.plans else []
        said = "\n".join(
            [one.text for one in [*self.told.said, *self.told.users]]
            + [edit.added for call in self.told.calls for edit in call.edits]
            + [values_of(call.arguments) for call in self.told.calls]
            + [call.result.text for call in self.told.calls if call.result is not None]
        )
        items = [one for one in parts["items"].split("; ") if one.strip()]
        in_plan = False
        for item in items:
            if re.fullmatch(r"and \d+ more\.?", item):
                continue
            now = item.startswith("now ")
            text = item.removeprefix("now ")
            found = [state for name, state in plan if stands(text, name)] or [
                state for name, state in plan if stands(item, name)
            ]
            if "now" in found or "open" in found:
                in_plan = True
                good = not now or "now" in found or any(stands(item, name) for name, _ in plan)
                self._say(good, f"open: {text[:50]}", "it is not under way")
            elif found:
                in_plan = True
                self._say(False, f"open: {text[:50]}", f"it is {found[0]}")
            elif stands(text, said):
                self._say("not checkable", f"open: {text[:50]}", "written down only")
            else:
                self._say(False, f"open: {text[:50]}", "there is no such item")
        if (count := re.search(r"(\d+) of (\d+) done", parts["about"])) and in_plan:
            done = sum(state == "done" for _, state in plan)
            total = sum(state != "dropped" for _, state in plan)
            good = (int(count[1]), int(count[2])) == (done, total)
            self._say(good, f"{count[0]}", f"it is {done} of {total}")

    # -- the tree

    def _runs(self, name: str) -> list[tuple[Call, str]]:
        """The runs of a check by its name, each with its verdict."""
        exact: list[tuple[Call, str]] = []
        loose: list[tuple[Call, str]] = []
        wanted, pieces = shown_form(name), [words(one).strip() for one in name.split("…")]
        for call in self.told.calls:
            if not call.command:
                continue
            commands = simple_commands(call.command)
            for at, simple in enumerate(commands):
                forms = {shown_form(simple.text), shown_form(self.folders.short(simple.text))}
                if wanted in forms or (len(pieces) > 1 and any(_spans(pieces, form) for form in forms)):
                    exact.append((call, self._verdict(call, at)))
                elif any(_in_order(pieces, f" {form} ") for form in forms):
                    loose.append((call, self._verdict(call, at)))
        return exact or loose

    def _verdict(self, call: Call, at: int) -> str:
        result = call.result
        if result is None:
            return "none"
        if result.refused:
            return "refused"
        if re.search(r"running in (?:the )?background with ID|Process running with session ID", result.text[:300]):
            return "none"
        commands = simple_commands(call.command)
        if result.stopped or result.exit in (124, 130, 137, 143):
            return "stopped"
        if is_hidden(commands, at):
            if tells_failure(result.text):
                return "failed"
            return "ok" if tells_success(result.text) else "unclear"
        if not failed(call):
            return "unclear" if commands[at].joint == "||" else "ok"
        before = [one for one in commands[:at] if not re.match(r"(?:cd|echo|export|pwd|source|set)\b", one.bare)]
        after = [one for one in commands[at + 1 :] if one.joint == "&&"]
        if not before and not after:
            return "failed"
        return "failed?" if tells_failure(result.text) else "unclear"

    def _failing(self, parts: dict[str, str]) -> None:
        runs = self._runs(parts["name"])
        claim = f"failing: {parts['name'][:50]}"
        if runs and parts["since"]:
            edited = self._last_change()
            self._say(edited > runs[-1][0].record, f"not run since: {parts['name'][:50]}", f"the last edit is in record {edited}")
        if not runs:
            self._say(False, claim, "it was never run")
            return
        call, verdict = runs[-1]
        if verdict in ("none", "refused", "unclear"):
            earlier = [one for one in runs if one[1] in ("failed", "ok", "failed?")]
            call, verdict = earlier[-1] if earlier else (call, verdict)
        if verdict in ("failed", "failed?"):
            text = self._output(call)
            tests = [one for one in parts["tests"].split(", ") if one and not re.fullmatch(r"and \d+ more", one)]
            if not self._stands(parts["quote"], text):
                self._say(False, claim, f"record {call.record} did not say that")
            elif not all(self._stands(test, text) for test in tests):
                self._say(False, claim, f"record {call.record} does not name these tests")
            else:
                self._say(True, claim)
        else:
            self._say(False if verdict == "ok" else "not checkable", claim, f"record {call.record}: {verdict}")

    def _output(self, call: Call) -> str:
        return self.folders.short(f"{call.result.text}\n{call.result.answered}") if call.result is not None else ""

    def _last_edit(self) -> int:
        """When a file other than prose was last changed by an edit."""
        done = [
            call.record
            for call in self.told.calls
            if call.edits and call.result is not None and not failed(call)
            and any(not edit.path.lower().endswith(_PROSE) for edit in call.edits)
        ]  # fmt: skip
        return max(done, default=-1)

    def _last_change(self) -> int:
        """When a file was last changed by an edit or by a command."""
        done = [
            call.record
            for call in self.told.calls
            if call.result is not None and not failed(call) and any(True for _ in self._edits(call))
        ]
        return max(done, default=-1)

    def _checks(self, text: str, since: int | None) -> None:
        for name, outcome in re.findall(
            r"`([^`]*)` (passed|FAILED|was stopped|ended, verdict unclear|has no result yet)", text
        ):
            runs = self._runs(name)
            claim = f"`{name[:50]}` {outcome}"
            if not runs:
                self._say(False, claim, "it was never run")
                continue
            call, verdict = runs[-1]
            if since is not None and call.record < since:
                self._say(False, claim, f"an edit in record {since} came after record {call.record}")
                continue
            wanted = {
                "passed": ("ok",), "FAILED": ("failed", "failed?"), "was stopped": ("stopped",),
                "ended, verdict unclear": ("unclear", "failed?"), "has no result yet": ("none",),
            }[outcome]  # fmt: skip
            if verdict in wanted:
                self._say(True, claim)
            elif verdict == "unclear" or outcome.startswith("ended"):
                self._say("not checkable", claim, f"record {call.record}: {verdict}")
            else:
                self._say(False, claim, f"record {call.record}: {verdict}")

    def _checked(self, parts: dict[str, str]) -> None:
        self._checks(parts["checks"], self._last_edit())

    def _checked_before(self, parts: dict[str, str]) -> None:
        self._checks(parts["checks"], None)
        self._unchecked(parts)

    def _unchecked(self, parts: dict[str, str]) -> None:
        since = self._last_edit()
        later = [
            (call, simple.bare)
            for call in self.told.calls
            if call.record > since and call.result is not None and not call.result.refused and call.command
            for simple in simple_commands(call.command)
            if is_check(simple.text)
        ]
        if since < 0:
            self._say("not checkable", "no check since the last edit", "no edit by a tool")
        else:
            self._say(not later, "no check since the last edit", f"record {later[0][0].record}: {later[0][1][:60]}" if later else "")

    def _changed(self, parts: dict[str, str]) -> None:
        for shown in [*parts["files"].split(", "), *parts["others"].split(", ")]:
            if re.fullmatch(r"and \d+ more", shown) or not shown.strip():
                continue
            mark = re.search(r" \((new|deleted)\)$", shown)
            path = shown[: mark.start()] if mark else shown
            story = FileStory(path, self.told, self.folders)
            claim = f"uncommitted: {shown}"
            if story.state == "changed":
                if mark and mark[1] == "new" and not story.created:
                    self._say(False, claim, f"it is not new ({story.why})")
                elif mark and mark[1] == "deleted" and not story.deleted:
                    self._say(False, claim, f"it is not deleted ({story.why})")
                else:
                    self._say(True, claim)
            elif story.doubt and story.state in ("", "gone"):
                self._say("not checkable", claim, story.doubt)
            else:
                self._say(False, claim, f"{story.state or 'never changed'}: {story.why}")

    def _unchanged(self, parts: dict[str, str]) -> None:
        made = commits(self.told)
        since = made[-1].call.result.record if made and made[-1].call.result is not None else -1
        paths = {
            self.folders.path(edit.path)
            for call in self.told.calls
            if call.edits and call.record > since and call.result is not None and not failed(call)
            for edit in call.edits
        }
        left = [path for path in paths if not path.startswith(("/", "~")) and FileStory(path, self.told, self.folders).state == "changed"]
        self._say(bool(made) and not left, "nothing changed since", f"changed: {left[:3]}" if made else "there is no commit")

    def _doubt(self, parts: dict[str, str]) -> None:
        used = [call for call in self.told.calls if call.tool in ("Task", "Agent", "spawn_agent", "task", "Workflow")]
        self._say(bool(used) or "not checkable", "sub-agents worked", "none was started")

    def _stashed(self, parts: dict[str, str]) -> None:
        calls = [call for call in self.told.calls if re.search(r"\bgit stash\b", call.command)]
        self._say(bool(calls), "a stash", "there is none")

    def _last_commit(self, parts: dict[str, str]) -> None:
        made = commits(self.told)
        sure = [one for one in made if one.sure]
        subject = parts["subject"]
        claim = f"last commit {parts['hash']} {subject[:40]}"
        if not made:
            self._say(False, claim, "git reported no commit")
            return
        last = made[-1]
        if parts["hash"]:
            good = last.sure and (last.hash.startswith(parts["hash"]) or parts["hash"].startswith(last.hash))
            good = good and stands(subject, last.subject)
            self._say(good, claim, f"the last one is {last.hash} {last.subject} in record {last.call.record}")
        else:
            good = stands(subject, last.subject or last.call.command)
            self._say(good, claim, f"the last one is {last.hash} {last.subject} in record {last.call.record}")
        if parts["branch"]:
            self._say(parts["branch"].rstrip("…") in last.branch, f"on branch {parts['branch']}", f"it is on {last.branch}")
        if parts["count"]:
            count = int(parts["count"])
            least = len({one.hash for one in sure if not one.amends})
            self._say(least <= count <= len(made), f"{count} commits", f"there are {least} to {len(made)}")
        pushed = [call for call, _ in pushes(self.told) if call.record >= last.call.record]
        said = parts["pushed"] == "pushed"
        self._say(said == bool(pushed), parts["pushed"], f"push in record {pushed[-1].record}" if pushed else "no push succeeded since")

    def _pull_request(self, parts: dict[str, str]) -> None:
        number = parts["number"]
        texts = [f"{call.command}\n{call.result.text if call.result else ''}" for call in self.told.calls]
        texts += [one.text for one in [*self.told.said, *self.told.users, *self.told.notices]]
        good = any(re.search(rf"(?:pull/|pulls/|#|pr \w+ ){number}\b", text) for text in texts)
        self._say(good, f"pull request {number}", "it is named nowhere")

    def _running(self, parts: dict[str, str]) -> None:
        for name in re.findall(r"(?:^|; )([\w@./-]+): ", parts["jobs"]):
            self._runs_on(name)

    def _runs_on(self, name: str) -> None:
        claim = f"runs: {name}"
        if name not in self.told.started:
            self._say(False, claim, "nothing with this id was started")
        elif name in self.told.ended:
            self._say(False, claim, f"it ended in record {self.told.ended[name]}")
        else:
            self._say(True, claim)

    def _refused(self, parts: dict[str, str]) -> None:
        claim = f"refused {parts['what'][:40]}"
        for call in reversed(self.told.calls):
            result = call.result
            if result is None or not (result.refused or (result.failed and parts["quote"])):
                continue
            given = f"{call.tool} {values_of(call.arguments)}"
            if stands(parts["what"], f"{given}\n{self.folders.short(given)}") and stands(parts["quote"], result.text):
                again = next((one for one in self.told.calls[call.at + 1 :] if self._is_same(call, one)), None)
                self._say(again is None, claim, f"it was done in record {again.record}" if again else "")
                return
        self._say(False, claim, "no such call was refused")

    def _is_same(self, call: Call, later: Call) -> bool:
        """Whether a later call did what an earlier one was not allowed to do."""
        if later.result is None or failed(later) or later.tool != call.tool:
            return False
        if call.command:
            subjects = [re.findall(r"-m [\"']([^\"'\n]{8,})", one.command) for one in (call, later)]
            return call.command.strip() == later.command.strip() or bool(subjects[0] and subjects[0] == subjects[1])
        return bool(call.edits) and [edit.path for edit in call.edits] == [edit.path for edit in later.edits]

    # -- the trail

    def _trail(self, lines: list[Statement]) -> None:
        before = len(self.told.calls)
        shown_after: list[Call] = []
        self.told_after = ""
        verdicts: list[list[Judgement]] = []
        marked = any(statement.form == "mark last" for statement in lines)
        since = sum(call.record <= self.asked for call in self.told.calls) if marked else 0
        for statement in reversed(lines):
            self.line, self.kind = statement.line, statement.kind
            kept, self.done = self.done, []
            if statement.form == "mark last":
                before, since = min(before, since), 0
            else:
                call = self._trail_line(statement, self.told.calls[since:before], shown_after)
                if call is not None and all(one.verdict == "true" for one in self.done):
                    before = min(before, call.at + (1 if statement.form == "looked" else 0))
                if call is not None:
                    shown_after.append(call)
            self.told_after += f"\n{statement.line}"
            verdicts.append(self.done)
            self.done = kept
        for group in reversed(verdicts):
            self.done += group

    def _trail_line(self, statement: Statement, calls: list[Call], later: list[Call]) -> Call | None:
        form, parts = statement.form, statement.parts
        if form in ("said", "mark"):
            source = self.told.said if form == "said" else [*self.told.users, *self._refusals()]
            good = any(stands(self._unfolded(parts["quote"]), self.folders.short(one.text)) for one in source)
            self._say(good, form, "nobody said so")
        elif form == "interrupted":
            self._say(bool(self.told.interrupts), "interrupted", "there is no interruption")
        elif form == "notice":
            self._notice(parts)
        elif form == "command":
            return self._command(parts, calls, later)
        elif form.startswith("edit"):
            return self._edit(form, parts, calls)
        elif form.startswith("commit"):
            return self._commit_line(form, parts, calls)
        elif form == "looked":
            return self._looked(parts, calls)
        else:
            return self._tool(form, parts, calls, later)
        return None

    def _notice(self, parts: dict[str, str]) -> None:
        texts = [one.text for one in [*self.told.notices, *self.told.faults]]
        texts += [call.result.text for call in self.told.calls if call.result is not None]
        quote = parts["quote"]
        good = any(stands(quote, self.folders.short(text)) for text in texts) if quote else True
        self._say(good if quote else "not checkable", "a notice", "no notice says so")

    def _command(self, parts: dict[str, str], calls: list[Call], later: list[Call]) -> Call | None:
        shown = parts["command"]
        became = parts["became"]
        # the arrow may stand in the command or in the output: try every place to split
        text = f"{shown} → {became}"
        best: list[Call] = []
        for split in [match.start() for match in re.finditer(" → ", text)]:
            command, outcome = text[:split], text[split + 3 :]
            found = [call for call in calls if call.command and self._is_command(command, call)]
            for call in reversed(found):
                if not self._became(outcome, call, later):
                    same = self._superseded(call, outcome, later)
                    self._say(not same, f"{command[:60]} → {outcome[:20]}", same)
                    return call
            best = best or found
        claim = f"{shown[:60]} → {became[:20]}"
        if not best:
            self._say(False, claim, "there is no such command")
            return None
        split_at = text.rfind(" → ")
        outcome = text[split_at + 3 :] if len(best) else became
        self._say(False, claim, f"record {best[-1].record}: {self._became(became, best[-1], later) or self._became(outcome, best[-1], later)}")
        return best[-1]

    def _is_command(self, shown: str, call: Call) -> bool:
        note = str(call.arguments.get("description") or "")
        raws = [words(f"{text} {note}") for text in (self.folders.short(call.command), call.command)]
        for text in dict.fromkeys((shown, re.sub(r"(?: \([^()]*\))$", "", shown), re.sub(r"(?: \(.*\)){1,2}$", "", shown))):
            pieces = [words(piece).strip() for piece in re.split(r"…|&&|\|\||;|\||<<|\)|\[redacted[^\]]*\]", text)]
            if any(_in_order(pieces, raw) for raw in raws):
                return True
        return False

    def _became(self, outcome: str, call: Call, later: list[Call]) -> str:
        """Why a call did not become what is said; nothing if it did."""
        match = re.match(
            r"(NO RESULT YET|no answer yet|answer|REFUSED by the user|runs on in the background as \S+|runs on as [^\s:]+|ok|FAILED"
            r"|was stopped|ended)(, \d+ lines(?:, the last)?)?(?:: \"(.*?)\"?)?$",
            outcome,
        )
        if match is None:
            return "this outcome is unknown"
        word, quote, result = match[1], match[3] or "", call.result
        if word in ("NO RESULT YET", "no answer yet"):
            return "" if result is None else f"its result is in record {result.record}"
        if result is None:
            return "it has no result"
        if quote and not self._stands(quote, self._output(call)):
            return f"its output does not say {quote[:60]!r}"
        if word.startswith("runs on"):
            name = word.rsplit(" ", 1)[-1]
            if name not in self.told.started:
                return "nothing with this id was started"
            return f"{name} ended in record {self.told.ended[name]}" if name in self.told.ended and not self._told_end(name, later) else ""
        if word == "REFUSED by the user":
            return "" if result.refused else "it was not refused"
        if result.refused:
            return "it was refused"
        return self._status(word, call)

    def _told_end(self, name: str, later: list[Call]) -> bool:
        """Whether a later line of the trail tells that it ended."""
        started = next((call for call in self.told.calls if call.result and call.result.record == self.told.started.get(name)), None)
        about = [started.command, str(started.arguments.get("description") or "")] if started is not None else []
        ends = [line for line in self.told_after.split("\n") if re.search(r"ended|failed|stopped|killed|reported", line)]
        return any(name in line or any(one and stands(one, line) for one in about) for line in ends) or any(
            name in values_of(call.arguments) and call.tool in _STOPPERS for call in later
        )

    def _status(self, word: str, call: Call) -> str:
        result = call.result
        assert result is not None
        bad = failed(call)
        commands = simple_commands(call.command)
        stopped = result.stopped or result.exit in (124, 130, 137, 143) or bool(
            re.search(r"timed out|was interrupted|aborted", result.text[-400:] + result.text[:200], re.I)
        )
        hidden = any(is_hidden(commands, at) for at in range(len(commands)))
        if word == "was stopped":
            return "" if stopped else "nothing stopped it"
        if word in ("ended", "answer"):
            return ""
        if word == "ok":
            if bad and result.exit == 1 and commands and _NO_HITS.match(commands[-1].bare):
                return ""
            if bad:
                return f"it failed (exit {result.exit})"
            checks = [at for at, one in enumerate(commands) if is_check(one.text)]
            verdicts = [self._verdict(call, at) for at in checks]
            if "failed" in verdicts:
                return "a check in it failed"
            return "the verdict of its check is not seen" if verdicts and set(verdicts) == {"unclear"} else ""
        if bad:
            return ""
        return "" if hidden and tells_failure(result.text) else "it did not fail"

    def _superseded(self, call: Call, outcome: str, later: list[Call]) -> str:
        """Whether the same command came out otherwise later, and the trail does not tell."""
        for other in self.told.calls[call.at + 1 :]:
            if other.command.strip() != call.command.strip() or other in later or other.result is None:
                continue
            if outcome.startswith("FAILED") and not failed(other) and not tells_failure(other.result.text):
                return f"the same succeeded in record {other.record}"
            if outcome.startswith("ok") and failed(other) and not other.result.refused:
                return f"the same failed in record {other.record}"
        return ""

    def _edit(self, form: str, parts: dict[str, str], calls: list[Call]) -> Call | None:
        rest = parts.get("paths") or parts.get("rest") or ""
        several = re.match(r"(\d+) files: (.*)$", rest)
        if several:
            names = several[2].rstrip("…").replace(" (deleted)", "").split(", ")
            return self._several(form, names, calls)
        times = re.search(r" ×(\d+)", rest)
        path = re.split(r" ×\d+| in | at line |: [+−]|: adds | \(\d+ lines| under |, |→", rest)[0].strip()
        path = path.removesuffix("…") if path.endswith("…") else path
        told = rest[len(path) :] if rest.startswith(path) else ""
        candidates = [
            (call, edit) for call in calls for edit in self._edits(call) if matches(path, self.folders.path(edit.path))
            or (rest.endswith("…") and self.folders.path(edit.path).startswith(path))
        ]  # fmt: skip
        claim = f"{form}: {path}"
        if not candidates:
            shell = [call for call in calls if path.rsplit("/", 1)[-1] in call.command]
            if shell:
                self._say("not checkable", claim, f"named by a command in record {shell[-1].record}")
                return shell[-1]
            self._say(False, claim, "no call edits this file")
            return None
        why = ""
        if form == "edited":  # the last one that succeeded: a newer one would be told
            newest = max((call.at for call, _ in candidates if call.result is not None and not failed(call)), default=-1)
            candidates = [one for one in candidates if one[0].at == newest] or candidates
        for call, edit in reversed(candidates):
            reason = self._edit_became(form, call, edit, told, parts.get("quote", ""))
            why = why or reason
            if not reason:
                count = sum(
                    matches(path, self.folders.path(one.path)) for other in calls if not failed(other) for one in self._edits(other)
                )
                self._say(not times or count >= int(times[1]), claim, f"it was edited {count} times")
                return call
        self._say(False, claim, f"record {candidates[-1][0].record}: {why}")
        return candidates[-1][0]

    def _several(self, form: str, names: list[str], calls: list[Call]) -> Call | None:
        last: Call | None = None
        for name in names:
            found = [
                call for call in calls for edit in self._edits(call)
                if matches(name, self.folders.path(edit.path)) or self.folders.path(edit.path).startswith(name)
            ]  # fmt: skip
            good = [call for call in found if (call.result is None) == (form == "edit open") and not failed(call)]
            self._say(bool(good), f"{form}: {name}", "no such edit" if not found else f"record {found[-1].record}")
            if good and (last is None or good[-1].at < last.at):
                last = good[-1]
        return last

    def _edits(self, call: Call) -> Iterable[Edit]:
        if call.edits:
            return call.edits
        found = []
        for simple in simple_commands(call.command) if call.command else ():
            for target in re.findall(r"(?<![0-9&-])>>?\s*(\"[^\"]+\"|'[^']+'|[^\s;|&()<>]+)", simple.text):
                found.append(Edit(target.strip("'\""), "create", call.command))
            if re.match(r"(?:sed\b.*\s-i|perl\b.*\s-\w*i|tee|rm|mv|cp|git rm|git mv)", simple.bare):
                found += [Edit(word.strip("'\""), "edit", call.command) for word in simple.bare.split()[1:]]
        return found

    def _edit_became(self, form: str, call: Call, edit: Edit, told: str, quote: str) -> str:
        result = call.result
        if form == "edit open":
            return "" if result is None else f"its result is in record {result.record}"
        if result is None:
            return "it has no result"
        if form == "edit refused":
            return "" if result.refused else "it was not refused"
        if form == "edit failed":
            good = failed(call) and not result.refused
            return "" if good and self._stands(quote, self._output(call)) else "it did not fail so"
        if result.refused or failed(call):
            return "it failed" if not result.refused else "it was refused"
        if lines := re.search(r" \((\d+) lines", told):
            count = len(edit.added.rstrip("\n").split("\n"))
            if abs(count - int(lines[1])) > 1:
                return f"it has {count} lines"
        if new := re.search(r": \+ (.*)$", told):
            if not stands(new[1], self.folders.short(edit.added)):
                return "this was not added"
        return ""

    def _commit_line(self, form: str, parts: dict[str, str], calls: list[Call]) -> Call | None:
        subject, claim = parts["subject"], f"{form}: {parts['subject'][:50]}"
        if form == "committed" and parts["hash"]:
            for one in reversed(commits(self.told)):
                if one.hash.startswith(parts["hash"]) and stands(subject, one.subject):
                    pushed = any(call.at >= one.call.at and call is one.call for call, _ in pushes(self.told))
                    self._say(not parts["pushed"] or pushed, claim, "it was not pushed")
                    return one.call
            self._say(False, claim, "git reported no such commit")
            return None
        found = [
            call for call in calls
            if call.command and re.search(r"\bcommit\b", call.command) and stands(subject, call.command)
        ]  # fmt: skip
        rules: dict[str, Callable[[Call], bool]] = {
            "committed": lambda call: call.result is not None and not failed(call),
            "commit open": lambda call: call.result is None,
            "commit failed": lambda call: call.result is not None and not call.result.refused,
            "commit refused": lambda call: call.result is not None and call.result.refused,
        }
        good = [call for call in found if rules[form](call)]
        self._say(bool(good), claim, f"record {found[-1].record}" if found else "there is no such commit")
        return good[-1] if good else None

    def _looked(self, parts: dict[str, str], calls: list[Call]) -> Call | None:
        """A line of looks: its last one is held against the calls, the others must have been made."""
        text = re.sub(r"^\d+ more, then ", "", parts["items"])
        items = re.split(r"; (?![^(]*\"\))", text)
        kept, self.done = self.done, []
        found: Call | None = None
        why: list[Judgement] = []
        for item in (text, items[-1]):
            for call in reversed(calls):
                if self._is_look(item, call):
                    found = self._look_became(item, call)
                    why = why or self.done
                    if self.done[-1].verdict == "true":
                        self.done = [*kept, *self.done[-1:]]
                        return found
                    self.done = []
        self.done = kept
        if found is None:
            self._say(False, f"looked: {text[:60]}", "no call looks at it")
        else:
            self.done += why[:1]
        return found

    def _is_look(self, item: str, call: Call) -> bool:
        if call.edits or any(is_check(one.text) for one in simple_commands(call.command)):
            return False
        given = words(self.folders.short(f"{call.tool} {values_of(call.arguments)}"))
        name = re.sub(r"(?: \(.*|: \".*|…)$", "", item)
        spans = re.search(r":([\d,:-]+)$", name)
        name = re.sub(r":[\d,:-]+$", "", name)
        name = re.sub(r" in$", "", name)
        name = re.sub(r"^(?:grep|looked at) ", "", name).replace('" in ', "… ").strip('"')
        what, _, where = name.partition("… ") if "… " in name else (name, "", "")
        pieces = [words(one).strip() for one in [*re.split(r"…| in ", what), *where.split()]]
        if not all(piece in given for piece in pieces if piece):
            return False
        last = re.findall(r"\d+", spans[1])[-2:] if spans else []
        return not last or f" {last[0]}" in given

    def _look_became(self, item: str, call: Call) -> Call:
        claim, result = f"looked: {item[:60]}", call.result
        if "(NO RESULT YET)" in item:
            self._say(result is None, claim, "it has a result")
        elif result is None:
            self._say("NO RESULT YET" in self.line, claim, f"record {call.record} has no result")
        elif item.endswith("(no hits)"):
            text = re.sub(r"No (?:matches|files) found.*|Found 0 .*", "", result.text).strip()
            empty = not text or result.exit == 1
            self._say(empty, claim, f"record {call.record} shows {text[:60]!r}")
        elif found := re.search(r" \((?:\d+ hits?: )?\"(.*)\"\)$", item):
            self._say(self._stands(found[1], self._output(call)), claim, f"record {call.record} does not show that")
        else:
            self._say(True, claim)
        return call

    def _tool(self, form: str, parts: dict[str, str], calls: list[Call], later: list[Call]) -> Call | None:
        given, became = parts.get("given") or parts.get("task") or "", parts["became"]
        claim = f"{parts.get('tool') or form} {given[:40]} → {became[:20]}"
        found = []
        for call in calls:
            name = call.tool.replace("mcp__", "").replace("__", ".")
            if form == "tool" and name != parts["tool"]:
                continue
            if form == "tool" or call.tool in ("Task", "Agent", "AskUserQuestion", "spawn_agent", "task", "ask_user", "request_user_input", "new_task", "ask_followup_question"):
                known = f"{values_of(call.arguments)}\n{self.folders.short(values_of(call.arguments))}"
                if stands(given, known) or share(given, known) > 0.9:
                    found.append(call)
        if not found:
            self._say(False, claim, "there is no such call")
            return None
        for call in reversed(found):
            if not self._became(became, call, later):
                self._say(True, claim)
                return call
        self._say(False, claim, f"record {found[-1].record}: {self._became(became, found[-1], later)}")
        return found[-1]


def _spans(pieces: list[str], text: str) -> bool:
    """Whether a text is a name of which the middle was left out."""
    return text.startswith(pieces[0]) and text.endswith(pieces[-1]) and _in_order(pieces, f" {text} ")


def _in_order(pieces: list[str], source: str) -> bool:
    at = 0
    for number, piece in enumerate(pieces):
        if not piece:
            continue
        found = source.find(f" {piece}" if number == 0 else piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True
