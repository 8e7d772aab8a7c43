"""For this repository's own tests; never shipped in the wheel."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

_TESTS = Path(__file__).parent / "tests"
_WHOLE_RUNS = ("arch", "browser", "chaos", "contract", "docs", "perf", "plugin")

# A busy CI machine misses any deadline, and must fail on the same examples each time.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session", autouse=True)
def _a_place_for_the_folders_of_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Runs that tests start make their temporary folders in ours.

    Each pytest that ends throws away all but the newest folders of its user: in the common place
    that is minutes of work for the first small run after a large one has ended.
    """
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(tmp_path_factory.mktemp("runs"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long tests/chaos goes on."""
    text = "Repeat the tests of kills and resumptions with so many seeds more"
    parser.addoption("--chaos-rounds", type=int, default=0, metavar="N", help=text)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start whole runs take most of the time and depend little on the interpreter."""
    for item in items:
        folder = item.path.relative_to(_TESTS).parts[0] if item.path.is_relative_to(_TESTS) else ""
        if folder in _WHOLE_RUNS and item.get_closest_marker("everywhere") is None:
            item.add_marker("once")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The first seed is always the same: CI meets the same kills each time."""
    if "chaos_seed" in metafunc.fixturenames:
        metafunc.parametrize("chaos_seed", range(metafunc.config.getoption("--chaos-rounds") + 1))
