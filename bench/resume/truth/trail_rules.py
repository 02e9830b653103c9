"""Rules for the trail. Its lines are read from the last to the first, because each must be about calls before
those of the line below it, and what a later line tells withdraws nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from bench.resume.truth.events import Call, Edit, values_of
from bench.resume.truth.ground import Finding, Ground, Parts, finding, in_order, unfolded, was_stopped
from bench.resume.truth.history import did, failed, git_words, reported, reported_by
from bench.resume.truth.shell import is_check, is_hidden, simple_commands, tells_failure
from bench.resume.truth.statements import Statement
from bench.resume.truth.tree import matches
from bench.resume.truth.words import plain_path, share, stands, words

Told = tuple[list[Finding], Call | None]
"""The findings on a line, and the first of the calls that it tells of, if they are known."""

_OUTCOME = re.compile(
    r"(NO RESULT YET|no answer yet|waits for approval|approved|answer|REFUSED by the user|still runs"
    r"|runs on in the background as \S+|runs on as [^\s:]+|ok|FAILED|was stopped|ended without output|ended)"
    r"(?:, \d+ lines(?:, the last)?|, see FAILING)?(?:: (?:\"(.*?)\"?)?)?$"
)
_POLLED = re.compile(r" \(in the background as ([^\s,)]+)(?:, typed \"(.*?)\")?\)$")
_UNKNOWN = "the words of this outcome are not known"
_OPEN = ("NO RESULT YET", "no answer yet", "waits for approval")
_NO_HITS = re.compile(
    r"^(?:grep|egrep|rg|ag|git grep|diff|cmp|test|\[|which|type|pgrep|command -v|lsof|git diff)\b"
)
_ENDED = re.compile(
    r"^- ([^→\n]*?)(?:…| (?:ended|failed|reported|was stopped|was killed))(?::|$)", re.M
)  # the verb may have been cut off
_ANNOUNCED = re.compile(r"^Command (?:running|was)\b[^\n]*?\bin (?:the )?background\b.*", re.S)
"""What is said instead of an output when a command goes on in the background."""
_STOPPERS = frozenset({"KillShell", "KillBash", "TaskStop", "close_agent"})


class TrailRules:
    """See the module."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.told = ground, ground.told
        self.shown: list[Call] = []  # the calls of the lines below
        self.below = ""  # those lines

    def judge(self, lines: list[Statement]) -> list[tuple[Statement, list[Finding]]]:
        """The findings on each line, in the order of the trail; none for a line whose outcome has words that
        are not known here."""
        before = len(self.told.calls)
        marked = any(line.form == "mark last" for line in lines)
        since = sum(call.record <= self.ground.asked for call in self.told.calls) if marked else 0
        judged: list[tuple[Statement, list[Finding]]] = []
        for line in reversed(lines):
            if line.form == "mark last":
                before, since = min(before, since), 0
                continue
            findings, call = self._line(line, self.told.calls[since:before])
            if call is not None:
                self.shown.append(call)
                if all(one.verdict == "true" for one in findings):
                    before = min(before, call.at + (line.form == "looked"))
            self.below += f"\n{line.line}"
            judged.append((line, [] if any(_UNKNOWN in one.why for one in findings) else findings))
        return judged[::-1]

    def _line(self, line: Statement, calls: list[Call]) -> Told:
        form, parts = line.form, line.parts
        if form in ("said", "mark"):
            source = self.told.said if form == "said" else [*self.told.users, *self.ground.refusals()]
            good = any(self.ground.stands(unfolded(parts["quote"]), one.text) for one in source)
            return [finding(good, form, "nobody said so")], None
        if form == "interrupted":
            return [finding(bool(self.told.interrupts), "interrupted", "there is no interruption")], None
        if form == "notice":
            return [self._notice(parts)], None
        if form == "command":
            return self._command(parts, calls)
        if form.startswith("edit"):
            return self._edit(form, parts, calls)
        if form.startswith("commit"):
            return self._commit(form, parts, calls)
        if form == "looking":
            return self._looking(parts, calls)
        if form == "looked":
            return self._looked(parts, calls, line.line)
        return self._tool(form, parts, calls)

    def _notice(self, parts: Parts) -> Finding:
        texts = [one.text for one in [*self.told.notices, *self.told.faults]]
        texts += [self.ground.output(call) for call in self.told.calls]
        good = any(self.ground.stands(parts["quote"], text) for text in texts) if parts["quote"] else None
        return finding(good, f"a notice: {parts['name'][:40]}", "no notice says so")

    # -- commands

    def _command(self, parts: Parts, calls: list[Call]) -> Told:
        text = f"{parts['command']} → {parts['became']}"
        why, last = "there is no such command", None
        for arrow in re.finditer(" → ", text):  # one may also stand in the command or in its output
            command, outcome = text[: arrow.start()], text[arrow.end() :]
            claim = f"{command[:60]} → {outcome[:20]}"
            if polled := _POLLED.search(command):
                return self._poll(command[: polled.start()], polled, outcome, calls)
            for call in reversed(calls):
                if not call.command or not self._is_command(command, call):
                    continue
                reason = self._not_so(outcome, call)
                if not reason:
                    reason = self._superseded(call, outcome)
                    return [finding(not reason, claim, reason)], call
                if last is None:
                    why, last = f"record {call.record}: {reason}", call
        return [finding(False, text[:80], why)], last

    def _poll(self, command: str, polled: re.Match[str], outcome: str, calls: list[Call]) -> Told:
        """A call that asks what was started in the background, told under what started it."""
        claim, why = f"{command[:50]} as {polled[1]} → {outcome[:20]}", "nothing asks for its output"
        started = self.told.started.get(polled[1], -1)
        starter = [call for call in self.told.calls if call.result and call.result.record == started]
        if not any(self._is_command(command, call) for call in starter) and starter:
            return [finding(False, claim, f"it was started by {starter[0].command[:60]}")], None
        for call in reversed(calls):
            if call in starter or polled[1] not in values_of(call.arguments):
                continue
            reason = self._poll_not_so(outcome, polled[1], call)
            if not reason:
                return [finding(True, claim)], call
            why = f"record {call.record}: {reason}"
        return [finding(False, claim, why)], None

    def _poll_not_so(self, outcome: str, name: str, call: Call) -> str:
        match = _OUTCOME.match(outcome)
        if match is None:
            return _UNKNOWN
        if match[1] == "NO RESULT YET":
            return "" if call.result is None else f"its result is in record {call.result.record}"
        if match[1] == "still runs":
            if name in self.told.ended and not self._end_is_told(name):
                return f"{name} ended in record {self.told.ended[name]}"
        elif name not in self.told.ended and match[1] in ("ok", "FAILED", "was stopped"):
            return "it has not ended"
        good = self.ground.stands(match[2] or "", self.ground.output(call))
        return "" if good else f"its output does not say {match[2][:60]!r}"

    def _is_command(self, shown: str, call: Call) -> bool:
        note = str(call.arguments.get("description") or call.arguments.get("justification") or "")
        folders = self.ground.folders
        forms = (folders.short(call.command), folders.at_home(call.command), call.command)
        raws = [words(f"{text} {note}") for text in forms]
        without_note = re.sub(r"(?: \([^()]*\))$", "", shown), re.sub(r"(?: \(.*\)){1,2}$", "", shown)
        for text in dict.fromkeys((shown, *without_note)):
            parts = re.split(r"…|&&|\|\||;|\||<<|\)|\[redacted[^\]]*\]", text)
            pieces = [words(part).strip() for part in parts]
            if any(in_order(pieces, raw) for raw in raws):
                return True
            if len(pieces) > 1 and all(any(f" {one}" in raw for raw in raws) for one in pieces if one):
                return True  # paths in one of its parts are told otherwise than in another
        return False

    def _not_so(self, outcome: str, call: Call) -> str:
        """Why a call did not become what is said; nothing if it did."""
        match = _OUTCOME.match(outcome)
        if match is None:
            return _UNKNOWN
        word, quote, result = match[1], match[2] or "", call.result
        if word in _OPEN:
            return "" if result is None else f"its result is in record {result.record}"
        if result is None:
            return "it has no result"
        if not self.ground.stands(quote, self.ground.output(call)):
            return f"its output does not say {quote[:60]!r}"
        if word.startswith("runs on"):
            return self._not_running(word.rsplit(" ", 1)[-1])
        if word == "REFUSED by the user":
            worded = bool(result.failed) and bool(quote)  # the user's own words are then all of the result
            return "" if result.refused or worded else "it was not refused"
        if word == "was stopped":
            return "" if was_stopped(call) or result.refused else "nothing stopped it"
        return "it was refused" if result.refused else self._not_ended(word, call)

    def _not_running(self, name: str) -> str:
        if name not in self.told.started:
            return "nothing with this id was started"
        if name in self.told.ended and not self._end_is_told(name):
            return f"{name} ended in record {self.told.ended[name]}"
        return ""

    def _end_is_told(self, name: str) -> bool:
        """Whether a line below tells that it ended."""
        record = self.told.started[name]
        starter = next(
            (call for call in self.told.calls if call.result and call.result.record == record), None
        )
        names = [name]
        if starter is not None:
            names += [starter.command, str(starter.arguments.get("description") or "")]
        stopped = any(call.tool in _STOPPERS and name in values_of(call.arguments) for call in self.shown)
        ended = [f"{told}…" for told in _ENDED.findall(self.below)]
        return stopped or any(
            one and (stands(told, one) or stands(one, told)) for one in names for told in ended
        )

    def _not_ended(self, word: str, call: Call) -> str:
        """Why a call did not end as said: "ok", "FAILED", "ended", "approved" or with an answer."""
        result, bad = call.result, failed(call)
        assert result is not None
        commands = simple_commands(call.command)
        if word in ("ended", "answer"):
            return ""
        if word == "ended without output":
            return "it printed something" if words(_ANNOUNCED.sub("", result.text)).strip() else ""
        if word == "approved":
            return "it was not approved" if bad else ""
        if word == "FAILED":
            hidden = any(is_hidden(commands, at) for at in range(len(commands)))
            return "" if bad or (hidden and tells_failure(result.text)) else "it did not fail"
        if bad:
            nothing_found = result.exit == 1 and commands and _NO_HITS.match(commands[-1].bare)
            return "" if nothing_found else f"it failed (exit {result.exit})"
        verdicts = {self.ground.verdict(call, at) for at, one in enumerate(commands) if is_check(one.text)}
        if "failed" in verdicts:
            return "a check in it failed"
        return "the verdict of its check is not seen" if verdicts == {"unclear"} else ""

    def _superseded(self, call: Call, outcome: str) -> str:
        """Whether the same command came out otherwise later, and no line below tells."""
        for other in self.told.calls[call.at + 1 :]:
            if other.command.strip() != call.command.strip() or other in self.shown or other.result is None:
                continue
            if outcome.startswith("FAILED") and not failed(other) and not tells_failure(other.result.text):
                return f"the same succeeded in record {other.record}"
            if outcome.startswith("ok") and failed(other) and not other.result.refused:
                return f"the same failed in record {other.record}"
        return ""

    # -- edits

    def _edit(self, form: str, parts: Parts, calls: list[Call]) -> Told:
        rest = parts.get("paths") or parts.get("rest") or ""
        if several := re.match(r"(\d+) files: (.*)$", rest):
            names = several[2].rstrip("…").replace(" (deleted)", "").split(", ")
            return self._several(form, names, calls)
        times = re.search(r" ×(\d+)", rest)
        path = re.split(r" ×\d+| in(?: |…)| at line |: [+−]|: adds | \(\d+(?: lines|…)| under |, |→", rest)[
            0
        ].strip()
        path, claim = path.removesuffix("…"), f"{form}: {path}"
        if form == "edit failed" and path in {call.tool for call in calls if not call.edits}:
            return self._nameless(claim, path, parts.get("quote", ""), calls)
        edited = [(call, edit) for call in calls if (edit := self._edit_of(call, path, rest.endswith("…")))]
        if not edited:
            named = [call for call in calls if path and path.rsplit("/", 1)[-1] in call.command]
            why = f"named by a command in record {named[-1].record}" if named else "no call edits this file"
            return [finding(None if named else False, claim, why)], named[-1] if named else None
        why = ""
        for call, edit in reversed(edited):
            reason = self._edit_not_so(form, call, edit, rest[len(path) :], parts.get("quote", ""))
            why = why or f"record {call.record}: {reason}"
            if reason:
                continue
            if form != "edited":
                return [finding(True, claim)], call
            done = [one for one, _ in edited if not failed(one)]
            many = int(times[1]) if times else 1
            changes = sum(len([e for e in self.ground.edits(one) if self._is_at(e, path)]) for one in done)
            enough = finding(many <= max(changes, len(done)), claim, f"it was edited {changes} times")
            return [enough], done[-min(many, len(done))]
        return [finding(False, claim, why)], edited[-1][0]

    def _nameless(self, claim: str, tool: str, quote: str, calls: list[Call]) -> Told:
        """A call of a tool that edits which named no file, and failed for that."""
        named = [call for call in calls if call.tool == tool and call.result is not None and not call.edits]
        good = [one for one in named if failed(one) and self.ground.stands(quote, self.ground.output(one))]
        return [finding(bool(good), claim, "no such call failed so")], good[-1] if good else None

    def _is_at(self, edit: Edit, path: str) -> bool:
        return matches(path, self.ground.folders.path(edit.path))

    def _edit_of(self, call: Call, path: str, cut: bool) -> Edit | None:
        """All that a call changes in a file, as one edit."""
        mine = [
            edit
            for edit in self.ground.edits(call)
            if self._is_at(edit, path)
            or (cut and f"/{plain_path(path)}" in f"/{self.ground.folders.path(edit.path)}")
        ]
        added = "\n".join(edit.added for edit in mine)
        return Edit(mine[0].path, mine[0].how, added) if mine else None

    def _edit_not_so(self, form: str, call: Call, edit: Edit, told: str, quote: str) -> str:
        result = call.result
        if form == "edit open":
            return "" if result is None else f"its result is in record {result.record}"
        if result is None:
            return "it has no result"
        if form == "edit refused":
            return "" if result.refused else "it was not refused"
        if form == "edit failed":
            good = failed(call) and not result.refused and self.ground.stands(quote, self.ground.output(call))
            return "" if good else "it did not fail so"
        if failed(call):
            return "it was refused" if result.refused else "it failed"
        if lines := re.search(r" \((\d+) lines", told):
            count = len(edit.added.rstrip("\n").split("\n"))
            if abs(count - int(lines[1])) > 1:
                return f"it has {count} lines"
        new = re.search(r": \+ (.*)$", told)
        return "this was not added" if new and not self.ground.stands(new[1], edit.added) else ""

    def _several(self, form: str, names: list[str], calls: list[Call]) -> Told:
        findings: list[Finding] = []
        first: Call | None = None
        for name in names:
            found = [call for call in calls if self._edit_of(call, name, cut=True)]
            good = [one for one in found if (one.result is None) == (form == "edit open") and not failed(one)]
            findings.append(finding(bool(good), f"{form}: {name}", "there is no such edit"))
            if good and (first is None or good[-1].at < first.at):
                first = good[-1]
        return findings, first

    # -- commits

    def _commit(self, form: str, parts: Parts, calls: list[Call]) -> Told:
        subject, claim = parts["subject"], f"{form}: {parts['subject'][:50]}"
        if form == "committed" and parts["hash"]:
            for one in reversed(reported(self.told)):
                if one.hash.startswith(parts["hash"]) and self.ground.stands(subject, one.subject):
                    good = not parts["pushed"] or _pushed(one.call)
                    return [finding(good, claim, "it was not pushed")], one.call
            return [finding(False, claim, "git reported no such commit")], None
        found = [
            call
            for call in calls
            if re.search(r"\bcommit\b", call.command) and self.ground.stands(subject, call.command)
        ]
        rules: dict[str, Callable[[Call], bool]] = {
            "committed": lambda call: call.result is not None and (not failed(call) or _changed(call)),
            "commit open": lambda call: call.result is None,
            "commit failed": lambda call: (
                call.result is not None and failed(call) and not call.result.refused and not _changed(call)
            ),
            "commit tried": lambda call: (
                call.result is not None and not call.result.refused and not _changed(call)
            ),
            "commit refused": lambda call: call.result is not None and (call.result.refused or failed(call)),
        }
        good_ones = [call for call in found if rules[form](call)]
        why = f"record {found[-1].record} is not so" if found else "there is no such commit"
        return [finding(bool(good_ones), claim, why)], good_ones[-1] if good_ones else None

    # -- looks

    def _looked(self, parts: Parts, calls: list[Call], line: str) -> Told:
        """A line of looks: the last of them is held against the calls."""
        text = re.sub(r"^\d+ more, then ", "", parts["items"])
        items = _outside_quotes(text)
        first: tuple[Finding, Call] | None = None
        for item in dict.fromkeys((items[-1], text)):
            for call in reversed(calls):
                if self._is_look(item, call):
                    found = self._look(item, call, line)
                    if found.verdict == "true":
                        return [found], call
                    first = first or (found, call)
        if first is None:
            return [finding(False, f"looked: {text[:60]}", "no call looks at it")], None
        return [first[0]], first[1]

    def _looking(self, parts: Parts, calls: list[Call]) -> Told:
        """Looks of which the last was not answered: a name that came twice stands at its first place."""
        text = re.sub(r"^\d+ more, then ", "", parts["items"])
        for item in reversed(text.split("; ")):
            for call in reversed(calls):
                if call.result is None and self._is_look(item, call):
                    return [finding(True, f"looking at {item[:60]}")], call
        return [finding(False, f"looking at {text[:60]}", "all such calls have results")], None

    def _is_look(self, item: str, call: Call) -> bool:
        what = f"{call.tool} {call.command}"
        if item.startswith('grep "') and not re.search(r"grep|search|glob|\brg\b|\bag\b", what, re.I):
            return False
        if call.edits or any(is_check(one.text) for one in simple_commands(call.command)):
            return False
        raw = f"{call.tool} {values_of(call.arguments)}"
        given = words(self.ground.folders.short(raw)) + words(raw)
        name = re.sub(r"(?: \(.*|: \".*|…)$", "", item)
        spans = re.search(r":([\d,:-]+)$", name)
        name = re.sub(r" in$", "", re.sub(r":[\d,:-]+$", "", name))
        name = (
            re.sub(r"^(?:grep|looked at|the output of background task) ", "", name)
            .replace('" in ', "… ")
            .strip('"')
        )
        pattern, _, where = name.partition("… ")
        pieces = [words(one).strip() for one in [*re.split(r"…| in ", pattern), *where.split()]]
        if not all(piece in given for piece in pieces):
            return False
        numbers = re.findall(r"\d+", spans[1])[-2:] if spans else []
        return not numbers or f" {numbers[0]}" in given

    def _look(self, item: str, call: Call, line: str) -> Finding:
        claim, result = f"looked: {item[:60]}", call.result
        if "(NO RESULT YET)" in item:
            return finding(result is None, claim, "it has a result")
        if result is None:
            return finding("NO RESULT YET" in line, claim, f"record {call.record} has no result")
        if item.endswith("(no hits)"):
            text = re.sub(r"No (?:matches|files) found.*|Found 0 .*", "", result.text).strip()
            return finding(not text or result.exit == 1, claim, f"record {call.record} shows {text[:60]!r}")
        if re.search(r" \(failed: ", item) and not failed(call):
            return finding(False, claim, f"record {call.record} did not fail")
        if found := re.search(r" \((?:\d+ hits?: |\d+ lines found: |failed: )?\"(.*)\"\)$", item):
            good = self.ground.stands(found[1], self.ground.output(call))
            return finding(good, claim, f"record {call.record} does not show that")
        return finding(True, claim)

    # -- other tools

    def _tool(self, form: str, parts: Parts, calls: list[Call]) -> Told:
        given, became = parts.get("given") or parts.get("task") or "", parts["became"]
        head, arrow, rest = f" {given} → {became}".partition(" → ")
        if arrow and _OUTCOME.match(rest) and not _OUTCOME.match(became):
            given, became = (
                head.strip(),
                rest,
            )  # the arrow of the line is the first one, as an output may have others
        given = "" if given == "a long question" else given
        claim = f"{parts.get('tool') or form} {given[:40]} → {became[:20]}"
        why, last = "there is no such call", None
        for call in reversed(calls):
            name = call.tool.replace("mcp__", "").replace("__", ".")
            if form == "tool" and name != parts["tool"]:
                continue
            known = values_of(call.arguments)
            if not self.ground.stands(given, known) and share(given, self.ground.folders.short(known)) <= 0.9:
                continue
            reason = self._not_so(became, call)
            if not reason:
                return [finding(True, claim)], call
            if last is None:
                why, last = f"record {call.record}: {reason}", call
        return [finding(False, claim, why)], last


def _changed(call: Call) -> bool:
    """Whether git named the commit of a call, or printed what it changed."""
    text = call.result.text if call.result is not None else ""
    named = any(one.call is call for one in reported_by(call))
    return named or re.search(r"^ ?\d+ files? changed", text, re.M) is not None


def _pushed(call: Call) -> bool:
    commands = simple_commands(call.command)
    return any(git_words(one).startswith("push") and did(call, at) for at, one in enumerate(commands))


def _outside_quotes(text: str) -> list[str]:
    """The entries of a line, split where no quotation is open."""
    entries = [""]
    for piece in text.split("; "):
        entries[-1] += piece
        if entries[-1].count('"') % 2:
            entries[-1] += "; "
        else:
            entries.append("")
    return [entry for entry in entries if entry]
