"""Go on with a run that has ended or died: the stored command again, in the same directory.

Options that are given anew stand before the stored ones; what stands after ``--`` is added.
"""

import argparse
import os
from pathlib import Path

from pytest_nel.cli._command_line import LEFT_OUT, add_options, resumed, words_of
from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._selected import Selected, add_selectors, selected
from pytest_nel.cli.eval_run import run
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.records.rundir import newest_run, read_run

_OURS = ("output-dir", "resume", "bench")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval resume [-r ID | -o DIR] [options] [-- pytest arguments]"
    add_selectors(parser)
    add_options(parser, without=_OURS)


def main(options: argparse.Namespace) -> int:
    """Run pytest again; its exit status, or 4 for a mistake."""
    try:
        made = _command(selected(options), options)
    except (NelError, OSError) as error:
        return mistake("eval resume", error)
    return run(made)


def _command(found: Selected, anew: argparse.Namespace) -> argparse.Namespace:
    if found.entry is None:
        msg = (
            f"{found.directory}: no command is stored for this run: give the line that has "
            "started it again, with --resume (pytest: --nel-resume)"
        )
        raise ConfigError(msg)
    if found.state == "running":
        msg = f"run {found.entry.run_id} is still running: wait for its end, or nel eval stop"
        raise ConfigError(msg)
    made = resumed(found.entry.command, anew)
    made.usage_error = anew.usage_error
    made.resume = True
    made.output_dir = output_dir_of(found.directory, made.output_dir)
    hidden = [word for word in words_of(made, made.rest) if LEFT_OUT in word]
    if hidden:
        msg = (
            f"a secret was left out of the stored command: give it anew: {', '.join(hidden)}; what "
            "is no option of this command, as a file's name: the whole line of nel eval run, with "
            f"--resume -o {made.output_dir or found.directory}"
        )
        raise ConfigError(msg)
    os.chdir(found.entry.cwd)
    return made


def output_dir_of(directory: Path, stored: str | None) -> str | None:
    """What ``-o`` must say to mean this directory: a shard adds its own folder to it.

    Raises:
        ConfigError: Nothing means it.
    """
    facts = read_run(directory)
    if facts is None or facts.shard is None:
        return str(directory)
    if directory.name == f"shard_{facts.shard[0]}":
        return str(directory.parent)
    newest = newest_run(directory.parent, facts)
    if newest != directory:
        msg = (
            f"{directory}: {newest} is a newer run of the same shard, and would be gone on with: "
            "give each shard a place of its own with -o"
        )
        raise ConfigError(msg)
    return stored
