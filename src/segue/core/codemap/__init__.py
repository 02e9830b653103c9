"""The map of the code: what files define and use, the graph that this makes, and questions to it."""
