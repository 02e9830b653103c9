"""Features, the checks that prove them, the verdict on them, and the file formats that others keep them in.

"Done means proven" is decided in ``verdict.py``. Running a check belongs to ``services/features/``.
"""
