"""The package itself: what it says of itself, what is in it, and how much of a disk it takes."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.install.conftest import TOOLS, done

from segue import __version__

pytestmark = pytest.mark.timeout(900)
BYTES_MAX = 36_000_000
PACKAGES_MAX = 6


def test_twine_finds_nothing_to_complain_about(built: Path, environment: dict[str, str]) -> None:
    files = sorted(built.iterdir())
    assert len(files) == 2
    told = done(TOOLS / "twine", "check", "--strict", *files, cwd=built, env=environment)
    assert told.count("PASSED") == 2


def test_pyroma_gives_ten_of_ten(built: Path, environment: dict[str, str]) -> None:
    [source] = built.glob("*.tar.gz")
    told = done(TOOLS / "pyroma", "--file", source, cwd=built, env=environment)
    assert "Final rating: 10/10" in told, told


def test_the_wheel_has_the_version_the_licences_and_the_types_and_no_tests(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        told = file.read(f"segue-{__version__}.dist-info/METADATA").decode()
    assert "segue/py.typed" in names
    for licence in ("LICENSE", "NOTICE"):
        assert f"segue-{__version__}.dist-info/licenses/{licence}" in names
    assert not [name for name in names if name.startswith(("tests/", "bench/", "tools/", "demo/"))]
    assert re.search(r"^Author-email: .+ <\S+@\S+>$", told, re.MULTILINE)
    assert "Classifier: Typing :: Typed" in told and "Project-URL: Repository, https://" in told


def test_tests_of_the_source_distribution_run(built: Path, tmp_path: Path) -> None:
    [source] = built.glob("*.tar.gz")
    with tarfile.open(source) as file:
        file.extractall(tmp_path, filter="data")
    [folder] = [path for path in tmp_path.iterdir() if path.name.startswith("segue-")]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/unit/journal", "tests/unit/graphs"],
        cwd=folder, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": f"{folder}/src:{folder}"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_base_install_is_small(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "venv"
    done(sys.executable, "-m", "venv", "--without-pip", folder, cwd=tmp_path, env=environment)
    done(sys.executable, "-m", "pip", "--python", folder, "install", "segue", cwd=tmp_path, env=environment)
    [packages] = folder.glob("lib/python*/site-packages")
    names = sorted(path.name.partition("-")[0] for path in packages.glob("*.dist-info"))
    assert len(names) <= PACKAGES_MAX, names
    assert any(packages.rglob("segue/**/*.pyc")), "pip makes byte code, which counts"
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    print(f"{len(names)} packages, {size / 1e6:.1f} MB")
    assert size <= BYTES_MAX, f"{size:,} bytes: {names}"
