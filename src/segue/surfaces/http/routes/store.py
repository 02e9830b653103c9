"""`/v1/store/{port}/{method}`: the ports of a project's store, for the remote store; calls are msgpack.

It is not part of the described API and may change with every version; `SEGUE_STORE=https://…` uses it. Which
role each method needs is decided by `services/server/store_over_http.py`.
"""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from ....services.server import store_over_http
from ..server.commit_queue import in_thread
from ..server.route import ROLE, Caller, route

MEDIA_TYPE = "application/msgpack"


@route("POST", "/v1/store/{port}/{method}", role="reader", described=False)
async def store(request: Request, caller: Caller, port: str, method: str) -> Response:
    """Call a method of a port."""
    request.scope[ROLE] = store_over_http.need(port, method)
    call = partial(_call, caller, port, method, await request.body())
    if (port, method) == ("journal", "append"):
        return Response(await caller.server.write(caller.access.project, call), media_type=MEDIA_TYPE)
    return Response(await in_thread(call), media_type=MEDIA_TYPE)


def _call(caller: Caller, port: str, method: str, body: bytes) -> bytes:
    if store_over_http.need(port, method) != "reader":
        caller.server.projects.check_pause(caller.access.project)
    journal = caller.server.projects.store(caller.access.project)
    return store_over_http.call(journal, caller.access, port, method, body)
