"""What turns a benchmark's name into problems and verdicts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.registry import Registry

#: Schemes of the reference system that have no environment here yet.
_LATER = frozenset({"container", "lm-eval", "skills", "vlmevalkit"})


class FromName(Protocol):
    """An environment that can be made from what a suite says."""

    @classmethod
    def from_name(
        cls, name: str, *, base: Path, limit: int | None, params: Mapping[str, Any]
    ) -> EvalEnvironment:
        """Make it; ``params`` are the suite's, and one that is not understood is an error."""
        ...


#: By scheme of the name; one without a scheme is ``builtin``: a file or a built-in benchmark.
REGISTRY: Registry[FromName] = Registry(
    "environments",
    {
        "builtin": "pytest_nel.environments.builtin:BenchmarkEnvironment",
        "gym": "pytest_nel.environments.gym:GymEnvironment",
        "harbor": "pytest_nel.environments.harbor:HarborEnvironment",
    },
)


def resolve(
    name: str,
    *,
    base: Path,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> EvalEnvironment:
    """Make the environment that ``benchmarks[].name`` names, its data loaded and checked.

    Args:
        name: ``file.py``, ``file.py:benchmark``, a built-in's name, or ``scheme://…``.
        base: The folder that a relative file is relative to.
        limit: Load no more than the first so many problems. A class that does not take
            ``num_examples`` loads all it has.
        params: For a ``@benchmark``, values for keys of its ``extra``; for a class, arguments.

    Raises:
        ConfigError: There is no such benchmark, or it, its data or the params are unusable.
    """
    scheme, found, _ = name.partition("://")
    if found and scheme in _LATER:
        msg = f"benchmark {name!r}: {scheme}:// is not supported yet"
        raise ConfigError(msg)
    cls = REGISTRY.load(scheme if found else "builtin")
    return cls.from_name(name, base=base, limit=limit, params=params or {})
