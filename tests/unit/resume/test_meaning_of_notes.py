"""Notes that are about the work in other words are restored, and a long one begins where it matters."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.runs import opened

from segue.core.resume.restoration import Restoration
from segue.effects.vectors import static
from segue.errors import DamagedError
from segue.services.resume import meaning_of_notes

GOAL = "Make the sign-in form safe against people who guess passwords"
ABOUT = "# Authentication\nAfter five wrong passwords the login of an account is locked for an hour."
OTHER = "# Invoices\nInvoice PDFs are rendered by a worker, and the mail goes out at night."
FILLER = "\n\n".join(
    f"Chapter {place}\nThe warehouse ships parcel {place} on a truck.\nPallets are wood."
    for place in range(12)
)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    files = {"context-library/limits.md": ABOUT, "context-library/mail.md": OTHER}
    repository.commit("first", {"a.py": "def a():\n    return 1\n", **files})
    return repository


def notes(found: Restoration) -> set[str]:
    return {one.item for one in found.log if one.item.startswith("note/") and one.status != "skipped"}


def test_a_note_without_a_word_of_the_goal_in_its_title_is_found_by_its_meaning(
    home: Path, repo: Repository
) -> None:
    with opened(home, repo.folder) as seg:
        session = seg.start(GOAL)
        found = session.restore("balanced")
        again = session.restore("balanced")
    assert notes(found) == {"note/limits"}
    assert "locked for an hour" in found.text
    assert again.text == found.text


def test_with_the_setting_hash_notes_are_found_by_their_titles_alone(home: Path, repo: Repository) -> None:
    with opened(home, repo.folder, SEGUE_EMBEDDER="hash") as seg:
        assert notes(seg.start(GOAL).restore("balanced")) == set()


def test_a_long_note_begins_with_the_part_about_the_work_and_loses_nothing(
    home: Path, repo: Repository
) -> None:
    body = f"{FILLER}\n\n{ABOUT.partition(chr(10))[2]}\n\n{FILLER.replace('Chapter', 'Part')}"
    repo.commit("long", {"context-library/limits.md": f"# Sign-in passwords\n{body}"})
    with opened(home, repo.folder) as seg:
        found = seg.start(GOAL).restore("balanced").text
    assert found.index("locked for an hour") < found.index("Part 0") < found.index("Chapter 0")
    assert found.index(meaning_of_notes.FURTHER_DOWN) < found.index("locked for an hour")
    assert all(f"Chapter {place}" in found and f"Part {place}" in found for place in range(12))


def test_what_is_looked_at_is_limited_by_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from segue.effects.notes import Library

    folder = tmp_path / "memory"
    folder.mkdir()
    for place in range(200):
        (folder / f"n{place:03}.md").write_text(f"# Note {place}\n" + FILLER * 20)
    looked: list[int] = []
    embed = static.StaticEmbedder.embed

    def counted(self: static.StaticEmbedder, texts: list[str]) -> list[list[float]]:
        looked.append(len(texts))
        return embed(self, texts)

    monkeypatch.setattr(static.StaticEmbedder, "embed", counted)
    meaning_of_notes.QueryMeaning(GOAL).notes(Library(tmp_path), (), 5)
    most = meaning_of_notes.NOTES_MAX + meaning_of_notes.NEAREST_MAX * meaning_of_notes.PASSAGES_MAX
    assert meaning_of_notes.NOTES_MAX < sum(looked) <= most + 1


def test_damaged_weights_leave_words_to_go_by(
    home: Path, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("named", {"context-library/form.md": "# The sign-in form of passwords"})

    def damaged() -> None:
        raise DamagedError("the embedding", "static-128.bin", "it was cut")

    monkeypatch.setattr(static, "shipped", damaged)
    with opened(home, repo.folder) as seg:
        assert notes(seg.start(GOAL).restore("balanced")) == {"note/form"}
