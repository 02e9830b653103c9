"""A module for each command: what it takes, which service it calls, what it prints.

No decision is made here, and no other surface imports from here.
"""
