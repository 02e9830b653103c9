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


def test_of_two_notes_with_an_id_the_first_path_has_it_and_the_other_is_known_by_its_path(
    tmp_path: Path,
) -> None:
    write(tmp_path, "memory/b/same.md", "# B")
    write(tmp_path, "memory/a/same.md", "# A")
    library = found(tmp_path)
    first, second = library.all()["same"], library.find("memory/b/same.md")
    assert first.title == "A" and library.with_same_id(first) == ["memory/b/same.md"]
    assert second is not None and (second.title, second.id) == ("B", "memory/b/same.md")
    assert library.with_same_id(second) == []


def test_a_file_that_is_not_text_is_a_note_without_a_text(tmp_path: Path) -> None:
    for name, body in {
        "null.md": b"# A\0B", "random.md": bytes(range(128, 256)) * 20,
        "latin.md": "# The price of a caf\xe9".encode("latin1"), "empty.md": b"",
        "long.md": "# \u4e2d".encode() * 4_000,
    }.items():  # fmt: skip
        (tmp_path / "memory").mkdir(exist_ok=True)
        (tmp_path / "memory" / name).write_bytes(body)
    library = found(tmp_path)
    texts = {id: library.text(note) is not None for id, note in library.all().items()}
    assert texts == {"null": False, "random": False, "latin": True, "empty": True, "long": True}


def test_links_lead_to_notes_by_id_title_or_path_and_to_no_other_place(tmp_path: Path) -> None:
    links = "[[two]] [[Number three]] [[memory/four.md#part|shown]] [[nowhere]] [[one]] [[../../etc/passwd]]"
    write(tmp_path, "memory/one.md", f"# One {links}")
    write(tmp_path, "memory/two.md", "# Two")
    write(tmp_path, "memory/three.md", "# Number three")
    write(tmp_path, "memory/four.md", "# Four")
    library = found(tmp_path)
    assert [note.id for note in library.linked(library.all()["one"])] == ["two", "three", "four"]


def test_decisions_are_the_notes_in_folders_for_them_the_newest_first(tmp_path: Path) -> None:
    base = "organizations/acme/context-library/decisions"
    for day in (1, 3, 2):
        write(tmp_path, f"{base}/DEC-{day}.md", f"---\ndate: 2026-01-0{day}\n---\n# Decision {day}")
    write(tmp_path, "docs/adr/0001.md", "---\ncreated: '2026-01-04T10:00:00Z'\n---\n# Record 1")
    write(tmp_path, "memory/other.md", "# About decisions")
    assert [note.id for note in found(tmp_path).decisions()] == ["0001", "DEC-3", "DEC-2", "DEC-1"]


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
