"""LangGraph's own suite, all of it, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES, Capability
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer
from langgraph.checkpoint.conformance.validate import validate
from tests.integrations.places import Place

from segue.integrations.langgraph import SegueSaver


@pytest.mark.parametrize("capability", sorted(ALL_CAPABILITIES))
def test_the_suite_of_langgraph_passes(place: Place, capability: Capability) -> None:
    async def made() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        yield SegueSaver(place.segue())

    report = asyncio.run(
        validate(RegisteredCheckpointer("segue", made), capabilities={capability.value})
    ).results[capability.value]
    assert (report.failures, report.detected, report.tests_passed > 0) == ([], True, True)


def test_no_method_of_a_checkpointer_is_missing() -> None:
    """A release that asks for another method fails here."""
    own = {name for name in vars(BaseCheckpointSaver) if not name.startswith("_")}
    inherited = {"config_specs", "get", "aget", "with_allowlist", "serde"}
    assert own - inherited <= vars(SegueSaver).keys()
