"""Which service gets which GPU of this machine."""

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_nel.config.interpolate import getenv
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError

_PATIENCE = 20.0


def visible() -> list[str] | None:
    """The GPUs there are (blocking); None where that is not known.

    ``CUDA_VISIBLE_DEVICES`` says it, else the driver's own tool.
    """
    told = getenv("CUDA_VISIBLE_DEVICES")
    if told is not None:
        return [device.strip() for device in told.split(",") if device.strip()]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603  # the driver's
            [tool, "--query-gpu=index", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def assign(
    services: Mapping[str, PluginSpec], there: Callable[[], Sequence[str] | None] = visible
) -> dict[str, list[int | str]]:
    """Give those that ask for a number of GPUs some of their own.

    They get, in the order of the suite, what no other service names. One that shares takes the
    first of all. Where it is not known what there is, GPUs are counted from 0 on.

    Args:
        services: Those that run together.
        there: Tells which there are.

    Returns:
        Service → its GPUs, for those that ask for a number.

    Raises:
        ConfigError: There are not enough.
    """
    counts = {name: count for name, spec in services.items() if (count := _count(spec))}
    if not counts:
        return {}
    pool = there()
    taken = {gpu for spec in services.values() for gpu in _names(spec)}
    found: dict[str, list[int | str]] = {}
    for name, count in counts.items():
        shares = services[name].options.get("share_gpus") is True
        free = _all(pool, count + len(taken))
        free = free if shares else [gpu for gpu in free if gpu not in taken]
        if len(free) < count:
            raise ConfigError(_too_few(name, count, free, pool))
        mine = free[:count]
        found[name] = [int(gpu) if gpu.isdecimal() else gpu for gpu in mine]
        taken |= set() if shares else set(mine)
    return found


def shared(services: Mapping[str, PluginSpec]) -> list[str]:
    """A line for each GPU that several services name though none says ``share_gpus``."""
    users: dict[str, list[str]] = {}
    for name, spec in services.items():
        for gpu in dict.fromkeys(_names(spec)):
            users.setdefault(gpu, []).append(name)
    return [
        f"GPU {gpu} is named by services {', '.join(names)}: they share its memory; say "
        "share_gpus: true where that is meant"
        for gpu, names in users.items()
        if len(names) > 1
        and not any(services[name].options.get("share_gpus") is True for name in names)
    ]


def _all(pool: Sequence[str] | None, enough: int) -> list[str]:
    return [str(number) for number in range(enough)] if pool is None else list(pool)


def _too_few(name: str, count: int, free: Sequence[str], pool: Sequence[str] | None) -> str:
    return (
        f"services.{name}.gpus: {count} are asked for, and of the {len(pool or ())} there are "
        f"({','.join(pool or ()) or 'none'}) the other services leave {len(free)}: ask for fewer, "
        "or say share_gpus: true"
    )


def _count(spec: PluginSpec) -> int:
    wanted: Any = spec.options.get("gpus")
    return wanted if isinstance(wanted, int) and not isinstance(wanted, bool) else 0


def _names(spec: PluginSpec) -> list[str]:
    wanted: Any = spec.options.get("gpus")
    return [str(gpu) for gpu in wanted] if isinstance(wanted, list) else []
