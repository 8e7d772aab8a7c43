"""Write docs/reference/benchmarks: a page for each built-in benchmark, from its definition.

``python .ci/benchmark_pages.py [--check]``; with ``--check`` nothing is written, and the exit
status is 1 where a page is not what it should be.
"""

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_nel import Benchmark, SandboxSpec
from pytest_nel.authoring.catalog import builtin_names, find
from pytest_nel.cli._benchmarks import known

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference" / "benchmarks"


def page(name: str) -> str:
    """The page of a benchmark in Markdown."""
    found = find(name, base=ROOT)
    words = (import_module(_module(found)).__doc__ or "").strip().replace("``", "`")
    first, _, rest = words.partition("\n")
    lines = [f"# `{name}`", "", first, rest.rstrip(), "", "| | |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in _facts(name, found) if value]
    prompt = found.prompt if isinstance(found, Benchmark) and "\n" in str(found.prompt) else ""
    if prompt:
        lines += ["", "It asks:", "", *(f"    {line}".rstrip() for line in str(prompt).split("\n"))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _module(found: Any) -> str:  # Any: a Benchmark or a class
    return (
        f"pytest_nel.benchmarks.{Path(found.file).stem}"
        if isinstance(found, Benchmark)
        else str(found.__module__)
    )


def _facts(name: str, found: Any) -> list[tuple[str, str]]:
    facts = known(name)
    rows = [("problems", "" if facts.size is None else f"{facts.size:,}")]
    if isinstance(found, Benchmark):
        data = found.dataset
        sandbox = found.sandbox
        image = sandbox.image if isinstance(sandbox, SandboxSpec) else sandbox
        rows += [
            ("data", f"`{data}`" if isinstance(data, str) else "in the definition"),
            ("gold answer", f"`{found.target_field}`" if found.target_field else ""),
            ("judged by", facts.answer if found.judge is None else f"a model, `{found.judge}`"),
            ("further scores", ", ".join(f"`{one}`" for one in found.scorers)),
            ("runs code in", f"`{image}`" if image else ""),
        ]
    return [*rows, ("needs", facts.needs)]


def index(names: list[str]) -> str:
    """The list of all pages."""
    lines = ["# Built-in benchmarks", ""]
    lines += [f"- [`{name}`]({name}.md): {known(name).description}" for name in names]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """File names and texts."""
    names = sorted(builtin_names())
    return {"README.md": index(names), **{f"{name}.md": page(name) for name in names}}


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    if check:
        old = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
        sys.stdout.write("".join(f"{FOLDER / name} is not as its definition\n" for name in old))
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name in there.keys() - wanted:
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
