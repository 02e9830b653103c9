"""`/`, `/health`, `/ready`, `/metrics` and `/openapi.json`: what load balancers, monitoring and tools ask
for."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from .... import __version__
from ....core.server.access import ALL_PROJECTS
from ....errors import SegueError
from ...render import compact
from ..server import metrics as measured, openapi as description, problems
from ..server.context import ServerContext
from ..server.route import JSON, Caller, route
from .keys import reach_of

TAG = "operations"
ROOT = {"name": "segue", "version": __version__, "openapi": "/openapi.json"}
HEALTH = {"status": "healthy", "version": __version__}


@route("GET", "/", role="", errors=(), tag=TAG, threaded=False, response=ROOT)
def root() -> dict[str, str]:
    """The name and version of this server."""
    return ROOT


@route("GET", "/health", role="", errors=(), tag=TAG, threaded=False, response=HEALTH)
def health() -> dict[str, str]:
    """Whether the process answers; the store is not asked."""
    return HEALTH


@route("GET", "/ready", role="", errors=(503,), tag=TAG, response={"status": "ready", "store": "sqlite"})
async def ready(request: Request) -> Response:
    """Whether requests should come here: the store answers within two seconds, that of every project that is
    open, too, and the server is not about to end."""
    server: ServerContext = request.app.state.server
    try:
        await server.readiness.check()
    except SegueError as fault:
        return problems.response(problems.problem(503, f"not ready: {fault.message}", code=fault.code))
    content = compact({"status": "ready", "store": server.projects.shown.partition("://")[0]})
    return Response(content, media_type=JSON)


@route(
    "GET", "/metrics", role="reader", errors=(), tag=TAG, media_type=measured.MEDIA_TYPE,
    response='segue_requests_total{method="GET",route="/v1/sessions",status="200"} 2\n',
)  # fmt: skip
def metrics(caller: Caller) -> str:
    """Counts and times of requests, quotas, and how well recovery does in the project of the key, for
    Prometheus; with a key for all projects, the quotas of all."""
    server, quotas, reach = caller.server, caller.server.projects.quotas, reach_of(caller)
    is_ready = f"# TYPE segue_ready gauge\nsegue_ready {int(server.readiness.is_ready())}\n"
    stats = measured.stats_text(caller.segue.stats(days=0, learns=False))
    use = quotas.known_use("" if reach == ALL_PROJECTS else reach)
    return server.metrics.text() + is_ready + measured.quota_text(use, quotas.refused) + stats


@route("GET", "/openapi.json", role="", errors=(), tag=TAG, threaded=False, described=False)
def openapi(request: Request) -> dict[str, Any]:
    """This description of the API."""
    return _described(request.app)


@lru_cache(maxsize=1)
def _described(app: Starlette) -> dict[str, Any]:
    return description.document(app.state.operations)
