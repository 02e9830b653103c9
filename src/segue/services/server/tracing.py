"""Traces of a server by OpenTelemetry: a span for each request, and one for each operation of a store in it.

Off unless it is switched on, and then the only place that imports OpenTelemetry (the extra ``otel``). The
trace that a client names in ``traceparent`` is taken over. Spans say what was done and how it ended, by
stable names and numbers: no text of a session, no path, no query, and no message of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

from ...errors import BadSettings, NotInstalled, SegueError, extra
from ...settings import own_version
from ...stores.remote.ports import PORTS, methods_of

SERVICE = "segue"
_TRACE_HEADERS = ("traceparent", "tracestate")
_OWN_TABLES = ("key", "answered", "answer", "note")
SEND_SECONDS_MAX = 3
"""How long it is tried to hand over spans; the end of a server waits for the last ones."""


class Tracing:
    """Makes spans, and hands them to an exporter."""

    def __init__(self, exporter: Any, *, at_once: bool = False) -> None:
        """``exporter`` is one of OpenTelemetry's SDK; ``at_once`` hands each span over as it ends."""
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        about = {"service.name": SERVICE, "service.version": own_version()}
        self._provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
        self._provider.add_span_processor((SimpleSpanProcessor if at_once else BatchSpanProcessor)(exporter))
        self._tracer = self._provider.get_tracer(SERVICE, own_version())
        self._propagator = TraceContextTextMapPropagator()
        self._trace = trace

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
        """The span of a request, in the trace that its headers name."""
        carrier = {name: headers[name] for name in _TRACE_HEADERS if name in headers}
        context = self._propagator.extract(carrier)
        kind = self._trace.SpanKind.SERVER
        with self._tracer.start_as_current_span(
            method, context, kind, record_exception=False, set_status_on_exception=False
        ) as span:
            yield RequestSpan(span, self._trace)

    @contextmanager
    def operation(self, name: str, **facts: str | int) -> Iterator[None]:
        """The span of something that is done for a request."""
        with self._tracer.start_as_current_span(
            name, kind=self._trace.SpanKind.CLIENT, attributes=facts, record_exception=False,
            set_status_on_exception=False,
        ) as span:  # fmt: skip
            try:
                yield
            except Exception as fault:
                code = fault.code if isinstance(fault, SegueError) else type(fault).__name__
                span.set_attribute("error.type", code)
                span.set_status(self._trace.StatusCode.ERROR)
                raise

    def close(self) -> None:
        """Send what is left, as far as somebody takes it soon."""
        self._provider.shutdown()


class RequestSpan:
    """The span of a request that is under way."""

    def __init__(self, span: Any, trace: Any) -> None:
        self._span, self._trace = span, trace
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def end(self, method: str, route: str, status: int, *, id: str, key: str, project: str) -> None:
        """How it ended; ``route`` is the declared path, not the one that was asked for."""
        self._span.update_name(f"{method} {route}")
        self._span.set_attributes(
            {
                "http.request.method": method, "http.route": route, "http.response.status_code": status,
                "segue.request_id": id, "segue.key": key, "segue.project": project,
            }
        )  # fmt: skip
        if status >= 500:
            self._span.set_status(self._trace.StatusCode.ERROR)


def tracing_to(endpoint: str) -> Tracing | None:
    """Traces to a collector that speaks OTLP over HTTP; None if no address is given. Raises NotInstalled."""
    if not endpoint:
        return None
    if not endpoint.startswith(("http://", "https://")):
        raise BadSettings(f"{endpoint!r} is no collector's address", hint="for example http://127.0.0.1:4318")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        url = f"{endpoint.rstrip('/')}/v1/traces"
        return Tracing(OTLPSpanExporter(endpoint=url, timeout=SEND_SECONDS_MAX))
    except ImportError as fault:
        raise NotInstalled("the packages for traces are not installed", hint=extra("otel")) from fault


def trace_store(store: Any, tracing: Tracing) -> None:
    """From now on, each operation of this store has a span."""
    kind = "postgresql" if hasattr(store.database, "namespace") else "sqlite"
    for port in PORTS:
        place = store if port == "journal" else getattr(store, port)
        for method in methods_of(port):
            if hasattr(place, method):
                setattr(place, method, _spanned(getattr(place, method), tracing, f"{port}.{method}", kind))
    tables = store.server_tables
    for method in _OWN_TABLES:
        setattr(tables, method, _spanned(getattr(tables, method), tracing, f"server_tables.{method}", kind))


def _spanned(call: Callable[..., Any], tracing: Tracing, name: str, kind: str) -> Callable[..., Any]:
    @wraps(call)
    def spanned(*args: Any, **named: Any) -> Any:
        with tracing.operation(f"segue.store {name}", **{"db.system.name": kind, "db.operation.name": name}):
            return call(*args, **named)

    return spanned
