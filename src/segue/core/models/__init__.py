"""Optional models: what one is asked, what of its answer is borne out, what it may cost.

Nothing here calls a model.
"""
