"""Writes docs/reference (``docs_cli`` writes cli.md) from the code: ``python -m tests.tidy.docs_reference``.

`make docs` runs it; ``test_docs.py`` holds the committed pages to it. What the code does not say
about itself (what an event means, what an environment variable is for) stands in tables here,
and a name that is missing in them is an error.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import FunctionType

from tests.tidy.docs_manifest import manifest_page, schema_text
from tests.tidy.docs_rest import rest_page

import segue
import segue.testing
from segue import errors, settings
from segue.core import event_kinds as events
from segue.core.base.values import Value
from segue.testing import all_failpoints

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
PACKAGE = ROOT / "src" / "segue"
NOTICE = "<!-- Written by `make docs` from the code. Do not edit: a test compares. -->\n"

VARIABLES = {
    "SEGUE_HOME": "the data folder; else the platform's (`~/.local/share/segue` on Linux)",
    "SEGUE_CONFIG": "your own settings file; else `~/.config/segue/config.toml`",
    "SEGUE_SESSION": "the session that is meant when no id is given",
    "SEGUE_RUN": "the run that commands belong to; `segue hold -- COMMAND` sets it for the command",
    "SEGUE_HANDOVER": "the run of a handover; set for the commands that it runs",
    "SEGUE_SUPERVISED": "set by `segue run` for its agents, whose prompt holds the brief and whose checks it "
    "runs itself; `screen` for those with their own screen",
    "SEGUE_LAUNCH": "set by `segue run`: the mark by which it finds an agent and its processes again",
    "SEGUE_DEBUG": "with any value: an unexpected error shows where it happened",
}

MEANINGS = {
    "session.created": "a session was created",
    "session.started": "work on it began",
    "session.paused": "it was stopped for now",
    "session.resumed": "work on it continues",
    "session.completed": "its goal is reached",
    "session.abandoned": "its goal is given up",
    "session.described": "its goal or summary was changed; what is left out stays the same",
    "session.handed": "it was passed to another agent",
    "session.rewound": "a rewind (with the checkpoint's name) or an undo (without)",
    "session.gap": "a recovery could not read these versions",
    "session.imported": "it came from a document, with the lifecycle found there",
    "journal.erased": "a scrub rewrote the bodies of these events of the stream",
    "item.added": "an item was planned",
    "item.begun": "an item is under way",
    "item.done": "an item is finished",
    "item.blocked": "an item is blocked",
    "item.unblocked": "an item is no longer blocked",
    "item.dropped": "an item will not be done",
    "note.taken": "what was just done",
    "decision.made": "a choice, and why",
    "question.asked": "a question is open",
    "question.answered": "a question is answered",
    "finding.learnt": "something was found out",
    "error.seen": "an error was seen",
    "error.solved": "an error was solved, and how",
    "pending.refused": "what was declared while the server was away, and refused when it was sent",
    "thread.moved": "a line of thought has a new status",
    "focus.set": "the place that is being worked on",
    "notes.loaded": "notes were loaded",
    "changes.seen": "the uncommitted changes of the working tree",
    "context.noted": "facts of the loaded context",
    "metrics.counted": "counters went up",
    "budget.set": "what the session may spend, and whether it continues sparingly beyond that",
    "budget.spent": "what a piece of work cost, in US dollars and tokens",
    "ledger.kept": "what a run said, or what somebody added, is in the ledger; and what became of entries",
    "ledger.corrected": "somebody set the state or the text of an entry by hand, and that stays so",
    "ledger.joined": "the entries of another session, or of a document, came into the ledger",
    "agent.noted": "facts about a named agent",
    "agent.saved": "an agent's own state, as changes to its pieces",
    "agent.dropped": "an agent was forgotten",
    "checkpoint.named": "the state of this version got a name",
    "feature.added": "a feature was declared",
    "feature.changed": "steps, checks, covered paths or words of a feature were changed; its proof is void",
    "feature.removed": "a feature was dropped",
    "feature.moved": "the status of a feature as somebody declared it; never that it passes",
    "step.attested": "a name and a note for a step that no check proves",
    "checks.begun": "checks of a feature are running; earlier results no longer count",
    "check.ran": "evidence: Segue ran a check",
    "check.reported": "what somebody else's report says; not a proof",
    "evidence.voided": "evidence no longer counts",
    "check.trusted": "a check that came from a file or an agent was accepted, by its hash",
    "tree.bound": "a working tree belongs to a project",
    "tree.current": "which session is current in a working tree",
    "project.trusted": "a project's `segue.toml` was accepted, by its hash",
    "run.hooked": "what a hook of an agent saw of a run",
    "brief.given": "a run was told this, with the kind, source and size of each fact",
    "stop.refused": "a run said it was done, and was told what is not proven",
    "transcript.shared": "the masked copy of a transcript in a shared store, as changes to its pieces",
    "archive.written": "a session of a shared store was archived in it, as pieces",
    "archive.restored": "an archived session was brought back; its days count from here",
    "conversation.changed": "what a program added to a conversation that it keeps, or took from its end",
    "graph.begun": "the streams of this generation hold a thread; without one it was deleted",
    "graph.namespace": "a thread has checkpoints in a namespace from now on",
    "graph.checkpoint": "a graph saved a checkpoint; what is new in it is in a piece",
    "graph.writes": "a task of a graph wrote something after a checkpoint; it is in a piece",
    "request.served": "a server carried out a request that must not take effect twice",
    "hold.taken": "a run holds a session",
    "hold.renewed": "its lease was extended",
    "hold.released": "the run released the session",
    "handover.begun": "a handover began, with what its steps were given",
    "handover.extended": "the workflow gained steps while the run was interrupted",
    "handover.step_begun": "a step that must not be done twice is under way",
    "handover.step_done": "a step is done, and its result",
    "handover.step_failed": "a step failed and stays pending",
    "handover.completed": "all steps are done",
    "handover.scored": "how useful a handover was to the run after it",
    "handoff.offered": "a session was offered to an agent",
    "handoff.taken": "the offer was taken; nobody else can",
    "handoff.declined": "the offer was declined",
    "handoff.withdrawn": "the offer was withdrawn",
    "pending.brought": "what was pending was sent to the server, once",
    "spend.reserved": "a model is about to be asked; the most it can cost counts as spent",
    "spend.settled": "what it cost, from what the answer used",
}

MOMENTS = {"before": "before it is durable", "after": "after it is durable", "between": "inside a commit"}


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines) + "\n"


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: its first paragraph, on one line."""
    first = (inspect.cleandoc(docstring or "").split("\n\n") or [""])[0]
    return " ".join(first.replace("``", "`").split())


# -- errors ----------------------------------------------------------------------------------------


def error_classes() -> list[type[errors.SegueError]]:
    """All of them, each behind its parent."""
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, errors.SegueError)]
    return [k for k in kinds if k.__module__ == errors.__name__]


def errors_page() -> str:
    tree = (errors.__doc__ or "").partition("\n\n")[2].partition("SegueError\n")
    drawing = textwrap.dedent("    " + tree[1] + tree[2]).strip("\n")
    parts = [
        "# Errors and exit codes\n",
        NOTICE,
        "Every error that Segue raises is a `segue.SegueError`. It has a `message`, a `hint` with a safe",
        "next step (or an empty one), a stable `code`, and `facts()` for programs. The command line exits",
        "with `exit_code`; `retryable` says whether the same call can work later. `segue` exports those",
        "that are marked †; catch the others as the class that they are a kind of.\n",
        f"```\n{drawing}\n```\n",
    ]
    rows = []
    for kind in error_classes():
        mark = " †" if kind.__name__ in segue.__all__ else ""
        parent = kind.__bases__[0].__name__ if kind is not errors.SegueError else ""
        retry = "yes" if kind.retryable else ""
        codes = (f"`{kind.code}`", str(kind.exit_code), str(kind.http_status), retry)
        rows.append(
            (f"`{kind.__name__}`{mark}", f"`{parent}`" if parent else "", *codes, prose(kind.__doc__))
        )
    parts.append(table(("class", "is a", "code", "exit", "HTTP", "retryable", "meaning"), rows))
    facts = [(k, list(inspect.signature(k.__init__).parameters)[1:]) for k in error_classes()]
    special = [
        (f"`{k.__name__}`", ", ".join(f"`{n}`" for n in names))
        for k, names in facts
        if "message" not in names
    ]
    parts += ["## Facts\n", "What `facts()` and `--json` give beyond code, message and hint:\n"]
    parts.append(table(("class", "facts"), special))
    parts.append("What else a command may exit with is in [commands](cli.md#exit-codes).\n")
    return "\n".join(parts)


# -- settings --------------------------------------------------------------------------------------


def settings_page() -> str:
    rows = []
    for setting in settings.DECLARED:
        default = f"`{setting.default}`" if setting.default != "" else ""
        project = "yes" if setting.in_project else "no"
        about = setting.about.replace("``", "`")
        kind = f"{setting.type.__name__}"
        rows.append((f"`{setting.name}`", kind, default, f"`{setting.env}`", project, about))
    head = ("setting", "type", "default", "environment", "in segue.toml", "what it is")
    variables = [(f"`{name}`", about) for name, about in VARIABLES.items()]
    return "\n".join(
        [
            "# Settings\n",
            NOTICE,
            "A flag wins over the environment, the environment over the project's `segue.toml`, that",
            "over your own file, and that over the default. `segue config` shows every value and where it",
            "came from. An unknown name is refused, with the nearest one that exists.\n",
            table(head, rows),
            "A project's `segue.toml` counts only once `segue trust` accepted its content, and again",
            'after each change of it; a setting with "no" in the column may never stand there.\n',
            "```toml\n# segue.toml, in the root of the project",
            'project = "acme/shop"\ncleanup_days = 90\n```\n',
            "`store` is `sqlite:///path/to/segue.db`, `postgresql://user@host/database` or the address of a",
            "[server](../guides/team.md), `https://segue.example`, to which `api_key` is shown.\n",
            "## Other variables of the environment\n",
            table(("variable", "what it is"), variables),
            "`NO_COLOR`, `FORCE_COLOR`, `TERM=dumb`, `COLUMNS`, `XDG_DATA_HOME` and `XDG_CONFIG_HOME` mean",
            "what they mean elsewhere. `Segue()` without arguments reads the environment; `Segue(home=…)`",
            "and `Segue(store=…)` read none of it.\n",
        ]
    )


# -- library ---------------------------------------------------------------------------------------

NESTED = (
    "core.sessions.state.Item", "core.sessions.state.Decision", "core.sessions.state.Question",
    "core.sessions.state.Finding", "core.sessions.state.Trouble", "core.sessions.state.Thread",
    "core.sessions.state.Focus", "core.sessions.state.NoteUse", "core.sessions.state.AgentState",
    "core.sessions.state.Context", "core.sessions.state.Metrics", "core.sessions.state.Mark",
    "core.sessions.state.Handing", "core.sessions.status.Progress", "core.sessions.status.Blocked",
    "core.sessions.status.Lifecycle", "core.sessions.status.Hints",
    "services.ledger.ledger_service.ShownEntry", "services.ledger.ledger_service.LedgerView",
)  # fmt: skip
RETURNED = (
    "services.workspace.session_handle.SessionHold",
    "services.resume.emergency.Guard",
    "services.ledger.ledger_service.LedgerService",
    "api.agent_loop.RecoverableAgent",
)


def found(path: str) -> type:
    """A class of the package by its dotted path."""
    module, _, name = path.rpartition(".")
    kind: type = getattr(import_module(f"segue.{module}"), name)
    return kind


def class_tree(kind: type) -> ast.ClassDef:
    """The source of a class, parsed."""
    node = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(node, ast.ClassDef)
    return node


INTERNAL = {"of", "commit_trusted", "go_back"}
"""Methods for services and surfaces."""


def public_methods(kind: type) -> Iterator[ast.FunctionDef]:
    """The methods and properties that users may call, in order; those that it inherits behind its own."""
    seen: set[str] = set()
    for one in kind.__mro__:
        if not one.__module__.startswith("segue.") or one is Value:
            continue
        for node in class_tree(one).body:
            is_public = isinstance(node, ast.FunctionDef) and (node.name[0] != "_" or node.name == "__init__")
            if isinstance(node, ast.FunctionDef) and is_public and node.name not in seen | INTERNAL:
                seen.add(node.name)
                yield node


def signature(node: ast.FunctionDef, owner: str) -> str:
    """A method as one would call it."""
    properties = [d.id for d in node.decorator_list if isinstance(d, ast.Name) and d.id == "property"]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    returns = returns.replace("ev.Event", "Event").replace("Cards", "list[Card]").replace("Runs", "list[Run]")
    if properties:
        return f"{node.name}{returns}"
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
    if node.name == "__init__":
        return f"{owner}({arguments})"
    return f"{node.name}({arguments}){returns}"


def methods_section(kind: type, level: str = "##") -> str:
    parts = [f"{level} {kind.__name__}\n", prose(kind.__doc__) + "\n"]
    rows = [
        (f"`{signature(node, kind.__name__)}`", prose(ast.get_docstring(node)))
        for node in public_methods(kind)
        if node.name != "__init__" or kind is found("api.segue.Segue")
    ]
    parts.append(table(("call", "what it does"), rows))
    return "\n".join(parts)


def fields_section(kind: type, level: str = "##") -> str:
    """The fields of a value with their types, defaults and the words below them."""
    body = class_tree(kind).body
    rows = []
    for node, behind in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        words = ""
        if isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant):
            words = prose(str(behind.value.value))
        default = f" = {ast.unparse(node.value)}" if node.value is not None else ""
        rows.append((f"`{node.target.id}: {ast.unparse(node.annotation)}{default}`", words))
    listed = table(("field", ""), rows)
    if not any(words for _, words in rows):
        listed = ", ".join(field for field, _ in rows) + ".\n"
    lines = [f"{level} {kind.__name__}\n", prose(kind.__doc__) + "\n", listed]
    lines += [table(("method", ""), more)] if (more := _value_methods(kind)) else []
    return "\n".join(lines)


def _value_methods(kind: type) -> list[tuple[str, ...]]:
    return [
        (f"`{signature(node, '')}`", prose(ast.get_docstring(node)))
        for node in public_methods(kind)
        if node.name != "__init__"
    ]


def testing_section() -> str:
    rows = []
    for name in segue.testing.__all__:
        thing = getattr(segue.testing, name)
        if isinstance(thing, FunctionType):
            node = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
            assert isinstance(node, ast.FunctionDef)
            rows.append((f"`{signature(node, name)}`", prose(ast.get_docstring(node))))
        else:
            words = (
                prose(thing.__doc__) if isinstance(thing, type) else "How often each failpoint was passed."
            )
            rows.append((f"`{name}`", words))
    return "\n".join(
        [
            "## segue.testing\n",
            "For those who write a store or build on Segue; the names of failpoints are in",
            "[failpoints](failpoints.md).\n",
            table(("name", "what it is"), rows),
        ]
    )


def library_page() -> str:
    values = [k for name in segue.__all__ if isinstance(k := getattr(segue, name), type)]
    errors_exported = [k.__name__ for k in values if issubclass(k, errors.SegueError)]
    records = [k for k in values if hasattr(k, "__struct_fields__")]
    parts = [
        "# Library\n",
        NOTICE,
        "Users import from `segue` and `segue.testing`, and from nothing deeper. The",
        "[guide](../guides/library.md) has an example of every method.\n",
        methods_section(segue.Segue),
        methods_section(segue.Session),
        "Every method that writes gives a `Saved` after it is durable, and raises otherwise. `Texts` is one",
        "text or several: `str | Iterable[str]`. The commands of `apply` are not public yet.\n",
        *(methods_section(found(path)) for path in RETURNED),
        *(fields_section(kind) for kind in records),
        "## Parts of states and statuses\n",
        *(fields_section(found(path), "###") for path in NESTED),
        "## Errors\n",
        ", ".join(f"`{name}`" for name in errors_exported) + ": see [errors](errors.md).\n",
        "`__version__` is the version of the package.\n",
        testing_section(),
    ]
    return "\n".join(parts)


# -- events and failpoints -------------------------------------------------------------------------


def events_page() -> str:
    rows = []
    for kind, body in sorted(events.BODIES.items(), key=lambda pair: list(MEANINGS).index(pair[0])):
        fields = []
        for node in class_tree(body).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                optional = "?" if node.value is not None else ""
                fields.append(f"`{node.target.id}{optional}: {ast.unparse(node.annotation)}`")
        rows.append((f"`{kind}`", MEANINGS[kind], ", ".join(fields)))
    return "\n".join(
        [
            "# Events\n",
            NOTICE,
            "What is in the journal. A body is canonical JSON; fields with `?` are left out when they",
            "have their default. Bodies may gain such fields; any other change raises the `format` in the",
            "envelope. A kind that a version of Segue does not know is kept and skipped. The envelope is",
            "[Event](library.md#event).\n",
            table(("kind", "says that", "body"), rows),
            "Everything up to `checkpoint.named` stands in the stream `session/<id>`, `tree.*` in",
            "`tree/<hash of its path>`, `project.trusted` in `ledger/trust`, `hold.*` in `hold/<session>`,",
            "`handover.*` in `handover/<hash of the tree's path>` (`handover.scored` in `score/<the same>`),",
            "`handoff.*` in `handoff/<session>`;",
            "`journal.erased` stands in whichever stream had bodies rewritten.\n",
        ]
    )


def failpoints() -> list[tuple[str, str, str]]:
    """(name, module, function) of each place that trips."""
    places = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for function in ast.walk(ast.parse(source)) if "trip(" in source else ():
            if not isinstance(function, ast.FunctionDef):
                continue
            inner = {
                n
                for f in ast.walk(function)
                if isinstance(f, ast.FunctionDef) and f is not function
                for n in ast.walk(f)
            }
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Name(id="trip"), args=[ast.Constant(value=str(name))]) if (
                        node not in inner
                    ):
                        places.append((name, str(path.relative_to(ROOT)), function.name))
    return sorted(set(places))


def failpoints_page() -> str:
    rows, places = [], failpoints()
    for name in sorted(all_failpoints()):
        where = [f"`{function}` in [{file}](../../{file})" for n, file, function in places if n == name]
        moment = MOMENTS[name.rpartition(".")[2].partition("_")[0]]
        rows.append((f"`{name}`", moment, ", ".join(where)))
    return "\n".join(
        [
            "# Failpoints\n",
            NOTICE,
            "Named places around every durable write, where a test can kill the process. In production they",
            "cost one look at a global variable. Crash tests kill a real process at each of them, reopen the",
            "store and prove that everything acknowledged is there once.\n",
            table(("name", "when", "where"), rows),
            "To die at one, on its third passing, while running a script of your own:\n",
            "```console",
            "$ python -m segue.testing.failpoints store.append.after_commit:3 -- script.py\n```\n",
            "In a test: `kill_at`, `armed`, `recording` and `spawn` of",
            "[segue.testing](library.md#seguetesting).\n",
        ]
    )


PAGES = {
    "errors.md": errors_page,
    "settings.md": settings_page,
    "library.md": library_page,
    "events.md": events_page,
    "failpoints.md": failpoints_page,
    "manifest.md": lambda: manifest_page(NOTICE),
    "rest.md": lambda: rest_page(NOTICE),
    "manifest.schema.json": schema_text,
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
        print(f"wrote docs/reference/{name}")


if __name__ == "__main__":
    main()
