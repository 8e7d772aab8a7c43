"""Times as commands print and read them."""

import re
from datetime import UTC, datetime

_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800, "m": 2_592_000}
_AGE = re.compile(r"([0-9]{1,6})([hdwm])", re.ASCII)
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def utc(when: float | None) -> str | None:
    """``2026-03-02T09:14:51Z`` of a Unix time."""
    return None if when is None else datetime.fromtimestamp(when, UTC).strftime(_FORMAT)


def ago(started: str, ended: str | None, now: float | None = None) -> str:
    """`` (12 min ago)``, or `` (took 12 min)`` of what has ended."""
    begin = datetime.strptime(started, _FORMAT).replace(tzinfo=UTC)
    if ended is None:
        end = datetime.now(UTC) if now is None else datetime.fromtimestamp(now, UTC)
        return f" ({span((end - begin).total_seconds())} ago)"
    end = datetime.strptime(ended, _FORMAT).replace(tzinfo=UTC)
    return f" (took {span((end - begin).total_seconds())})"


def span(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3.5 h``, ``2.1 d``."""
    seconds = max(0.0, seconds)
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} d"


def age_of(text: str) -> float:
    """Read ``12h``, ``7d``, ``2w`` or ``1m`` (a month, 30 days) as seconds.

    Raises:
        ValueError: It is no age.
    """
    found = _AGE.fullmatch(text.strip())
    if found is None:
        msg = f"expected an age such as 12h, 7d, 2w or 1m (30 days), got {text!r}"
        raise ValueError(msg)
    return float(found[1]) * _SECONDS[found[2]]
