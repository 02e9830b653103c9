"""`segue serve`: a server for a team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import NotInstalled, RefusedError, UsageError, extra
from ..command import argument, command, flag, many
from ..context import CommandContext

if TYPE_CHECKING:
    from ....services.server.startup import ListenAddress


PORT = 8787
_OF_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


@command(
    "serve",
    argument("--host", "HOST", "the address to listen on; by default only this machine", default="127.0.0.1"),
    argument("--port", "N", f"the port; by default {PORT}, 0 takes a free one", type=int, default=PORT),
    flag("--no-auth", "require no key; on this machine only"),
    argument("--rate", "N", "requests per second for each key; 0: no limit", type=float, default=200.0),
    argument("--max-body", "MB", "the largest request, in MB; by default 16", type=int, default=16),
    argument(
        "--max-connections", "N",
        "connections in total; by default 2,000, at most half the files the process may open",
        type=int, default=2_000,
    ),
    argument(
        "--max-per-address", "N", "connections from one address; by default 500", type=int, default=500,
    ),
    many("--proxy", "ADDRESS", "a trusted proxy, as in 10.0.0.0/8: its connections are not counted"),
    many(
        "--allow-host", "NAME",
        "a host name to answer to; by default any, on loopback only those of this machine",
    ),
    argument(
        "--log", None, "log each request on stderr; by default as json", choices=("json", "none"),
        default="json",
    ),
    argument(
        "--audit-days", "N", "how long the audit log is kept, in days; 0: forever", type=float, default=400.0,
    ),
    argument(
        "--drain", "SECONDS", "after SIGTERM, keep serving this long but report not ready; by default 0",
        type=float, default=0.0,
    ),
    flag("--as-owner", "run as the role that owns the tables in Postgres: for one person or a small team"),
    argument("--tls-cert", "FILE", "a certificate, to serve https"),
    argument("--tls-key", "FILE", "the key of the certificate"),
    json="`url`, `store`, `token` (while it is new) and `token_file`",
    shape="ServerAddress",
    examples=(
        "segue serve", "segue serve --port 0 --json",
        "segue --store postgresql://segue_writer@db/segue serve --host 0.0.0.0",
    ),
)  # fmt: skip
def serve(context: CommandContext) -> int:
    """Serve until a signal ends it."""
    from importlib.util import find_spec

    if find_spec("uvicorn") is None:
        raise NotInstalled("the packages that the server needs are not installed", hint=extra("server"))
    from ....services.server.startup import ListenAddress, prepared

    args = context.args
    place = ListenAddress(args.host, args.port, args.tls_cert or "", args.tls_key or "")
    if args.no_auth and not place.loopback:
        raise RefusedError(
            f"--no-auth is allowed on this machine only, not on {args.host}",
            hint="create keys with `segue key create`",
        )
    if bool(args.tls_cert) != bool(args.tls_key):
        raise UsageError("TLS needs a certificate and its key", hint="give both --tls-cert and --tls-key")
    ready = prepared(context.environment, place, keys=not args.no_auth, as_owner=args.as_owner)
    from ...http.server.process import run

    return run(
        ready.projects, place, _options(args, place), lambda url: _announce(context, url, ready, place),
        ready.tracing,
    )  # fmt: skip


def _options(args: Any, place: ListenAddress) -> Any:
    from ...http.server.connections import ConnectionLimits, networks
    from ...http.server.context import ServerOptions

    if args.rate < 0 or args.max_body < 1 or args.audit_days < 0 or args.drain < 0:
        raise UsageError(
            "--rate, --max-body, --audit-days and --drain cannot be negative", hint="see `segue serve --help`"
        )
    if args.max_connections < 1 or args.max_per_address < 1:
        raise UsageError("a server needs at least one connection", hint="see `segue serve --help`")
    networks(args.proxy)
    named = tuple(name.lower() for name in args.allow_host)
    checked = named or (place.loopback and (args.no_auth or not args.proxy))
    hosts = (*_OF_THIS_MACHINE, place.host.lower(), *named) if checked else ()
    return ServerOptions(
        auth=not args.no_auth, rate=args.rate, hosts=hosts,
        burst=max(1.0, args.rate * 10), body_bytes_max=args.max_body * 1_000_000, logs=args.log == "json",
        audit_days=args.audit_days, drain_seconds=args.drain,
        limits=ConnectionLimits(args.max_connections, args.max_per_address, tuple(args.proxy)),
    )  # fmt: skip


def _announce(context: CommandContext, url: str, ready: Any, place: ListenAddress) -> None:
    import sys

    context.say(f"serving {ready.projects.shown} on {url}")
    if not context.json:
        if context.args.no_auth:
            context.say("no key is required: whoever can run programs on this machine can read and write")
        elif ready.token:
            context.say(
                f"the first key, shown only once (and saved in {ready.token_file}):", f"  {ready.token}"
            )
        elif ready.token_file:
            context.say(f"the key for this machine is in {ready.token_file}")
        context.say(f"  export SEGUE_STORE={url}")
    if owner := ready.owner:
        context.warn(
            f"{owner} owns the tables: start the server as a role that only writes"
            " (`segue schema --roles DATABASE` creates one)"
        )
    if not place.loopback and not place.tls:
        context.warn(
            "keys are sent unencrypted over the network: put TLS in front, or give --tls-cert and --tls-key"
        )
    context.emit(
        {"url": url, "store": ready.projects.shown, "token": ready.token, "token_file": ready.token_file}
    )
    sys.stdout.flush()
