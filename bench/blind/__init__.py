"""Does a reader who has nothing but the brief do the right thing next? `make bench-blind`.

``cases`` cuts transcripts at random and writes what each contender says of the past; readers say what they
would do next; ``judge`` puts their answers beside what really came next; ``score`` reads the judge's table.
"""
