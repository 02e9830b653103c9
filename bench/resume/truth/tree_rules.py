"""Rules for what a brief says of the tree: checks, changed files, commits, what runs, what was refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.resume.truth.events import Call, values_of
from bench.resume.truth.ground import Finding, Ground, Parts, Rule, finding
from bench.resume.truth.history import failed, git_words, history
from bench.resume.truth.shell import is_check, simple_commands
from bench.resume.truth.tree import SUBMODULE, FileStory, matches
from bench.resume.truth.words import stands

_MORE = re.compile(r"and \d+ more")
_CHECK = re.compile(
    r"((?:`[^`]*` and )*`[^`]*`) (passed|FAILED|was stopped|ended, verdict unclear|has no result yet)"
)
_NO_SUBJECT = "its subject is not told here"
_FEW_CALLS = 5
_OUTCOMES = {
    "passed": ("ok",), "FAILED": ("failed", "failed?"), "was stopped": ("stopped",),
    "ended, verdict unclear": ("unclear", "failed?"), "has no result yet": ("none",),
}  # fmt: skip
_AGENT_TOOLS = ("Task", "Agent", "spawn_agent", "task", "Workflow", "new_task")


class TreeRules:
    """One rule for each form of statement."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.told = ground, ground.told

    def rules(self) -> dict[str, Rule]:
        return {
            "failing": self._failing, "checked": self._checked, "checked before": self._checked_before,
            "unchecked": self._unchecked, "changed": self._changed, "unchanged": self._unchanged,
            "doubt": self._doubt, "stashed": self._stashed, "last commit": self._last_commit,
            "running": self._running, "refused": self._refused,
        }  # fmt: skip

    # -- checks

    def _failing(self, parts: Parts) -> Iterator[Finding]:
        runs, name = self.ground.runs(parts["name"]), parts["name"][:50]
        claim = f"failing: {name}"
        if parts["earlier"]:
            told = any(self.ground.stands(parts["name"], one.text) for one in self.told.given)
            yield finding(told and not runs, claim, "no earlier run told of it, or it was run since")
            return
        if not runs:
            yield finding(False, claim, "it was never run")
            return
        if parts["since"]:
            edited = self.ground.last_change()
            why = f"the last edit is in record {edited}"
            yield finding(edited > runs[-1][0].record, f"not run since: {name}", why)
        if parts["again"]:
            why = f"record {runs[-1][0].record}: {runs[-1][1]}"
            yield finding(runs[-1][1] in ("none", "stopped"), f"called again: {name}", why)
        clear = [one for one in runs if one[1] in ("failed", "failed?", "ok")]
        call, verdict = clear[-1] if clear else runs[-1]
        if verdict not in ("failed", "failed?"):
            yield finding(False if verdict == "ok" else None, claim, f"record {call.record}: {verdict}")
            return
        output = self.ground.output(call)
        tests = [one for one in parts["tests"].split(", ") if one and not _MORE.fullmatch(one)]
        later = [
            self.ground.output(one) for one, verdict in runs if one.at > call.at and verdict == "stopped"
        ]
        told = any(self.ground.stands(parts["quote"], text) for text in (output, *later))
        named = all(self.ground.stands(test, output) for test in tests)
        yield finding(told and named, claim, f"record {call.record} did not say that")

    def _checks(self, text: str, since: int) -> Iterator[Finding]:
        checks = [(name, outcome) for names, outcome in _CHECK.findall(text) for name in _names(names)]
        unclear = text.count("verdict unclear")
        yield finding(unclear <= 1, "each verdict once", f"unclear {unclear} times")
        named = [name for name, _ in checks]
        yield finding(len(set(named)) == len(named), "each check once", f"named twice: {named}")
        for name, outcome in checks:
            runs = self.ground.runs(name)
            claim = f"`{name[:50]}` {outcome}"
            if not runs:
                yield finding(False, claim, "it was never run")
                continue
            call, verdict = runs[-1]
            if call.record < since:
                yield finding(False, claim, f"an edit in record {since} came after record {call.record}")
            elif verdict in _OUTCOMES[outcome]:
                yield finding(True, claim)
            else:
                cautious = outcome.startswith("ended")  # says less than can be seen
                yield finding(None if cautious else False, claim, f"record {call.record}: {verdict}")

    def _checked(self, parts: Parts) -> Iterator[Finding]:
        yield from self._checks(parts["checks"], self.ground.last_edit())

    def _checked_before(self, parts: Parts) -> Iterator[Finding]:
        yield from self._checks(parts["checks"], -1)
        yield from self._unchecked(parts)

    def _unchecked(self, parts: Parts) -> Iterator[Finding]:
        since = self.ground.last_edit()
        later = [
            f"record {call.record}: {simple.bare[:60]}"
            for call in self.ground.calls_after(since)
            if call.result is not None and not call.result.refused
            for simple in simple_commands(call.command)
            if is_check(simple.text)
        ]
        claim = "no check since the last edit"
        yield finding(None if since < 0 else not later, claim, later[0] if later else "no edit by a tool")

    # -- files

    def _changed(self, parts: Parts) -> Iterator[Finding]:
        if parts["others"] or parts["status"]:
            yield from self._asked(parts)
        files, others = (SUBMODULE.sub("", parts[key]) for key in ("files", "others"))
        shown = [*files.split(", "), *others.split(", ")]
        for file in shown:
            if file.strip() and not _MORE.fullmatch(file):
                yield self._changed_file(file)
        if not any(_MORE.fullmatch(file) for file in shown) and not parts["files"].endswith("…"):
            names = [re.sub(r" \((?:new|deleted)\)$", "", file) for file in shown if file]
            missing = [
                path
                for path in self._left_changed(-1)
                if not any(
                    matches(one, path) or (one.endswith("/") and f"/{one}" in f"/{path}") for one in names
                )
            ]
            told_to = any(
                call.tool in _AGENT_TOOLS and "commit" in values_of(call.arguments)
                for call in self.told.calls
            )
            why = "a sub-agent was told to commit" if told_to else f"changed: {missing[:3]}"
            yield finding(None if missing and told_to else not missing, "nothing else is uncommitted", why)

    def _changed_file(self, shown: str) -> Finding:
        mark = re.search(r" \((new|deleted)\)$", shown)
        story = FileStory(shown[: mark.start()] if mark else shown, self.told, self.ground.folders)
        claim = f"uncommitted: {shown}"
        if story.state == "changed":
            if mark and mark[1] == "new" and not story.created:
                return finding(False, claim, f"it is not new ({story.why})")
            if mark and mark[1] == "deleted" and not story.deleted:
                return finding(False, claim, f"it is not deleted ({story.why})")
            return finding(True, claim)
        if story.doubt and story.state in ("", "gone"):
            return finding(None, claim, story.doubt)
        return finding(False, claim, f"{story.state or 'never changed'}: {story.why}")

    def _asked(self, parts: Parts) -> Iterator[Finding]:
        """How long ago git was asked for the status."""
        asked = [
            call.at
            for call in self.told.calls
            if call.result is not None
            and any(git_words(one).startswith("status") for one in simple_commands(call.command))
        ]
        ages = {len(self.told.calls) - 1 - at for at in asked}
        yield from self._age(parts["age"] or parts["ago"], ages, "git status")

    def _age(self, told: str, ages: set[int], what: str) -> Iterator[Finding]:
        """Whether something is as old as is said; without a word it is as good as new."""
        if not ages or not self.told.counts_calls:
            return
        good = int(told) in ages if told else min(ages) <= _FEW_CALLS
        yield finding(good, f"{what} {told or 'few'} calls ago", f"it is {sorted(ages)[:4]}")

    def _unchanged(self, parts: Parts) -> Iterator[Finding]:
        made = history(self.told).made
        since = made[-1].call.result.record if made and made[-1].call.result is not None else -1
        left = self._left_changed(since)
        why = f"changed: {left[:3]}" if made else "there is no commit"
        yield finding(bool(made) and not left, "nothing changed since", why)

    def _left_changed(self, since: int) -> list[str]:
        """The files of the folder that a tool changed after a record and that are still changed."""
        paths = {
            self.ground.folders.path(edit.path)
            for call in self.ground.calls_after(since)
            if call.result is not None and not failed(call)
            for edit in call.edits
        }
        return [
            path
            for path in sorted(paths)
            if not re.match(r"/|~|[a-z]:/", path)
            and FileStory(path, self.told, self.ground.folders).state == "changed"
        ]

    def _doubt(self, parts: Parts) -> Iterator[Finding]:
        used = any(call.tool in _AGENT_TOOLS for call in self.told.calls)
        yield finding(used or None, "sub-agents worked", "none was started")

    def _stashed(self, parts: Parts) -> Iterator[Finding]:
        stashes: list[int] = []
        for call in self.told.calls:
            if call.result is None or call.result.refused:
                continue
            saved = not failed(call) or "Saved working directory" in call.result.text
            taken = not failed(call) or "Dropped" in call.result.text
            for match in re.finditer(r"\bgit stash(?: (\w+))?", call.command):
                if match[1] in (None, "push", "save") and "No local changes" not in call.result.text:
                    stashes += [call.at] if saved else []
                elif match[1] in ("pop", "apply", "drop") and taken:
                    del stashes[-1:]
                elif match[1] == "clear":
                    stashes = []
        yield finding(bool(stashes), "a stash", "there is none")
        yield from self._age(parts["age"], {len(self.told.calls) - 1 - at for at in stashes}, "a stash")

    # -- commits

    def _last_commit(self, parts: Parts) -> Iterator[Finding]:
        past = history(self.told)
        made = past.made
        claim = f"last commit {parts['hash']} {parts['subject'][:40]}"
        if not made:
            yield finding(False, claim, "git reported no commit")
            return
        last = made[-1]
        subject = "" if parts["subject"] == _NO_SUBJECT else parts["subject"]
        good = self.ground.stands(subject, last.subject or last.call.command)
        if parts["hash"]:
            good = good and last.sure and last.hash != ""
            good = good and (last.hash.startswith(parts["hash"]) or parts["hash"].startswith(last.hash))
        yield finding(good, claim, f"the last one is {last.hash} {last.subject} in record {last.call.record}")
        if parts["branch"]:
            good = parts["branch"].rstrip("…") in last.branch
            yield finding(good, f"on branch {parts['branch']}", f"it is on {last.branch}")
        if parts["count"]:
            yield finding(int(parts["count"]) == len(made), f"{parts['count']} commits", f"it is {len(made)}")
        pushed = past.pushed >= last.call.record
        why = f"push in record {past.pushed}" if pushed else "no push succeeded since"
        yield finding((parts["pushed"] == "pushed") == pushed, parts["pushed"], why)

    # -- what runs, what was refused

    def _running(self, parts: Parts) -> Iterator[Finding]:
        for name in re.findall(r"(?:^|; )([\w@./-]+): ", parts["jobs"]):
            why = "nothing with this id was started"
            if name in self.told.ended:
                why = f"it ended in record {self.told.ended[name]}"
            yield finding(name in self.told.started and name not in self.told.ended, f"runs: {name}", why)
        for name, age in re.findall(r"(?:^|; )([\w@./-]+): .*?started (\d+) calls ago", parts["jobs"]):
            record = self.told.started.get(name, -1)
            ages = {
                len(self.told.calls) - 1 - call.at
                for call in self.told.calls
                if call.result is not None and call.result.record == record
            }
            yield from self._age(age, ages, f"{name} started")

    def _refused(self, parts: Parts) -> Iterator[Finding]:
        claim = f"refused {parts['what'][:40]}"
        for call in reversed(self.told.calls):
            result = call.result
            if result is None or not (result.refused or (result.failed and parts["quote"])):
                continue
            given = f"{call.tool} {values_of(call.arguments)}"
            if self.ground.stands(parts["what"], given) and stands(parts["quote"], result.text):
                again = next((one for one in self.told.calls[call.at + 1 :] if _is_same(call, one)), None)
                yield finding(again is None, claim, f"it was done in record {again.record}" if again else "")
                return
        yield finding(False, claim, "no such call was refused")


def _names(checks: str) -> list[str]:
    return re.findall(r"`([^`]*)`", checks)


def _is_same(call: Call, later: Call) -> bool:
    """Whether a later call did what an earlier one was not allowed to do."""
    if later.result is None or failed(later) or later.tool != call.tool:
        return False
    if call.command:
        subjects = [re.findall(r"-m [\"']([^\"'\n]{8,})", one.command) for one in (call, later)]
        return call.command.strip() == later.command.strip() or bool(
            subjects[0] and subjects[0] == subjects[1]
        )
    return bool(call.edits) and [edit.path for edit in call.edits] == [edit.path for edit in later.edits]
