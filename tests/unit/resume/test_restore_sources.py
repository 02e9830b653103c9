"""What a restoration of real work holds: whole notes and decisions, the diff, all items, the conversation."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import SECRET, opened

from segue.core.resume.restoration import Restoration
from segue.core.runs.steps import Call, Prompt, Result, Say, Start, Step
from segue.services.resume.resume import resume
from segue.testing.transcripts import placed

PARAGRAPH = (
    "The pricing decision depends on three inputs that the team has looked at for a long time, and sales "
    "wants three tiers because two were not enough for the customers of last year, while support would "
    "rather have one, and finance has asked for a yearly plan as well; after all of this was weighed we "
    "agreed that the final number is 39 dollars a month for the middle tier, and that nobody may change it "
    "before the summer."
)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    repository.commit("first", {"a.py": "def a():\n    return 1\n", "context-library/pricing.md": PARAGRAPH})
    return repository


def entry(found: Restoration, item: str) -> tuple[str, str]:
    [one] = [one for one in found.log if one.item == item]
    return one.status, one.reason


def flat(text: str) -> str:
    return " ".join(text.replace("|", " ").split())


def run(home: Path, repo: Repository, more: list[Step]) -> None:
    at = time.time() - 600
    steps: list[Step] = [
        Start(at, "start", native="run-1", cwd=str(repo.folder)),
        Prompt(at, "Use tokens, please"),
    ]
    placed("claude-code", [*steps, *more], home=home, native="run-1", cwd=str(repo.folder))


def test_a_long_paragraph_of_a_note_and_of_a_decision_are_restored_whole(
    home: Path, repo: Repository
) -> None:
    with opened(home, repo.folder) as seg:
        session = seg.start("Set the price")
        session.decide(f"Decided: {PARAGRAPH}")
        found = session.restore("minimal", notes=["pricing"])
    assert flat(found.text).count(PARAGRAPH) >= 2
    assert entry(found, "note/pricing")[0] == "loaded"


def library(repo: Repository, organization: str, project: str, index: str) -> None:
    base = f"organizations/{organization}"
    repo.commit(
        "notes",
        {
            f"{base}/context-library/00-INDEX.md": f"---\nid: {organization}\n---\n# {index}",
            f"{base}/projects/{project}/context-library/00-PROJECT-INDEX.md": f"# Project {index}",
        },
    )


def test_notes_are_those_of_the_sessions_own_organization_and_project(home: Path, repo: Repository) -> None:
    library(repo, "acme", "rocket", "Index of acme")
    library(repo, "personal", "shop", "Index of mine")
    with opened(home, repo.folder) as seg:
        rocket = seg.start("Rocket", id="rocket", organization="acme", project="rocket")
        own = seg.start("Shop", id="own", project="shop")
        texts = {session.id: session.restore("balanced").text for session in (rocket, own)}
    assert "Index of acme" in texts["rocket"] and "Index of mine" not in texts["rocket"]
    assert "Project Index of acme" in texts["rocket"]
    assert "Index of mine" in texts["own"] and "Index of acme" not in texts["own"]


def test_links_are_followed_as_far_as_the_budget_reaches(home: Path, repo: Repository) -> None:
    (repo.folder / "context-library" / "bin.md").write_bytes(bytes(range(256)))
    repo.commit(
        "notes",
        {
            "context-library/start.md": "See [[middle]] and [[bin]].",
            "context-library/middle.md": "The middle. See [[end]], [[start]] and [[nowhere]].",
            "context-library/end.md": "The end. See [[beyond]].",
            "context-library/beyond.md": "Too far away.",
        },
    )
    with opened(home, repo.folder) as seg:
        session = seg.start("Zebra migration")
        session.focus(note_id="start", position="section-3")
        found, small = session.restore("full"), session.restore(600)
    assert "The middle." in found.text and "The end." in found.text and "Too far" not in found.text
    assert entry(found, "note/middle")[0] == entry(found, "note/end")[0] == "loaded"
    assert entry(found, "note/bin") == ("skipped", "missing: it is not text")
    assert small.tokens_used <= 600


def test_two_notes_of_one_id_are_named(home: Path, repo: Repository) -> None:
    for folder in ("a", "b"):
        repo.commit("notes", {f"context-library/{folder}/x.md": f"---\nid: dup\n---\n# The note in {folder}"})
    with opened(home, repo.folder) as seg:
        session = seg.start("g")
        found = session.restore("minimal", notes=["dup"])
        other = session.restore("minimal", notes=["context-library/b/x.md"])
    assert "The note in a" in found.text and "context-library/b/x.md has the same id" in found.text
    assert "The note in b" in other.text and "The note in a" not in other.text


def test_decisions_of_the_library_and_of_sister_sessions_are_restored(home: Path, repo: Repository) -> None:
    base = "organizations/acme/projects/shop/context-library/decisions"
    repo.commit(
        "notes",
        {f"{base}/DEC-{n}.md": f"---\ndate: 2026-01-0{n}\n---\nDecision number {n}." for n in range(1, 8)},
    )
    about = {"organization": "acme", "project": "shop"}
    with opened(home, repo.folder) as seg:
        sister = seg.start("Launch", id="launch", **about)
        sister.decide("Three tiers", why="sales wants them")
        seg.start("Elsewhere", id="elsewhere", organization="acme", project="other").decide("Two tiers")
        session = seg.start("Launch again", id="launch2", **about)
        session.decide("Own decision")
        found = session.restore("full")
        assert seg.session("launch2").restore("full", decisions=2).text.count("Decision number") == 1
    assert "Three tiers (because sales wants them)" in found.text and "in session launch " in found.text
    assert "Own decision" in found.text and "Two tiers" not in found.text
    assert [n for n in range(1, 8) if f"Decision number {n}." in found.text] == [4, 5, 6, 7]


def test_a_restoration_loads_notes_and_only_those_asked_for_are_used(home: Path, repo: Repository) -> None:
    repo.commit(
        "notes", {"context-library/tokens.md": "# Use tokens", "context-library/asked.md": "# Asked for"}
    )
    with opened(home, repo.folder) as seg:
        session = seg.start("Use tokens")
        for _ in range(3):
            resume(session, budget="balanced", notes=["asked"])
        session.restore("balanced", notes=["asked"])
        counts = {id: use.count for id, use in session.state.notes.items()}
        assert counts == {"asked": 3, "tokens": 0}
        assert session.status().hints.recommended_notes == ["asked"]
        assert session.state.notes["tokens"].path == "context-library/tokens.md"


def test_a_note_that_is_too_large_to_read_says_so_in_the_log_and_in_the_text(
    home: Path, repo: Repository
) -> None:
    repo.write({"context-library/huge.md": "word " * 200_000})
    with opened(home, repo.folder) as seg:
        found = seg.start("Set the price").restore("balanced", notes=["huge"])
    status, reason = entry(found, "note/huge")
    assert status == "cut" and "parts: over budget" in reason
    assert (
        "parts left out; this is the first 400,000 of 1,000,000 bytes: context-library/huge.md" in found.text
    )


def test_new_files_are_told_as_far_as_they_were_read(home: Path, repo: Repository) -> None:
    repo.write({f"new_{n}.py": f"value_{n} = {n}\n" for n in range(11)})
    repo.write({"a_large_one.py": "some_value = 1\n" * 2_000})
    with opened(home, repo.folder) as seg:
        found = seg.start("Set the price").restore("full")
    assert entry(found, "changes/new") == ("skipped", "4 more new files: `git status` names them")
    status, reason = entry(found, "change/a_large_one.py")
    assert status == "cut" and ("only its first 11,9" in reason or "over budget" in reason)
    assert "a_large_one.py\n" in found.text


def test_the_diff_of_the_working_tree_is_in_it(home: Path, repo: Repository) -> None:
    repo.write({"a.py": "def a():\n    return 2\n"})
    with opened(home, repo.folder) as seg:
        assert "  | -    return 1\n  | +    return 2" in seg.start("Set the price").restore("minimal").text


def test_items_and_rules_for_which_a_brief_has_no_room_are_all_in_it(home: Path, repo: Repository) -> None:
    items = [
        f"Rewrite the module number {n} of the billing so that it keeps amounts in cents" for n in range(40)
    ]
    with opened(home, repo.folder) as seg:
        session = seg.start("Set the price", items=items)
        session.block(items[7], "waits for the bank")
        found = session.restore("minimal")
    assert entry(found, "plan")[0] == "loaded"
    text = flat(found.text)
    assert all(item in text for item in items)
    assert f"blocked: {items[7]} (waits for the bank)" in text


def test_the_conversation_and_the_last_results_are_told_whole(home: Path, repo: Repository) -> None:
    at = time.time() - 500
    causes = [
        f"{n}. The cause number {n}, which shows in the log of the {n}th server of the cluster"
        for n in range(1, 20)
    ]
    report = "I found these causes:\n\n" + "\n".join(causes) + "\n\nShall I mend all of them?"
    output = "\n".join(f"tests/test_{n}.py::test_login FAILED" for n in range(30)) + "\n30 failed"
    run(home, repo, [
        Call(at, "c1", "Bash", "run", "pytest -q", "pytest -q"), Result(at, "c1", False, 1, output),
        Say(at + 1, report), Prompt(at + 2, "Only the first two"),
    ])  # fmt: skip
    with opened(home, repo.folder) as seg:
        found = seg.restore(budget="minimal")
    assert output.replace("\n", "\n  | ") in found.text
    whole = "\n    | ".join(["  agent: I found these causes:", *causes, "Shall I mend all of them?"])
    assert whole in found.text


@pytest.mark.parametrize(
    "secret", [SECRET, f"{SECRET[:12]}\u200b{SECRET[12:]}", f"{SECRET[:9]}\u2060{SECRET[9:]}"]
)
def test_no_secret_is_restored_not_even_one_with_something_invisible_in_it(
    home: Path, repo: Repository, secret: str
) -> None:
    at = time.time() - 500
    repo.write(
        {f"new-{SECRET}.py": f"TOKEN = '{secret}'\n", "context-library/key.md": f"# {secret}\n\nuse {secret}"}
    )
    run(home, repo, [
        Call(at, "c1", "Bash", "run", f"curl -H 'X: {secret}' x", f"curl -H 'X: {secret}' x"),
        Result(at, "c1", True, 0, f"ok {secret}"), Say(at, f"I used {secret}."),
    ])  # fmt: skip
    with opened(home, repo.folder) as seg:
        found = seg.restore(budget="full", notes=["key"])
    assert SECRET not in found.text and "I used" in found.text


def test_a_larger_budget_has_everything_of_a_smaller_one(home: Path, repo: Repository) -> None:
    at = time.time() - 500
    steps: list[Step] = []
    for n in range(60):
        text = "\n".join(f"name_{n}_{row} = {row}" for row in range(30))
        steps += [
            Call(at + n, f"c{n}", "Bash", "run", f"cat f{n}.py", f"cat f{n}.py"),
            Result(at + n, f"c{n}", True, 0, text),
        ]
        steps += [
            Say(at + n, f"File {n} is fine, and the next one is number {n + 1}.\n\n- so far {n}\n- no fault")
        ]
    run(home, repo, steps)
    repo.write({"a.py": "def a():\n    return 2\n", "b.py": "x = 1\n" * 500})
    before: set[str] = set()
    with opened(home, repo.folder) as seg:
        seg.start("Set the price", items=[f"Rewrite the module number {n} of the billing" for n in range(40)])
        for budget in (1_000, 2_000, 3_000, 5_000, 9_000, 25_000, 40_000):
            found = seg.restore(budget=budget)
            lines = {
                line
                for line in found.text.split("\n")
                if line.startswith(("  |", "    |", "  user", "  agent"))
            }
            assert before <= lines, budget
            assert found.tokens_used <= budget
            before = lines
    assert len(before) > 200
