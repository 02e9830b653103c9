"""What stands before the primary: HAProxy, which asks Patroni who that is, and PgBouncer behind it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from tests.support.cluster.machines import Machine
from tests.support.cluster.programs import Program, free_ports, own

ROLES = ("postgres", "segue_owner", "segue_writer", "segue_reader")
_BALANCER = """
global
    maxconn 2000
    stats socket {folder}/haproxy.sock mode 600 level admin
defaults
    mode tcp
    timeout connect 2s
    timeout client 10m
    timeout server 10m
    timeout check 1s
listen primary
    bind 127.0.0.1:{primary}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
{machines}
listen standbys
    bind 127.0.0.1:{standbys}
    option httpchk OPTIONS /replica
    http-check expect status 200
    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
{machines}
{servers}
"""
_SERVERS = """
listen servers
    mode http
    bind 127.0.0.1:{port}
    balance roundrobin
    option httpchk GET /ready
    http-check expect status 200
    option redispatch
    retries 3
    default-server inter 500ms fall 2 rise 1
{servers}
"""
_POOLER = """
[databases]
* = host=127.0.0.1 port={upstream}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
max_client_conn = 1000
default_pool_size = {pool}
server_lifetime = 60
server_connect_timeout = 3
server_login_retry = 1
query_wait_timeout = 20
ignore_startup_parameters = extra_float_digits
admin_users = postgres
"""


class Balancer:
    """HAProxy: a port for the primary, one for the standbys and, if there are any, one for servers."""

    def __init__(self, folder: Path, machines: Sequence[Machine], servers: Sequence[int] = ()) -> None:
        self.primary, self.standbys, self.servers = free_ports(3)
        rows = "\n".join(f"    server {m.name} 127.0.0.1:{m.port} check port {m.api}" for m in machines)
        front = ""
        if servers:
            lines = "\n".join(f"    server s{n} 127.0.0.1:{port} check" for n, port in enumerate(servers, 1))
            front = _SERVERS.format(port=self.servers, servers=lines)
        config = folder / "haproxy.cfg"
        config.write_text(
            _BALANCER.format(
                folder=folder, primary=self.primary, standbys=self.standbys, machines=rows, servers=front
            )
        )
        self.program = Program("haproxy", ["haproxy", "-db", "-f", str(own(config))], folder)


class Pooler:
    """PgBouncer in transaction mode, before another port."""

    def __init__(self, folder: Path, upstream: int, pool: int = 20) -> None:
        [self.port] = free_ports(1)
        config = folder / "pgbouncer.ini"
        users = folder / "pgbouncer.users"
        users.write_text("".join(f'"{name}" ""\n' for name in ROLES))
        config.write_text(_POOLER.format(upstream=upstream, port=self.port, users=own(users), pool=pool))
        self.program = Program("pgbouncer", ["pgbouncer", str(own(config))], folder)

    def restart(self) -> None:
        """End it at once, with every connection, and start it again."""
        self.program.kill(signal.SIGKILL)
        self.program.start()
