"""Optional models: what one is asked, which parts of its answer are supported, and what it may cost.

Nothing here calls a model.
"""
