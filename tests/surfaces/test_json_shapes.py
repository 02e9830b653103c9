"""What every command prints with ``--json`` is what its schema says: no field more, and none less."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from tests.conftest import isolate
from tests.support.command_samples import STORY, Told, told_by_all
from tests.surfaces.conftest import Cli
from tests.tidy.docs_json import BESIDE, TARGET, closed, documents, schema_beside, schema_of, shapes_of

from segue.surfaces.cli import shapes
from segue.surfaces.cli.table import LOOKING, LOOKING_ALONE, TABLE

ROOT = Path(__file__).parents[2]
NO_SAMPLE = (
    'no sample runs `segue {variant}`: add Sample("{variant}", "…") with a command line to STORY in '
    "tests/support/command_samples.py, where there is something to print"
)
DRIFTED = (
    "`segue {line}` prints what its shape does not say, at {path}: {message}\n"
    "mend the command, or its shape in src/segue/surfaces/cli; then run `make docs`"
)
DAY, MOMENT = re.compile(r"\d{4}-\d\d-\d\d"), re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TIMES = (
    "at",
    "until",
    "since",
    "created",
    "expires",
    "started",
    "ended",
    "paused",
    "resumed",
    "last",
    "first",
)


def variants() -> list[str]:
    """Every command, with each action or option that changes what it prints."""
    return [f"{name} {variant}".strip() for name in TABLE for variant in shapes_of(name)]


def schema_for(variant: str) -> dict[str, Any]:
    """The schema of one variant, which allows no unknown field."""
    name = variant.split()[0]
    whole = closed(schema_of(name))
    own = [one for one in whole.get("anyOf", ()) if one.get("title") == f"segue {variant}"]
    return {**own[0], "$defs": whole.get("$defs", {})} if own else whole


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Told]]]:
    root = tmp_path_factory.mktemp("samples")
    (root / "home").mkdir()
    (root / "work").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, root / "home")
        patch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
        by_variant: dict[str, list[Told]] = {}
        for one in told_by_all(root / "work", patch):
            by_variant.setdefault(one.sample.variant, []).append(one)
        yield by_variant


def check(value: Any, schema: dict[str, Any], line: str) -> None:
    fault = best_match(Draft202012Validator(schema).iter_errors(value))
    if fault is not None:
        where = "/".join(map(str, fault.absolute_path)) or "the top"
        pytest.fail(DRIFTED.format(line=line, path=where, message=fault.message[:500]), pytrace=False)


@pytest.mark.parametrize("name", TABLE)
def test_every_command_declares_its_shape(name: str) -> None:
    Draft202012Validator.check_schema(schema_of(name))


@pytest.mark.parametrize("name", TABLE)
def test_every_command_prints_what_its_schema_says(told: dict[str, list[Told]], name: str) -> None:
    for variant, kind in shapes_of(name).items():
        full = f"{name} {variant}".strip()
        assert full in told, NO_SAMPLE.format(variant=full)
        printed = [value for one in told[full] for value in one.values]
        if kind is shapes.NoJson:
            assert printed == []
            continue
        for one in told[full]:
            assert one.values, (one.sample, one.out, one.err)
            for value in one.values:
                check(value, schema_for(full), one.sample.line)
        assert any(printed), f"every sample of `segue {full}` prints nothing; give it something to print"


@pytest.mark.parametrize("name", [name for name in BESIDE if name != "error"])
def test_what_is_printed_beside_the_commands_has_a_schema(told: dict[str, list[Told]], name: str) -> None:
    for one in told[name]:
        check(one.values[0], closed(schema_beside(name)), one.sample.line)


def test_samples_are_of_commands_that_exist() -> None:
    assert {one.variant for one in STORY} <= {*variants(), *BESIDE}


@pytest.mark.parametrize("name", sorted(LOOKING | LOOKING_ALONE))
def test_nothing_yet_is_null_and_the_schema_says_so(cli: Cli, name: str) -> None:
    check(cli(*name.split(), "--json").value, closed(schema_of(name.split()[0])), name)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("status", "no-such-session"), 64),
        (("forget", "m000000"), 64),
        (("resume",), 64),
        (("no-such-command",), 64),
        (("list", "--no-such-option"), 64),
        (("config", "cleanup_day"), 64),
        (("model", "test"), 64),
    ],
)
def test_an_error_is_the_documented_object(cli: Cli, words: tuple[str, ...], code: int) -> None:
    value = cli("--json", *words, code=code).value
    check(value, closed(schema_beside("error")), " ".join(words))


def test_an_error_may_have_more_facts_and_always_has_the_same_four(started: Cli) -> None:
    value = started("--json", "feature", "show", "nothing", code=64).value
    check(value, schema_beside("error"), "feature show nothing")
    assert list(value["error"])[:4] == ["code", "message", "hint", "retryable"]


def _fields(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every field of a value, also of those inside it."""
    if isinstance(value, list):
        for one in value:
            yield from _fields(one, at)
    if isinstance(value, dict):
        for name, one in value.items():
            yield name, one
            yield from _fields(one, name)


@pytest.mark.parametrize("name", TABLE)
def test_a_time_is_utc_in_iso_8601(told: dict[str, list[Told]], name: str) -> None:
    if any(kind is Any for kind in shapes_of(name).values()):
        return
    values = [one.values for variant in shapes_of(name) for one in told.get(f"{name} {variant}".strip(), ())]
    for field, value in _fields(values):
        if isinstance(value, str) and DAY.match(value) and field in TIMES:
            assert MOMENT.fullmatch(value) or DAY.fullmatch(value), (field, value)
        elif field in TIMES:
            assert not isinstance(value, float), (field, value)


def test_committed_schemas_are_what_the_shapes_say() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / TARGET).iterdir()}
    assert committed == documents(), "run `make docs`"


def test_the_reference_links_the_schema_of_every_command() -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in (*TABLE, *BESIDE) if f"(json/{name}.json)" not in text] == []


def test_a_closed_schema_refuses_an_unknown_field_and_a_missing_one() -> None:
    schema = schema_for("backup now")
    whole = {"path": "b", "at": "2026-11-17T00:00:00Z", "events": 1, "bytes": 2}
    check(whole, schema, "backup")
    for wrong in ({**whole, "more": 1}, {key: whole[key] for key in ("path", "at", "events")}, [whole]):
        assert not Draft202012Validator(schema).is_valid(wrong)
    assert Draft202012Validator(json.loads(documents()["backup.json"])).is_valid({**whole, "more": 1})
