"""Names made of attempts: the item's name, safe directory names, digests, order, shards."""

import hashlib
import json
import random
import re
from typing import Any

_UNSAFE = re.compile(r"[^a-zA-Z0-9_.-]")
_NAME_LIMIT = 60


def safe_name(name: str) -> str:
    """A directory or node-id part: ASCII, at most 60 characters, distinct for distinct names."""
    safe = _UNSAFE.sub("_", name)
    if safe == name and len(name) <= _NAME_LIMIT:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[: _NAME_LIMIT - 9]}-{mark}"


def item_name(benchmark: str, problem_idx: int, repeat: int) -> str:
    """``capitals[0-r0]``."""
    return f"{safe_name(benchmark)}[{problem_idx}-r{repeat}]"


def digest(value: Any) -> str:  # Any: every JSON-like value has a digest
    """``sha256:…`` of the value's canonical JSON (sorted keys, no spaces)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def problem_order(size: int, seed: int | None) -> list[int]:
    """The order in which a dataset's rows are attempted: that of ``random.Random(seed)``.

    Without a seed, it is the dataset's own.
    """
    problems = list(range(size))
    if seed is not None:
        random.Random(seed).shuffle(problems)  # noqa: S311 - an order, no secret
    return problems


def shard_range(total: int, index: int, count: int) -> tuple[int, int]:
    """Half-open range of positions that shard ``index`` of ``count`` owns (contiguous, fair).

    Raises:
        ValueError: The index is not in [0, count).
    """
    if total <= 0 or count <= 0:
        return 0, 0
    if not 0 <= index < count:
        msg = f"shard_idx={index} out of range [0, {count})"
        raise ValueError(msg)
    size, extra = divmod(total, count)
    start = index * size + min(index, extra)
    return start, start + size + (1 if index < extra else 0)


def share_of(limit: int, index: int, count: int) -> int:
    """What process ``index`` of ``count`` may use: together the limit, each at least 1."""
    start, end = shard_range(limit, index, count)
    return max(1, end - start)
