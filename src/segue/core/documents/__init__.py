"""Documents for people to read: what they consist of, a run as a conversation, and HTML and Markdown."""
