"""The pytest11 entry point: declares options and hands over to pytest_nel.hooks.

It is loaded in every pytest run where the package is installed, so it imports pytest and the
option table, and holds no state.
"""

import sys
import warnings
from collections.abc import Generator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_nel.hooks.options import add_options, asked_for, bench_globs

if TYPE_CHECKING:
    from pytest_nel.hooks.state import Run

_TWICE = "nel: interrupted again: what is written counts; the same line with --nel-resume goes on"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare ``--nel-*``."""
    add_options(parser)
    pluginmanager.register(_Early(), "nel-early")


class _Early:
    """What must happen before the other plugins are configured."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Spare those who measure a model pytest-asyncio's advice on writing async tests."""
        if asked_for(config):
            about = 'The configuration option "asyncio_default_fixture_loop_scope" is unset'
            warnings.filterwarnings("ignore", about, pytest.PytestDeprecationWarning)

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        """Let no hook's ``sys.exit()`` turn a failed run into one that has passed.

        Nor does a second Ctrl-C, while pytest answers the first, end in a traceback of pytest's.
        """
        try:
            return (yield)
        except SystemExit as error:
            exits = config.pluginmanager.getplugin("nel-exits")
            if exits is None:
                raise
            return exits.instead_of(error)
        except KeyboardInterrupt:
            if not (asked_for(config) or config.pluginmanager.hasplugin("nel-exits")):
                raise
            if not hasattr(config, "workerinput"):  # its controller ends it so, if it is slow
                sys.stderr.write(f"\n{_TWICE}\n")
            return pytest.ExitCode.INTERRUPTED


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """What must be settled or refused before pytest is configured."""
    if config.getoption("nel_dry_run", default=None):
        from pytest_nel.hooks.dry_run import only_plan  # noqa: PLC0415 - only where it is given

        only_plan(config)
    if config.getoption("looponfail", default=False) and asked_for(config):
        from pytest_nel.hooks.refuse import refuse_loop  # noqa: PLC0415 - only in a nel run

        refuse_loop(config)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make this a measuring run when the command line says so."""
    if asked_for(config):
        _activate(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suite files, and benchmark files that directories contain."""
    config = parent.config
    if file_path.name.endswith(".nel.yaml"):
        if not (parent.session.isinitpath(file_path) or asked_for(config)):
            return None
        from pytest_nel.hooks.collect import suite_file  # noqa: PLC0415 - only in a nel run

        return suite_file(file_path, parent, _activate(config))
    if file_path.suffix != ".py" or parent.session.isinitpath(file_path):
        return None  # named files are collected by pytest itself
    patterns: list[str] = config.getini("python_files")
    if _matches(file_path, bench_globs(config)) and not _matches(file_path, patterns):
        module: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
        return module
    return None


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> Sequence[pytest.Item] | None:
    """Turn ``@benchmark`` values and registered environments into items."""
    authoring = sys.modules.get("pytest_nel.authoring.benchmark")
    if authoring is None or not isinstance(collector, pytest.Module):
        return None
    if isinstance(obj, authoring.Benchmark):
        here = Path(obj.file) == collector.path
    else:
        here = _is_environment(obj) and obj.__module__ == collector.obj.__name__
    if not here:  # imported from where it was written, to test it or to build on it
        return None
    from pytest_nel.hooks.collect import python_items  # noqa: PLC0415 - only in a nel run

    del name
    return python_items(collector, obj, _activate(collector.config))  # type: ignore[arg-type]  # as just seen


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A benchmark file that calls ``sys.exit()`` must not take pytest with it."""
    try:
        return (yield)
    except SystemExit as error:
        config = collector.config
        ours = asked_for(config) or _matches(collector.path, bench_globs(config))
        if not ours or not isinstance(collector, pytest.Module):
            raise
        from pytest_nel.hooks.collect import ended_report  # noqa: PLC0415 - only in a nel run

        _activate(config)
        return ended_report(collector, error)


def _is_environment(obj: object) -> bool:
    """Whether it is an EvalEnvironment class with a name of its own."""
    protocols = sys.modules["pytest_nel.core.protocols"]
    if not isinstance(obj, type) or not issubclass(obj, protocols.EvalEnvironment):
        return False
    return bool(vars(obj).get("name"))


def _matches(path: Path, globs: Sequence[str]) -> bool:
    return any(fnmatch(str(path) if "/" in glob else path.name, glob) for glob in globs)


def _activate(config: pytest.Config) -> "Run":
    from pytest_nel.hooks.session import activate  # noqa: PLC0415 - only in a nel run

    return activate(config)
