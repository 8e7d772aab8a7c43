"""The pages of the built-in benchmarks say what their definitions say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_built_in_benchmark_has_the_page_of_its_definition() -> None:
    done = subprocess.run(
        [sys.executable, ".ci/benchmark_pages.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    hint = "run python .ci/benchmark_pages.py"
    assert (done.returncode, done.stdout) == (0, ""), f"{done.stdout}{done.stderr}{hint}"
