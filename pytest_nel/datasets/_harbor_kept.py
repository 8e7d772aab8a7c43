"""What a run has fetched for Harbor datasets, for runs that may ask nobody."""

import json
import os
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._hub import Getenv, offline

FRESH = 300.0
"""Seconds for which a registry is not asked for again: a run reads it more than once."""


def harbor_cache(env: Getenv) -> Path:
    """The folder of all that is fetched: ``harbor`` in ``NEL_CACHE_DIR`` or ``~/.cache``."""
    caches = env("XDG_CACHE_HOME") or "~/.cache"
    own = env("NEL_CACHE_DIR") or f"{caches}/pytest-nel"
    return Path(own).expanduser() / "harbor"


def kept_registry(
    where: str, env: Getenv, fetch: Callable[[], bytes], clock: Callable[[], float] = time.time
) -> Any:  # Any: checked by who asks
    """A registry of the web: as it is, or as it was when it was fetched last.

    The copy is read where the network may not be asked, and for :data:`FRESH` seconds.

    Args:
        where: Its address.
        env: Gives variables.
        fetch: Gets it.
        clock: Unix time.

    Raises:
        DataError: It is no JSON, or may not be asked for and there is no copy.
    """
    copy = harbor_cache(env) / f"registry-{_mark(where)}.json"
    forbids = offline(env)
    try:
        kept = copy.read_bytes() if forbids or _age(copy, clock) < FRESH else None
    except OSError:
        kept = None
    if kept is None and forbids:
        msg = (
            f"the Harbor registry {where} is not in {copy.parent}, and {forbids} forbids asking "
            "for it: run once where there is a network and bring that folder (NEL_CACHE_DIR), "
            "save the registry and name it by HARBOR_REGISTRY=FILE, or put the folder of tasks "
            "into the one that HARBOR_DATASETS_DIR names"
        )
        raise DataError(msg)
    content = fetch() if kept is None else kept
    try:
        raw = json.loads(content)
    except (ValueError, RecursionError) as error:
        msg = (
            f"the Harbor registry {where} is no JSON ({error}): HARBOR_REGISTRY may name a file or "
            "an https:// address, and a dataset may lie in a folder"
        )
        raise DataError(msg) from error
    if kept is None:
        _keep(copy, content)
    return raw


def newest_commit(url: str, env: Getenv, ask: Callable[[], str]) -> str:
    """The newest commit of a repository: as it says, or as it said last where nobody is asked.

    Args:
        url: The repository.
        env: Gives variables.
        ask: Asks it.

    Raises:
        DataError: It may not be asked, and never was.
    """
    copy = harbor_cache(env) / f"newest-{_mark(url)}"
    forbids = offline(env) if of_network(url) else None
    if forbids is None:
        commit = ask()
        _keep(copy, commit.encode())
        return commit
    try:
        return copy.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        what = f"the newest commit of {url}"
        raise not_here(what, forbids, copy.parent) from error


def not_here(what: str, forbids: str, cache: Path) -> DataError:
    """The error of what is not in the cache and may not be asked for."""
    return DataError(
        f"{what} is not in {cache}, and {forbids} forbids asking for it: run once where there is "
        "a network, and bring that folder (NEL_CACHE_DIR)"
    )


def of_network(url: str) -> bool:
    """Whether git asks another machine for a repository."""
    return not (url.startswith(("/", "./", "../", "~", "file://")) or Path(url).is_dir())


def _mark(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:24]


def _age(path: Path, clock: Callable[[], float]) -> float:
    return abs(clock() - path.stat().st_mtime)


def _keep(copy: Path, content: bytes) -> None:
    """For later; a cache that cannot be written costs no run."""
    part = copy.with_name(f".{copy.name}.{os.getpid()}.part")
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(copy)
    except OSError:
        return
