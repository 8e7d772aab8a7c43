"""Gate policies by name: those that come with the package, and any file."""

from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.registry import unknown

_SUFFIX = ".yaml"


def policies() -> dict[str, Path]:
    """The policies that come along, by name."""
    here = Path(__file__).resolve().parents[1] / "policies"
    folder = here if here.is_dir() else here.parents[1] / "policies"  # a checkout's top level
    return {path.stem: path for path in sorted(folder.glob(f"*{_SUFFIX}"))}


def find_policy(name: str) -> Path:
    """The file of a policy: a path, or the name of one that comes along.

    Raises:
        ConfigError: There is no such file, and no policy of that name.
    """
    path = Path(name)
    if path.exists():
        return path
    known = policies()
    if name in known:
        return known[name]
    if path.suffix or len(path.parts) > 1:
        msg = f"Gate policy not found: {name}; there is no such file"
        raise ConfigError(msg)
    error = unknown("gate policy", name, sorted(known))
    raise error
