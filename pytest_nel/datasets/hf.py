"""Rows of a dataset of the Hugging Face hub: ``hf://org/name?config=…&split=…&revision=…``."""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pytest_nel.core.errors import DataError
from pytest_nel.datasets.source import Rows

_COMMIT = re.compile(r"@([0-9a-f]{40})/")
_PARAMETERS = ("config", "revision", "split")


class HubSource:
    """A split of a dataset; the commit that was loaded is its revision.

    Args:
        spec: The whole address.
        base: Not used; a hub has no folders.
        load: Loads a split, as ``datasets.load_dataset`` does; None means that one.
    """

    def __init__(
        self, spec: str, *, base: Path, load: Callable[..., Any] | None = None
    ) -> None:  # Any: the package has no types
        del base
        self._spec = spec
        self._load = load
        self._id, self._asked = _parsed(spec)

    def read(self, limit: int | None) -> Rows:
        """Download (or take from the cache) and read the split, ``test`` by default.

        Raises:
            DataError: The extra is not installed, or the hub has no such dataset.
        """
        load = self._load or _hub_loader(self._spec)
        revision = self._asked.get("revision")
        split = self._asked.get("split", "test")
        try:
            loaded = load(self._id, name=self._asked.get("config"), split=split, revision=revision)
            rows = list(islice(loaded, limit))
        except (OSError, ValueError, RuntimeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            msg = f"dataset {self._spec}: cannot be loaded: {reason}"
            raise DataError(msg) from error
        return Rows(rows, lambda index: f"{self._id} {split}[{index}]", _commit(loaded) or revision)


def _parsed(spec: str) -> tuple[str, Mapping[str, str]]:
    parts = urlsplit(spec)
    name = f"{parts.netloc}{parts.path}".strip("/")
    given = parse_qsl(parts.query, keep_blank_values=True)
    for key, value in given:
        if key not in _PARAMETERS or not value or [pair[0] for pair in given].count(key) > 1:
            msg = (
                f"dataset {spec}: expected each of {', '.join(_PARAMETERS)} at most once, "
                f"got {key}={value}"
            )
            raise DataError(msg)
    if not name or parts.fragment:
        msg = f"dataset {spec}: expected hf://org/name?config=…&split=…&revision=…"
        raise DataError(msg)
    return name, dict(given)


def _hub_loader(spec: str) -> Callable[..., Any]:
    try:
        from datasets import load_dataset  # noqa: PLC0415  # an extra, and heavy
        from datasets.exceptions import DatasetsError  # noqa: PLC0415  # as above
    except ImportError as error:
        msg = f"dataset {spec} needs the package datasets: pip install 'pytest-nel[hf]'"
        raise DataError(msg) from error

    def load(*args: Any, **options: Any) -> Any:
        try:
            return load_dataset(*args, **options)
        except DatasetsError as error:
            raise ValueError(str(error)) from error

    return load


def _commit(loaded: Any) -> str | None:
    """The commit in the addresses of the files that were loaded, also from the cache."""
    files = getattr(getattr(loaded, "info", None), "download_checksums", None) or {}
    commits = {match[1] for name in files if (match := _COMMIT.search(str(name)))}
    return commits.pop() if len(commits) == 1 else None
