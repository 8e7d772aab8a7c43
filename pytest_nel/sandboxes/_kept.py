"""What is kept of an output that may be larger than memory: its beginning and its end."""

from collections import deque


class Kept:
    """Bytes in a bounded space; of too many, the middle is left out and the place is marked."""

    def __init__(self, limit: int) -> None:
        self._room = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._in_tail = 0
        self._left_out = 0

    def add(self, data: bytes) -> None:
        """Take more of it."""
        if len(self._head) < self._room:
            cut = self._room - len(self._head)
            self._head += data[:cut]
            data = data[cut:]
        if not data:
            return
        self._tail.append(data)
        self._in_tail += len(data)
        while self._in_tail - len(self._tail[0]) >= self._tail_limit:
            gone = self._tail.popleft()
            self._in_tail -= len(gone)
            self._left_out += len(gone)

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return self._left_out + self._in_tail > self._tail_limit

    def value(self) -> bytes:
        """All of it, or beginning, mark and end."""
        tail = b"".join(self._tail)
        if not self.truncated:
            return bytes(self._head) + tail
        missing = self._left_out + len(tail) - self._tail_limit
        mark = f"\n[... {missing:,} bytes left out ...]\n".encode("ascii")
        return bytes(self._head) + mark + tail[len(tail) - self._tail_limit :]
