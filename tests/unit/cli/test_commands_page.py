"""The page about the commands names each command and each of its own options."""

import argparse
import re
from importlib import import_module
from pathlib import Path

import pytest

from pytest_nel.cli.main import COMMANDS

PAGE = (Path(__file__).parents[3] / "docs/reference/commands.md").read_text(encoding="utf-8")


def test_every_command_is_in_the_table() -> None:
    documented = re.findall(r"^\| `nel ([a-z -]+[a-z])\b[^`]*` \|", PAGE, re.MULTILINE)

    assert sorted(documented) == sorted(" ".join(words) for words in COMMANDS)


_OF_THE_PLUGIN = {
    ("eval", "run"),
    ("eval", "resume"),
    ("eval", "plan"),
}  # whose options have a page of their own


@pytest.mark.parametrize(
    "module", [name for words, name in COMMANDS.items() if words not in _OF_THE_PLUGIN]
)
def test_every_option_of_a_command_is_on_the_page(module: str) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    import_module(module).add_arguments(parser)

    options = re.findall(r"^  (--[a-z-]+)", parser.format_help(), re.MULTILINE)

    assert [option for option in options if f"`{option}`" not in PAGE] == []
