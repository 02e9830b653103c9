"""`segue mcp`: the work of a session as twelve tools for a model, over standard input and output.

A tool calls the same services as a command, and returns the same JSON. The official SDK implements the
protocol; while it is being loaded, ``early_answers`` answers the handshake. ``tools`` describes the tools for
a model, ``operations`` carries them out, ``calls`` is for an agent on this machine, ``served`` for clients of
a server.
"""
