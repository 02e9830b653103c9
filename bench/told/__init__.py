"""Is a run told by what it is asked? `make bench-told`.

People rarely begin the next run with "continue". What Segue tells a run with its first prompt depends on
whether that goes on with the work, names the work of an earlier run, carries a plan that was made in one, or
is other work. Here first prompts of public runs are played on the runs before them, and two fresh readers say
of each case whether the prompt refers to earlier work, and whether what is told is useful, neutral or
distracting.

    make bench-told CORPUS=FOLDER OUT=FOLDER ARGS='--seed 1 --cases 60'
    python -m bench.told score OUT ANSWERS ANSWERS

1. Cases (``cases.py``): a later run of a repository with a first prompt that a user typed, and the newest
   twelve runs that began before it in the same working folder, or below it, of Claude Code and Codex; at
   least one of them did something. Runs in other folders of the repository belong to other machines or other
   worktrees, and are left out, as are the transcripts of sub-agents. Transcripts are read by the readers of
   ``bench.blind``, which know nothing of Segue's.
2. What was known (``placed.py``): all runs are cut at the moment of the prompt and moved in time, so that it
   is now: how old a run is decides what is told (after ``resumable_days`` nothing of where it stopped). The
   working folder is replaced by a temporary one wherever it is named, and put back in what is told.
3. What is told (``machine.py``): the earlier runs stand where their agents would have written them; after
   each, in the order in which they were last active, a sync is done. Synced once in the end, they would be
   assigned to sessions by other evidence. Agents that were still at work are registered as alive. The hooks
   answer a start and the prompt, with the default settings. The runs before had no hooks: what they were told
   is not known.
4. The project is an empty repository: what git says of the tree is not judged.
5. Readers get ``OUT/cases``, where ``words.md`` says what is asked, and each writes a table. ``OUT/key.json``
   is for neither. Limits: distracting in at most 5 %, useful in at least 80 % of the prompts that refer to
   earlier work, at most 400 bytes in the middle for other work.
"""
