"""Patches as agents write them, and what they change in which file."""

from __future__ import annotations

import pytest

from segue.agents.common import act_of, hunks_change, patch_changes
from segue.core.runs.steps import Change

UPDATE = """*** Begin Patch
*** Update File: src/tax.py
@@ class Tax
@@     def rate(self):
     def rate(self):
-        return 19
+        return 20

     def name(self):
@@ def total
-total = 1
+total = 2
*** End of File
*** End Patch"""


def test_a_change_has_what_was_and_what_is_there_now_and_the_headings_of_its_hunks():
    assert patch_changes(UPDATE) == (
        Change(
            "src/tax.py",
            "edit",
            "    def rate(self):\n        return 19\n\n    def name(self):\ntotal = 1",
            "    def rate(self):\n        return 20\n\n    def name(self):\ntotal = 2",
            "class Tax\ndef rate(self):\ndef total",
        ),
    )


@pytest.mark.parametrize(
    ("sections", "changes"),
    [
        (
            "*** Add File: a.py\n+import os\n+\n++1\n*** Delete File: b.py",
            (Change("a.py", "create", "", "import os\n\n+1"), Change("b.py", "delete")),
        ),
        (
            "*** Update File: a.py\n*** Move to: b.py\n@@\n-1\n+2",
            (Change("a.py", "delete"), Change("b.py", "edit", "1", "2")),
        ),
        ("*** Update File: a.py\n*** Move to: b.py", (Change("a.py", "delete"), Change("b.py", "create"))),
        ("*** Update File: a.py  \n-1\n+2", (Change("a.py", "edit", "1", "2"),)),
        (
            "*** Update File: a.py\n@@ -1,2 +1,2 @@ def f\n-1\n+2",
            (Change("a.py", "edit", "1", "2", "def f"),),
        ),
        (
            "*** Update File: a.py\n@@\n-1\n+2\n*** End of File\n*** Update File: b.py\n@@\n-3",
            (Change("a.py", "edit", "1", "2"), Change("b.py", "edit", "3", "")),
        ),
        ("*** Environment ID: local\n*** Add File: a.py\n+1", (Change("a.py", "create", "", "1"),)),
        ("", ()),
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "*** Begin Patch\n{}\n*** End Patch",
        "cd src && apply_patch <<'EOF'\n*** Begin Patch\n{}\n*** End Patch\nEOF\necho '+done'",
    ],
)
def test_each_file_of_a_patch_has_its_change_also_inside_a_shell_command(around, sections, changes):
    assert patch_changes(around.format(sections)) == changes


def test_a_text_without_a_patch_changes_nothing():
    assert patch_changes("git diff --stat") == ()
    assert patch_changes("") == ()


def test_a_patch_that_is_cut_off_has_what_is_there():
    assert patch_changes("*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n") == (
        Change("a.py", "edit", "1", "2"),
    )


def test_the_hunks_of_a_diff_are_read_without_its_ranges():
    diff = "@@ -3 +3 @@ def f():\n-a\n+b\n\\ No newline at end of file\n"
    assert hunks_change("a.py", diff) == Change("a.py", "edit", "a", "b", "def f():")


@pytest.mark.parametrize(
    ("hows", "act"),
    [(("create",), "create"), (("delete", "delete"), "delete"), (("delete", "create"), "edit"), ((), "edit")],
)
def test_a_patch_creates_or_deletes_only_if_it_does_nothing_else(hows, act):
    assert act_of(tuple(Change("a.py", how) for how in hows)) == act
