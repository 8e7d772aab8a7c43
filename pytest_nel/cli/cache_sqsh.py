"""Import a container image as a squash file, on a machine that has enroot; no docker is needed.

The file appears whole or not at all. One that is there is left alone, unless --force says else.
"""

import argparse
import sys

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cluster.squash import Imported, Order, image, squash
from pytest_nel.cluster.ssh import connected
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit

_HERE = {"local", "localhost"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = (
        "nel cache-sqsh TARGET HOST OUTPUT_PATH [-r REGISTRY] [-t TAG] [-f FILE] [--force]"
    )
    parser.add_argument("target", metavar="TARGET", help="An image, as docker or enroot name it")
    parser.add_argument(
        "host", metavar="HOST", help="[USER@]HOST[:PORT], a name of ~/.ssh/config, or local"
    )
    parser.add_argument("output_path", metavar="OUTPUT_PATH", help="The folder for the file, there")
    add = parser.add_argument
    add("-r", "--registry", metavar="REGISTRY", help="Where TARGET is, if that does not say it")
    add("-t", "--tag", metavar="TAG", help="Of TARGET, if that has none")
    add("-f", "--filename", metavar="FILE", help="The file's name (default: TARGET with dashes)")
    add("--force", action="store_true", help="Replace a file that is there")


def main(options: argparse.Namespace) -> int:
    """Import it; 1 where that fails, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if options.output_path.endswith(".sqsh"):
        options.usage_error("OUTPUT_PATH is the folder: name the file itself with -f")
    try:
        source = image(options.target, registry=options.registry, tag=options.tag)
        name = options.filename or source.file_name
        order = Order(source, options.output_path, name, options.force)
        done = _done(order, options.host)
    except InfraError as error:
        sys.stderr.write(f"nel cache-sqsh: {showable(str(error))}\n")
        return 1
    except ConfigError as error:
        return mistake("cache-sqsh", error)
    did = "imported" if done.made else "was there, and --force would import it again"
    sys.stdout.write(f"{options.host}:{order.path} ({done.size:,} bytes): {did}\n")
    return Exit.GO


def _done(order: Order, host: str) -> Imported:
    order.words()  # a mistake is said before anything is connected
    if host in _HERE:
        return squash(order, sys.stderr)
    with connected(host) as remote:
        return squash(order, sys.stderr, remote)
