"""For this repository's own tests; never shipped in the wheel."""

import os

from hypothesis import settings

pytest_plugins = ["pytester"]

# A busy CI machine misses any deadline, and must fail on the same examples each time.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
