"""``output.report``: the reports that a suite wants beside its results."""

from collections.abc import Iterable
from importlib.metadata import version

from pytest_nel.core.errors import ConfigError, UnknownName
from pytest_nel.hooks.state import Run
from pytest_nel.records.whole import whole
from pytest_nel.reports import REGISTRY
from pytest_nel.reports.bundles import find
from pytest_nel.reports.rows import table_of


def refuse_unknown_formats(names: Iterable[str]) -> None:
    """Raise before anything is measured, not when the report is to be written.

    Raises:
        ConfigError: One of them is no format.
    """
    for name in names:
        try:
            REGISTRY.load(name)
        except UnknownName as error:
            msg = f"output.report: {error}"
            raise ConfigError(msg) from None


def write_reports(run: Run) -> None:
    """Write ``report.md``, ``report.html`` and so on into the run's directory.

    One that cannot be written is a note: results and exit status stand.
    """
    if not run.reports or not run.derived:
        return
    try:
        found, left_out = find([run.directory])
        table = table_of(found, [], version=version("pytest-nel"), notes=left_out)
        for name in dict.fromkeys(run.reports):
            made = REGISTRY.load(name)()
            with whole(run.directory / f"report.{made.suffix}") as file:
                file.writelines(made.pieces(table))
    except (ConfigError, OSError) as error:
        run.note(f"the reports cannot be written: {error}")
