"""Print a script that completes the words of nel in bash, zsh or fish.

It is made from the options themselves: put ``eval "$(nel completion bash)"`` into ~/.bashrc, the
same with zsh into ~/.zshrc after compinit, or ``nel completion fish | source`` into config.fish.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_nel.cli._dispatch import parser_of
from pytest_nel.gate.verdict import Exit

SHELLS = ("bash", "fish", "zsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel completion bash|fish|zsh"
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, fish or zsh")


def main(options: argparse.Namespace) -> int:
    """Print the script."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    places = list(_places(parser_of(options.commands), ()))
    sys.stdout.write(_SCRIPTS[options.shell](places))
    return Exit.GO


class Place(NamedTuple):
    """What may stand after some words of the command.

    Attributes:
        words: Those words, such as ``eval run``.
        below: Words of commands below, with their summaries.
        options: Options by name, with their help.
        choices: What an option, or with an empty name an argument, may be.
        silent: Options that take no value.
    """

    words: tuple[str, ...]
    below: dict[str, str]
    options: dict[str, str]
    choices: dict[str, list[str]]
    silent: list[str]


def _places(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[Place]:
    place = Place(words, {}, {}, {}, [])
    groups: list[Any] = []  # Any: argparse does not export the type
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to look
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            groups.append(action)
            helps = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001
            place.below.update({name: _plain(helps.get(name, "")) for name in action.choices})
        elif action.help != argparse.SUPPRESS:
            _enter(place, action)
    yield place
    for group in groups:
        for name, below in group.choices.items():
            yield from _places(below, (*words, name))


def _enter(place: Place, action: argparse.Action) -> None:
    for name in action.option_strings or [""]:
        if name:
            place.options[name] = _plain(action.help or "")
        if action.choices:
            place.choices[name] = [str(choice) for choice in action.choices]
        if name and action.nargs == 0:
            place.silent.append(name)


def _plain(text: str) -> str:
    return text.replace("%%", "%").replace("'", "").partition("\n")[0]


def _bash(places: list[Place]) -> str:
    cases = "".join(_case(place) for place in places)
    return (
        "# nel: completion for bash\n"
        "_nel() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
        '  local at="" word below options choices\n'
        "  local i\n"
        "  COMPREPLY=()\n"
        "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "    word=${COMP_WORDS[i]}\n"
        '    case "$at $word" in\n'
        f'      {_paths(places)}) at="$at $word" ;;\n'
        "      *) ;;\n"
        "    esac\n"
        "  done\n"
        '  case "$at" in\n'
        f"{cases}"
        "  esac\n"
        '  case "$at $prev" in\n'
        f"{_values(places)}"
        "  esac\n"
        '  if [[ -n $below ]]; then COMPREPLY=($(compgen -W "$below $options" -- "$cur"))\n'
        '  elif [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur"))\n'
        '  elif [[ -n $choices ]]; then COMPREPLY=($(compgen -W "$choices" -- "$cur"))\n'
        "  fi\n"
        "}\n"
        "complete -o default -o bashdefault -F _nel nel\n"
    )


def _paths(places: list[Place]) -> str:
    return "|".join(f'"{_at(place)}"' for place in places if place.words)


def _at(place: Place) -> str:
    return "".join(f" {word}" for word in place.words)


def _case(place: Place) -> str:
    choices = " ".join(place.choices.get("", []))
    return (
        f'    "{_at(place)}") below="{" ".join(place.below)}" '
        f'options="{" ".join(place.options)}" choices="{choices}" ;;\n'
    )


def _values(places: list[Place]) -> str:
    """After an option with a value nothing else may stand: its choices, or the name of a file."""
    lines = []
    for place in places:
        for name, choices in place.choices.items():
            if name:
                said = " ".join(choices)
                lines.append(
                    f'    "{_at(place)} {name}") '
                    f'COMPREPLY=($(compgen -W "{said}" -- "$cur")); return ;;\n'
                )
        taking = [n for n in place.options if n not in place.silent and n not in place.choices]
        if taking:
            patterns = "|".join(f'"{_at(place)} {name}"' for name in taking)
            lines.append(f"    {patterns}) return ;;\n")
    return "".join(lines) or "    *) ;;\n"


def _zsh(places: list[Place]) -> str:
    """The same: zsh runs the functions of bash, once it is told to."""
    return f"autoload -Uz bashcompinit && bashcompinit\n{_bash(places)}"


def _fish(places: list[Place]) -> str:
    lines = ["# nel: completion for fish", "complete -c nel -f"]
    groups = [place.words[0] for place in places if place.words and place.below]
    for place in places:
        when = f"-n '{_fish_condition(place, groups)}'"
        lines += [f"complete -c nel {when} -a {name} -d '{d}'" for name, d in place.below.items()]
        said = " ".join(place.choices.get("", []))
        if said:
            lines.append(f"complete -c nel {when} -a '{said}'")
        elif place.words and not place.below:
            lines.append(f"complete -c nel {when} -F")
        for name, text in place.options.items():
            kind = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            value = "" if name in place.silent else " -r"
            choices = place.choices.get(name)
            among = f" -x -a '{' '.join(choices)}'" if choices else value
            lines.append(f"complete -c nel {when} {kind}{among} -d '{text}'")
    return "\n".join(lines) + "\n"


def _fish_condition(place: Place, groups: list[str]) -> str:
    """``report`` is also a word below ``eval``: there it is another command."""
    seen = [f"__fish_seen_subcommand_from {word}" for word in place.words]
    others = list(place.below) or [word for word in groups if word not in place.words]
    return "; and ".join([*seen, f"not __fish_seen_subcommand_from {' '.join(others)}"])


_SCRIPTS = {"bash": _bash, "fish": _fish, "zsh": _zsh}
