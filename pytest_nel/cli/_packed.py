"""Try what is packed where it lies: the data and the modules that did not come along are missed.

Run as a program of its own, in which the folder that it comes from is on no path. Prints one JSON
object: ``error``, or null, and whether the scorer is to ``blame`` for it.
"""

import argparse
import json
import sys
from pathlib import Path

from pytest_nel.authoring.catalog import find
from pytest_nel.cli.validate import tested
from pytest_nel.core.errors import NelError


def main() -> None:
    """Load a benchmark and, where that is asked for, its data, and try its scorer on them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("app", type=Path)
    parser.add_argument("target")
    parser.add_argument("--selftest", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(options.app))
    said = _tried(options.target, selftest=options.selftest)
    sys.stdout.write(f"\n{json.dumps(said)}")  # a line of its own, whatever else was printed


def _tried(target: str, *, selftest: bool) -> dict[str, object]:
    try:
        find(target, base=Path())
        if not selftest:
            return {"error": None, "blame": False}
        facts = tested(target, None)
    except (NelError, OSError) as error:
        return {"error": str(error), "blame": False}
    wrong = not facts["fine"] and any(one["reward"] is not None for one in facts["trials"])
    return {"error": None if facts["fine"] else str(facts["selftest"]), "blame": wrong}


if __name__ == "__main__":
    main()
