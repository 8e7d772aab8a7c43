"""Rows from somewhere; :func:`pytest_nel.datasets.load.load_rows` is the door."""

from pathlib import Path

from pytest_nel.core.registry import Registry
from pytest_nel.datasets.source import Source

#: By scheme: ``hf://…`` is ``hf``, a path is ``local``, ``https://…`` and ``http://…`` are ``web``.
REGISTRY: Registry[Source] = Registry(
    "datasets",
    {
        "hf": "pytest_nel.datasets.hf:HubSource",
        "local": "pytest_nel.datasets.local:LocalSource",
        "web": "pytest_nel.datasets.web:WebSource",
    },
)
WEB = frozenset({"http", "https"})


def source_of(spec: str, base: Path) -> Source:
    """The source behind a path or an address.

    Raises:
        UnknownName: The address is of a scheme that nothing here reads.
        DataError: The address makes no sense.
    """
    scheme, found, _ = spec.partition("://")
    kind = scheme if found else "local"
    return REGISTRY.load("web" if kind in WEB else kind)(spec, base=base)
