"""`segue mcp`: the work of a session as eight tools for a model, over standard input and output.

A tool is a command: its arguments become words of a command line, and what it gives is the JSON of that
command. So there is one way to do a thing, and nothing that the command line refuses can be done here. The
protocol is spoken by the official SDK; while that is being loaded, `front` answers the handshake.
"""
