"""Language: what the words of people and agents say, recognised by their form and without a model.

Everything here takes a text and returns what stands in it. What follows from it is decided elsewhere.
"""
