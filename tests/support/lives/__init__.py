"""Lives: made-up pieces of work in five to twelve runs, of which it is known what holds at each moment.

``generate.py`` draws a life from a seed: what users say and agents do, with what each of it changes about
what holds (``model.py``). ``tasks.py``, ``rules.py`` and ``speech.py`` are the parts that it combines.
``player.py`` plays a life as agents would, with transcripts and hooks, and gives what each run was told;
``judge.py`` compares that with what held. ``python -m tests.support.lives --seed N`` plays one and prints it.
"""
