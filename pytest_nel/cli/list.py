"""List the built-in benchmarks, each with the first line of its description."""

import argparse
import ast
import sys
from importlib.util import find_spec
from pathlib import Path

from pytest_nel.authoring.catalog import builtin_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing: the command has no options."""
    parser.usage = "nel list"


def main(options: argparse.Namespace) -> int:
    """Print the list."""
    if options.rest:
        options.usage_error(f"takes no arguments, got {' '.join(options.rest)}")
    summaries = {name: _summary(name) for name in builtin_names()}
    width = max(map(len, summaries), default=0)
    for name, summary in sorted(summaries.items()):
        sys.stdout.write(f"{name:{width}}  {summary}".rstrip() + "\n")
    return 0


def _summary(name: str) -> str:
    """The first line of the module's docstring, read and not run: a benchmark may need extras."""
    spec = find_spec(f"pytest_nel.benchmarks.{name}")
    if spec is None or spec.origin is None:
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
