"""The fold of a run's steps into a digest, which has all that a brief needs in bounded space.

``take`` is the only function that changes a digest; it does so in place, because transcripts are long. Equal
steps in the same order give an equal digest, all at once or in pieces with ``encode`` and ``decode`` in
between. Every list has a limit, so the digest of a transcript of 100 MB is as small as that of one of 1 MB.
Only the user's own prompts can become the goal or a standing instruction. The texts of the last steps are
kept unchanged: ``core.brief`` works out what they mean when a brief is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ..base.definitions import definition
from ..base.lazy import msgpack_decoder
from ..language import sentences
from ..language.sentences import clip, clip_start
from ..usage.counted_responses import Response, count_response
from .brief_text import MANIFEST, read_brief, split_brief
from .command_effects import is_told_whole, take_command
from .command_lines import shown
from .git_effects import commits_named
from .model import CommandUse, Failure, FileUse, Open, RunDigest, SaidText, TrailStep, UserMessage
from .rewinds import keep_plan, take_back
from .shell_commands import parse_shell
from .steps import (
    DETACHED,
    EDITS,
    Act,
    Call,
    Change,
    Compact,
    End,
    Fault,
    Given,
    Interrupt,
    Model,
    Plan,
    PlanItem,
    Prompt,
    Recap,
    Report,
    Result,
    Rewind,
    Say,
    Settled,
    Start,
    Step,
    Thought,
    Title,
    Usage,
)
from .tree import (
    RUNNING_CHARS,
    Running,
    begin_checks,
    begin_process,
    end_process,
    note_address,
    take_changes,
    take_checks,
    take_sub_agent,
)
from .written_plans import take_document, take_plan, take_ticks

FORMAT = 21  # raise it when the same steps give another digest: stored ones are then made anew

PROMPTS_MAX, PROMPT_CHARS = 16, 4_000
SAYS_MAX, SAY_CHARS = 40, 1_600
TRAIL_MAX, WORDS_CHARS, ARGUMENT_CHARS, COMMAND_CHARS = 100, 6_000, 1_200, 3_000
OUTPUT_START_CHARS, OUTPUT_END_CHARS = 1_000, 2_200
NAMED_MAX = 3  # of commits in between
ENDS_WITHIN = 2  # steps after the result of a poll, an end is what the poll has told
NOTE_CHARS, QUESTION_CHARS = 400, 1_200
GIVEN_CHARS = 3_000  # of what a command of git gave while it ran on
NOTICE_CHARS = 90  # of what is told of a process
CHANGES_MAX, CHANGE_CHARS, REPLY_CHARS, THOUGHT_CHARS = 12, 1_500, 2_400, 1_600
FILES_MAX, COMMANDS_MAX, PLAN_MAX, OPEN_MAX = 240, 120, 120, 32
FAILURES_MAX, SOLVED_MAX, NOTED_MAX, REPORTS_MAX = 24, 8, 24, 6
SUMMARY_CHARS, REPORT_CHARS, ANSWER_CHARS = 24_000, 1_600, 600


_encoder = msgspec.msgpack.Encoder()
_decoder = msgpack_decoder(RunDigest)


def encode(digest: RunDigest) -> bytes:
    """The bytes of a digest. The first one is ``FORMAT``."""
    return bytes((FORMAT,)) + _encoder.encode(digest)


def decode(data: bytes) -> RunDigest | None:
    """A stored digest; None if it is malformed or has another ``FORMAT``."""
    if data[:1] != bytes((FORMAT,)):
        return None
    try:
        return _decoder.decode(memoryview(data)[1:])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def fold(steps: Iterable[Step], digest: RunDigest | None = None) -> RunDigest:
    """The digest of these steps. If a digest is passed in, the steps are added to it."""
    digest = RunDigest() if digest is None else digest
    for step in steps:
        take(digest, step)
    return digest


def take(digest: RunDigest, step: Step) -> None:
    """Add a step to a digest, in place."""
    digest.steps += 1
    if step.at:
        digest.last = step.at
        if not digest.began:
            digest.began = step.at
    _HANDLERS[type(step)](digest, step)


def behind_gap(before: RunDigest) -> RunDigest:
    """The digest with which the end of a transcript begins whose middle there was no time for. Only what
    stays so whatever came in between is kept: what was open, planned, failing or said last may be over."""
    return RunDigest(
        steps=before.steps, calls=before.calls, chars=before.chars, began=before.began, last=before.last,
        native=before.native, parent=before.parent, is_sub_agent=before.is_sub_agent, cwd=before.cwd,
        branch=before.branch, version=before.version, model=before.model, title=before.title,
        stretches=before.stretches, told=before.told, first_prompt=before.first_prompt,
        prompts=before.prompts, settled=before.settled, files=before.files, decided=before.decided,
        compactions=before.compactions, faults=before.faults, context_max=before.context_max,
        window=before.window, output=before.output, cost=before.cost, usage=before.usage,
    )  # fmt: skip


def _append(items: list[Any], new: Any, most: int) -> None:
    """Append, and drop the oldest items beyond ``most``."""
    items.append(new)
    if len(items) > most:
        del items[: len(items) - most]


def _add_to_trail(digest: RunDigest, step: TrailStep) -> None:
    digest.trail.append(step)
    if len(digest.trail) >= TRAIL_MAX * 2:  # so that it happens rarely, not at each step
        del digest.trail[:-TRAIL_MAX]


def _words(digest: RunDigest, kind: str, text: str) -> None:
    digest.chars += len(text)
    _add_to_trail(digest, TrailStep(kind, digest.steps, clip(text, WORDS_CHARS)))


def trail(digest: RunDigest) -> list[TrailStep]:
    """The last steps, oldest first."""
    return digest.trail[-TRAIL_MAX:]


# -- one function for each kind of step


def _start(digest: RunDigest, step: Start) -> None:
    if step.how:
        digest.stretches += 1
    if step.how == "start" and step.parent:
        digest.is_sub_agent = True
    if step.branch and digest.branch and step.branch != digest.branch:
        digest.tree.branch = ""  # the agent says a newer one
    if step.branch == DETACHED:
        step, digest.branch = msgspec.structs.replace(step, branch=""), ""
    for name in ("native", "cwd", "branch", "head", "version", "parent"):
        value = getattr(step, name)
        if value and (name not in ("native", "cwd") or not getattr(digest, name)):
            setattr(digest, name, value)


def _given(digest: RunDigest, step: Given) -> None:
    told = read_brief(split_brief(step.text)[0])
    if told:
        digest.told = next(iter(told.requests), "")


def _prompt(digest: RunDigest, step: Prompt) -> None:
    text = step.text.replace("\r\n", "\n").strip()
    if sentences.MARK in text or MANIFEST in text:
        brief, text = split_brief(text)
        if brief:
            _given(digest, Given(step.at, brief))
    if not text:
        return
    keep_plan(digest)
    reply_to = last_message(digest)
    text_kept = clip(sentences.task_first(text), PROMPT_CHARS)
    words = UserMessage(text_kept, digest.steps, step.how, reply_to, digest.calls)
    if digest.first_prompt is None:
        digest.first_prompt = words
    digest.prompts.append(words)
    if len(digest.prompts) > PROMPTS_MAX:
        _forget_prompt(digest.prompts)
    take_plan(digest, text)
    digest.ended = None
    _words(digest, "prompt", text)


def last_message(digest: RunDigest) -> str:
    """The end of what the agent last said, unless the user wrote since."""
    for step in reversed(digest.trail):
        if step.kind == "prompt":
            break
        if step.kind == "say":
            return clip_start(step.text, REPLY_CHARS)
    return ""


def _forget_prompt(prompts: list[UserMessage]) -> None:
    """Drop the oldest "go on" rather than a request, so that the requests still say what the work is."""
    for at in range(PROMPTS_MAX // 2):
        if not sentences.is_substantial(prompts[at].text):
            del prompts[at]
            return
    del prompts[0]


def _say(digest: RunDigest, step: Say) -> None:
    _append(digest.says, SaidText(clip(step.text, SAY_CHARS), digest.steps), SAYS_MAX)
    take_plan(digest, step.text, own=True)
    _words(digest, "say", step.text)


def _thought(digest: RunDigest, step: Thought) -> None:
    digest.thought = SaidText(clip_start(step.text, THOUGHT_CHARS), digest.steps)


def _settled(digest: RunDigest, step: Settled) -> None:
    ended = end_process(digest.tree, step.process)
    if ended is None:
        return  # it was told before, or belongs to another run
    about = [call for call in digest.trail if call.id and call.process == step.process]
    for call in about:
        call.runs_on = False
    poll = about[-1] if about and about[-1].polls and about[-1].done else None
    is_told = poll is not None and poll.done >= digest.steps - ENDS_WITHIN
    if poll is not None and is_told and poll.exit is None:
        poll.ok = step.ok
    starter = about[0] if about and not about[0].polls else None
    if starter is not None and starter.command and not (poll is not None and poll.exit is not None):
        starter.ok = step.ok
        take = take_checks if ended.taken else take_command
        take(digest.tree, starter.command, step.ok, None, step.text, starter.at, digest.steps)
    if not is_told:
        what, became = clip(ended.what, NOTICE_CHARS), "failed" if step.ok is False else "ended"
        _words(digest, "notice", f"{what} {became}" + (f": {step.text}" if step.text else ""))


def _call(digest: RunDigest, step: Call) -> None:
    digest.calls += 1
    digest.tree.calls = digest.tree.called = digest.calls
    polls = _polled(digest, step) if step.process else ""
    only_asks = polls != "" and _has_command_of_another(step)
    what = step.note or (step.paths[0] if step.paths else step.tool)
    paths, subject = step.paths, ""
    for path in paths:
        _touch(digest, path, step.act, 1)
    if step.command:
        command = parse_shell(step.command)
        what, subject = command.short or what, command.subject
        if not only_asks:
            _ran(digest, step, command.short, command.kind)
        for path in command.reads:
            _touch(digest, path, "read")
        for path in command.writes:
            _touch(digest, path, "create")
        paths = paths or command.writes or command.reads
    for change in step.changes:
        if change.how == "create" and "- [" in change.new:
            take_document(digest, change.path, change.new)
    if step.act == "plan" and not step.paths:
        take_plan(digest, step.text, own=True)
    note_chars = QUESTION_CHARS if step.act == "ask" else NOTE_CHARS
    if step.id:
        line = clip(step.command or step.note, note_chars)
        digest.pending[step.id] = Open(
            digest.steps, step.tool, step.act, clip(what, 200), line, paths[:4], subject
        )
        if len(digest.pending) > OPEN_MAX:
            del digest.pending[next(iter(digest.pending))]
    if step.command and not only_asks:
        begin_checks(digest.tree, step.command, digest.steps)
    digest.chars += len(step.text)
    _add_to_trail(
        digest,
        TrailStep(
            step.act, digest.steps, "" if step.command else clip(step.text, ARGUMENT_CHARS), step.tool,
            step.id, clip(step.command, COMMAND_CHARS), paths[:4], clip(step.note, note_chars),
            tuple(_kept_change(change) for change in step.changes[:CHANGES_MAX]), process=step.process,
            polls=polls,
        ),
    )  # fmt: skip


def _polled(digest: RunDigest, step: Call) -> str:
    """What started the process that a call asks for its output, or stops; empty if that is not known."""
    running = digest.tree.running.get(step.process)
    if running is not None:
        return running.what
    return shown(step.command)[:RUNNING_CHARS] if _has_command_of_another(step) else ""


def _has_command_of_another(step: Call) -> bool:
    """Whether the command of a call is not among its arguments: it is that of the process that it asks."""
    return bool(step.command) and step.command not in step.text


def _kept_change(change: Change) -> Change:
    """The change in bounded space: of long texts the lines in which they differ, and where they stand."""
    if len(change.old) <= CHANGE_CHARS and len(change.new) <= CHANGE_CHARS:
        return change
    if change.how == "create":
        lines = change.new.count("\n") + 1
        return msgspec.structs.replace(change, new=clip(change.new, CHANGE_CHARS), lines=lines)
    old, new = change.old.split("\n"), change.new.split("\n")
    before, after = {line.strip() for line in old}, {line.strip() for line in new}
    added = [at for at, line in enumerate(new) if line.strip() not in before]
    above = reversed(new[: added[0]] if added and not change.place else [])
    place = change.place or next((line.strip() for line in above if definition(line)), "")
    kept_old = "\n".join(line for line in old if line.strip() not in after)
    kept_new = "\n".join(new[at] for at in added)
    return msgspec.structs.replace(
        change, old=kept_old[:CHANGE_CHARS], new=kept_new[:CHANGE_CHARS], place=place
    )


def _ran(digest: RunDigest, step: Call, short: str, kind: str) -> None:
    if not short or kind == "look":
        return
    use = digest.commands.pop(short, None) or CommandUse(kind, 0)
    use.last, use.runs, use.line = digest.steps, use.runs + 1, clip(step.command, 300)
    digest.commands[short] = use  # reinserted, so that the dictionary is in the order of use
    if len(digest.commands) > COMMANDS_MAX:
        del digest.commands[next(iter(digest.commands))]


def _touch(digest: RunDigest, path: str, act: Act, named: int = 0) -> None:
    if not path or len(path) > 400 or "\n" in path:
        return
    use = digest.files.pop(path, None) or FileUse(digest.steps, 0)
    use.last = digest.steps
    use.named += named
    if act in EDITS:
        use.edits += 1
        use.edited = digest.steps
        use.created = use.created or (act == "create" and not use.reads)
        use.deleted = act == "delete"
    else:
        use.reads += 1
    digest.files[path] = use
    if len(digest.files) > FILES_MAX:
        _forget_file(digest.files)


def _forget_file(files: dict[str, FileUse]) -> None:
    """Drop the file that is least likely to be needed: the oldest that was never edited, else the oldest."""
    del files[next((path for path, use in files.items() if not use.edits), next(iter(files)))]


def _result(digest: RunDigest, step: Result) -> None:
    call = digest.pending.pop(step.id, None)
    for path in step.paths:
        _touch(digest, path, "read")
    digest.chars += len(step.text)
    if call is None:
        return
    stopped = sentences.was_stopped(step.exit, step.text)
    failed = not stopped and (step.ok is False or bool(step.exit))
    _complete(digest, step, failed)
    key = call.what if call.act == "run" else f"{call.act} {call.what}"
    if call.act == "run" and call.what in digest.commands:
        use = digest.commands[call.what]
        use.ok = None if step.ok is None or stopped else not failed
        use.failed += failed
    if failed:
        _failed(digest, key, call, step)
    if failed or stopped:
        return
    if step.ok is not False:
        _solve(digest, key)
        if digest.refused is not None and digest.refused.what == _name_of(call):
            digest.refused = None  # it was done since
    if call.act == "agent" and not step.process:
        _append(digest.reports, SaidText(clip(step.text, REPORT_CHARS), digest.steps), REPORTS_MAX)
    elif call.act == "ask" and step.text:
        answer = sentences.answered(call.line, step.text)
        _append(digest.decided, SaidText(clip(answer, ANSWER_CHARS), digest.steps), NOTED_MAX)


def _complete(digest: RunDigest, step: Result, failed: bool) -> None:
    """Write down what became of a call, and what it did to the working tree."""
    call, later = None, 0
    for one in reversed(digest.trail):
        if one.id == step.id:
            call = one
            break
        later += one.id != ""
    if call is None or call.refused:
        return
    digest.tree.called = digest.calls - later
    call.done, call.ok, call.exit = digest.steps, step.ok, step.exit
    call.output = _ends(step.text, "commit" in call.command)
    tree, now = digest.tree, digest.steps
    asked = tree.running.get(call.process) if call.polls else None
    call.process, call.runs_on = step.process or call.process, bool(step.process) or asked is not None
    if step.place and len(call.changes) == 1 and not call.changes[0].place:
        call.changes = (msgspec.structs.replace(call.changes[0], place=step.place),)
    if step.process:
        what = shown(call.command) if call.command else call.note or call.text
        begin_process(tree, step.process, what, call.at, "agent" if call.kind == "agent" else "process")
    if call.process:
        note_address(tree, call.process, step.text)
    if "- [" in step.text and call.paths and not failed:
        take_document(digest, call.paths[0], step.text)
    if call.command:
        called = asked.at if asked is not None else call.at
        running = tree.running.get(call.process) if call.runs_on and _is_polled(call) else None
        output = _in_all(running, call.command, step.text)
        if running is None or step.exit is not None:
            take = take_checks if running is not None and running.taken else take_command
            take(tree, call.command, step.ok, step.exit, output, called, now)
        elif not running.taken and is_told_whole(call.command, output):
            running.taken = True
            take_command(tree, call.command, None, None, output, called, now)
        if "[x" in call.command.lower() and not failed:
            take_ticks(digest, call.command, is_command=True)
    elif not failed:
        changes = call.changes
        if not changes and call.kind in ("edit", "create", "delete"):
            changes = tuple(Change(path, call.kind) for path in call.paths)  # type: ignore[arg-type]
        known = step.overwrote or any(_was_there(digest, change.path, call.at) for change in changes)
        take_changes(tree, changes, call.at, now, known=known)
        for change in changes:
            if "[x]" in change.new or "[X]" in change.new:
                take_ticks(digest, change.new)
        if call.kind == "agent":
            take_sub_agent(tree, f"{call.note}\n{call.text}\n{step.text}", now)


def _in_all(running: Running | None, command: str, output: str) -> str:
    """What a command in the background has given in all, as far as git may have said in it what it did."""
    if running is None or "git" not in command:
        return output
    running.output = clip_start(f"{running.output}\n{output}".lstrip("\n"), GIVEN_CHARS)
    return running.output


def _is_polled(call: TrailStep) -> bool:
    """Whether a call has the command of the process that it started or asks, and not one of its own."""
    return not call.polls or shown(call.command)[:RUNNING_CHARS] == call.polls


def _was_there(digest: RunDigest, path: str, at: int) -> bool:
    """Whether a file was there before a call: it had been read, or an earlier call had changed it."""
    use = digest.files.get(path)
    return use is not None and (use.reads > 0 or use.first < at)


def _ends(output: str, commits: bool = False) -> str:
    """The beginning and the end of a long output, and of one that ``commits`` what is named in between."""
    if len(output) <= OUTPUT_START_CHARS + OUTPUT_END_CHARS:
        return output
    start, end = clip(output, OUTPUT_START_CHARS), clip_start(output, OUTPUT_END_CHARS)
    named = (
        [line for line in commits_named(output) if line not in start and line not in end] if commits else []
    )
    return "\n…\n".join([start, *named[-NAMED_MAX:], end])


def _failed(digest: RunDigest, key: str, call: Open, step: Result) -> None:
    why = sentences.reason(step.text)
    before = digest.failures.pop(key, None)
    digest.failures[key] = Failure(_name_of(call), why, digest.steps, before.count + 1 if before else 1)
    if len(digest.failures) > FAILURES_MAX:
        del digest.failures[next(iter(digest.failures))]


def _name_of(call: Open) -> str:
    return call.what if call.act == "run" else f"{call.tool} {call.paths[0]}" if call.paths else call.tool


def _solve(digest: RunDigest, key: str) -> None:
    failure = digest.failures.pop(key, None)
    if failure is not None:
        failure.solved = digest.steps
        _append(digest.solved, failure, SOLVED_MAX)


def _plan(digest: RunDigest, step: Plan) -> None:
    digest.planned = digest.steps
    if step.whole:
        before = {item[0]: item for item in digest.plan}
        listed = {item.text for item in step.items}
        over = [row[0] for row in digest.plan if row[1] in ("done", "dropped") and row[0] not in listed]
        digest.settled = [*digest.settled, *over][-PLAN_MAX:]
        digest.plan = [
            _item(item, before.get(item.text), digest.steps) for item in step.items[:PLAN_MAX] if item.text
        ]
        return
    for item in step.items:
        match = next(
            (
                old
                for old in digest.plan
                if (item.key and old[2] == item.key) or (not item.key and old[0] == item.text)
            ),
            None,
        )
        if match is not None:
            match[0], match[1], match[3] = item.text or match[0], item.state or match[1], digest.steps
        elif item.text:
            _append(digest.plan, _item(item, None, digest.steps), PLAN_MAX)


def _item(item: PlanItem, before: list[Any] | None, at: int) -> list[Any]:
    same = before is not None and before[1] == item.state
    return [clip(item.text, 300), item.state or "pending", item.key, before[3] if same and before else at]


def _usage(digest: RunDigest, step: Usage) -> None:
    if step.context:
        digest.context = step.context
        digest.context_max = max(digest.context_max, step.context)
    digest.window = step.window or digest.window
    tokens = (step.input, step.cache_read, step.cache_write, step.cache_write_1h, step.output)
    counted, before = count_response(
        digest.usage,
        Response(
            step.key, digest.last, step.model or digest.model, tokens, step.cost, step.context, digest.window
        ),
    )
    digest.output += counted.output - before.output
    digest.cost += counted.cost - before.cost


def _compact(digest: RunDigest, step: Compact) -> None:
    digest.compactions += 1
    digest.usage.head_due = True
    digest.chars += len(step.summary)
    if step.summary:
        digest.summary = SaidText(clip(step.summary, SUMMARY_CHARS), digest.steps)


def _recap(digest: RunDigest, step: Recap) -> None:
    _append(digest.recaps, SaidText(clip(step.text, REPORT_CHARS), digest.steps), 3)


def _report(digest: RunDigest, step: Report) -> None:
    digest.pending.pop(step.call, None)
    call = next((one for one in reversed(digest.trail) if step.call and one.id == step.call), None)
    is_answer = call is not None and not call.done
    if call is not None and is_answer:
        call.done, call.ok, call.output = digest.steps, True, _ends(step.text)
    _append(digest.reports, SaidText(clip(step.text, REPORT_CHARS), digest.steps), REPORTS_MAX)
    take_sub_agent(
        digest.tree, f"{call.note if call else ''}\n{call.text if call else ''}\n{step.text}", digest.steps
    )
    last = digest.trail[-1] if digest.trail else None
    is_told = last is not None and last.polls and last.done == digest.steps - 1  # a poll gave it
    if not is_answer and not is_told:
        _words(digest, "notice", f"sub-agent {step.name} reported: {step.text}".replace("  ", " "))


def _interrupt(digest: RunDigest, step: Interrupt) -> None:
    digest.interrupted = SaidText(clip(step.reason, 300), digest.steps)
    call = digest.pending.pop(step.call, None)
    if call is None:
        _words(digest, "notice", "the user interrupted the agent")
        return
    digest.refused = Failure(_name_of(call), clip(step.reason, 300), digest.steps)
    refused = next((one for one in reversed(digest.trail) if one.id == step.call), None)
    if refused is not None:
        refused.refused, refused.done, refused.output = True, digest.steps, clip(step.reason, 600)


def _fault(digest: RunDigest, step: Fault) -> None:
    digest.faults += 1
    digest.fault = SaidText(clip(step.text, 300), digest.steps)


def _model(digest: RunDigest, step: Model) -> None:
    digest.model = step.name


def _title(digest: RunDigest, step: Title) -> None:
    digest.title = clip(step.text, 120)


def _end(digest: RunDigest, step: End) -> None:
    digest.ended = SaidText(step.how, digest.steps)
    if step.how == "error" and step.text:
        digest.fault = SaidText(clip(step.text, 300), digest.steps)


_HANDLERS: dict[type, Callable[[RunDigest, Any], None]] = {
    Start: _start,
    Prompt: _prompt,
    Rewind: take_back,
    Given: _given,
    Say: _say,
    Thought: _thought,
    Call: _call,
    Result: _result,
    Settled: _settled,
    Plan: _plan,
    Usage: _usage,
    Compact: _compact,
    Recap: _recap,
    Report: _report,
    Interrupt: _interrupt,
    Fault: _fault,
    Model: _model,
    Title: _title,
    End: _end,
}
