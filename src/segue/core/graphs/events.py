"""What is declared of a graph's threads: which streams hold them, and the checkpoints in them.

The stream ``graph/<session>`` is a thread's register. Its last generation says in which streams the
checkpoints are, one for each namespace; whatever deletes checkpoints writes those that stay into the streams
of a new generation, in the same commit as the event that says so.
"""

from __future__ import annotations

from ..journal.event import Body

PREFIX = "graph/"
ROOT = ""
"""The namespace of the graph itself; those of graphs within it have names."""


class GraphBegun(Body):
    KIND = "graph.begun"
    thread: str
    """The thread's own id, which may be any text."""
    generation: str = ""
    """The name of the generation; empty if the thread was deleted."""
    namespaces: tuple[str, ...] = ()


class NamespaceAdded(Body):
    KIND = "graph.namespace"
    namespace: str


class CheckpointPut(Body):
    KIND = "graph.checkpoint"
    id: str
    piece: str
    """The address of the piece that holds what is new in it."""
    parent: str = ""
    disordered: bool = False
    """Whether it, or one before it in its stream, has an id that is not greater than all before it."""


class WritesPut(Body):
    KIND = "graph.writes"
    id: str
    """The checkpoint that the writes follow."""
    piece: str


def register_stream(session: str) -> str:
    """The stream that says where the checkpoints of a thread are."""
    return f"{PREFIX}{session}"


def series_stream(session: str, generation: str, namespace: str) -> str:
    """The stream of a namespace's checkpoints, and of the writes that follow the newest one."""
    return f"{PREFIX}{session}/{generation}/{namespace}"


def late_stream(session: str, generation: str, namespace: str) -> str:
    """The stream of writes that follow a checkpoint which is not the newest one of its namespace."""
    return f"{PREFIX}{session}/{generation}.late/{namespace}"
