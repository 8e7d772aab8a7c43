"""Exporters by name: which there are, whether they can be used here, and their options."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any
from warnings import catch_warnings, simplefilter

from pydantic import ValidationError

from pytest_nel.config.interpolate import Path, Problem, names_in, names_secret
from pytest_nel.config.load import Suite
from pytest_nel.config.problems import came, expected, own_words, refuse, suggestion
from pytest_nel.core.errors import ConfigError, UnknownName
from pytest_nel.core.text import showable
from pytest_nel.exporters import REGISTRY
from pytest_nel.exporters.protocol import Bundle, Exporter

MISSING = "required, but missing"
_OWN = "package.module:Class"
_ERROR, _WHERE = 160, 600  # characters: a line of a summary; an address is useless when cut
_KEY = "api_key"  # what stands there is a reference, and stays one


@dataclass(frozen=True, slots=True)
class Exported:
    """What came of exporting one bundle.

    Attributes:
        benchmark: Its benchmark.
        text: Where it is now, or why it is not there.
        failed: Whether it is not.
    """

    benchmark: str
    text: str
    failed: bool


def exporter_of(name: str, options: Mapping[str, Any], where: str) -> Exporter:
    """Make an exporter.

    Args:
        name: A registered one's, or ``package.module:Class``.
        options: Its options.
        where: What the message of an error begins with.

    Raises:
        ConfigError: It is unknown, needs a package that is not installed, or its options are wrong.
    """
    problems = [*usable_problems(name, ()), *option_problems(name, options, ())]
    refuse(problems, None, where)
    cls = _class_of(name)
    config = getattr(cls, "Config", None)
    try:
        made: Exporter = cls(**options) if config is None else cls(config(**options))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a user's class may raise anything
        msg = f"{where}: it cannot be made: {_says(error)}"
        raise ConfigError(msg) from None
    return made


def refuse_exports(suite: Suite) -> None:
    """Look at ``output.export`` and its options before anything is measured.

    Raises:
        ConfigError: One cannot be used, or options are wrong: one line for each.
    """
    output, raw = suite.config.output, suite.raw.get("output") or {}
    written = raw.get("export_config") or {}
    problems: list[Problem] = []
    for index, name in enumerate(output.export):
        problems += usable_problems(name, ("output", "export", index))
        if name not in output.export_config:
            problems += option_problems(name, {}, ("output", "export_config", name))
    for name, options in output.export_config.items():
        path: Path = ("output", "export_config", name)
        if name not in output.export:
            problems += _known_problems(name, path)
        problems += option_problems(name, options, path, written[name])
    refuse(problems, suite.places, suite.source)


def usable_problems(name: str, path: Path) -> Iterator[Problem]:
    """Why an exporter cannot be used here; importing ours imports nothing of others."""
    unknown = [*_known_problems(name, path)]
    yield from unknown
    if not unknown:
        yield from _missing(_class_of(name), name, path)


def option_problems(
    name: str, options: Mapping[str, Any], path: Path, written: Mapping[str, Any] | None = None
) -> Iterator[Problem]:
    """What is wrong with the options of an exporter; nothing where it is not known.

    Args:
        name: The exporter's.
        options: Its options.
        path: Where they stand.
        written: The same as the file says them, which is what messages quote.
    """
    raw = options if written is None else written
    yield from _secrets(raw, path)
    try:
        cls = _class_of(name)
    except ConfigError:
        return
    config = getattr(cls, "Config", None)
    if config is None:
        yield from _of_arguments(cls, options, path)
        return
    try:
        config(**options)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            yield _said(each, config, path, raw)


def run_export(exporter: Exporter, bundles: Iterable[Bundle]) -> Iterator[Exported]:
    """Export bundles one after the other; one that fails keeps no other from being tried.

    What libraries print or warn about is not shown: their last word is in the outcome. One that
    calls ``sys.exit()`` has failed like any other: the run's exit status is not its to set.
    """
    for bundle in bundles:
        try:
            with (
                redirect_stdout(StringIO()),
                redirect_stderr(StringIO()),
                catch_warnings(),
            ):
                simplefilter("ignore")
                text, failed = str(exporter.export(bundle)), False
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - libraries and exporters of users raise anything
            text, failed = _says(error), True
        shown = showable(bundle.hidden.text(text), _ERROR if failed else _WHERE)
        yield Exported(bundle.benchmark, " ".join(shown.split()) if failed else shown, failed)


def _says(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    said = " ".join(str(error).split()) or "it says no more"
    return f"{type(error).__name__}: {said}"


def _class_of(name: str) -> Any:  # Any: each exporter has its own Config
    if ":" not in name:
        try:
            return REGISTRY.load(name)
        except UnknownName:
            hint = suggestion(name, REGISTRY)
            msg = f"no exporter is called {name!r}{hint}, or yours as {_OWN}"
            raise ConfigError(msg) from None
        except ImportError as error:  # one of a third party
            msg = f"exporter {name!r} cannot be imported: {error}"
            raise ConfigError(msg) from None
    module, _, attribute = name.partition(":")
    try:
        cls = getattr(import_module(module), attribute)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything
        msg = (
            f"{name!r} cannot be imported: {_says(error)}; expected {_OWN}, in a "
            "module that Python finds: install it, or name its folder in PYTHONPATH"
        )
        raise ConfigError(msg) from None
    if not isinstance(cls, type) or not callable(getattr(cls, "export", None)):
        msg = f"{name!r} is no exporter: expected a class with a method export(bundle)"
        raise ConfigError(msg)
    return cls


def _known_problems(name: str, path: Path) -> Iterator[Problem]:
    try:
        _class_of(name)
    except ConfigError as error:
        yield Problem(path, str(error))


def _missing(cls: Any, name: str, path: Path) -> Iterator[Problem]:
    requires = getattr(cls, "requires", None)
    if requires is None:
        return
    module, extra = (requires, None) if isinstance(requires, str) else requires
    spec = find_spec(module.partition(".")[0])
    if spec is not None and spec.origin is not None:  # a mere folder, as wandb makes one, has none
        return
    way = f"install {module}" if extra is None else f"pip install 'pytest-nel[{extra}]'"
    yield Problem(path, f"exporter {name!r} needs the package {module}, which is missing: {way}")


def _of_arguments(cls: Any, options: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    try:
        inspect.signature(cls).bind(**options)
    except TypeError as error:
        yield Problem(path, f"{cls.__name__} does not take these options: {error}")
    except ValueError:  # one without a signature
        return


def _said(error: Mapping[str, Any], config: Any, path: Path, raw: Mapping[str, Any]) -> Problem:
    inside: Path = tuple(error["loc"])
    at = (*path, *inside)
    if error["type"] == "missing":
        return Problem(at, MISSING)
    if error["type"] == "extra_forbidden":
        known = config.model_fields if len(inside) == 1 else ()
        return Problem(at, f"unknown option{suggestion(str(inside[-1]), known)}")
    if error["type"] in {"value_error", "assertion_error"}:  # a validator's own words
        return Problem(at, own_words(error))
    return Problem(at, f"expected {expected(error)}, got {came(error, inside, raw)}")


def _secrets(value: object, at: Path) -> Iterator[Problem]:
    """References to secrets: what an option says is exported, or may be."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _secrets(inner, (*at, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _secrets(inner, (*at, index))
    elif isinstance(value, str) and at[-1:] != (_KEY,):
        for name in filter(names_secret, names_in(value)):
            yield Problem(
                at,
                f"{name} is a secret, and what stands here may be exported: the destination's own "
                "library reads it from the environment",
            )
