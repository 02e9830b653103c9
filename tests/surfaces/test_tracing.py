"""Traces by OpenTelemetry: a span for each request and each operation of its store, in the client's trace."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.postgres_store import needs_postgres, url_for
from tests.support.server import SegueServer
from tests.surfaces.conftest import Cli

from segue.errors import BadSettings
from segue.services.server.projects import Projects
from segue.services.server.tracing import Tracing, tracing_to
from segue.stores.remote import RemoteStore
from segue.surfaces.http.app import application
from segue.surfaces.http.server.context import ServerContext, ServerOptions


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


needs_otel = pytest.mark.skipif(
    not _is_there("opentelemetry.exporter.otlp.proto.http"), reason="NOT TESTED: no OpenTelemetry SDK"
)
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
SECRET_TEXT = "the emperor of penguins"


class Traced:
    """A server in this process whose spans are kept."""

    def __init__(self, client: TestClient, exporter: Any, log: list[str]) -> None:
        self.client, self._exporter, self.log = client, exporter, log

    def spans(self) -> list[Any]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans() if span.name == name]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def traced(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Traced]:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, log = InMemorySpanExporter(), list[str]()
    tracing = Tracing(exporter, at_once=True)
    where = url_for(tmp_path) if request.param == "postgres" else ""
    projects = Projects(tmp_path / "there", where, tracing=tracing)
    server = ServerContext(projects, ServerOptions(auth=False), log=log.append, tracing=tracing)
    with TestClient(application(server), base_url="http://localhost") as client:
        yield Traced(client, exporter, log)


@needs_otel
def test_a_request_and_what_its_store_does_are_spans_of_the_clients_trace(traced: Traced) -> None:
    made = traced.client.post("/v1/sessions", json={"goal": SECRET_TEXT}, headers={"traceparent": PARENT})
    assert made.status_code == 201
    [request] = traced.named("POST /v1/sessions")
    assert f"{request.context.trace_id:032x}" == TRACE and f"{request.parent.span_id:016x}" == SPAN
    assert request.kind.name == "SERVER"
    told = request.attributes
    assert (told["http.request.method"], told["http.route"]) == ("POST", "/v1/sessions")
    assert (told["http.response.status_code"], told["segue.project"]) == (201, "default")
    assert told["segue.request_id"] == made.headers["x-request-id"]
    [append] = traced.named("segue.store journal.append")
    assert append.context.trace_id == request.context.trace_id
    assert append.attributes["db.system.name"] in ("sqlite", "postgresql")
    assert any(f'"trace":"{TRACE}"' in line for line in traced.log)


@needs_otel
def test_a_request_without_a_trace_begins_one(traced: Traced) -> None:
    for parent in ("", "nonsense", f"00-{'0' * 32}-{SPAN}-01"):
        traced.client.get("/health", headers={"traceparent": parent} if parent else {})
    found = {span.context.trace_id for span in traced.named("GET /health")}
    assert len(found) == 3 and all(span.parent is None for span in traced.named("GET /health"))


@needs_otel
def test_no_text_of_a_session_and_no_path_stands_in_a_span(traced: Traced) -> None:
    id = traced.client.post("/v1/sessions", json={"goal": SECRET_TEXT, "id": "waddle"}).json()["session"]
    commands = [{"command": "Note", "text": SECRET_TEXT}, {"command": "Learn", "text": SECRET_TEXT}]
    traced.client.post(f"/v1/sessions/{id}/commands", json={"commands": commands})
    traced.client.post("/v1/memories/query", json={"query": SECRET_TEXT})
    traced.client.get(f"/v1/sessions/{id}?colour={SECRET_TEXT}")
    traced.client.get(f"/v1/sessions/{SECRET_TEXT}")
    assert traced.client.get(f"/{SECRET_TEXT}").status_code == 404
    spans = traced.spans()
    assert len(spans) > 10
    told = " ".join(span.to_json() for span in spans)
    assert "penguins" not in told and "waddle" not in told


@needs_otel
def test_an_operation_that_fails_says_the_code_of_its_error(traced: Traced) -> None:
    status = traced.client.get("/v1/sessions/nowhere").status_code
    assert status == 404
    [request] = traced.named("GET /v1/sessions/{id}")
    assert (
        request.attributes["http.response.status_code"] == 404 and request.status.status_code.name == "UNSET"
    )
    tracing = Tracing(traced._exporter, at_once=True)
    with pytest.raises(BadSettings), tracing.operation("tried"):
        raise BadSettings(SECRET_TEXT)
    [tried] = traced.named("tried")
    assert tried.attributes["error.type"] == "bad_settings" and tried.status.status_code.name == "ERROR"
    assert "penguins" not in tried.to_json()


class Collector:
    """A collector of OTLP over HTTP, of our own."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.service = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.take(self.path, self.rfile.read(int(self.headers["Content-Length"])), self.headers)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, path: str, body: bytes, headers: Any) -> None:
        import gzip

        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        assert path == "/v1/traces"
        plain = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
        for resource in ExportTraceServiceRequest.FromString(plain).resource_spans:
            named = {one.key: one.value.string_value for one in resource.resource.attributes}
            self.service = named["service.name"]
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@needs_otel
def test_a_server_sends_its_spans_to_a_collector_and_the_remote_store_passes_the_trace_on(
    collector: Collector, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("a program")
    environment = {"SEGUE_OTEL_ENDPOINT": collector.url}
    with SegueServer(tmp_path / "there", environment=environment) as server:
        store = RemoteStore(server.url, server.token)
        with tracer.start_as_current_span("work") as own:
            store.streams()
        store.streams()
        store.close()
        monkeypatch.setenv("SEGUE_STORE", server.url)
        monkeypatch.setenv("SEGUE_API_KEY", server.token)
        monkeypatch.setenv("TRACEPARENT", PARENT)
        cli("start", SECRET_TEXT)
    assert collector.service == "segue"
    traces = {span.trace_id.hex() for span in collector.spans}
    assert {f"{own.get_span_context().trace_id:032x}", TRACE} < traces
    [asked] = [
        s for s in collector.spans if s.parent_span_id.hex() == f"{own.get_span_context().span_id:016x}"
    ]
    assert asked.name == "POST /v1/store/{port}/{method}"
    assert "segue.store journal.append" in {s.name for s in collector.spans if s.trace_id.hex() == TRACE}
    assert "penguins" not in str(collector.spans)


@needs_otel
def test_a_collector_that_is_away_keeps_nobody_waiting(tmp_path: Path) -> None:
    environment = {"SEGUE_OTEL_ENDPOINT": "http://127.0.0.1:9"}
    server = SegueServer(tmp_path / "there", environment=environment).start()
    began = time.monotonic()
    assert server.ask("POST", "/v1/sessions", {"goal": "work"})[0] == 201
    assert time.monotonic() - began < 3
    server.stop()
    assert time.monotonic() - began < 10


def test_without_an_endpoint_nothing_of_opentelemetry_is_loaded_by_us() -> None:
    assert tracing_to("") is None
    program = (
        "import sys\n"
        "from segue import Segue\n"
        "from segue.stores.remote import RemoteStore\n"
        "from segue.stores.remote.client import trace_now\n"
        "from segue.services.server.tracing import tracing_to\n"
        "assert tracing_to('') is None and trace_now() == {}\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_an_endpoint_that_is_none_is_refused_in_a_sentence() -> None:
    with pytest.raises(BadSettings, match="no collector's address"):
        tracing_to("127.0.0.1:4318")
