"""`segue serve`: the operations of the library over HTTP, for teams.

A request goes through the gate (`gate.py`: host, size, key, rate, repeats), then to a route (`frame.py` says
how one is declared: its role, its errors), which works on the store of the key's project. What a route gives
is what the command of the same name gives with ``--json``. An answer is sent after the commit, never before.
"""
