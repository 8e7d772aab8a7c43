"""Packages that a benchmark needs: installed here, or refused with the line that installs them."""

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.errors import ConfigError


def check_requirements(made: Benchmark) -> None:
    """Refuse a benchmark whose packages are not installed here.

    Raises:
        ConfigError: Packages are missing or of another version; the message has the pip line.
    """
    if not made.requirements:
        return
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # as above

    from packaging.requirements import Requirement  # noqa: PLC0415  # as above

    missing: list[str] = []
    for text in made.requirements:
        wanted = Requirement(text)
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        try:
            installed = version(wanted.name)
        except PackageNotFoundError:
            missing.append(text)
            continue
        if not wanted.specifier.contains(installed, prereleases=True):
            missing.append(text)
    if missing:
        quoted = " ".join(f"'{text}'" for text in missing)
        msg = (
            f"{made.file}:{made.line}: benchmark {made.name!r} needs {', '.join(missing)}, "
            f"not installed here: pip install {quoted}"
        )
        raise ConfigError(msg)
