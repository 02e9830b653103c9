"""Writes docs/reference/manifest.md and manifest.schema.json from the code; ``docs_reference`` calls it.

What a field means stands here; a field without a meaning is an error.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from tests.support.briefs import known
from tests.support.long_story import story

from segue.core.brief.manifest import TIGHT_BYTES, Manifest, manifest, schema

MEANINGS = {
    "session_metadata.project": "the project's name",
    "session_metadata.goal": "what the user asked for last that is a request by itself",
    "session_metadata.first_asked": "what was asked first, if the run began with another brief",
    "session_metadata.phase": "the phase that PROJECT_STATE.md names, the session's status, how much is done",
    "session_metadata.timestamp": "when the run was last active, UTC",
    "session_metadata.context_usage_before": "the share of the context window that was used, from 0 to 1",
    "completed_tasks": "items that are finished, newest first, then commits",
    "pending_tasks.task": "an item that is open",
    "pending_tasks.priority": "HIGH under way, MEDIUM next, LOW later or blocked",
    "pending_tasks.status": "in_progress, pending or blocked",
    "pending_tasks.context": "why it is blocked",
    "active_state.current_work": "the item under way; else what the agent said or, if later, did last",
    "active_state.last_file_modified": "the file that was changed last, from the top of the project",
    "active_state.last_command_run": "the command with its arguments, and its result",
    "active_state.environment_status": "what fails or passes, then what is not committed, else the branch",
    "critical_context.key_decisions": "declared decisions, answers of the user, choices of the agent",
    "critical_context.important_findings": "what was learnt",
    "critical_context.blockers": "what fails, its reason quoted; blocked items; open questions; notices",
    "critical_context.next_steps": "a call that was cut off, to be checked; then the next items",
    "critical_context.standing_instructions": "rules and corrections of the user that still apply",
    "memory_pointers.project_state_file": "PROJECT_STATE.md, if the project has one",
    "memory_pointers.session_logs": "ids of runs, for `segue show RUN`; the file that another program gave",
    "memory_pointers.modified_files": "files that the run changed, the last one first, from the top",
    "memory_pointers.git_branch": "the branch",
    "bootstrap_instructions": "numbered steps, ready to be carried out; the last one says where to find more",
    "context_compression_metrics.original_tokens": "what was condensed, in tokens (estimated: 4 bytes each)",
    "context_compression_metrics.compressed_tokens": "what the manifest takes",
    "context_compression_metrics.compression_ratio": "the share that was saved",
    "prepared.reason": "why it was written: a trigger, or somebody's words (this and below: `segue prepare`)",
    "prepared.session": "the session",
    "prepared.key": "the project's key",
    "prepared.host": "the machine",
    "prepared.folder": "the top of the working tree",
    "prepared.head": "the commit, shortened",
    "prepared.tools": "programs that the run used and that were there",
    "prepared.interpreter": "the project's own Python: its folder and version",
    "prepared.locks": "lock files and what their content is known by",
    "prepared.checks": "features whose checks had passed",
    "prepared.done": "how many items were done, also those that had no room here",
    "prepared.pending": "how many items were not done, also those that had no room here",
}


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def _rows(key: str, rule: dict[str, Any], whole: dict[str, Any]) -> list[tuple[str, str, str]]:
    many = rule.get("type") == "array"
    inner = rule["items"] if many else rule
    name = inner.get("$ref") or next((one["$ref"] for one in inner.get("anyOf", []) if "$ref" in one), "")
    if not name:
        return [(f"`{key}`", "list of texts" if many else _kind(rule), MEANINGS[key])]
    fields = whole["$defs"][name.rsplit("/", 1)[-1]]["properties"]
    return [
        (f"`{key}{'[]' if many else ''}.{field}`", _kind(one), MEANINGS[f"{key}.{field}"])
        for field, one in fields.items()
    ]


def _kind(rule: dict[str, Any]) -> str:
    if "enum" in rule:
        return ", ".join(f"`{one}`" for one in rule["enum"])
    if rule["type"] == "array":
        return "list of texts"
    if rule["type"] == "object":
        return "object of texts"
    return {"string": "text", "number": "number", "integer": "whole number"}[rule["type"]]


def example() -> str:
    """The manifest of a made session, laid out."""
    shown = known(story(5, calls=100)[:-7], agent="codex")
    found = msgspec.json.decode(manifest(shown, 2_048, "segue show run-1 --timeline"))
    return json.dumps(found, indent=1, ensure_ascii=False)


def manifest_page(notice: str) -> str:
    whole = schema()
    top = whole["$defs"][whole["$ref"].rsplit("/", 1)[-1]] if "$ref" in whole else whole
    rows = [row for key in Manifest.__struct_fields__ for row in _rows(key, top["properties"][key], whole)]
    lines = ["| field | form | what it says |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(
        [
            "# The recovery manifest\n",
            notice,
            "`segue brief --json` gives the brief as JSON: the same facts as the [text](../guides/brief.md),",
            "for programs. It takes at most `--max-bytes` bytes and, at the usual 2,048, fewer than 500",
            f"tokens. From {TIGHT_BYTES:,} bytes on every key is there, if need be empty; below, those are",
            "left out so that goal, work, next step and blockers keep their room. The schema is",
            "[manifest.schema.json](manifest.schema.json); fields may be added, none is taken away.\n",
            "`segue prepare` writes it to `manifests/<project>/latest.json` of the data folder, with how and",
            "where that was done under `prepared`; `segue bootstrap` starts from it.\n",
            *lines,
            "\n## An example\n",
            "Of a session that nobody had, laid out for reading; the command prints it on one line.\n",
            f"```json\n{example()}\n```\n",
        ]
    )
