"""Sizes and durations as people write them: 2GB, 512MiB, 30d, 12h."""

import re
from decimal import Decimal

_BYTES = {"b": 1} | {
    f"{letter}{kind}": base ** (power + 1)
    for kind, base in (("b", 1000), ("ib", 1024))
    for power, letter in enumerate("kmgt")
}
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NUMBER = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([A-Za-z]*)\s*", re.ASCII)
_LARGEST = 2**62  # what is larger neither fits a database's integer nor any disk


def size_of(text: str) -> int:
    """Read ``2GB`` (powers of 1000), ``512MiB`` (powers of 1024) or ``4096`` as bytes.

    Raises:
        ValueError: It is no size; a bare ``2G`` is none, since tools disagree about its value.
    """
    value = _product(text, {"": 1} | _BYTES)
    if value is None or value > _LARGEST:
        msg = f"expected a size such as 2GB or 512MiB (kB MB GB TB, KiB MiB GiB TiB), got {text!r}"
        raise ValueError(msg)
    return int(value)


def seconds_of(text: str) -> float:
    """Read ``30d``, ``12h``, ``90m`` (minutes, also ``90min``), ``45s`` or ``2w`` as seconds.

    Raises:
        ValueError: It is no duration; a number without a unit is none.
    """
    value = _product(text, _SECONDS)
    if value is None:
        msg = f"expected a duration such as 30d or 12h (s m h d w), got {text!r}"
        raise ValueError(msg)
    return float(value)


def size_text(count: int) -> str:
    """``3.2 MB``; powers of 1000, as :func:`size_of` reads them."""
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.95 or unit == "TB":
            break
        value /= 1000
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def _product(text: str, units: dict[str, int]) -> Decimal | None:
    """The number times its unit, exactly; None when it cannot be read."""
    found = _NUMBER.fullmatch(text)
    factor = units.get(found[2].lower()) if found else None
    return None if found is None or factor is None else Decimal(found[1]) * factor
