"""Sessions: their state, the commands that change it, how events fold into it, what is shown of it.

A command is decided here and never carried out here.
"""
