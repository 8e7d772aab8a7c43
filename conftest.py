"""For this repository's own tests; never shipped in the wheel."""

import os

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

# A busy CI machine misses any deadline, and must fail on the same examples each time.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long tests/chaos goes on."""
    text = "Repeat the tests of kills and resumptions with so many seeds more"
    parser.addoption("--chaos-rounds", type=int, default=0, metavar="N", help=text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The first seed is always the same: CI meets the same kills each time."""
    if "chaos_seed" in metafunc.fixturenames:
        metafunc.parametrize("chaos_seed", range(metafunc.config.getoption("--chaos-rounds") + 1))
