"""What is installed from: the package, built here, and a folder of wheels in the place of the index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-package" / "bin"
"""What `make test-install` puts there: build, pipx, pyroma, twine and uv."""
SECONDS = 600
INDEX_WORDS = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "NO_PROXY", "http", "no_proxy")
"""Variables that say how the real index is reached; only the folder of wheels is filled with their help."""
REACHES_INDEX = {name: value for name, value in os.environ.items() if name.startswith(INDEX_WORDS)}
HOME = os.environ.get("HOME", "")


def done(*words: str | Path, cwd: Path, env: Mapping[str, str], code: int = 0) -> str:
    """Run a command; what it printed, or a failure that shows all of it."""
    ran = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
    )  # fmt: skip
    assert ran.returncode == code, f"{words} exited with {ran.returncode}:\n{ran.stdout}"
    return ran.stdout


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository, as a clone has them."""
    folder = tmp_path_factory.mktemp("clone") / "segue"
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listing.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def built(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    if not (TOOLS / "twine").exists():
        pytest.fail("run `make test-install`, which installs the tools that these tests need")
    folder = tmp_path_factory.mktemp("dist")
    env = {**REACHES_INDEX, "HOME": HOME, "PATH": os.environ["PATH"]}
    done(TOOLS / "python", "-m", "build", "--outdir", folder, clone, cwd=folder, env=env)
    return folder


@pytest.fixture(scope="session")
def index(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels: Segue, what it needs, and what building it from a clone needs."""
    folder = tmp_path_factory.mktemp("index")
    [wheel] = built.glob("*.whl")
    env = {**REACHES_INDEX, "HOME": HOME, "PATH": os.environ["PATH"]}
    done(
        sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "-d", folder,
        wheel, "hatchling", "pip", "setuptools", cwd=folder, env=env,
    )  # fmt: skip
    return folder


@pytest.fixture
def environment(index: Path, tmp_path: Path) -> dict[str, str]:
    """A user's environment: an empty home, the tools that install, the folder in place of the index."""
    home = tmp_path / "home"
    home.mkdir()
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("pipx", "uv", "uvx"):
        (tools / name).symlink_to(TOOLS / name)
    return {
        "HOME": str(home), "PATH": f"{home}/.local/bin:{tools}:/usr/bin:/bin", "LANG": "C.UTF-8",
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(index),
        "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never", "PIPX_DEFAULT_PYTHON": sys.executable,
        "GIT_CONFIG_GLOBAL": os.environ["GIT_CONFIG_GLOBAL"], "GIT_CONFIG_NOSYSTEM": "1",
    }  # fmt: skip
