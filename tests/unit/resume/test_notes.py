"""The notes of a project: found by convention, known by their heads, read when they are wanted."""

from __future__ import annotations

import os
from pathlib import Path

from segue.effects.notes import Library, ProjectNote, _hits, body_of, note_of


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(root: Path, *folders: str, cache: Path | None = None) -> Library:
    return Library(root, folders, cache, organization="acme", project="shop")


def test_an_id_comes_from_the_front_matter_else_from_the_name() -> None:
    told = note_of(
        "docs/adr/0004-cents.md", b"---\nid: adr-004\ntitle: 'Cents'\n---\n# Money\nSee [[adr-001|why]]."
    )
    assert (told.id, told.title, told.links) == ("adr-004", "Cents", ("adr-001",))
    bare = note_of("docs/adr/0005-tax.md", b"# Tax is added last #\ntext")
    assert (bare.id, bare.title) == ("0005-tax", "Tax is added last")
    assert note_of("memory/x.md", b"").title == "x"


def test_a_hash_tells_one_content_from_another() -> None:
    assert note_of("a.md", b"one").hash != note_of("a.md", b"two").hash
    assert note_of("a.md", b"one").hash == note_of("b.md", b"one").hash


def test_notes_are_found_by_convention_and_where_settings_say(tmp_path: Path) -> None:
    for name in (
        "context-library/a/deep.md",
        "docs/adr/one.md",
        "memory/layer1/x.md",
        "wiki/w.md",
        "AGENTS.md",
    ):
        write(tmp_path, name, "# A note")
    write(tmp_path, "src/README.md", "# No note")
    write(tmp_path, "context-library/.hidden/h.md", "# Hidden")
    assert sorted(found(tmp_path, "wiki").all()) == ["AGENTS", "deep", "one", "w", "x"]
    assert "w" not in found(tmp_path).all()


def test_the_indexes_come_in_their_order(tmp_path: Path) -> None:
    base = "organizations/acme"
    names = [
        f"{base}/context-library/00-INDEX.md", f"{base}/projects/shop/context-library/00-PROJECT-INDEX.md",
        "PROJECT_STATE.md", "CLAUDE.md",
    ]  # fmt: skip
    for name in reversed(names):
        write(tmp_path, name, f"# {name}")
    assert [note.path for note in found(tmp_path).index_notes()] == names


def test_a_note_is_found_by_id_title_or_path(tmp_path: Path) -> None:
    write(tmp_path, "docs/adr/0004.md", "---\nid: adr-004\n---\n# Keep cents")
    library = found(tmp_path)
    for name in ("adr-004", "adr-004.md", "keep cents", "docs/adr/0004.md"):
        note = library.find(name)
        assert note is not None and note.path == "docs/adr/0004.md"
    assert library.find("adr-005") is None


def test_the_cache_is_used_and_a_changed_note_is_seen(tmp_path: Path) -> None:
    cache = tmp_path / "data" / "cache" / "notes"
    path = write(tmp_path, "docs/adr/one.md", "# One")
    assert found(tmp_path, cache=cache).all()["one"].title == "One"
    assert cache.stat().st_mode & 0o077 == 0
    path.write_text("---\nid: first\n---\n# Another one")
    assert found(tmp_path, cache=cache).find("first") is not None
    write(tmp_path, "docs/adr/two.md", "# Two")
    os.utime(tmp_path / "docs/adr", ns=(1, 1))
    assert sorted(found(tmp_path, cache=cache).all()) == ["first", "two"]
    path.unlink()
    assert sorted(found(tmp_path, cache=cache).all()) == ["two"]


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    write(tmp_path, "docs/adr/one.md", "# One")
    cache = tmp_path / "notes"
    cache.write_bytes(b"\xff no index")
    assert list(found(tmp_path, cache=cache).all()) == ["one"]
    assert list(found(tmp_path, cache=cache).all()) == ["one"]


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path, "outside/secret.md", "# Secret")
    root = tmp_path / "shop"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "link.md").symlink_to(outside)
    (root / "docs").mkdir()
    (root / "docs" / "adr").symlink_to(tmp_path / "outside")
    (root / "memory" / "folder").symlink_to(tmp_path / "outside")
    assert list(found(root).all()) == []


def test_of_two_notes_with_an_id_the_first_path_has_it(tmp_path: Path) -> None:
    write(tmp_path, "memory/b/same.md", "# B")
    write(tmp_path, "memory/a/same.md", "# A")
    assert found(tmp_path).all()["same"].title == "A"


def test_titles_that_say_most_of_the_words_are_near(tmp_path: Path) -> None:
    write(tmp_path, "memory/a.md", "# The invoice parser and its cents")
    write(tmp_path, "memory/b.md", "# The invoice layout")
    write(tmp_path, "memory/c.md", "# Login")
    near = found(tmp_path).matching(["invoice", "parser", "cents", "amounts"], 5)
    assert [note.id for note in near] == ["a"]


def test_a_text_comes_without_its_front_matter_and_a_gone_note_is_none(tmp_path: Path) -> None:
    path = write(tmp_path, "memory/a.md", "---\nid: a\n---\n# A\ntext")
    library = found(tmp_path)
    note = library.all()["a"]
    text = library.text(note)
    assert text is not None and body_of(text) == "# A\ntext"
    path.unlink()
    assert library.text(note) is None
    assert isinstance(note, ProjectNote)


def test_titles_searched_as_one_text_are_hit_as_each_alone() -> None:
    titles = ["Invoice parser", "", "the parser\nof invoices", "Ärger with INVOICES", "parser parser"]
    words = ["invoice", "parser", "ärger", "of"]
    alone = [sum(word in title.lower() for word in words) for title in titles]
    assert _hits(titles, words) == {at: count for at, count in enumerate(alone) if count}
