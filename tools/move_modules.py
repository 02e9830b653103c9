# ruff: noqa: E501
"""Moves modules by the tables below and rewrites all that names them: imports, dotted names, paths in texts.

Run once, in a clean checkout: ``python tools/move_modules.py && make format``. It changes no behaviour: what
a module is called and where it lies is all that differs. Imports inside the package become relative.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
TREES = {"src/segue": "segue", "tests": "tests", "bench": "bench", "demo": "demo"}

# folder -> "old=new old …" (a bare word keeps its name); relative to the room.
CORE = {
    "base": "values patterns=lazy canon=canonical rows=persistent_list torn=json_prefix jsontext=json_edit "
    "tokens=token_estimate door=text",
    "journal": "body shadows=shadow_copies events=event chain pieces",
    "features": "evidence features=verdict feature_forms=file_formats",
    "sessions": "snapshot command pending state session=fold commands apart hold=holds rewind status offline "
    "budget yamlform=session_yaml feature_commands",
    "memories": "memory=model recall=ranking curate=curation stem tokens_code=words dates",
    "runs": "names=identifiers shared=shared_copies run_events=events steps digest takeback=rewinds "
    "sketch=written_plans shell=shell_commands standing=standing_rules offers=open_questions "
    "telling=sentences claims=done_claims inherit=inherited material=quotable pressure=window_pressure",
    "brief": "picture=facts spoken=statements worth=relevance brief=compose page inventory=file_list manifest "
    "account=long_brief passages",
    "resume": "scene delta=changes locks=lock_files restore=restoration",
    "models": "asking=prompt answers=answer grounding planning=plan_proposal spend=spending",
    "supervision": "supervise=decide waits=retry_after",
    "handover": "handing=events layers=markdown_layers score=usefulness",
    "server": "access",
}
SERVICES = {
    "sessions": "book=repository holds agents=agent_states undoing=undo",
    "workspace": "home=data_folder place=working_tree stores=open_store switch=on_off looking "
    "offline=offline_queue last_seen",
    "features": "features verifying=verify rechecks=recheck feature_files=import_export trust",
    "memories": "memories=service memory_upkeep=curation remembering readers=reader",
    "runs": "reading=read_transcript cursor runs=run capture=discovery observed listing ingest=sync "
    "taking=sync_workers attach=assign_session sharing=shared_copies asking=caller quoting",
    "brief": "briefs=brief hook_brief=for_hooks given=delivered brief_memories=relevant_memories "
    "claims=model_claims",
    "resume": "scenes library=notes since prepare bootstrap restore working=working_state interruptions "
    "checkpointer=autosave emergency pressure=window_pressure",
    "models": "ladder=config spending=ledger models=ask refine planning=plan",
    "handoff": "handoff=offers bundle exchange=export yamltext=safe_yaml",
    "hooks": "hooks=handler spooling=spool_drain installing=install hook_file codex_trust plugin",
    "supervision": "supervise=supervisor supervision=record following=follow prompting=prompts launchers waits",
    "upkeep": "backups refold rebuild cleanup=archive_sessions migrate scrub",
    "upkeep.doctor": "doctor=checkup doctor_server=postgres doctor_remote=server",
    "upkeep.recover": "recover=ladder recover_sources=sources recover_git=from_git "
    "recover_memories=from_memories recover_runs=from_runs recover_server=remote",
    "server": "serving=startup keys remote_keys projects portal=store_over_http once=idempotency "
    "session_index elsewhere=sent_runs",
    "server.aegis": "progress aegis_records=records",
}
API = "segue sessions=session agent_loop"
EFFECTS = {
    "git": "git=repository probe history hunks scene trees publish",
    "processes": "processes=identity launching=launch checks nanny=check_runner commands=webhooks",
    "redaction": "redact redact_hint=hint redact_scan=scan redact_judge=judge secrets_rules=rules",
    "files": "files=atomic lines=growing_file blocks=marked_block archive outputs=check_outputs spool log",
    "vectors": "embed=embedder minilm wordpiece",
}
CLI = {
    "": "__init__=main parsing=parser",
    "views": "views=session timeline since_view=since",
    "commands": "agents=agent briefing=brief configuring=config evidence=verify exchanging=export "
    "features=feature handoff handover holding=hold hooking=hook installing=init keeping=backup keys=key "
    "leaving=prepare lifecycle=start looking=status memories migrating=migrate models=model planning=plan "
    "pressure repairing=recover resuming=resume runs serving=serve supervising=run working=items "
    "mixing=checkpoint",
}
HTTP = {
    "server": "gate=pipeline lanes=commit_queue front=context watching=follow frame=route messages=response "
    "running=process routing problems openapi shapes=schemas metrics wire=parameters",
    "routes": "commanding=commands events features handing=handoffs health holding=holds keys mcp memories "
    "ports=store runs sessions",
    "aegis": "aegis=sessions aegis_forms=forms aegis_memories=memories aegis_more=more aegis_records=records",
}
UNIT = {
    "base": "test_door=test_text test_jsontext=test_json_edit test_rows=test_persistent_list test_times "
    "test_tokens=test_token_estimate test_lookups=test_lookups",
    "journal": "test_chain test_pieces",
    "features": "test_features",
    "sessions": "test_book=test_repository test_commands test_session=test_fold test_session_yaml test_status "
    "test_holds test_brake=test_pause_file test_together",
    "memories": "test_memories test_memory_gate test_recall=test_ranking test_dates test_semantic test_vec_index",
    "runs": "test_capture=test_discovery test_digest test_inherit=test_inherited test_names=test_identifiers "
    "test_offers=test_open_questions test_quick_reading test_reading=test_read_transcript "
    "test_shell=test_shell_commands test_standing=test_standing_rules test_sync test_telling=test_sentences "
    "test_sharing=test_shared_copies test_archive",
    "brief": "test_account=test_long_brief test_brief test_brief_masks test_brief_truth test_manifest",
    "resume": "test_bootstrap test_checkpointer=test_autosave test_emergency test_interruptions test_prepare "
    "test_pressure=test_window_pressure test_restore test_since test_working=test_working_state test_notes "
    "test_hunks",
    "models": "test_bench_model test_grounding test_model_uses test_models_wire test_spend=test_spending",
    "supervision": "test_supervise=test_decide test_waits=test_retry_after test_launching=test_launch",
    "handover": "test_handover test_handover_files test_score=test_usefulness test_publish",
    "handoff": "test_handoff test_exchange=test_export",
    "hooks": "test_spool",
    "upkeep": "test_backups test_cleanup=test_archive_sessions test_scrub",
    "server": "test_access test_portal=test_store_over_http test_routing",
    "workspace": "test_place=test_working_tree test_settings",
    "stores": "test_postgres test_remote test_remote_connections test_sqlite",
    "effects": "test_checks test_git test_redact test_trees",
    "tools": "test_bench_resume test_scripted",
    "aegis": "test_agent_loop",
}


def pairs(words: str) -> list[tuple[str, str]]:
    return [(word.partition("=")[0], word.partition("=")[2] or word) for word in words.split()]


def dotted(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def table() -> dict[str, str]:
    """Old dotted name -> new dotted name, for every module that moves."""
    found: dict[str, str] = {}
    rooms = {"segue.core": CORE, "segue.services": SERVICES, "segue.effects": EFFECTS,
             "segue.surfaces.cli": CLI, "segue.surfaces.http": HTTP, "tests.unit": UNIT}  # fmt: skip
    for room, folders in rooms.items():
        for folder, words in folders.items():
            found |= {dotted(room, old): dotted(room, folder, new) for old, new in pairs(words)}
    found |= {dotted("segue.services", old): dotted("segue.api", new) for old, new in pairs(API)}
    support = "scripted rig screen programs server postgres"
    found |= {f"segue.testing.{old}": f"tests.support.{new}" for old, new in pairs(support)}
    for file in (ROOT / "src/segue/testing/scripted").glob("*.py"):
        if file.stem != "__init__":
            found[f"segue.testing.scripted.{file.stem}"] = f"tests.support.scripted.{file.stem}"
    found |= {
        "segue._trip": "segue._failpoints",
        "segue.surfaces.hook": "segue.surfaces.hook.entry",
        "segue.surfaces.hook_file": "segue.surfaces.hook.installed_file",
        "segue.surfaces.mcp.front": "segue.surfaces.mcp.early_answers",
        "segue.surfaces.cli.within": "segue.surfaces.cli.run_in_process",
        "segue.stores.volatile": "segue.stores.memory.journal",
        "segue.stores.volatile_memories": "segue.stores.memory.memories",
        "tests.anybody": "tests.support.other_user",
        "tests.git_kit": "tests.support.git",
        "tests.model_kit": "tests.support.models",
        "tests.postgres_kit": "tests.support.postgres_store",
        "tests.remote_kit": "tests.support.remote",
        "tests.run_kit": "tests.support.runs",
        "tests.secrets_kit": "tests.support.secrets",
        "tests.surfaces.aegis_kit": "tests.support.aegis",
        "tests.surfaces.hook_kit": "tests.support.hooks",
        "tests.surfaces.recipe": "tests.support.aegis_recipe",
        "tests.surfaces.rest_hooks": "tests.support.schemathesis_hooks",
        "tests.surfaces.rest_kit": "tests.support.rest",
        "tests.surfaces.standin": "tests.support.stand_in_agent",
        "tests.crash.cutting": "tests.support.crash.cut_wire",
        "tests.crash.disk": "tests.support.crash.disk",
        "tests.crash.handover_work": "tests.support.crash.handover_work",
        "tests.crash.hook_work": "tests.support.crash.hook_work",
        "tests.crash.kit": "tests.support.crash.proof",
        "tests.crash.where": "tests.support.crash.where",
        "tests.crash.work": "tests.support.crash.work",
    }
    return found


def modules() -> dict[str, Path]:
    """Every module of the trees, by its dotted name; a package by the name of its folder."""
    found: dict[str, Path] = {}
    for folder, package in TREES.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[dotted(package, *(part for part in parts if part != "__init__"))] = path
    return found


MOVES = table()
MODULES = modules()
PACKAGES = {name.rpartition(".")[0] for name in MODULES} | {
    name for name, path in MODULES.items() if path.stem == "__init__"
}


def moved(name: str) -> str:
    """The new name of a module, or of what stands in one."""
    rest = ""
    while name:
        if name in MOVES:
            return MOVES[name] + rest
        if name in MODULES:
            return name + rest
        name, _, last = name.rpartition(".")
        rest = f".{last}{rest}"
    return rest[1:]


def place(name: str, is_package: bool) -> Path:
    for folder, package in TREES.items():
        if name == package or name.startswith(package + "."):
            base = ROOT / folder / Path(*name.split(".")[1:])
            return base / "__init__.py" if is_package else base.with_suffix(".py")
    raise ValueError(name)


def package_of(name: str, is_package: bool) -> list[str]:
    return name.split(".") if is_package else name.split(".")[:-1]


class File:
    """A source file, with its old and its new name."""

    def __init__(self, old: str, path: Path) -> None:
        self.old, self.path = old, path
        cli_main = old == "segue.surfaces.cli"
        self.was_package = path.stem == "__init__"
        self.new = "segue.surfaces.cli.main" if cli_main else moved(old)
        self.is_package = self.was_package and not cli_main
        self.source = path.read_text()
        self.words = set(re.findall(r"[A-Za-z_]\w*", self.source))
        self.renamed: dict[str, str] = {}

    def absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        here = package_of(self.old, self.was_package)
        base = here[: len(here) - node.level + 1]
        return dotted(*base, node.module or "")

    def written(self, module: str) -> str:
        """How an import names a module from here: relative inside the package, absolute elsewhere."""
        if not (self.new + ".").startswith("segue.") or not (module + ".").startswith("segue."):
            return module
        here, there = package_of(self.new, self.is_package), module.split(".")
        same = 0
        while same < min(len(here), len(there)) and here[same] == there[same]:
            same += 1
        return "." * (len(here) - same + 1) + ".".join(there[same:])

    def statement(self, node: ast.ImportFrom) -> list[str] | None:
        """The statements that take the place of this one; None if it stays as it is."""
        module = self.absolute(node)
        if module.split(".")[0] not in ("segue", "tests", "bench"):
            return None
        if module.split(".")[0] == "segue" and self.new.startswith("segue") is False and module == "segue":
            return None
        groups: dict[str, list[str]] = {}
        for alias in node.names:
            whole = f"{module}.{alias.name}"
            if whole in MODULES and module in PACKAGES:
                target = moved(whole)
                package, _, name = target.rpartition(".")
                kept = alias.asname or alias.name
                if name != kept and not alias.asname and name not in self.words:
                    self.renamed[kept] = kept = name
                said = name if name == kept else f"{name} as {kept}"
                groups.setdefault(package, []).append(said)
            else:
                said = alias.name if not alias.asname else f"{alias.name} as {alias.asname}"
                home = moved(module) if module in MODULES else module
                if module == "segue.surfaces.cli":
                    home = "segue.surfaces.cli.main"
                groups.setdefault(home, []).append(said)
        return [f"from {self.written(home)} import {', '.join(names)}" for home, names in groups.items()]

    def rewrite(self) -> str:
        lines = self.source.split("\n")
        edits: list[tuple[int, int, list[str]]] = []
        for node in ast.walk(ast.parse(self.source)):
            if isinstance(node, ast.ImportFrom) and (told := self.statement(node)) is not None:
                first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
                tail = lines[last][node.end_col_offset :] if first == last else ""
                before = lines[first][: node.col_offset]
                if before.strip():
                    raise ValueError(f"{self.path}:{node.lineno}: not alone on its line")
                told[-1] += tail if first == last else lines[last][node.end_col_offset or 0 :]
                edits.append((first, last, [before + line for line in told]))
        written: list[str] = []
        for first, last, new in sorted(edits, reverse=True):
            lines[first : last + 1] = new
        text = "\n".join(lines)
        if self.renamed:
            text = renamed_names(text, self.renamed)
        for _, _, new in edits:
            for line in new:
                text = text.replace(line, f"<<{len(written)}>>", 1)
                written.append(line)
        text = named_anew(text)
        return re.sub("<<(\\d+)>>", lambda found: written[int(found[1])], text)


def renamed_names(text: str, names: dict[str, str]) -> str:
    """Modules that are called otherwise now, wherever they are used."""
    lines = text.split("\n")
    places = [
        (node.lineno - 1, node.col_offset, node.id)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and node.id in names
    ]
    for line, column, name in sorted(places, reverse=True):
        raw = lines[line].encode()
        lines[line] = (raw[:column] + names[name].encode() + raw[column + len(name) :]).decode()
    return "\n".join(lines)


DOTTED = re.compile(
    r"\b(?:" + "|".join(re.escape(name) for name in sorted(MOVES, key=len, reverse=True)) + r")\b(?![\w/])"
)
SHORT = re.compile(r'(?<=")(?:core|services|effects|surfaces|stores)(?:\.\w+)+(?=")')
PATHS = {
    place(old, False).relative_to(ROOT).as_posix(): place(new, False).relative_to(ROOT).as_posix()
    for old, new in MOVES.items()
}
PATHS |= {
    old.removeprefix("src/segue/"): new.removeprefix("src/segue/")
    for old, new in list(PATHS.items())
    if old.startswith("src/segue/") and new.startswith("src/segue/") and "/" in old.removeprefix("src/segue/")
}
PATH = re.compile(
    r"(?<![\w/.])((?:\.\./)*)("
    + "|".join(re.escape(p) for p in sorted(PATHS, key=len, reverse=True))
    + r")\b"
)


def named_anew(text: str) -> str:
    """Dotted names and paths in texts, strings and plain imports."""
    text = DOTTED.sub(lambda found: MOVES[found[0]], text)
    text = SHORT.sub(lambda found: moved("segue." + found[0]).removeprefix("segue."), text)
    return PATH.sub(lambda found: found[1] + PATHS[found[2]], text)


def git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True)


KEEP = {"tests/tidy/test_layers.py", "tools/move_modules.py", "CHANGELOG.md"}


def main() -> None:
    files = [File(old, path) for old, path in MODULES.items()]
    texts = {file: file.rewrite() for file in files if file.path.relative_to(ROOT).as_posix() not in KEEP}
    for file, text in texts.items():
        file.path.write_text(text)
    for path in subprocess.run(
        ["git", "ls-files", "*.md", "*.toml", "Makefile", "*.js", "*.json"], cwd=ROOT, check=True,
        capture_output=True, text=True,
    ).stdout.split():  # fmt: skip
        if path not in KEEP:
            before = (ROOT / path).read_text()
            after = named_anew(before)
            if after != before:
                (ROOT / path).write_text(after)
    temporary = []
    for file in files:  # in two steps: a module may take the place of a folder
        target = place(file.new, file.is_package)
        if target != file.path:
            target.parent.mkdir(parents=True, exist_ok=True)
            middle = file.path.with_name(f"moving-{file.path.name}")
            git("mv", str(file.path), str(middle))
            temporary.append((middle, target))
    for middle, target in temporary:
        target.parent.mkdir(parents=True, exist_ok=True)
        git("mv", str(middle), str(target))
    git("mv", "src/segue/effects/wordpiece.zst", "src/segue/effects/vectors/wordpiece.zst")


if __name__ == "__main__":
    main()
