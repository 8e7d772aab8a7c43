"""Being installed costs nothing, and every module stands alone: each in a fresh interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in ("pytest_nel", "benchmarks")
    for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
]


def python(code: str, *flags: str) -> str:
    """Run code in a new interpreter that sees this checkout; its output."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(module: str) -> set[str]:
    """Names of modules that importing this one loads, beyond an interpreter's own start."""
    code = f"import sys; a = set(sys.modules); import {module}; print(*(set(sys.modules) - a))"
    return set(python(code).split())


def test_the_facade_loads_nothing_heavy() -> None:
    heavy = {"pytest", "httpx", "pydantic", "scipy", "yaml", "asyncio"}

    assert heavy & loaded_by("pytest_nel") == set()


def test_the_entry_point_adds_nothing_heavy_to_pytest() -> None:
    heavy = {"httpx", "pydantic", "scipy", "yaml", "asyncio"}

    own = loaded_by("pytest_nel.plugin") - loaded_by("pytest")

    assert heavy & own == set()


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_alone_and_without_a_warning(module: str) -> None:
    python(f"import {module}", "-W", "error")
