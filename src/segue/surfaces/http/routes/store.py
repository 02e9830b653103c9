"""The ports of a project's store, for the remote store: one method for each request, as msgpack.

It is no part of the described API: what goes over it may change with the version, and
`SEGUE_STORE=https://…` is how it is used. What each method needs of a key is decided by
`services.server.store_over_http`.
"""

from __future__ import annotations

from functools import partial

from ....services.server import store_over_http
from ..server.commit_queue import in_thread
from ..server.route import Visit, route
from ..server.routing import Answer, Request

TYPE = "application/msgpack"


@route("POST", "/v1/store/{port}/{method}", need="reader", shown=False)
async def store(request: Request, visit: Visit, port: str, method: str) -> Answer:
    """A method of a port."""
    request.scope["segue_need"] = store_over_http.need(port, method)
    call = partial(_call, visit, port, method, await request.body())
    if (port, method) == ("journal", "append"):
        return Answer(await visit.front.written(visit.access.project, call), TYPE)
    return Answer(await in_thread(call), TYPE)


def _call(visit: Visit, port: str, method: str, body: bytes) -> bytes:
    journal = visit.front.projects.store(visit.access.project)
    return store_over_http.call(journal, visit.access, port, method, body)


ROUTES = [store]
