"""What tells a picture from others."""

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

_SIZE = 16  # bytes


def picture(place: str) -> str:
    """What tells a picture from others: the digest of a file, else the text itself."""
    path = Path(place)
    try:
        stat = path.stat()
    except (OSError, ValueError):  # a URL, or data
        return place
    return _content(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4096)
def _content(path: Path, changed: int, size: int) -> str:
    del changed, size  # part of the cache's key
    return blake2b(path.read_bytes(), digest_size=_SIZE).hexdigest()
