"""Every command: its name, the module that has it, and what it does in a line.

The only thing that is read before a command's own module, so that a command pays for no other.
"""

from __future__ import annotations

GROUPS: dict[str, tuple[str, ...]] = {
    "begin and end": (
        "start", "resume", "switch", "pause", "complete", "abandon", "handover", "handoff", "prepare",
    ),
    "look": (
        "brief", "since", "status", "list", "show", "log", "resumable", "checkpoints", "runs", "pressure",
    ),
    "work": (
        "checkpoint", "done", "begin", "add", "block", "unblock", "drop", "note", "decide", "ask", "answer",
        "learn", "rewind", "undo",
    ),
    "prove": ("feature", "verify"),
    "learn": ("remember", "recall", "playbook", "vote", "forget", "memories"),
    "agents": ("agent", "hold", "mcp"),
    "keep": ("sync", "export", "import", "backup", "cleanup", "rebuild", "recover", "scrub", "doctor"),
    "set up": ("config", "trust", "completion"),
}  # fmt: skip

TABLE: dict[str, tuple[str, str]] = {
    "start": ("lifecycle", "begin a session and make it the current one here"),
    "resume": ("lifecycle", "go on with a session"),
    "switch": ("lifecycle", "pause the current session and take up another"),
    "pause": ("lifecycle", "stop for now"),
    "complete": ("lifecycle", "the goal is reached"),
    "abandon": ("lifecycle", "the goal is given up"),
    "handover": (
        "handover",
        "the end of a session, step by step: notes, state, commit; resumes after a crash",
    ),
    "handoff": ("lifecycle", "pass a session to another agent, by name"),
    "prepare": ("leaving", "write the manifest of where the work stands, for whoever comes next"),
    "brief": ("briefing", "where the last run stopped, in 2 KB: what the next one must know"),
    "status": ("looking", "what is done, under way, next and blocked"),
    "list": ("looking", "the sessions of this project, or of all"),
    "show": ("looking", "everything that is known of a session or a run"),
    "log": ("looking", "the journal as a timeline"),
    "resumable": ("looking", "sessions that were paused or left in the middle"),
    "checkpoints": ("looking", "the named checkpoints of a session"),
    "runs": ("runs", "the runs that agents left in this project, or in all"),
    "pressure": ("pressure", "how full the window of a run is, and whether to prepare"),
    "since": ("leaving", "what changed since the work was left: commits, files, features, other runs"),
    "checkpoint": ("working", "any mix of changes in one commit; with --name, a state to come back to"),
    "done": ("working", "items are finished"),
    "begin": ("working", "items are under way"),
    "add": ("working", "plan items"),
    "block": ("working", "an item waits for something"),
    "unblock": ("working", "items wait no more"),
    "drop": ("working", "an item will not be done"),
    "note": ("working", "what was just done"),
    "decide": ("working", "a choice was made, and why"),
    "ask": ("working", "a question is open"),
    "answer": ("working", "a question is answered"),
    "learn": ("working", "something was found out"),
    "rewind": ("working", "back to a named checkpoint"),
    "undo": ("working", "take the last command back"),
    "feature": ("features", "criteria of success: declare them, look at them, attest what no check proves"),
    "verify": (
        "evidence",
        "run the checks of what is unproven or stale; exit 1 while something is not proven",
    ),
    "remember": ("memories", "keep what was learnt; --from-run takes it from a run"),
    "recall": ("memories", "what was learnt that answers a question"),
    "playbook": ("memories", "strategies that worked, for a task"),
    "vote": ("memories", "say whether a memory was of help"),
    "forget": ("memories", "erase what a memory says"),
    "memories": ("memories", "list, show, audit, prune, export and import memories"),
    "agent": ("agents", "keep the states of named agents"),
    "hold": ("holding", "who holds a session; or run a command while holding it"),
    "mcp": ("serving", "the work of a session as eight tools for an agent's model, over MCP"),
    "sync": ("runs", "take in what is new of agents' transcripts, and keep copies"),
    "export": ("exchanging", "a session as a file"),
    "import": ("exchanging", "a session from a file"),
    "backup": ("keeping", "make a backup of the store now, or list them"),
    "cleanup": ("keeping", "archive sessions that ended long ago; bring one back"),
    "rebuild": ("keeping", "make snapshots anew from the journal, or prove that they are right"),
    "recover": ("repairing", "bring back what is readable of a damaged store"),
    "scrub": ("repairing", "erase a text from journal, archive and backups"),
    "doctor": ("repairing", "look whether all is well, and say what to do"),
    "config": ("configuring", "every setting, its value and where it comes from"),
    "trust": ("configuring", "accept this project's segue.toml as it is now"),
    "completion": ("configuring", "a script that completes commands in your shell"),
}
