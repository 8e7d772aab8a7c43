"""What an exporter is, and what it is given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_nel.core.types import JsonObject
from pytest_nel.exporters.hidden import Hidden
from pytest_nel.exporters.samples import Samples


@dataclass(frozen=True, slots=True)
class Bundle:
    """One benchmark of one run; no value of a known secret is in any of it.

    Attributes:
        path: The ``eval-*.json``.
        content: Its object.
        run_dir: The run's directory.
        run: The run's name, different for the runs that are exported together.
        results: The ``results.jsonl`` of exactly this bundle, as it lies there; None where there
            is none. What is copied from it goes through ``hidden``.
        hidden: Takes secrets out.
    """

    path: Path
    content: JsonObject
    run_dir: Path
    run: str
    results: Path | None
    hidden: Hidden

    @property
    def benchmark(self) -> str:
        """Its name."""
        return str(self.content["benchmark"]["name"])

    @property
    def run_id(self) -> str:
        """The id of its run, the same for every resumption; its name where it has none."""
        return str(self.content.get("run_id") or self.run)

    def samples(self) -> Samples:
        """Its attempts, read while they are asked for."""
        return Samples(self.results, self.hidden)


class Exporter(Protocol):
    """Takes bundles somewhere else. Exporting one twice changes nothing the second time.

    A class may say more about itself: ``Config``, a pydantic model of its options, which is then
    all that it is made with (without it, options are keyword arguments); and ``requires``, the
    module that it needs, or that and the extra of ours that installs it.
    """

    def export(self, bundle: Bundle) -> str:
        """Export one bundle, blocking; return where it is now, in a few words.

        Whatever it raises becomes a warning: a run and its scores are not changed by it.
        """
        ...
