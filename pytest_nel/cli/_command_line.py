"""The words of a run: the plugin's options without ``--nel-``, to pytest's arguments and back."""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_nel.config.overrides import masked_override, read_override
from pytest_nel.config.secrets import without_known
from pytest_nel.config.urls import is_secret_url
from pytest_nel.core.errors import ConfigError
from pytest_nel.hooks.options import FLAGS, OPTIONS, Option

LEFT_OUT = "***"
"""Stands where a secret was, in what is stored of a command line."""
_SHORT = {"bench": "-b", "repeats": "-n", "output-dir": "-o", "override": "-O"}
_ONCE = ("rescore", "only")
"""What one call does, and the next does not."""
_SECRET = re.compile(r"api[-_.]?key|token|secret|passw", re.IGNORECASE)
_NO_SECRET = re.compile(r"\$\{\w+\}|[0-9.]*")  # a reference, a number of tokens
_NO_SECRETS = {"api-key-env", "max-tokens", "system-prompt"}


def add_options(parser: argparse.ArgumentParser, *, without: Sequence[str] = ()) -> None:
    """Declare the plugin's options, and those that every command has that runs pytest."""
    for option in OPTIONS:
        if option.name in without:
            continue
        short = [_SHORT[option.name]] if option.name in _SHORT else []
        parser.add_argument(
            *short,
            f"--{option.name}",
            metavar=option.metavar,
            action="append" if option.many else "store",
            help=option.help.replace("%", "%%"),
        )
    for flag in FLAGS:
        if flag.name not in without:
            parser.add_argument(f"--{flag.name}", action="store_true", help=flag.help)
    parser.add_argument(
        "--background",
        action="store_true",
        help="Detached from the terminal: nel eval status and logs follow it",
    )
    parser.add_argument("--detached-log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("-v", "--verbose", action="count", default=0, help="As pytest's")


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``nel eval run`` takes."""
    parser.add_argument("suite", nargs="?", metavar="SUITE", type=Path, help="A suite file")
    add_options(parser)


def pytest_arguments(options: argparse.Namespace, rest: Sequence[str] = ()) -> list[str]:
    """What to say to pytest for these options.

    Values are joined to their option by ``=``: a system prompt may begin with a dash.
    """
    arguments = ["-p", "nel", *_said(options, "--nel-")]
    arguments += ["-v"] * options.verbose
    arguments += rest
    if options.suite is not None:
        arguments.append(str(options.suite))
    return arguments


def words_of(options: argparse.Namespace, rest: Sequence[str] = ()) -> list[str]:
    """The words after ``nel eval run`` that mean these options, but for ``--background``."""
    words = [] if options.suite is None else [str(options.suite)]
    words += [*_said(options, "--"), *["-v"] * options.verbose]
    return [*words, "--", *rest] if rest else words


def _said(options: argparse.Namespace, prefix: str) -> Iterator[str]:
    for row in OPTIONS:
        given = getattr(options, _dest(row), None)
        for value in given if row.many and given is not None else [given]:
            if value is not None:
                yield f"{prefix}{row.name}={value}"
    yield from (f"{prefix}{flag.name}" for flag in FLAGS if getattr(options, _dest(flag), False))


def _dest(row: Option) -> str:
    return row.name.replace("-", "_")


def resumed(stored: Sequence[str], anew: argparse.Namespace) -> argparse.Namespace:
    """The options of a stored command, with those given anew before them; ``rest`` with both.

    What may be given several times is added to: a later one wins over an earlier one, and takes
    the place of one that a secret was left out of.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_run_arguments(parser)
    cut = list(stored).index("--") if "--" in stored else len(stored)
    options = parser.parse_args(stored[:cut])
    options.rest = [*stored[cut + 1 :], *anew.rest]
    for name in _ONCE:
        setattr(options, name, None)
    for row in OPTIONS:
        value = getattr(anew, _dest(row), None)
        if value is not None:
            old = getattr(options, _dest(row)) or [] if row.many else []
            setattr(options, _dest(row), [*_known(old, value), *value] if row.many else value)
    for flag in FLAGS:
        said = getattr(anew, _dest(flag), False) or getattr(options, _dest(flag))
        setattr(options, _dest(flag), bool(said))
    options.verbose = anew.verbose or options.verbose
    for name in ("background", "detached_log"):
        setattr(options, name, getattr(anew, name))
    return options


def _known(old: Sequence[str], anew: Sequence[str]) -> list[str]:
    """Those of the old ones that are whole, or are not said anew."""
    names = {one.partition("=")[0].strip() for one in anew}
    return [one for one in old if LEFT_OUT not in one or one.partition("=")[0] not in names]


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words with ``***`` for what is, or may be, a secret."""
    shown: list[str] = []
    hide_next = False
    for word in words:
        name, equals, value = word.partition("=")
        hide = hide_next and not word.startswith("-")
        hide_next = False
        if hide:
            shown.append(LEFT_OUT)
        elif equals and name == "--override" and "***" in (said := _of_override(value)):
            shown.append(f"{name}={said}")
        elif equals and _is_secret(name, value):
            shown.append(_masked(name, value))
        else:
            shown.append(word)
            hide_next = word.startswith("-") and not equals and bool(_SECRET.search(word))
    return [without_known(word, LEFT_OUT) for word in shown]


def _is_secret(name: str, value: str) -> bool:
    if name.removeprefix("--") in _NO_SECRETS:
        return False
    inner, equals, said = value.partition("=")  # --override=services.m.api_key=…
    named, what = (inner, said) if equals else (name, value)
    hidden = bool(_SECRET.search(named)) and not _NO_SECRET.fullmatch(what)
    return hidden or is_secret_url(what)


def _of_override(text: str) -> str:
    try:
        return masked_override(read_override(text))
    except ConfigError:  # it is refused, and nobody knows what it was to be
        return f"{text.partition('=')[0]}={LEFT_OUT}"


def _masked(name: str, value: str) -> str:
    inner, equals, _ = value.partition("=")
    keep = equals and "://" not in inner
    return f"{name}={inner}={LEFT_OUT}" if keep else f"{name}={LEFT_OUT}"
