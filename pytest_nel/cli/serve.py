"""Serve a benchmark over HTTP, for trainers and other evaluators; or write its problems to a file.

Problems are handed out with their gold answers, and answers are judged as in a run.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.cli._mistakes import mistake
from pytest_nel.config.interpolate import getenv
from pytest_nel.config.load import load_suite
from pytest_nel.config.quick import key_reference, model_url
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.registry import unknown
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.validated import validated
from pytest_nel.gate.verdict import Exit
from pytest_nel.scoring.catalog import SCORERS

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_JUDGE = ("judge_url", "judge_model", "judge_api_key_env")


class _Wanted(NamedTuple):
    """What is to be served: its entry, the services it may ask, the folder of its files."""

    config: BenchmarkConfig
    services: Mapping[str, PluginSpec]
    base: Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel serve [SUITE] -b BENCH [--host HOST] [-p PORT] [options]"
    parser.add_argument(
        "suite", metavar="SUITE", nargs="?", type=Path, help="Takes params and judge from it"
    )
    parser.add_argument(
        "-b", "--bench", metavar="BENCH", help="A name of nel list, file.py or file.py:name"
    )
    parser.add_argument("--host", default="127.0.0.1", help="Where to listen (default: 127.0.0.1)")
    parser.add_argument(
        "-p", "--port", metavar="N", type=int, default=9090, help="Default: 9090; 0: a free one"
    )
    parser.add_argument(
        "--gym-compat", action="store_true", help="Call the protocol gym; both forms are served"
    )
    parser.add_argument(
        "--export-data", metavar="DIR", type=Path, help="Write <DIR>/<name>.jsonl, and end"
    )
    parser.add_argument(
        "--token-env", metavar="NAME", help="The variable with the bearer token to ask for"
    )
    parser.add_argument(
        "--sandbox", metavar="TYPE", help="Where code is run: docker, local or none"
    )
    parser.add_argument("--judge-url", metavar="URL", help="The endpoint of the model that judges")
    parser.add_argument("--judge-model", metavar="ID", help="Its name")
    parser.add_argument("--judge-api-key-env", metavar="NAME", help="The variable with its key")
    parser.add_argument(
        "--threads", metavar="N", type=int, default=1, help="Plain scorers at once (default: 1)"
    )


def main(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM, and return 0; 4 for a mistake."""
    _check(options)
    loop = LoopThread("nel-serve")
    try:
        token = _token(options.token_env)
        return _serve(options, _wanted(options), token, loop)
    except (NelError, OSError) as error:
        return mistake("serve", error)
    finally:
        loop.close()


def _serve(
    options: argparse.Namespace, wanted: _Wanted, token: str | None, loop: LoopThread
) -> int:
    try:
        from pytest_nel.serve.export import export  # noqa: PLC0415 - an extra
        from pytest_nel.serve.gym import GymApp  # noqa: PLC0415
        from pytest_nel.serve.ready import problems, ready  # noqa: PLC0415
        from pytest_nel.serve.server import listener, serve, url_of  # noqa: PLC0415
    except ImportError as error:
        msg = f"it needs starlette and uvicorn: pip install 'pytest-nel[serve]' ({error})"
        raise ConfigError(msg) from error
    config, services, base = _in_sandbox(wanted, options.sandbox)
    if options.export_data is not None:
        with problems(config, base=base, loop=loop) as served:
            path = export(served, options.export_data, loop)
        _say(f"{path}: {served.size:,} rows")
        return Exit.GO
    sock = listener(options.host, options.port)  # before the data, which may take minutes
    how = {"threads": options.threads, "note": _warn}
    with sock, ready(config, services, base=base, loop=loop, **how) as served:
        app = GymApp(served, token=token, gym_compat=options.gym_compat)
        url = url_of(options.host, sock)
        if token is None and options.host not in _LOOPBACK:
            _warn(
                f"whoever reaches {options.host} gets the gold answers: ask for a token by "
                "--token-env NAME"
            )
        said = f"serving {served.name} ({served.size:,} problems) at {url}"
        serve(app.asgi, sock, loop, lambda: _say(said))
    return Exit.GO


def _warn(text: str) -> None:
    sys.stderr.write(f"nel serve: {text}\n")


def _in_sandbox(wanted: _Wanted, kind: str | None) -> _Wanted:
    """With another type of sandbox, which has none of the old one's options."""
    if kind is None or kind == wanted.config.sandbox.type:
        return wanted
    config = wanted.config.model_copy(update={"sandbox": PluginSpec(type=kind)})
    return wanted._replace(config=config)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()  # whoever reads the port waits for it


def _check(options: argparse.Namespace) -> None:
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if options.suite is None and options.bench is None:
        options.usage_error("name a benchmark by -b BENCH, or a suite file")
    if not 0 <= options.port < 65_536:
        options.usage_error(f"-p wants a port from 0 to 65535, got {options.port}")
    if options.threads < 1:
        options.usage_error(f"--threads wants a number from 1, got {options.threads}")
    given = [f"--{name.replace('_', '-')}" for name in _JUDGE if getattr(options, name)]
    if given and options.suite is not None:
        options.usage_error(f"{given[0]}: a suite names its judge itself, under `scoring`")
    if given and not (options.judge_url and options.judge_model):
        options.usage_error("a judge is named by --judge-url and --judge-model together")


def _token(name: str | None) -> str | None:
    if name is None:
        return None
    value = getenv(name)
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        state = "no token" if value else "empty" if value == "" else "not set"
        msg = f"--token-env: the environment variable {name} is {state}: export one without spaces"
        raise ConfigError(msg)
    return value


def _wanted(options: argparse.Namespace) -> _Wanted:
    if options.suite is not None:
        return _of_suite(options.suite, options.bench)
    entry: dict[str, Any] = {"name": options.bench, "solver": PluginSpec(type="custom")}
    services: dict[str, PluginSpec] = {}
    if options.judge_url:
        url, protocol = model_url(options.judge_url)
        key = options.judge_api_key_env
        service: dict[str, Any] = {"url": url, "protocol": protocol, "model": options.judge_model}
        if key is not None:
            service["api_key"] = key_reference(key)
        services["judge"] = PluginSpec(type="api", **service)
        metric = {"name": "grade", "type": "judge", "service": "judge"}
        entry["scoring"] = {"metrics": [metric]}
    return _Wanted(validated(BenchmarkConfig, entry, "nel serve"), services, Path.cwd())


def _of_suite(path: Path, bench: str | None) -> _Wanted:
    """The benchmark's entry in a suite.

    Raises:
        ConfigError: The suite is wrong, or it is not clear which entry is meant.
    """
    suite = load_suite(path, scorers=SCORERS)
    entries = suite.config.benchmarks
    found = [one for one in entries if bench in (None, one.name, one.variant)]
    names = list(dict.fromkeys(one.name for one in entries))
    if not found:
        error = unknown(f"benchmark of {path}", str(bench), names)
        raise error
    if len(found) > 1:
        msg = f"{path}: several entries are meant; say which by -b: {', '.join(names)}"
        raise ConfigError(msg)
    return _Wanted(found[0], suite.config.services, path.parent)
