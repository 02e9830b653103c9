"""MCP over streamable HTTP: the tools of `segue mcp` on a server, by the official client, with its keys."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from tests.support.server import SegueServer

from segue.surfaces.mcp.tools import TOOLS, listed

_numbers = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegueServer]:
    with SegueServer(tmp_path_factory.mktemp("server"), options=["--rate", "0"]) as one:
        yield one


@pytest.fixture
def project() -> str:
    return f"p{next(_numbers)}"


@asynccontextmanager
async def connected(server: SegueServer, token: str, **headers: str) -> AsyncIterator[ClientSession]:
    given = {"Authorization": f"Bearer {token}"} | {n.replace("_", "-"): v for n, v in headers.items()}
    async with (
        httpx2.AsyncClient(headers=given, timeout=60) as http,
        streamable_http_client(f"{server.url}/mcp", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        yield session


def talked(
    server: SegueServer, token: str, talk: Callable[[ClientSession], Awaitable[Any]], **headers: str
) -> Any:
    """What a conversation gives."""

    async def whole() -> Any:
        async with connected(server, token, **headers) as session:
            return await talk(session)

    return asyncio.run(whole())


async def called(session: ClientSession, tool: str, /, **arguments: Any) -> Any:
    """What a tool gives, which must not be an error."""
    result = await session.call_tool(tool, arguments)
    told = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert not result.is_error, told
    return told


async def refused(session: ClientSession, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The error of a tool."""
    result = await session.call_tool(tool, arguments)
    assert result.is_error
    error: dict[str, Any] = json.loads(result.content[0].text)["error"]  # type: ignore[union-attr]
    return error


def test_the_tools_are_those_of_the_other_way(server: SegueServer, project: str) -> None:
    async def talk(session: ClientSession) -> list[Any]:
        return [
            one.model_dump(by_alias=True, exclude_none=True) for one in (await session.list_tools()).tools
        ]

    found = talked(server, server.key(role="reader", project=project), talk)
    assert [{key: one[key] for key in ("name", "description", "inputSchema")} for one in found] == listed()
    assert len(found) == len(TOOLS) == 12


def test_each_tool_works_on_the_sessions_of_the_key(server: SegueServer, project: str) -> None:
    token = server.key(role="writer", project=project, agent="coder")

    async def talk(session: ClientSession) -> str:
        begun = await called(session, "plan", goal="Refactor auth to JWT", add=["model", "middleware"])
        await called(
            session, "checkpoint", done=["model"], begin=["middleware"], decide={"HS256": "one issuer"}
        )
        shown = await called(session, "plan")
        assert (shown["done"], shown["active"]) == (["model"], ["middleware"])
        await called(session, "feature", action="add", name="jwt", text="Log in", steps=["accepted"])
        assert (await called(session, "feature", action="list"))["total"] == 1
        assert (await called(session, "feature", action="show", name="jwt"))["id"] == "jwt"
        kept = await called(session, "remember", text="pytest needs JWT_SECRET set")
        found = await called(session, "recall", query="JWT_SECRET")
        assert kept["id"] in json.dumps(found)
        back = await called(session, "resume")
        assert "Refactor auth to JWT" in back["brief"] and "middleware" in back["brief"]
        assert (await called(session, "resume", budget="minimal"))["restoration"]["text"]
        handed = await called(session, "handoff", to="codex", note="take over")
        assert handed["offer"]["to"] == "codex"
        prompt = await session.get_prompt("brief")
        assert "Refactor auth" in prompt.messages[0].content.text  # type: ignore[union-attr]
        return str(begun["session"])

    id = talked(server, token, talk)
    _, told, _ = server.ask("GET", f"/v1/sessions/{id}/log", token=token)
    assert "coder" in json.dumps(told), "what a model declares carries the agent's name"


def test_what_needs_a_working_tree_is_said_to_be_done_there(server: SegueServer, project: str) -> None:
    async def talk(session: ClientSession) -> None:
        await called(session, "plan", goal="g")
        recovery = [
            ("recovery", {"action": action}) for action in ("prepare", "bootstrap", "pressure", "check")
        ]
        for name, arguments in (("since", {}), ("feature", {"action": "verify"}), *recovery):
            error = await refused(session, name, **arguments)
            assert error["code"] == "refused" and "machine with the code" in error["hint"]

    talked(server, server.key(role="writer", project=project), talk)


def test_without_a_key_nothing_is_told(server: SegueServer) -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for token in ("", "nonsense"):
        assert server.ask("POST", "/mcp", ask, token=token)[0] == 401


def test_a_reader_looks_and_changes_nothing(server: SegueServer, project: str) -> None:
    async def begin(session: ClientSession) -> None:
        await called(session, "plan", goal="g", add=["a"])

    async def look(session: ClientSession) -> None:
        assert (await called(session, "plan"))["next"] == ["a"]
        await called(session, "recall", query="x")
        await called(session, "feature", action="list")
        for name, arguments in (
            ("checkpoint", {"note": "n"}), ("plan", {"add": ["b"]}), ("remember", {"text": "t"}),
            ("handoff", {"to": "codex"}), ("resume", {}), ("feature", {"action": "begin", "name": "f"}),
        ):  # fmt: skip
            assert (await refused(session, name, **arguments))["code"] == "not_allowed"

    talked(server, server.key(role="writer", project=project), begin)
    talked(server, server.key(role="reader", project=project), look)


def test_another_project_is_not_there_and_the_header_names_a_session(server: SegueServer) -> None:
    mine, yours = (server.key(role="writer", project=name) for name in ("mcp-mine", "mcp-yours"))

    async def begin(session: ClientSession) -> None:
        await called(session, "plan", goal="mine alone")

    async def foreign(session: ClientSession) -> None:
        assert (await refused(session, "plan"))["code"] == "unknown_session"

    async def several(session: ClientSession) -> None:
        error = await refused(session, "plan")
        assert "sessions are open" in error["message"] and "Segue-Session" in error["hint"]

    async def named(session: ClientSession) -> None:
        assert (await called(session, "plan"))["goal"] == "the second"

    async def second(session: ClientSession) -> None:
        await called(session, "plan", goal="the second")

    talked(server, mine, begin)
    talked(server, yours, foreign)
    talked(server, yours, foreign, Segue_Session="nothing")
    talked(server, mine, second, Segue_Session="two")
    talked(server, server.key(role="writer", project="mcp-mine"), several)
    talked(server, mine, named, Segue_Session="two")


def test_twenty_calls_at_once_are_answered_each_with_its_own(server: SegueServer, project: str) -> None:
    async def talk(session: ClientSession) -> None:
        await called(session, "plan", goal="many")
        told = await asyncio.gather(
            *(called(session, "remember", text=f"lesson number {number}") for number in range(10)),
            *(called(session, "checkpoint", done=[f"item {number}"]) for number in range(10)),
        )
        assert len({one["id"] for one in told[:10]}) == 10
        assert sorted((await called(session, "plan"))["done"]) == sorted(f"item {n}" for n in range(10))

    talked(server, server.key(role="writer", project=project), talk)
