"""Features: what they are, the checks that prove them, the verdict, other people's file formats.

"Done means proven" is decided in ``verdict.py``. Running a check is ``services/features/``.
"""
