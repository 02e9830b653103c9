"""Is it there, can it work, what did it do: for balancers and whoever watches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .... import __version__
from ....errors import SegueError
from ...render import compact
from ..server.metrics import TYPE
from ..server.openapi import Description
from ..server.problems import body_of
from ..server.route import Visit, route
from ..server.routing import Answer, Request, Router, problem

TAGS = ("operations",)


@route(
    "GET", "/", need="", errors=(), tags=TAGS, threaded=False,
    answer={"name": "segue", "version": __version__, "openapi": "/openapi.json"},
)  # fmt: skip
def root() -> dict[str, str]:
    """What this is."""
    return {"name": "segue", "version": __version__, "openapi": "/openapi.json"}


@route(
    "GET", "/health", need="", errors=(), tags=TAGS, threaded=False,
    answer={"status": "healthy", "version": __version__},
)  # fmt: skip
def health() -> dict[str, str]:
    """The process answers; nothing is asked of the store."""
    return {"status": "healthy", "version": __version__}


@route("GET", "/ready", need="", errors=(503,), tags=TAGS, answer={"status": "ready", "store": "sqlite"})
def ready(request: Request) -> Answer:
    """The store answers."""
    front = request.front
    try:
        front.projects.main.head("ledger/ready")
    except SegueError as fault:
        detail = f"the store does not answer: {fault.message}"
        return problem(503, body_of(503, detail, code=fault.code))
    return Answer(compact({"status": "ready", "store": front.projects.shown.partition("://")[0]}))


@route(
    "GET", "/metrics", need="reader", errors=(), tags=TAGS, media_type=TYPE,
    answer='segue_requests_total{method="GET",route="/v1/sessions",status="200"} 2\n',
)  # fmt: skip
def metrics(visit: Visit) -> str:
    """Counts and times, for Prometheus."""
    return visit.front.metrics.text()


@route("GET", "/openapi.json", need="", errors=(), tags=TAGS, threaded=False, shown=False)
def openapi(request: Request) -> dict[str, Any]:
    """This description."""
    return _described(request.app)


@lru_cache(maxsize=1)
def _described(app: Router) -> dict[str, Any]:
    return Description().document(app.routes)


ROUTES = [root, health, ready, metrics, openapi]
