"""Writes the benchmark that the speed cases run, of any size.

``python tests/perf/rows.py 2000 DIR`` leaves ``bench_perf.py`` and ``perf.jsonl`` in DIR. The gold
answer stands in the question as ``[gold=…]``, where the mock endpoint finds it.
"""

import argparse
import json
from pathlib import Path

BENCHMARK = '''\
"""Sums, one a row: cheap to ask, cheap to score."""

from pytest_nel import ScorerInput, benchmark, scorer


@benchmark(
    name="perf",
    dataset="perf.jsonl",
    prompt="{question}",
    target_field="target",
)
@scorer
def perf(sample: ScorerInput) -> bool:
    """Whether the answer is the number."""
    return sample.response.strip() == str(sample.target)
'''


def row(index: int) -> dict[str, str]:
    """Question ``index``: all differ, all are about as long."""
    left, right = index, 7 * index + 3
    gold = str(left + right)
    question = f"[gold={gold}] What is {left} + {right}? Answer with the number alone."
    return {"id": f"q{index:06d}", "question": question, "target": gold}


def write_benchmark(directory: Path, count: int) -> Path:
    """Write both files; the path of the benchmark's."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "perf.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row(index)) + "\n" for index in range(count))
    path = directory / "bench_perf.py"
    path.write_text(BENCHMARK, encoding="utf-8")
    return path


def main(argv: list[str] | None = None) -> None:
    """Write a benchmark of so many rows and say where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args(argv)
    print(write_benchmark(arguments.directory, arguments.count))


if __name__ == "__main__":
    main()
