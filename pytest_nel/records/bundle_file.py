"""Bundles as files: read in one way, and refused in the same words, by whoever reads them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject
from pytest_nel.records._bundle_shape import trouble_of
from pytest_nel.records.plans import PLAN, read_plan


def read_bundle(file: Path) -> JsonObject:
    """The object of an ``eval-*.json``, of ours or of the reference system.

    Raises:
        ConfigError: It cannot be read, or its numbers cannot be trusted.
    """
    bundle: JsonObject = {}
    try:
        bundle = json.loads(file.read_text(encoding="utf-8"))
        trouble = trouble_of(bundle)
    except (OSError, ValueError, RecursionError) as error:
        trouble = f"{type(error).__name__}: {error}"
    if trouble is not None:
        msg = (
            f"{file}: this bundle cannot be read: {trouble}; nel eval report --rebuild RUN makes "
            "it again, or move it away"
        )
        raise ConfigError(msg)
    return bundle


def refuse_stale(file: Path, bundle: Mapping[str, Any]) -> None:
    """Refuse a bundle of an earlier turn than that whose plan lies beside it.

    Raises:
        ConfigError: It is one, or the plan cannot be read.
    """
    if not (file.parent / PLAN).is_file():
        return
    if read_plan(file.parent).get("turn", 1) > (bundle.get("turns") or 1):
        run = file.parent.parent
        msg = (
            f"{file}: the bundle is older than the records beside it: "
            f"nel eval report --rebuild {run} makes it from the journals"
        )
        raise ConfigError(msg)
