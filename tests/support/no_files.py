"""The half of a sandbox that tests of commands never ask for."""

from pathlib import Path


class NoFiles:
    """Refuses every transfer of files; the endpoint is where it is."""

    async def upload(self, source: Path, target: str) -> None:
        raise NotImplementedError

    async def download(self, source: str, target: Path) -> None:
        raise NotImplementedError

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        raise NotImplementedError

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        raise NotImplementedError

    def resolve_outside_endpoint(self, url: str) -> str:
        return url
