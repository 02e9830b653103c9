"""How well messages of users are understood, on public conversations that two readers labelled.

Two steps: `gather` draws messages from transcripts and writes what the two readers get; `score` puts their
labels beside what Segue made of the same messages, by its own readers and its ledger, as a sync would. The
messages and their labels are not part of the repository.

What counts is harm: a message that asks for a change and is taken for a question or for "go on" is lost; one
that is wrongly taken for new work tears the work apart; a sentence that is wrongly taken for a rule binds the
next run; and what is called done or withdrawn and is not is forgotten. The share of relations that are right
is information. Half of the messages (by repository) are for tuning, the other half is kept to the end.
"""
