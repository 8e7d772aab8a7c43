"""Every option and ini, in one table; command line > environment > ini > default."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from pytest_nel.core.errors import ConfigError

SHOWS = ("wrong", "unparsed", "unscored", "all")
ONLY = ("wrong", "unparsed", "unscored")
SYNCS = ("second", "record")


class Option(NamedTuple):
    """One row: ``--nel-<name>`` and the ini ``nel_<name>``; ``many`` may be given repeatedly."""

    name: str
    kind: Callable[[str], Any]
    metavar: str
    help: str
    env: tuple[str, ...] = ()
    many: bool = False

    @property
    def flag(self) -> str:
        """``--nel-model-url``."""
        return f"--nel-{self.name}"

    @property
    def dest(self) -> str:
        """``nel_model_url``; the ini has the same name."""
        return "nel_" + self.name.replace("-", "_")


def _number(
    kind: type[int] | type[float],
    low: float,
    high: float = float("inf"),
    *,
    above: bool = False,
) -> Any:
    def parse(text: str) -> int | float:
        word = "an integer" if kind is int else "a number"
        bound = f"> {low:g}" if above else f">= {low:g}"
        try:
            value = kind(text)
        except ValueError:
            value = None
        fits = value is not None and (value > low if above else low <= value <= high)
        if value is not None and high < value:
            bound = f"<= {high:g}"
        if not fits or value == float("inf"):
            msg = f"expected {word} {bound}, got {text!r}"
            raise argparse.ArgumentTypeError(msg)
        assert value is not None
        return value

    return parse


def _seed(text: str) -> int | str:
    if text.strip().lower() in {"none", "null"}:
        return "none"
    try:
        return int(text)
    except ValueError:
        msg = f"expected an integer, or none for the dataset's order, got {text!r}"
        raise argparse.ArgumentTypeError(msg) from None


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            msg = f"expected one of {', '.join(words)}, got {text!r}"
            raise argparse.ArgumentTypeError(msg)
        return text

    return parse


def shard(text: str) -> tuple[int, int]:
    """``2/8``: the third of eight; argparse's error otherwise."""
    index, slash, count = text.strip().partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and int(count) > 0):
        msg = f"expected I/N such as 0/8, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    if int(index) >= int(count):
        msg = f"expected I/N with I from 0 to {int(count) - 1}, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(index), int(count)


def _place(text: str) -> str:
    if not text.strip():
        msg = "expected a name, got nothing: is a variable of the shell unset?"
        raise argparse.ArgumentTypeError(msg)
    return text


def _least(text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    try:
        least = float(value)
    except ValueError:
        least = -1.0
    if not (equals and name.strip() and 0.0 <= least <= 1.0):
        msg = f"expected NAME=SCORE such as gsm8k=0.75, with a score from 0 to 1, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return name.strip(), least


def _override(text: str) -> str:
    from pytest_nel.config.overrides import read_override  # noqa: PLC0415 - only where it is given

    try:
        read_override(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _size(text: str) -> int:
    from pytest_nel.core.units import size_of  # noqa: PLC0415 - only where it is given

    try:
        return size_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _sandbox(text: str) -> str:
    from pytest_nel.engine.sandboxes import NONE  # noqa: PLC0415 - only where it is given
    from pytest_nel.sandboxes import REGISTRY  # noqa: PLC0415 - as above

    return _one_of(*REGISTRY, NONE)(text)


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word not in {"true", "yes", "on", "1", "false", "no", "off", "0"}:
        msg = f"expected true or false, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return word in {"true", "yes", "on", "1"}


OPTIONS = (
    Option(
        "bench", str, "NAME", "Measure this benchmark: a built-in's name, file.py or file.py:name"
    ),
    Option("model", str, "MODEL", "Serve a model in the run: demo, or the path of a .gguf file"),
    Option("model-url", str, "URL", "OpenAI-compatible endpoint", ("NEMO_MODEL_URL",)),
    Option("model-id", str, "ID", "Model name to ask the endpoint for", ("NEMO_MODEL_ID",)),
    Option(
        "api-key-env",
        str,
        "NAME",
        "Environment variable that holds the API key (default: NEMO_API_KEY, NVIDIA_API_KEY)",
    ),
    Option("repeats", _number(int, 1, 10_000), "N", "Attempts per problem (default: 1)"),
    Option("max-problems", _number(int, 1), "N", "Take only N problems, after shuffling"),
    Option(
        "max-concurrent",
        _number(int, 1, 10_000),
        "C",
        "Requests in flight per endpoint (default: 32)",
    ),
    Option(
        "window",
        _number(int, 1),
        "W",
        "Attempts begun and not yet reported (default: max(16 C, 1024), C under -x/--maxfail)",
    ),
    Option(
        "temperature",
        _number(float, 0, 2),
        "T",
        "Sampling temperature (default: 0, or what the suite file says)",
    ),
    Option("max-tokens", _number(int, 1), "N", "Longest answer in tokens (default: the server's)"),
    Option("system-prompt", str, "TEXT", "System prompt, instead of the benchmark's own"),
    Option(
        "sandbox",
        _sandbox,
        "TYPE",
        "Where code runs: docker, local or none (default: the suite's)",
    ),
    Option("timeout", _number(float, 0, above=True), "S", "Seconds for one request (default: 600)"),
    Option(
        "override",
        _override,
        "PATH=VALUE",
        "Put a value into the suite file: benchmarks[0].repeats=4; may be given several times",
        many=True,
    ),
    Option(
        "output-dir", _place, "DIR", "Run directory, new or empty (default: eval_results/<run id>)"
    ),
    Option("shuffle-seed", _seed, "SEED", "Order of the problems, or none (default: 42)"),
    Option("max-cost", _number(float, 0, above=True), "MONEY", "Stop when answers cost that much"),
    Option("max-total-tokens", _number(int, 1), "N", "Stop when all answers took that many tokens"),
    Option("max-time", _number(float, 0, above=True), "S", "Begin nothing after so many seconds"),
    Option("max-unscored", _number(int, 0), "N", "Attempts that may lack a score (default: 0)"),
    Option(
        "max-consecutive-unscored",
        _number(int, 1),
        "N",
        "Stop after so many attempts in a row without a score (default: 20)",
    ),
    Option(
        "only",
        _one_of(*ONLY),
        "WHICH",
        f"With --nel-resume: make only these attempts again: {', '.join(ONLY)}",
    ),
    Option(
        "shard", shard, "I/N", "Measure the I-th of N parts, from 0; join them by nel eval merge"
    ),
    Option("cache", str, "DIR", "Take answers from this cache where it has them, add new ones"),
    Option("cache-size", _size, "SIZE", "What the cache may take on the disk (default: 2GB)"),
    Option(
        "journal-sync",
        _one_of(*SYNCS),
        "WHEN",
        "Put the journal on the disk once a second, or with each record (default: second)",
    ),
    Option("policy", _place, "FILE", "Gate policy: a file, or the name of one that comes along"),
    Option("baseline", _place, "DIR", "Run to compare with: its directory, or a bundle"),
    Option(
        "min",
        _least,
        "NAME=SCORE",
        "The benchmark's score must reach this; may be given several times",
        many=True,
    ),
    Option(
        "allow-different",
        str,
        "FIELD",
        "Compare with a baseline though the runs differ in it; may be given several times",
        many=True,
    ),
    Option(
        "inconclusive",
        _one_of("fail", "ok"),
        "WHAT",
        "What too little evidence means: fail (exit 6, the default), or ok (exit 0)",
    ),
    Option("markdown", _place, "FILE", "Write scores and checks as Markdown, for a pull request"),
    Option(
        "estimate-from", _place, "DIR", "For --nel-dry-run: a run that tells what attempts take"
    ),
    Option("plan-file", _place, "FILE", "For --nel-dry-run: write the plan as JSON"),
    Option("show", _one_of(*SHOWS), "WHICH", f"Print attempts in full: {', '.join(SHOWS)}"),
)
FLAGS = (
    Option("dry-run", _truth, "", "Say what the run would do and cost; start and write nothing"),
    Option("strict", _truth, "", "Wrong and unparsed answers fail their item"),
    Option("resume", _truth, "", "Go on in the run directory that is there: solve what is missing"),
    Option("rescore", _truth, "", "Judge stored answers again; no model is asked"),
    Option(
        "no-selftest",
        _truth,
        "",
        "Measure also where a scorer refuses the gold answers of its own benchmark",
    ),
    Option(
        "cache-share-repeats", _truth, "", "Repeats share a cached answer where temperature is 0"
    ),
)
_NO_INI = {
    "bench",
    "only",
    "shard",
    "rescore",
    "min",
    "override",
    "allow-different",
    "markdown",
    "dry-run",
    "estimate-from",
    "plan-file",
}  # what one call does, and no default


@dataclass(frozen=True, slots=True)
class Options:
    """Resolved options.

    Attributes:
        given: From the command line; these override a suite's own values.
        fallback: From environment and ini; used where no suite says otherwise.
    """

    given: dict[str, Any]
    fallback: dict[str, Any]

    def get(self, name: str, default: Any = None) -> Any:  # Any: each option has its own type
        """Value of ``name`` (``model-url``), wherever it comes from."""
        return self.given.get(name, self.fallback.get(name, default))


def add_options(parser: pytest.Parser) -> None:
    """Declare all of it."""
    group = parser.getgroup("nel", "LLM benchmarks (pytest-nel)")
    for option in OPTIONS:
        group.addoption(
            option.flag,
            action="append" if option.many else "store",
            dest=option.dest,
            type=option.kind,
            metavar=option.metavar,
            default=None,
            help=option.help,
        )
        if option.name not in _NO_INI:
            parser.addini(option.dest, f"Default of {option.flag}", default=None)
    for option in FLAGS:
        group.addoption(
            option.flag, dest=option.dest, action="store_true", default=None, help=option.help
        )
        if option.name not in _NO_INI:
            parser.addini(option.dest, f"Default of {option.flag}", default=None)
    parser.addini(
        "nel_files",
        "Globs of Python files searched for benchmarks in directories (default: bench_*.py)",
        type="args",
        default=[],
    )


def resolve(config: pytest.Config, getenv: Callable[[str], str | None]) -> Options:
    """Read all options.

    Raises:
        pytest.UsageError: An ini or environment value is malformed.
    """
    given: dict[str, Any] = {}
    fallback: dict[str, Any] = {}
    for option in (*OPTIONS, *FLAGS):
        value = config.getoption(option.dest, None)
        if value is not None:
            given[option.name] = value
            continue
        found = _fallback(config, option, getenv)
        if found is not None:
            fallback[option.name] = found
    return Options(given, fallback)


def _fallback(
    config: pytest.Config, option: Option, getenv: Callable[[str], str | None]
) -> Any:  # Any: each option has its own type
    sources: Sequence[tuple[str, str | None]] = [(name, getenv(name)) for name in option.env]
    if option.name not in _NO_INI:
        sources = [*sources, (f"ini {option.dest}", config.getini(option.dest))]
    for source, text in sources:
        if not text:
            continue
        try:
            return option.kind(text)
        except argparse.ArgumentTypeError as error:
            msg = f"{source}: {error}"
            raise pytest.UsageError(msg) from None
    return None


def bench_globs(config: pytest.Config) -> list[str]:
    """Patterns of benchmark files; the default applies only where pytest-nel was asked for."""
    globs: list[str] = config.getini("nel_files")
    return globs or (["bench_*.py"] if asked_for(config) else [])


def asked_for(config: pytest.Config) -> bool:
    """Whether this run wants us: ``-p nel``, an option of ours, or a suite file by name."""
    if "nel" in (config.getoption("plugins", None) or []):
        return True
    if any(config.getoption(option.dest, None) is not None for option in (*OPTIONS, *FLAGS)):
        return True
    return any(str(arg).partition("::")[0].endswith(".nel.yaml") for arg in config.args)
