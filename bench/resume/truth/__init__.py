"""The truth check of briefs: is what a brief states so in the transcript?

Nothing here shares code with Segue's readers: the transcript is decoded plainly, the brief is read as text.
"""
