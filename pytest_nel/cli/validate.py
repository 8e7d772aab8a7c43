"""Try a benchmark: gold, empty and wrong answers through its scorer, then a few live samples.

Live samples are made where a model is named: by the same engine as a run, into a folder that is
removed again. What a scorer says of its own failure may hold a key, so secrets are taken out of all
that is printed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_nel.cli._mistakes import mistake
from pytest_nel.config.interpolate import getenv
from pytest_nel.config.schema import PluginSpec
from pytest_nel.config.secrets import secret_values
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox, SandboxSpec
from pytest_nel.core.text import showable
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.sandboxes import Sandboxes
from pytest_nel.environments import resolve
from pytest_nel.environments.selftest import Trial, selftest
from pytest_nel.gate.verdict import Exit
from pytest_nel.hooks.masking import masked
from pytest_nel.http.secret import Secrets

_KINDS = {"gold": "full marks", "empty": "nothing", "wrong": "not full marks"}
_PASSED_ON = (
    *("model", "model-url", "model-id", "api-key-env", "temperature", "max-tokens"),
    *("system-prompt", "timeout", "sandbox"),
)
_WIDTH = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel validate BENCH [-s N] [--model-url URL --model-id ID | --model MODEL]"
    parser.add_argument(
        "bench", metavar="BENCH", nargs="?", help="A name of nel list, file.py or file.py:name"
    )
    parser.add_argument("-b", "--bench", dest="named", metavar="BENCH", help="The same")
    parser.add_argument(
        "-s", "--samples", metavar="N", type=int, default=5, help="Answers to show (default: 5)"
    )
    for name in _PASSED_ON:
        parser.add_argument(f"--{name}", metavar="VALUE", help="As of nel eval run")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")


def main(options: argparse.Namespace) -> int:
    """Print what was tried; 1 where the scorer or every live sample fails, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if (options.bench is None) == (options.named is None):
        options.usage_error("name one benchmark: nel validate BENCH, or -b BENCH")
    options.bench = options.bench or options.named
    if options.samples < 1:
        options.usage_error(f"-s wants a number of samples from 1, got {options.samples}")
    facts: dict[str, Any] = {"benchmark": options.bench}  # Any: JSON
    secrets = _secrets(options)
    try:
        facts |= tested(options.bench, options.sandbox)
        if facts["fine"] and _names_a_model(options):
            facts["live"] = _live(options)
            facts["fine"] = any(row["reward"] is not None for row in facts["live"])
    except (NelError, OSError) as error:
        return mistake("validate", error, secrets.out_of_json)
    facts = masked(facts, secrets.out_of_json)  # before anything is shortened: half a key is one
    sys.stdout.write(json.dumps(facts, indent=2) + "\n" if options.json else _text(facts, options))
    return Exit.GO if facts["fine"] else 1


def _names_a_model(options: argparse.Namespace) -> bool:
    return bool(options.model or options.model_url or getenv("NEMO_MODEL_URL"))


def _secrets(options: argparse.Namespace) -> Secrets:
    """Variables that are named as secrets, and the one that is named as the key."""
    named = getenv(options.api_key_env) if options.api_key_env else None
    return Secrets({*secret_values([]), named or ""})


def tested(bench: str, sandbox: str | None) -> dict[str, Any]:  # Any: JSON
    """What the scorer made of gold, empty and wrong answers; secrets are still in it.

    Args:
        bench: A name of ``nel list``, ``file.py`` or ``file.py:name``.
        sandbox: The type of sandbox for a scorer that runs code.

    Raises:
        ConfigError: There is no such benchmark, or its data or sandbox cannot be used.
        SandboxError: The sandbox does not start.
    """
    environment = resolve(bench, base=Path())
    trials: list[Trial] = []
    loop = LoopThread()
    size = loop.call(environment.dataset_size())
    try:
        environment.problems_chosen(range(size))
        with _somewhere(environment, sandbox, loop) as box:
            found = selftest(
                environment, range(size), loop.call, on_trial=trials.append, sandbox=box
            )
        status, warning, fine = found.status, found.warning, True
    except ConfigError as error:
        if not trials:  # its data is wrong: nothing was judged
            raise
        status, warning, fine = str(error), None, False
    finally:
        loop.close()
    return {
        "size": size,
        "selftest": status,
        "warning": warning,
        "fine": fine,
        "trials": [trial._asdict() for trial in trials],
    }


@contextmanager
def _somewhere(
    environment: EvalEnvironment, kind: str | None, loop: LoopThread
) -> Iterator[Sandbox | None]:
    """One sandbox for all that is tried, where a type is named and the benchmark wants one."""
    specs: Sequence[SandboxSpec] | None = loop.call(environment.sandbox_specs())
    spec = specs[0] if specs else None
    rooms = Sandboxes((0, 1), lambda: Secrets(secret_values([])))
    room = None if kind is None or spec is None else rooms.room(PluginSpec(type=kind))
    if room is None:
        yield None
        return
    held = room.sandbox(spec, "validate")
    try:
        box = loop.call(held.__aenter__())
        try:
            yield box
        finally:
            loop.call(held.__aexit__(None, None, None))
    finally:
        loop.call(rooms.close())


def _live(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of results.jsonl of a small run.

    Raises:
        ConfigError: Nothing was measured; with what the run said.
    """
    with tempfile.TemporaryDirectory(prefix="nel-validate-") as folder:
        directory = Path(folder, "run")
        words = [f"--nel-bench={options.bench}", f"--nel-max-problems={options.samples}"]
        for name in _PASSED_ON:
            value = getattr(options, name.replace("-", "_"))
            words += [] if value is None else [f"--nel-{name}={value}"]
        done = subprocess.run(  # noqa: S603 - our own words and the user's options
            [
                *(sys.executable, "-m", "pytest", "-p", "nel", "-q", "-p", "no:cacheprovider"),
                *("--nel-no-selftest", f"--nel-output-dir={directory}", *words),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        files = sorted(directory.glob("*/results.jsonl"))
        if not files:
            msg = f"no sample was made:\n{_reason(done.stdout + done.stderr)}"
            raise ConfigError(msg)
        lines = files[0].read_text(encoding="utf-8").split("\n")
    return [_sample(json.loads(line)) for line in lines if line]


def _reason(said: str) -> str:
    """The lines of ours, or the last ones."""
    lines = [line for line in said.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith(("ERROR", "pytest-nel", "stopped"))]
    return "\n".join(ours or lines[-10:])


def _sample(row: dict[str, Any]) -> dict[str, Any]:
    names = ("problem_idx", "outcome", "reward", "expected_answer", "extracted_answer")
    more = ("model_response", "latency_ms", "tokens", "error")
    return {name: row.get(name) for name in (*names, *more)}


def _text(facts: dict[str, Any], options: argparse.Namespace) -> str:
    lines = [f"{options.bench}: {facts['size']:,} problems", f"self-test  {facts['selftest']}"]
    lines += _trial_lines(facts["trials"], options.samples)
    if facts["warning"]:
        lines.append(f"warning    {facts['warning']}")
    live: Sequence[dict[str, Any]] = facts.get("live", [])
    lines += [_live_line(row) for row in live]
    if live:
        right = sum(row["outcome"] == "correct" for row in live)
        lines.append(f"{right}/{len(live)} correct")
    elif facts["fine"]:
        lines.append("no live samples: name a model by --model-url and --model-id, or --model demo")
    return "".join(f"{showable(line)}\n" for line in lines)


def _trial_lines(trials: Sequence[dict[str, Any]], most: int) -> list[str]:
    lines, shown = [], Counter[str]()
    for kind, wanted in _KINDS.items():
        mine = [trial for trial in trials if trial["kind"] == kind]
        if mine:
            fine = sum(trial["fine"] for trial in mine)
            lines.append(f"  {kind:5}  {fine} of {len(mine)} get {wanted}")
        for trial in mine[:most]:
            shown[kind] += 1
            got = "the scorer failed" if trial["reward"] is None else f"{trial['reward']:g}"
            lines.append(f"    p{trial['problem_idx']}: {_short(trial['answer'])} gets {got}")
    return lines


def _live_line(row: dict[str, Any]) -> str:
    facts = [
        f"expected={_short(row['expected_answer'])}",
        f"got={_short(row['extracted_answer'])}",
    ]
    if row["latency_ms"] is not None:
        facts.append(f"{row['latency_ms']:.0f} ms")
    if row["tokens"] is not None:
        facts.append(f"{row['tokens']} tokens")
    if row["error"]:
        facts.append(f"({row['error']})")
    return f"  {row['outcome']:8}  p{row['problem_idx']}: {' '.join(facts)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
