"""Every command: its name, the module that has it, and what it does in a line; and which one a line names.

Only this is loaded before a command's own module, so that no command loads another.
"""

from __future__ import annotations

DAILY = ("init", "brief", "run", "continue", "start", "status", "verify", "search", "ui", "doctor")
"""The commands that `segue --help` shows; `segue help --all` shows every one."""

LOOKING = frozenset({
    "brief", "since", "status", "show", "log", "checkpoints", "feature list", "agent list",
})  # fmt: skip
"""Commands that only look: where there is nothing yet, they say so, and that is no error."""
LOOKING_ALONE = frozenset({"budget", "hold", "ledger"})
"""Commands that only look if nothing follows them."""

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "ls": ("list",), "new": ("start",), "history": ("log",), "ps": ("runs",),
    "cost": ("usage",), "find": ("search",), "watch": ("status", "--watch"), "tail": ("log", "--follow"),
    "dashboard": ("ui",), "settings": ("config",),
}  # fmt: skip
"""Names that people try, and the words of the command that does it."""

MEANT: dict[str, str] = {
    "stop": "pause", "end": "complete", "finish": "complete", "close": "complete", "cancel": "abandon",
    "delete": "abandon", "test": "verify", "check": "verify", "prove": "verify", "install": "init",
    "setup": "init", "uninstall": "uninit", "remove": "uninit", "web": "ui", "open": "ui", "todo": "status",
    "tasks": "status", "where": "status", "save": "checkpoint", "commit": "checkpoint",
    "restore": "resume", "load": "resume", "memory": "memories", "grep": "search", "server": "serve",
    "tokens": "usage", "replay": "show", "transcript": "show", "health": "doctor", "fix": "doctor",
    "token": "key", "login": "key", "update": "migrate", "lesson": "remember",
}  # fmt: skip
"""Names that could mean more than one thing, and the command to point to."""

GROUPS: dict[str, tuple[str, ...]] = {
    "start and end": (
        "start", "plan", "resume", "switch", "pause", "complete", "abandon", "handover", "handoff",
        "prepare", "bootstrap", "budget",
    ),
    "inspect": (
        "brief", "ledger", "since", "status", "list", "sessions", "search", "show", "log", "resumable",
        "checkpoints", "runs", "usage", "stats", "pressure", "map", "ui",
    ),
    "work": (
        "checkpoint", "done", "begin", "add", "block", "unblock", "drop", "note", "decide", "ask", "answer",
        "learn", "rewind", "undo",
    ),
    "prove": ("feature", "verify"),
    "learn": ("remember", "recall", "playbook", "vote", "forget", "memories", "habits"),
    "agents": ("run", "continue", "agent", "hold", "mcp"),
    "teams": ("serve", "key", "quota", "schema"),
    "keep": (
        "sync", "export", "import", "backup", "cleanup", "rebuild", "migrate", "recover", "scrub", "doctor",
    ),
    "set up": (
        "init", "uninit", "off", "on", "hook", "statusline", "model", "spend", "config", "trust",
        "completion",
    ),
}  # fmt: skip

TABLE: dict[str, tuple[str, str]] = {
    "start": ("start", "start a session and make it the current one here"),
    "resume": (
        "resume",
        "pick up a session: the brief and what has changed since; with --budget, its context",
    ),
    "switch": ("switch", "pause the current session and switch to another"),
    "pause": ("pause", "pause the session"),
    "complete": ("complete", "complete the session: its goal is reached"),
    "abandon": ("abandon", "give up the session's goal"),
    "handover": (
        "handover",
        "end a day's work: write notes into memory/ and commit them; resumes after a crash",
    ),
    "handoff": ("handoff", "offer a session to another agent, accept one, or pack one for another machine"),
    "prepare": ("prepare", "write down where the work stands (the manifest), for whoever continues it"),
    "budget": ("budget", "show what a session has spent, and set its limits"),
    "bootstrap": (
        "bootstrap",
        "start from the manifest: where the work stands and whether everything is still in place",
    ),
    "plan": ("plan", "propose items and features for a task; nothing is declared until you accept it"),
    "brief": ("brief", "show where the last run stopped and what the next one must know, in 2 KB"),
    "ledger": ("ledger", "show what was asked, ruled and chosen and still holds, and correct it"),
    "status": ("status", "show what is done, under way, next and blocked"),
    "list": ("list", "list the sessions of this project, or of all projects"),
    "sessions": ("sessions", "list the sessions; join those that are one piece of work"),
    "search": ("search", "find what was said, done or decided, in any run of any agent"),
    "map": ("map", "show what matters in the code, who uses what, and what a change affects"),
    "ui": ("ui", "see everything in a browser: agents at work, sessions, search, memory, figures"),
    "show": ("show", "show everything that is known about a session or a run"),
    "log": ("log", "show everything recorded in a session, as a timeline"),
    "resumable": ("list", "list sessions that were paused or left unfinished"),
    "checkpoints": ("checkpoints", "list the named checkpoints of a session"),
    "runs": ("runs", "list the runs of agents in this project, or in all projects"),
    "usage": (
        "usage",
        "show the tokens and money agents used and how full their windows got, by day, run, model or project",
    ),
    "stats": (
        "stats",
        "show how well Segue works: work taken up again, and how useful briefs, memories and habits were",
    ),
    "pressure": ("pressure", "show how full the context window of a run is, and whether to prepare"),
    "since": ("since", "show what has changed since you left: commits, files, features, other runs"),
    "checkpoint": (
        "checkpoint",
        "record several changes at once; with --name, a state you can go back to",
    ),
    "done": ("items", "mark items as done"),
    "begin": ("items", "mark items as under way"),
    "add": ("items", "add items to the plan"),
    "block": ("items", "mark an item as blocked"),
    "unblock": ("items", "mark items as no longer blocked"),
    "drop": ("items", "drop an item from the plan: it will not be done"),
    "note": ("items", "note what you have just done"),
    "decide": ("items", "record a decision, and the reason for it"),
    "ask": ("items", "record an open question"),
    "answer": ("items", "answer a question"),
    "learn": ("items", "record something you found out"),
    "rewind": ("undo", "go back to a named checkpoint"),
    "undo": ("undo", "undo the last command"),
    "feature": (
        "feature",
        "define what must work and how it is checked; confirm by hand what no check can prove",
    ),
    "verify": (
        "verify",
        "run the checks of features that are not proven now; exit 1 until everything is proven",
    ),
    "remember": ("remember", "remember a lesson; --from-run takes lessons from a run"),
    "recall": ("recall", "search the lessons that were remembered"),
    "playbook": ("recall", "find strategies that worked for a similar task"),
    "vote": ("vote", "say whether a memory was helpful"),
    "forget": ("forget", "erase the text of a memory"),
    "memories": ("memories", "list, show, audit, prune, export and import memories"),
    "habits": ("habits", "show habits seen in the runs and commits here; correct them or switch them off"),
    "agent": ("agent", "save, load and list the states of named agents"),
    "hold": ("hold", "show who holds a session, or hold it while a command runs"),
    "run": ("run", "let agents work until the checks pass, through crashes, limits and full windows"),
    "continue": ("continue_", "continue the work in the same agent or another one"),
    "mcp": ("mcp", "give an agent's model twelve tools for a session, over MCP"),
    "serve": ("serve", "run a server for a team: REST, the Aegis API and MCP over HTTP, with keys"),
    "key": ("key", "create, list, rotate and revoke the keys of a server; show what was done with them"),
    "quota": ("quota", "show and set how much the projects of a server may hold, and how often they may ask"),
    "schema": ("schema", "show, make or upgrade the tables of a Postgres store, and the roles for it"),
    "sync": ("sync", "read what is new in agents' transcripts and keep copies"),
    "export": ("export", "write a session to a file, or a session or run as a readable page"),
    "import": ("import_", "read a session from a file"),
    "backup": ("backup", "back up the store now, or list the backups"),
    "cleanup": ("cleanup", "archive sessions that ended long ago, or bring one back"),
    "rebuild": ("rebuild", "rebuild snapshots from the journal, or check them"),
    "migrate": (
        "migrate",
        "copy a store to another one and verify the copy; if interrupted, run it again",
    ),
    "recover": ("recover", "recover what is still readable in a damaged store"),
    "scrub": ("scrub", "erase a text from the journal, archives and backups"),
    "doctor": ("doctor", "check that everything is in order, and say what to do if it is not"),
    "model": ("model", "choose the models that Segue may ask, and set spending caps; none by default"),
    "spend": ("spend", "show what asking models cost, by day, session and purpose, and how much is left"),
    "init": ("init", "set up the agents on this machine to work with Segue"),
    "uninit": ("init", "remove everything that init wrote"),
    "off": ("on_off", "switch Segue off here or for a session: nothing is recorded, agents are told nothing"),
    "on": ("on_off", "switch Segue on again"),
    "hook": ("hook", "called by agents' hooks: records an event and answers it"),
    "statusline": ("statusline", "print a line for the status line of Claude Code, from its JSON on stdin"),
    "config": ("config", "show every setting, its value and where it comes from"),
    "trust": ("trust", "accept this project's segue.toml as it is now"),
    "completion": ("completion", "print or install tab completion for your shell"),
}

_VALUED = ("-C", "--folder", "--home", "--store", "--actor")
_FLAGS = ("--json", "--no-color")


def split(words: list[str]) -> tuple[list[str], str, list[str]]:
    """The global options before the command, the command, and the rest."""
    place = 0
    while place < len(words):
        word = words[place]
        if word in _VALUED:
            place += 2
        elif (
            word in _FLAGS
            or word.startswith(("--folder=", "--home=", "--store=", "--actor="))
            or word[:2] == "-C"
        ):
            place += 1
        else:
            return _in_full(words[:place]), word, words[place + 1 :]
    return _in_full(words), "", []


def _in_full(words: list[str]) -> list[str]:
    """Global options by their long names: a command may have another use for the short one."""
    named = ("--folder" if word == "-C" else word for word in words)
    return [f"--folder={word[2:]}" if word[:2] == "-C" else word for word in named]
