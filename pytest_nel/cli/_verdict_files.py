"""The two files into which a verdict can be written: JSON, and a report for people."""

from collections.abc import Callable
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.records.whole import whole

Render = Callable[[], str]


def write_verdict(output: Path | None, json: Render, report: Path | None, text: Render) -> None:
    """Write those that are asked for, each whole or not at all.

    Args:
        output: Where the JSON goes (``--output``).
        json: Makes it.
        report: Where the other one goes (``--report``).
        text: Makes it.

    Raises:
        ConfigError: As :func:`refuse_one_file`.
        OSError: A file cannot be written.
    """
    refuse_one_file(output, report)
    for path, made in ((output, json), (report, text)):
        if path is not None:
            with whole(path) as file:
                file.write(made())


def refuse_one_file(output: Path | None, report: Path | None) -> None:
    """Refuse one file for both.

    Raises:
        ConfigError: They are one.
    """
    if output is not None and report == output:
        msg = f"--report and --output are both {output}: name two files"
        raise ConfigError(msg)
