"""Each test of these closes what it has opened to the docker daemon, or fails itself.

Otherwise the garbage collector closes it, with a warning that fails whichever test runs then.
"""

from collections.abc import Iterator

import pytest

from tests.contract.connections import open_connections
from tests.support.processes import until

_WITHIN = 20.0
"""Seconds for a thread that fetches what nobody waits for any more."""


@pytest.fixture(autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    yield

    assert until(lambda: not open_connections(), _WITHIN), open_connections()
