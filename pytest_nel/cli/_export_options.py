"""The options of an exporter as a command line and a file say them."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_nel.config._document import read_document
from pytest_nel.config.interpolate import Path as Keys
from pytest_nel.config.interpolate import expand, reference_problems
from pytest_nel.config.overrides import Override, read_override
from pytest_nel.config.problems import kind, refuse
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject
from pytest_nel.exporters.chosen import MISSING, option_problems
from pytest_nel.hooks.snapshot import SUITE_FILE


def options_of(options: argparse.Namespace) -> JsonObject:
    """Those of the file, then those of ``-o``, then ``--output-dir``.

    Raises:
        ConfigError: The file or an option is malformed, or the file's options are wrong.
    """
    found = {} if options.config is None else _of_file(options.config, options.dest)
    for text in options.option:
        _put(found, read_override(text))
    if options.output_dir is not None:
        found["output_dir"] = str(options.output_dir)
    return found


def with_secrets(run_dir: Path) -> Iterator[Mapping[str, Any]]:
    """The options of a run that may name secrets; none where it does not say its suite.

    Those of its services, its sandboxes, its solvers and its benchmarks, as they are written.
    """
    try:
        value = read_document((run_dir / SUITE_FILE).read_text(encoding="utf-8")).value
    except (OSError, ValueError):
        return
    suite = value if isinstance(value, dict) else {}
    named = [suite.get("services"), suite.get("sandboxes")]
    found = [spec for each in named if isinstance(each, dict) for spec in each.values()]
    entries = suite.get("benchmarks")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            found += [entry.get("sandbox"), entry.get("solver"), entry.get("params")]
    yield from (spec for spec in found if isinstance(spec, dict))


def _of_file(path: Path, name: str) -> JsonObject:
    """The options in a file, which may be those of several exporters under their names."""
    try:
        document = read_document(path.read_text(encoding="utf-8"))
    except ValueError as error:
        msg = f"{path}: this is no UTF-8 text: {error}"
        raise ConfigError(msg) from None
    refuse(document.problems, document, str(path))
    value: Any = document.value
    inside: Keys = ()
    if isinstance(value, dict) and isinstance(value.get(name), dict):
        value, inside = value[name], (name,)
    if not isinstance(value, dict):
        msg = f"{path}: expected a mapping of options, got {kind(value)}"
        raise ConfigError(msg)
    wrong = [each._replace(path=(*inside, *each.path)) for each in reference_problems(value)]
    refuse(wrong, document, str(path))
    found: JsonObject = expand(value)
    problems = option_problems(name, found, inside, value)
    refuse([each for each in problems if each.message != MISSING], document, str(path))
    return found


def _put(target: JsonObject, one: Override) -> None:
    """Set it, at any depth of mappings; null takes it away."""
    *above, last = map(str, one.path)
    for name in above:
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            msg = f"-o {one.place.source.removeprefix('override ')}: {name} is no mapping"
            raise ConfigError(msg)
        target = inner
    if one.value is None:
        target.pop(last, None)
    else:
        target[last] = one.value
