"""``output.export``: results that go elsewhere when a run is over."""

from collections.abc import Iterable, Iterator, Sequence

from pytest_nel.core.errors import ConfigError
from pytest_nel.exporters.chosen import exporter_of, run_export
from pytest_nel.exporters.hidden import Hidden
from pytest_nel.exporters.protocol import Bundle
from pytest_nel.hooks.state import Run
from pytest_nel.reports.bundles import Found, find


def bundles_of(found: Iterable[Found], hidden: Hidden) -> Iterator[Bundle]:
    """Bundles as exporters take them, without secrets."""
    for one in found:
        yield Bundle(
            path=one.path,
            content=hidden.json(one.bundle),
            run_dir=one.run_dir,
            run=one.run,
            results=one.results,
            hidden=hidden,
        )


def export_results(run: Run) -> None:
    """Export what the run has measured, once everything else is written.

    What fails is a note: results and exit status stand, and ``nel export`` tries again.
    """
    if not run.exports or not run.derived:
        return
    try:
        found, _ = find([run.directory])
    except (ConfigError, OSError) as error:
        run.note(f"nothing is exported: {error}")
        return
    hidden = Hidden(run.secret_values())
    try:
        for name in run.exports:
            _export(run, name, [*bundles_of(found, hidden)])
    except KeyboardInterrupt:  # the session is over: there is nothing else to end
        run.note("exporting was interrupted: nel export does it again")


def _export(run: Run, name: str, bundles: Sequence[Bundle]) -> None:
    try:
        exporter = exporter_of(name, run.exports[name], name)
    except ConfigError as error:  # it was right when the run began
        run.note(f"export to {name} failed: {error}")
        return
    for done in run_export(exporter, bundles):
        if done.failed:
            run.note(f"export of {done.benchmark} to {name} failed: {done.text}")
        else:
            run.exported.append(f"exported {done.benchmark} to {name}: {done.text}")
