"""What is built holds the package, its benchmarks and policies, and nothing called so besides."""

import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted(path.name for path in ROOT.glob("benchmarks/*.py"))
POLICIES = sorted(path.name for path in ROOT.glob("policies/*.yaml"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling (group 'test')"),
]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


def test_the_wheel_holds_each_benchmark_once(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        names = wheel.namelist()

    inside = [name for name in names if name.startswith("pytest_nel/benchmarks/")]
    assert sorted(Path(name).name for name in inside) == BENCHMARKS
    assert {name.split("/")[0].split("-")[0] for name in names} == {"pytest_nel"}
    assert "pytest_nel/py.typed" in names
    policies = [name for name in names if name.startswith("pytest_nel/policies/")]
    assert sorted(Path(name).name for name in policies) == POLICIES


def test_the_wheel_works_without_the_checkout(dist: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path)  # noqa: S202  # our own archive
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from pytest_nel.benchmarks import basics\n"
        "print(basics.__file__, len(basics.rows()))\n"
        "from pytest_nel.gate.policy import load_policy\n"
        "print(load_policy('release').name)"
    )

    shown = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout

    basics = str(tmp_path / "pytest_nel/benchmarks/basics.py")
    assert shown.split() == [basics, "72", "release.yaml"]


def test_the_sdist_holds_what_its_tests_need(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}

    wanted = {"pyproject.toml", "LICENSE", "README.md", "conftest.py", "tox.ini"}
    wanted |= {"benchmarks/basics.py", "policies/release.yaml", "tests/arch/test_packaging.py"}
    assert wanted <= names
