"""How the embedding that comes with Segue was made, and how to make it again: gather, train, evaluate."""
