"""Does a reader who has nothing but the brief do the right thing next? `make bench-blind`.

``cases`` cuts transcripts at random and writes what each contender says of the past; readers say what they
would do next; ``judge`` puts their answers beside what really came next; ``score`` reads the judge's table.

    make bench-blind CORPUS=FOLDER OUT=FOLDER ARGS='--seed 1 --cases 24 --contender old="…"'

1. Cases, one a transcript of any of the seven formats (Cline and Roo: a task's folder; OpenCode: what
   ``opencode export`` writes). The seed decides where it is cut. Formats take turns (``--most FORMAT=N``
   limits one), and within a format the sources do: the part of a file's name before ``--``, else its
   folder. ``--without OUT`` keeps the transcripts of another round out. What an agent writes over or adds
   later is taken back at the cut.
2. Texts. ``tail`` and ``summary`` (the agent's own at a compaction, whole) are made here. Every other
   contender is a command that prints its text of the transcript whose path is its last argument, or stands
   at ``{path}``; ``{bytes}`` is the budget. ``--only NAME=FORMAT,FORMAT`` says what it can read.
3. Readers. ``OUT/readers/N`` is all that reader N is given: no two texts of a case, about as many of every
   contender. ``words.md`` there says what is asked; answers go into ``answers.md`` beside it.
4. Judge. ``python -m bench.blind judge OUT`` writes ``OUT/judge``, each text under a letter that is dealt
   anew for each case. ``OUT/key.json`` says who is who; it and ``OUT/texts`` are for neither.
5. Points. ``python -m bench.blind score OUT OUT…``: shares with 95 % intervals (of the means, by 4,000
   draws of the cases; of those misled, after Wilson), and each contender against ``tail`` case by case.
"""
