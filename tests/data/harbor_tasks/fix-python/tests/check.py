"""Calls the function."""

import sys

sys.path.insert(0, ".")
from median import median  # noqa: E402

assert median([3, 1, 2]) == 2
assert median([4, 1, 2, 3]) == 2.5
try:
    median([])
except ValueError:
    pass
else:
    raise AssertionError("of none there is no median")
