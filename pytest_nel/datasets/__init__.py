"""Rows from somewhere; :func:`pytest_nel.datasets.load.load_rows` is the door."""

from pytest_nel.core.registry import Registry
from pytest_nel.datasets.source import Source

#: By scheme: ``hf://…`` is ``hf``, a path is ``local``.
REGISTRY: Registry[Source] = Registry(
    "datasets",
    {
        "hf": "pytest_nel.datasets.hf:HubSource",
        "local": "pytest_nel.datasets.local:LocalSource",
    },
)
