"""From words to a command: only the module of the one that is called is imported."""

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from pytest_nel.cli._elsewhere import meant_elsewhere
from pytest_nel.cli._mistakes import mistake
from pytest_nel.gate.verdict import Exit

Commands = Mapping[tuple[str, ...], str]

_TAKES_EMPTY = {"pytest_nel.cli.eval_run", "pytest_nel.cli.eval_resume"}  # an empty system prompt
_NOBODY_READS = 141  # 128 and the number of SIGPIPE, as of programs that it ends
_DOCSTRING = re.compile(r'"""(.+?)(?:"""|\n)')


class Parser(argparse.ArgumentParser):
    """Ends with 4, as pytest does, when the words make no sense."""

    def error(self, message: str) -> NoReturn:
        """Say it under the usage."""
        self.print_usage(sys.stderr)
        self.exit(Exit.USAGE, f"{self.prog}: error: {message}\n")


class _Version(argparse.Action):
    """Looks the version up only where it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - takes longer than all the rest

        sys.stdout.write(f"nel {version('pytest-nel')}\n")
        parser.exit()


def dispatch(words: Sequence[str], commands: Commands) -> int:
    """Run the command that the words name."""
    cut = list(words).index("--") if "--" in words else len(words)
    called = _called(words, commands)
    parser = parser_of(commands, {called})
    if (refusal := meant_elsewhere(called, words[:cut])) is not None:
        parser.exit(Exit.USAGE, f"{' '.join(('nel', *called))}: error: {refusal}\n")
    options, unknown = parser.parse_known_args(words[:cut])
    if unknown:
        from pytest_nel.cli._command_line import without_secrets  # noqa: PLC0415 - is heavy

        options.usage_error(f"unrecognized arguments: {' '.join(without_secrets(unknown))}")
    if "" in words[:cut] and options.module not in _TAKES_EMPTY:
        options.usage_error("one of the words is empty: is a variable of the shell unset?")
    options.rest = list(words[cut + 1 :])
    options.commands = commands
    if sys.stdout is None:  # closed by who calls us: the exit status still says it
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    try:
        status: int = import_module(options.module).main(options)
        sys.stdout.flush()
    except BrokenPipeError:  # `nel list | head -1`: there is nobody to complain to
        _forget_stdout()
        return _NOBODY_READS
    except OSError as error:  # a full disk
        _forget_stdout()
        return mistake(options.module.rpartition(".")[2].replace("_", " "), error)
    return status


def _forget_stdout() -> None:
    """Or Python complains again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _called(words: Sequence[str], commands: Commands) -> tuple[str, ...]:
    """The command that the first words name; options of ``nel`` itself take no value."""
    said = [word for word in words if not word.startswith("-")]
    return next((name for name in commands if tuple(said[: len(name)]) == name), ())


def parser_of(commands: Commands, declared: set[tuple[str, ...]] | None = None) -> Parser:
    """The parser of ``nel``.

    Args:
        commands: The words of each, its module.
        declared: Those whose options are declared, which imports them; None means all.
    """
    parser = Parser(prog="nel", description="LLM benchmarks as pytest suites.", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="Show the version, and end")
    groups: dict[tuple[str, ...], Any] = {}  # Any: argparse does not export the type
    groups[()] = parser.add_subparsers(required=True, metavar="COMMAND")
    for words, name in commands.items():
        above = words[:-1]
        if above not in groups:
            below = "|".join(other[-1] for other in commands if other[:-1] == above)
            group = groups[()].add_parser(*above, help=f"{words[0]} {below}", allow_abbrev=False)
            groups[above] = group.add_subparsers(required=True, metavar="COMMAND")
        command = groups[above].add_parser(words[-1], help=summary(name), allow_abbrev=False)
        if declared is None or words in declared:
            module = import_module(name)
            command.description = module.__doc__
            module.add_arguments(command)
        command.set_defaults(module=name, usage_error=command.error)
    return parser


def summary(module: str) -> str:
    """The first line of a command's docstring, read and not imported."""
    file = Path(__file__).with_name(f"{module.rpartition('.')[2]}.py")
    found = _DOCSTRING.match(file.read_text(encoding="utf-8"))
    return found[1].replace("%", "%%") if found else ""
