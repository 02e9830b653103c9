"""`segue export`: a session or a run as a file."""

from __future__ import annotations

from ....errors import UsageError
from ....services.handoff.export import (
    EXPORT_FORMATS,
    FORMATS,
    NOTEBOOK_FORMAT,
    export_session,
    left_out_of_yaml,
)
from ....services.runs.listing import run_named
from ....services.runs.run import Run
from ...render import count, one_line
from ..command import argument, command
from ..context import CommandContext, write_bytes

_ENDINGS = {
    ".yaml": "yaml", ".yml": "yaml", ".md": "markdown", ".markdown": "markdown", ".html": "html",
    ".htm": "html",
}  # fmt: skip


@command(
    "export",
    argument(
        "--format", None, "by default from the file's name, otherwise json (markdown for a run)",
        choices=EXPORT_FORMATS,
    ),
    argument("-o --output", "FILE", "the file to write, or for a notebook the folder; by default stdout"),
    session="id",
    json="with `-o`: `{session, run, file, format, bytes, left_out}`; without it the export "
    "itself; of a notebook `{folder, files, written, removed}`",
    shape={"": "Any", "-o": "ExportedFile", "--format notebook": "Notebook"},
    examples=(
        "segue export > session.json", "segue export leak-hunt -o leak-hunt.yaml",
        "segue export leak-hunt -o leak-hunt.html", "segue export --format notebook -o sources",
    ),
)  # fmt: skip
def export(context: CommandContext) -> int:
    """A session or a run as a file, or on standard output; with `--format notebook` the project as Markdown
    files of limited size, for tools such as NotebookLM: again into the same folder, only what has changed."""
    name = context.args.output or "-"
    if context.args.format == NOTEBOOK_FORMAT:
        return _notebook(context, name)
    by_name = next((format for ending, format in _ENDINGS.items() if name.lower().endswith(ending)), "")
    format = context.args.format or by_name
    id = context.session_id()
    run = run_named(context.segue.workspace, id) if id else None
    if run is not None:
        return _export_run(context, run, format or "markdown", name)
    session = context.session()
    format = format or "json"
    lost = left_out_of_yaml(session) if format == "yaml" else []
    if format in FORMATS:
        body = export_session(context.segue.workspace, session.id, format)
    else:
        from ....services.handoff.readable import session_document, written

        body = written(session_document(session), format)
    if lost:
        context.warn(f"YAML cannot hold {', '.join(lost)}; `--format json` keeps everything")
    if name == "-":
        write_bytes(context.out, body)
        return 0
    context.write_file(name, body)
    return context.report(
        {"session": session.id, "run": "", "file": name, "format": format, "bytes": len(body),
         "left_out": lost},
        f"exported {session.id} to {one_line(name)}: {count(len(body), 'byte')}",
    )  # fmt: skip


def _notebook(context: CommandContext, name: str) -> int:
    from ....services.handoff.notebook import export_notebook
    from ..progress import ProgressBar

    if name == "-" or context.session_id():
        raise UsageError(
            "a notebook covers the whole project and needs a folder",
            hint="for example: segue export --format notebook -o sources",
        )
    with ProgressBar(context) as progress:
        done = export_notebook(context.segue.workspace, context.folder / name, progress=progress)
    changed = f"{len(done.written)} written" + (f", {len(done.removed)} removed" if done.removed else "")
    return context.report(done, f"{count(len(done.files), 'file')} in {one_line(name)}: {changed}")


def _export_run(context: CommandContext, run: Run, format: str, name: str) -> int:
    if format in FORMATS:
        raise UsageError(
            f"a run cannot be exported as {format}",
            hint="use `--format markdown` or `html`; `segue show RUN --timeline --json` prints its steps",
        )
    from ....services.handoff.readable import run_document, written

    body = written(run_document(context.segue.workspace, run), format)
    if name == "-":
        write_bytes(context.out, body)
        return 0
    context.write_file(name, body)
    return context.report(
        {"session": run.session, "run": run.id, "file": name, "format": format, "bytes": len(body),
         "left_out": []},
        f"exported run {one_line(run.id)} to {one_line(name)}: {count(len(body), 'byte')}",
    )  # fmt: skip
