"""`segue mcp`: the work of a session as eight tools for a model, over standard input and output.

A tool calls the services that a command calls, and gives the JSON that the command gives. The protocol is
spoken by the official SDK; while that is being loaded, ``early_answers`` answers the handshake.

``tools`` says what a model is told, ``operations`` does it, ``calls`` is for an agent on this machine,
``served`` for whoever has a key of a server.
"""
