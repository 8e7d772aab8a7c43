"""Signpost: in a checkout the built-in benchmarks live in the top-level ``benchmarks/``."""
# The only file here, and never shipped: a wheel has the real folder in its place.

from pathlib import Path

__path__.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
