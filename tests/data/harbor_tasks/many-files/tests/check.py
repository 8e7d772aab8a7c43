"""The package is used, with other prices too."""

import sys

sys.path.insert(0, ".")
from shop import total  # noqa: E402
from shop.prices import PRICES  # noqa: E402

assert total(["apple", "pear", "apple"]) == 10
PRICES["apple"] = 10
assert total(["apple"]) == 10
