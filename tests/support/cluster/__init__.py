"""A team's machines on loopback: three Postgres under Patroni, three etcd, HAProxy, PgBouncer, two servers.

``programs`` what must be installed, and processes · ``machines`` etcd and Patroni · ``fronts`` HAProxy and
PgBouncer · ``rig`` all of it together · ``clients`` who writes and reads meanwhile · ``histories`` whether
what they saw can have been.
"""
