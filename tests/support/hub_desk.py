"""A user of a fake hub, with a cache and a clock that only counts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._fetch import Fetcher
from pytest_nel.datasets.hf import HubSource
from pytest_nel.datasets.source import Rows
from tests.support.fake_hub import FakeHub

ROWS = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(40)]
NO_NETWORK = "http://127.0.0.1:9"


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def token(value: str) -> dict[str, str]:
    return {"HF_TOKEN": value}


class Desk:
    """A user with a cache, a hub, and a clock that only counts."""

    def __init__(self, hub: FakeHub, cache: Path) -> None:
        self.hub = hub
        self.waits: list[float] = []
        self.env = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(cache), "HF_HOME": str(cache)}

    def source(self, spec: str, env: Mapping[str, str] | None = None) -> HubSource:
        fetcher = Fetcher(sleep=self.waits.append)
        return HubSource(spec, base=Path(), env={**self.env, **(env or {})}.get, fetcher=fetcher)

    def read(
        self, spec: str, limit: int | None = None, env: Mapping[str, str] | None = None
    ) -> Rows:
        return self.source(spec, env).read(limit)

    def refusal(self, spec: str, env: Mapping[str, str] | None = None) -> str:
        with pytest.raises(DataError) as caught:
            self.read(spec, env=env)
        return str(caught.value)
