"""What compactions lose, and what of it Segue brings back. `make bench-compactions`.

Two benchmarks. ``cases`` takes compactions that really happened: does the next step come out better if what
Segue's hook says stands after the agent's own summary? ``chains`` has six compactions follow each other in
one conversation: which of the user's words are still there after the last one?

    make bench-compactions CORPUS=FOLDER OUT=FOLDER
    make bench-compactions STEP=chains CORPUS=FOLDER OUT=FOLDER ARGS='--seed 1'

Cases, read blindly as those of ``bench.blind``:

1. ``cases``: one compaction a transcript of Claude Code or Codex whose summary can be read; repositories take
   turns. Two texts a case: ``summary``, and ``added``, the same with what the hook says after it. Where it
   says nothing, the text is read once and counts for both.
2. Readers write ``answers.md`` in ``OUT/readers/N``. ``STEP=judge``, then a judge fills in
   ``OUT/judge/verdict.md``. ``STEP=score`` prints the points.

Chains, each a real conversation of Claude Code in six stretches, as if the window had been full after each:

1. ``chains`` writes ``OUT/chains/NN/stretch-K.md``, and the first round. In round K a fresh summariser is
   given ``OUT/rounds/K/ARM/NN.md`` and nothing else, and writes ``NN.summary.md`` beside it. In the arm
   ``segue`` that file also has what Segue's hooks say at that moment.
2. ``STEP=next`` after each round: it plays the hooks on the transcript that would have been written if these
   summaries had been the agent's, and writes the next round.
3. ``STEP=truth`` writes ``OUT/truth/NN.md``, of which somebody who knows no summary lists the words that
   stand: ``NN.list.md``, as ``words.md`` there says.
4. ``STEP=final`` writes ``OUT/final``: what stands in the window after the sixth compaction, under letters.
   ``OUT/.key.json`` says whose they are; it is for nobody who reads. A judge fills in
   ``OUT/final/verdict.md``, as ``OUT/final/words.md`` says. ``STEP=chains-score`` prints what was kept.
"""
