"""Chains of runs of a real agent that is killed at random moments, and what each next run hears.

``prompts``: with what people begin a run. ``plan``: a chain as its seed has it. ``evidence``: what an agent
had written when it died, read without Segue's readers. ``drive``: the runs, the kills, and what is wrong with
what the next run was told. ``tally``: how many of what, as a table.
"""
