"""What users and agents say in lives besides tasks and rules.

``{x}`` is a name of its own, ``{k}`` the same with hyphens, ``{X}`` in capitals. What follows a bar is how
people speak of it later.
"""

from __future__ import annotations

from typing import NamedTuple

GO_ON = (
    "go on", "continue", "weiter", "继续", "continue where you stopped", "yes", "ok go ahead", "keep going",
    "mach weiter", "carry on please", "続けて", "sigue", "vas-y, continue", "vai avanti", "next",
    "Please continue.", "pode continuar", "and now the rest", "go", "ok", "proceed", "resume", "接着做",
    "hm ok, go on then",
)  # fmt: skip
THANKS = ("thanks", "Great, thank you!", "danke!", "nice", "good work so far", "谢谢", "merci", "cool")
STATE_QUESTIONS = (
    "How far are we?", "what is left?", "Wie weit sind wir?", "where do we stand?", "还剩什么？",
    "Can you tell me first what is still open?", "où en est-on ?", "what did you do so far?",
)  # fmt: skip
STATE_ANSWERS = ("Some of it is done; the rest follows.", "About half of it.", "We are well under way.")
BEGINNINGS = (
    "I will begin with a plan.", "Let me look at the code first.", "I start with a list.",
    "Reading what is there.", "On it.",
)  # fmt: skip
WORKING = (
    "Now the next part.", "Looking at the callers.", "That reads well now.", "One more file.",
    "The tests come next.", "This is simpler than it looked.", "Checking the edge cases.",
)  # fmt: skip
NOTED = ("Noted.", "Noted, that comes later.", "Understood.", "All right.", "I will keep that in mind.")
LAST_WORDS = (
    "That much for now.", "I stop here for the moment.", "Ready for the next step.", "More follows.",
    "Let me know how to go on.", "Half of this step is there.",
)  # fmt: skip

OPENERS = (
    "Also {a}.", "And please {a}.", "One more thing: {a}.", "When everything is finished, {a}.",
    "Oh, and {a}.", "Also {a} when everything is finished.", "I'd also like you to {a}.", "please {a}",
    "While you are at it, {a}.", "In addition, {a}.", "Could you also {a}?", "then {a}",
    "Don't forget to {a}.", "After that, {a}.",
)  # fmt: skip
ACTIONS = (
    "add a CHANGELOG entry under {x}|the CHANGELOG entry",
    "store cents as integers in the {x} cache|the storing of cents",
    "document the flag --{k} in docs/flags.md|the documentation of the flag",
    "write a migration for the column {x}|the column migration",
    "log the duration of every {x} job|the logging of the duration",
    "add an option --{k} to the command line|the new option",
    "rename the helper to {x}|the helper's new name",
    "bump the version of {k} in the lock file|the bump in the lock file",
    "add {x} to the nightly build|the nightly build",
    "write an example for {x} in examples/|the example in examples/",
    "delete the unused table {x}|the unused table",
    "show {x} on the status page|the status page",
    "cover {x} with a property test|the property test",
    "translate the error messages of {x}|the translation of the messages",
    "move the constants to {x}.toml|the move of the constants",
    "make the timeout of {x} configurable|the timeout",
    "send a mail to ops when {x} fails|the mail to ops",
    "put a feature flag {X} around it|the feature flag",
    "describe the rollback in runbooks/{x}.md|the rollback",
    "add a benchmark bench/{x}.py|the benchmark",
    "sort the {x} list by name|the sorting",
    "print the number of skipped {x} rows|the number of skipped rows",
    "trim whitespace in {x}|the trimming",
    "pin the base image to {k}|the pinned image",
    "add a screenshot of {x} to the README|the screenshot",
    "check the licence of {k}|the licence",
    "keep the old name {x} as an alias|the alias",
    "index the column {x}|the index on the column",
)
POINT_INTROS = (
    "Please do these too:", "A few things from the meeting:", "Before the release:", "todo from my side:",
    "Some more wishes:", "What I still want:",
)  # fmt: skip
FINISHED = ("{b} is done now: see {p}.", "{b} is finished, it is in {p}.", "Done: {b}, in {p}.")
CONFIRMED = (
    "Thanks, {b} is good.", "{b} looks good, thanks.", "Perfect, {b} is exactly right.",
    "{b} works, thank you.",
)  # fmt: skip
WITHDRAWN = (
    "Never mind {b}.", "Forget {b}, we don't need that any more.", "Drop {b}, please.",
    "Scratch {b}.", "We no longer need {b}.",
)  # fmt: skip
REPLACED = (
    "Forget {b}. | We do something else instead.", "Change of plan, drop {b} altogether.",
    "Stop {b}, it was cancelled. | Now this:",
)  # fmt: skip
POINT_DONE = ("{n} is done.", "Point {n} is done, the others follow.", "{n} is done, next is the other one.")


class ChoiceForm(NamedTuple):
    """What an agent decides, and how a user decides otherwise."""

    decision: str
    correction: str


CHOICES = tuple(
    ChoiceForm(*form.split(" | "))
    for form in (
        "I decided to compare {x} in local time because the server has no zone."
        " | No, compare {x} in UTC, not in local time.",
        "I decided to keep {x} in memory, since it has only a few hundred rows."
        " | No, keep {x} on disk, it will grow.",
        "I chose msgpack for {x} because JSON was four times as large."
        " | No, take JSON for {x}, people must be able to read it.",
        "I went with a thread for {x} rather than a process, because it only waits."
        " | No, use a process for {x}, threads gave us trouble.",
        "I decided against an index on {x}, because it is written far more often than it is read."
        " | No, {x} gets an index, reading matters more.",
        "I settled on {x} as the name, since the API calls it so. | No, call it {x}_entry, not just {x}.",
        "I decided to round {x} half to even, because accounting does."
        " | No, round {x} half up, as the invoices do.",
        "I opted for polling in {x}, since the webhook is not reliable."
        " | No, use the webhook in {x}, polling costs us money.",
        "I decided to quantize {x} after the multiplication, not before."
        " | No, quantize {x} before the multiplication.",
        "I chose to raise an error in {x} for an empty list, because silence hid the bug."
        " | No, return None in {x} for an empty list, don't raise.",
        "I decided to copy the {x} fixture instead of sharing it, because two tests change it."
        " | No, share the {x} fixture, and let the tests restore it.",
        "I went with exponential backoff in {x}, because the provider asks for it."
        " | No, wait five seconds in {x}, always the same.",
        "I decided to leave {x} untyped for now, since its library has no stubs."
        " | No, write stubs for {x}, nothing stays untyped.",
        "I chose a partial index for {x}, as nine rows of ten are archived."
        " | No, take a full index for {x}, partial ones confuse the planner.",
    )
)


class QuestionForm(NamedTuple):
    question: str
    options: tuple[str, ...]


QUESTIONS = tuple(
    QuestionForm(question, tuple(options))
    for question, *options in (
        form.split(" | ")
        for form in (
            "How should {x} be stored? | as JSON in one column | in a table of its own | as files on disk",
            "Which order do you want for {x}? | newest first | by name | by size",
            "Where does {x} belong? | in the core package | in a plugin | in the test helpers",
            "What should happen if {x} is missing? | stop with an error | go on with a warning | create it",
            "Shall I migrate {x} in place or write a view for it? | migrate it in place | write a view",
            "How long may {x} be cached? | ten seconds | an hour | until it changes",
            "What do we call {x} in the interface? | collection | folder | group",
            "Which database should hold {x}? | the main one | the archive | one of its own",
            "Who may change {x}? | only administrators | the owner as well | everybody",
            "How should {x} be tested? | with the real service | with a recorded answer | with a fake",
            "When should {x} run? | every night | after each deploy | only by hand",
            "Which format should {x} print? | plain text | a table | JSON lines",
        )
    )
)
SHALL = (
    "Shall I keep the old column {x} as a view?", "Should {x} stay readable for old clients?",
    "May {x} be built with one worker only?", "Do you want {x} to be case-insensitive?",
)  # fmt: skip
YES = ("yes", "yes please", "ja", "sure", "y", "是的", "oui", "sí")

ATTEMPTS = (
    "I tried a generator in src/{x}.py, but the rows are read twice, so I took it back.",
    "I tried to patch the clock in {x}, which broke the scheduler, so I reverted it.",
    "Caching {x} with lru_cache did not work, because its argument is a list; I reverted it.",
    "I tried to upgrade {k} to the next major version, but it needs Rust; I took it back.",
    "Vendoring {k} failed, since its licence forbids it, and I reverted it.",
    "I tried to run {x} in a thread, but SQLite refused the connection there, so I undid it.",
    "Replacing {x} by a dataclass broke pickling, so I took that back.",
    "I tried to inline {x}, but mypy then sees a cycle, so I reverted it.",
    "Streaming {x} over HTTP/2 failed in the proxy, so I rolled it back.",
    "I tried ON CONFLICT for {x}, but the old server does not know it, so I took it back.",
)
FINDINGS = (
    "{x}: the error of close() is swallowed|the swallowed error",
    "{x}: two writers may clash at midnight|the clash of two writers",
    "{x}: the timeout is in milliseconds here and in seconds there|the units of the timeout",
    "{x}: an empty list is taken for no list|the empty list",
    "{x}: the log shows the customer's address|the address in the log",
    "{x}: the lock is not released after an exception|the lock",
    "{x}: a path from outside is opened unchecked|the unchecked path",
    "{x}: the query runs once for each row|the query for each row",
    "{x}: the comment says the contrary of the code|the wrong comment",
    "{x}: dates before 1970 overflow|the old dates",
    "{x}: the retry has no upper bound|the endless retry",
    "{x}: the cache is never emptied|the cache that is never emptied",
)
REVIEW_TASKS = ("Review the last change.", "Look for bugs in what was written.", "Review the branch, please.")
WORKS_THROUGH = (
    "The review has findings. I work through them one by one.",
    "I will fix all findings of the review, in this order.",
)  # fmt: skip
FINDING_DONE = ("Finding {n} is fixed.", "{n} is fixed, on to the next finding.")
