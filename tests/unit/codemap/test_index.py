"""A map is kept up with its files, whatever becomes of them or of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.git import Repository

from segue.core.codemap.graph import CodeGraph
from segue.core.codemap.questions import meant, users_of
from segue.effects.codemap.files import FILE_BYTES_MAX, listed_files, source_of
from segue.effects.files.codemap_file import CodemapFile
from segue.effects.git.status import StatusQuery
from segue.services.codemap import index
from segue.services.codemap.index import CodeMap

MONEY = "def cents(x):\n    return x\n\n\ndef euros(x):\n    return x\n"
CART = "from money import cents\n\n\ndef total():\n    return cents(1)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    repository.commit("one", {"money.py": MONEY, "cart.py": CART, "README.md": "# Shop\n"})
    return repository


def map_of(tree: Repository, name: str = "map.db") -> CodeMap:
    return CodeMap(tree.folder, CodemapFile(tree.folder.parent / "maps" / name))


def users(code: CodeMap, name: str) -> list[str]:
    graph = CodeGraph(code.files())
    return [use.place.name for use in users_of(graph, meant(graph, name)) if use.kind == "call"]


def test_only_what_changed_is_parsed_again(tree: Repository) -> None:
    code = map_of(tree)
    first = code.update()
    assert (first.files, first.parsed, first.left) == (3, 2, 0)
    assert code.update().parsed == 0
    tree.write({"cart.py": CART.replace("total", "whole")})
    assert code.update().parsed == 1
    assert users(code, "cents") == ["whole"]
    (tree.folder / "cart.py").unlink()
    assert code.update().gone == 1
    assert users(code, "cents") == []


def test_a_file_that_was_only_touched_is_not_parsed_again(tree: Repository) -> None:
    code = map_of(tree)
    code.update()
    before = code.file.known()["cart.py"]
    os.utime(tree.folder / "cart.py", (1, 1))
    assert code.update().parsed == 0
    assert code.file.known()["cart.py"].changed_ns > before.changed_ns


def test_a_change_of_the_same_size_at_the_same_moment_is_seen(tree: Repository) -> None:
    code = map_of(tree)
    code.update()
    about = os.stat(tree.folder / "cart.py")
    tree.write({"cart.py": CART.replace("total", "whole")})
    os.utime(tree.folder / "cart.py", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert code.update().parsed == 1


def test_the_map_has_no_text_of_the_code(tree: Repository) -> None:
    tree.write({"keys.py": 'API_KEY = "sk-made-up-and-secret-0123456789"\n'})
    code = map_of(tree)
    code.update()
    code.file.close()
    assert "API_KEY" in [one.name for one in code.files()["keys.py"].definitions]
    assert b"made-up-and-secret" not in code.file.path.read_bytes()
    assert oct(code.file.path.stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "row", "old version", "new version"])
def test_a_map_that_is_broken_or_of_another_version_is_made_anew(tree: Repository, damage: str) -> None:
    code = map_of(tree)
    code.update()
    whole = code.files()
    code.file.close()
    path = code.file.path
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    body = path.read_bytes()
    if damage in ("garbage", "cut", "empty"):
        path.write_bytes({"garbage": b"no database" * 500, "cut": body[:5_000], "empty": b""}[damage])
    else:
        import apsw

        database = apsw.Connection(str(path))
        if damage == "row":
            database.execute("UPDATE files SET symbols = x'00ff00ff' WHERE path = 'cart.py'")
        else:
            database.pragma("user_version", 0 if damage == "old version" else 99)
        database.close()
    again = map_of(tree)
    again.update()
    if damage == "row":  # noticed when it is read
        assert again.files() == {}
        again.update()
    assert again.files() == whole


def test_an_update_that_has_no_time_left_goes_on_the_next_time(
    tree: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BATCH_FILES", 1)
    code = map_of(tree)
    assert code.update(seconds=1e-9).left == 3
    assert code.update().left == 0
    assert users(code, "cents") == ["total"]


def test_the_definitions_that_differ_from_the_last_commit_are_known(tree: Repository) -> None:
    code = map_of(tree)
    code.update()
    assert code.edited() == {}
    tree.write({"money.py": MONEY.replace("euros(x):\n    return x", "euros(x):\n    return 2 * x")})
    tree.write({"new.py": "class A:\n    def f(self):\n        pass\n"})
    code.update()
    assert {path: one.names for path, one in code.edited().items()} == {
        "money.py": ("euros",), "new.py": ("A",),
    }  # fmt: skip
    tree.commit("two")
    code.update()
    assert code.edited() == {}


def test_files_that_nobody_wrote_by_hand_are_left_out(tree: Repository) -> None:
    tree.write({
        ".gitignore": "out/\n", "out/made.py": MONEY, "node_modules/x/index.js": "function x() {}\n",
        "app.min.js": "function x() {}\n", "huge.py": "x = 1\n" * (FILE_BYTES_MAX // 6 + 1),
        "line.js": f"f({'1,' * 20_000})\n",
    })  # fmt: skip
    (tree.folder / "binary.py").write_bytes(b"x = 1\n\0\0")
    found = [one.path for one in listed_files(tree.folder)]
    assert found == ["README.md", "binary.py", "cart.py", "line.js", "money.py"]
    assert source_of(tree.folder, "binary.py") is None
    assert source_of(tree.folder, "line.js") is None
    code = map_of(tree)
    code.update()
    assert code.files()["line.js"].definitions == ()


def test_no_link_is_followed_out_of_the_project(tree: Repository, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("def secret():\n    pass\n")
    tree.commit("folder", {"inner/one.py": MONEY})
    (tree.folder / "inner" / "one.py").unlink()
    (tree.folder / "inner").rmdir()
    (tree.folder / "inner").symlink_to(outside)
    (outside / "one.py").write_text("def elsewhere():\n    pass\n")
    (tree.folder / "link.py").symlink_to(outside / "secret.py")
    assert [one.path for one in listed_files(tree.folder)] == ["README.md", "cart.py", "money.py"]


def test_without_git_the_folder_itself_tells_which_files_there_are(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.ts", ".hidden/c.py", "node_modules/d.js", "build/e.py", "notes.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [one.path for one in listed_files(tmp_path)] == ["a.py", "notes.md", "src/b.ts"]


def test_files_with_odd_names_do_no_harm(tree: Repository) -> None:
    (tree.folder / "größe neu.py").write_text("def größe():\n    pass\n")
    (tree.folder / "a\x1b[31m.py").write_text("def f():\n    pass\n")
    try:
        Path(os.fsdecode(os.fsencode(tree.folder) + b"/bad\xff.py")).write_text("def g():\n    pass\n")
    except OSError:
        pass  # some file systems take only text
    code = map_of(tree)
    code.update()
    assert users(code, "größe") == []
    assert "größe neu.py" in code.files()


def test_two_processes_that_map_at_once_both_end_with_the_whole_map(tree: Repository) -> None:
    tree.write({f"m{n}.py": f"def f{n}():\n    return f{n - 1}()\n" for n in range(150)})
    program = (
        "import sys; from pathlib import Path\n"
        "from segue.effects.files.codemap_file import CodemapFile\n"
        "from segue.services.codemap import index\n"
        "index.BATCH_FILES = 5\n"
        "code = index.CodeMap(Path(sys.argv[1]), CodemapFile(Path(sys.argv[2])))\n"
        "code.update(); print(len(code.files()))\n"
    )
    place = tree.folder.parent / "maps" / "both.db"
    command = [sys.executable, "-c", program, str(tree.folder), str(place)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [one.communicate(timeout=100)[0].strip() for one in both] == ["153"] * 3
    fresh = map_of(tree, "fresh.db")
    fresh.update()
    assert CodeMap(tree.folder, CodemapFile(place)).files() == fresh.files()


class Asked:
    """What git was asked about, by each status."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.words: list[tuple[str, ...]] = []
        monkeypatch.setattr(index, "StatusQuery", self._query)

    def _query(self, root: Path, *words: str) -> StatusQuery:
        self.words.append(words)
        return StatusQuery(root, *words)


def test_git_is_asked_only_about_files_that_may_differ_from_when_all_were_compared(
    tree: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.1)  # what changed at the moment of comparing is compared again
    code = map_of(tree)
    code.update()
    asked = Asked(monkeypatch)
    code.update()
    assert asked.words == [], "nothing has changed"
    tree.write({"cart.py": CART.replace("total", "whole")})
    code.update()
    assert asked.words == [("--untracked-files=all", "--", ":(literal)cart.py")]
    assert {path: one.names for path, one in code.edited().items()} == {"cart.py": ("whole",)}
    tree.write({"cart.py": CART})
    code.update()
    assert code.edited() == {} and len(asked.words) == 2


def test_a_renamed_file_is_compared_with_what_it_was_before(tree: Repository) -> None:
    code = map_of(tree)
    code.update()
    tree.git("mv", "money.py", "coins.py")
    code.update()
    assert {path: one.names for path, one in code.edited().items()} == {"coins.py": ()}
    tree.write({"coins.py": MONEY.replace("euros(x):\n    return x", "euros(x):\n    return 2 * x")})
    code.update()
    assert {path: one.names for path, one in code.edited().items()} == {"coins.py": ("euros",)}


def test_what_was_taken_in_and_not_compared_for_lack_of_time_is_compared_the_next_time(
    tree: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.1)
    code = map_of(tree)
    code.update()
    tree.write({"cart.py": CART.replace("total", "whole")})
    with monkeypatch.context() as patched:
        patched.setattr(CodeMap, "_update_some", lambda *_, **__: None)
        assert code.update().parsed == 1
    assert code.edited() == {}
    code.update()
    assert {path: one.names for path, one in code.edited().items()} == {"cart.py": ("whole",)}
