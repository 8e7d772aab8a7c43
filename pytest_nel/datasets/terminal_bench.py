"""Tasks of the Terminal-Bench format (task.yaml, docker-compose.yaml) as Harbor tasks."""

import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import ConfigError, DataError
from pytest_nel.core.registry import unknown
from pytest_nel.datasets._fetch import locked
from pytest_nel.datasets._harbor_clone import Clones
from pytest_nel.datasets._task_links import refuse_links_out
from pytest_nel.datasets._terminal_bench_compose import Service, read_service, with_args
from pytest_nel.datasets.harbor import Dataset
from pytest_nel.datasets.harbor_task import digest_of, text_of

REPOSITORY = "https://github.com/laude-institute/terminal-bench"
COMMIT = "1a6ffa9674b571da0ed040c470cb40c4d85f9b9b"
"""What is fetched of it where no other is named: its last version, 0.2.18."""
SOURCE = "TERMINAL_BENCH_DIR"
_FOLDERS = ("original-tasks", "tasks")
_FORMAT = 3
"""Raised when tasks are mapped otherwise than before."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FOLLOWED = ("task.yaml", "docker-compose.yaml", "run-tests.sh", "tests", "solution.sh")
_NOT_THE_ENVIRONMENT = {"task.yaml", "docker-compose.yaml", "run-tests.sh", "tests"}
_TESTS = r"""#!/bin/bash
# The tests of the task as Terminal-Bench runs them. They judge by what pytest says at its end, each
# time it is run: a script that did not come so far says nothing of the work. A run that begins
# within another is a test's own, and its end counts for nothing unless it is the last.
export TEST_DIR=/tests
ended="tests-ended-$$-$RANDOM$RANDOM"
count='[0-9]+ [a-z]+( [a-z]+)?'
summary="^(=+ )?($count, )*$count in [0-9.]+s( \([^)]*\))?( =+)?$"
begins='^=+ test session starts =+$'
fails='[0-9] (subtests )?(failed|errors?)[, ]'
color=$'\e\\[[0-9;]*m'
{ bash /tests/run-tests.sh; printf '\n%s %s\n' "$ended" "$?"; } | {
  LC_ALL=C
  last= bad= depth=0
  while IFS= read -r line && [[ $line != "$ended "* ]]; do
    printf '%s\n' "$line"
    plain=$line
    [ "${#plain}" -le 500 ] || plain=${plain: -500}  # of what draws bars without any newline
    plain=${plain%$'\r'}
    plain=${plain##*$'\r'}
    while [[ $plain =~ $color ]]; do plain=${plain/"${BASH_REMATCH[0]}"/}; done
    if [[ $plain =~ $begins ]]; then
      depth=$((depth + 1))
    elif [[ $plain =~ $summary ]]; then
      last=$plain
      [[ $depth -le 1 && $plain =~ $fails ]] && bad=1
      depth=$((depth > 0 ? depth - 1 : 0))
    fi
  done
  if [[ -n $bad || $last =~ $fails ]]; then
    echo 0 > /logs/verifier/reward.txt
  elif [[ $last =~ [0-9]\ passed[,\ ] ]]; then
    echo 1 > /logs/verifier/reward.txt
  else
    echo "pytest did not say which tests passed (run-tests.sh: exit ${line##* })" >&2
    exit 127
  fi
} || exit 127  # a reward that cannot be written is none
"""


def terminal_bench(
    name: str,
    *,
    source_dir: str | None = None,
    source_ref: str | None = None,
    source_url: str = REPOSITORY,
    task_names: Sequence[str] | None = None,
) -> Dataset:
    """The tasks of a checkout of Terminal-Bench, mapped once into the cache.

    Args:
        name: What the dataset is called.
        source_dir: A checkout, or the folder of tasks in it; None: ``TERMINAL_BENCH_DIR``.
        source_ref: Without a checkout, the commit to fetch: 40 hex digits; None: :data:`COMMIT`.
        source_url: Its repository; of another than :data:`REPOSITORY` the commit must be named.
        task_names: Only these; None: all.

    Raises:
        ConfigError: There is no such checkout, commit or task, or it cannot be had. A task that
            needs what Harbor tasks do not have is refused only where it is to be run.
    """
    folder = _tasks_of(_source(name, source_dir, source_ref, source_url))
    found = {path.name: path for path in sorted(folder.iterdir()) if (path / "task.yaml").is_file()}
    for each in task_names or ():
        if each not in found:
            error = unknown(f"task of {name}", each, sorted(found))
            raise error
    chosen = list(found) if task_names is None else list(dict.fromkeys(task_names))
    refused, folders = {}, []
    for each in chosen:
        try:
            folders.append(_mapped(found[each]))
        except DataError as error:
            folders.append(found[each])
            refused[each] = str(error)
    return Dataset(name, tuple(folders), "terminal-bench", refused=refused)


def _source(name: str, folder: str | None, ref: str | None, url: str) -> Path:
    local = folder or (None if ref else getenv(SOURCE))
    if local is not None:
        path = Path(local).expanduser()
        if not path.is_dir():
            msg = f"{name}: there is no folder {path}"
            raise ConfigError(msg)
        return path.resolve()
    if ref is None and url == REPOSITORY:
        ref = COMMIT
    if ref is None:
        msg = (
            f"{name}: its tasks lie in {url}, and which commit is meant is for you to say: add "
            "params: {source_ref: COMMIT} (40 hex digits), or params: {source_dir: FOLDER} or "
            f"{SOURCE} for a checkout"
        )
        raise ConfigError(msg)
    if not _COMMIT.fullmatch(ref):
        msg = f"{name}: params.source_ref: expected a commit of 40 hex digits, got {ref!r}"
        raise ConfigError(msg)
    return Clones(getenv).tree(url, ref, [])


def _tasks_of(folder: Path) -> Path:
    for inner in (*(folder / each for each in _FOLDERS), folder):
        if inner.is_dir() and any(inner.glob("*/task.yaml")):
            return inner
    msg = f"{folder}: expected a checkout of Terminal-Bench, and no folder in it has a task.yaml"
    raise DataError(msg)


def _mapped(source: Path) -> Path:
    """The task as a Harbor task, in the cache under what it is made of."""
    mark = digest_of(source).partition(":")[2][:24]
    target = Clones(getenv).cache / f"terminal-bench-{_FORMAT}" / mark / source.name
    if target.is_dir():
        return target
    with locked(target.parent / ".lock"):
        if not target.is_dir():
            part = Path(tempfile.mkdtemp(prefix=".part-", dir=target.parent))
            try:
                _write(source, part)
                part.chmod(0o755)
                part.rename(target)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    return target


def _write(source: Path, target: Path) -> None:
    refuse_links_out(source, _FOLLOWED)
    task, service = _yaml(source / "task.yaml"), _service(source)
    refuse_links_out(source, [service.dockerfile])
    recipe = _recipe(source, task, service)
    solution = source / "solution.sh"
    environment, tests = target / "environment", target / "tests"

    def left_out(folder: str, names: list[str]) -> set[str]:
        top = Path(folder) == source
        return {n for n in names if top and (n in _NOT_THE_ENVIRONMENT or n.startswith("solution"))}

    shutil.copytree(source, environment, ignore=left_out, symlinks=True)
    if recipe is not None:
        (environment / "Dockerfile").write_text(recipe, encoding="utf-8")
    if (source / "tests").is_dir():
        shutil.copytree(source / "tests", tests, symlinks=True)
    tests.mkdir(exist_ok=True)
    shutil.copy(source / "run-tests.sh", tests / "run-tests.sh")
    (tests / "test.sh").write_text(_TESTS, encoding="utf-8")
    if solution.is_file():
        (target / "solution").mkdir()
        shutil.copy(solution, target / "solution" / "solve.sh")
    (target / "instruction.md").write_text(str(task["instruction"]), encoding="utf-8")
    (target / "task.toml").write_text(_toml(task, service), encoding="utf-8")


def _service(source: Path) -> Service:
    path = source / "docker-compose.yaml"
    return read_service(_yaml(path)) if path.is_file() else Service()


def _recipe(source: Path, task: Mapping[str, Any], service: Service) -> str | None:
    """The text of the Dockerfile; None: an image is named.

    Raises:
        DataError: The task cannot be run; the message has all reasons.
    """
    wrong = list(service.wrong)
    if not isinstance(task.get("instruction"), str):
        wrong.append("task.yaml has no instruction")
    parser = task.get("parser_name", "pytest")
    if parser != "pytest":
        wrong.append(f"its tests are read by the parser {parser!r}")
    needed = ["run-tests.sh", *([service.dockerfile] if service.image is None else [])]
    wrong += [f"there is no {name}" for name in needed if not (source / name).is_file()]
    text = None
    if service.image is None and (source / service.dockerfile).is_file():
        text, missing = with_args(text_of(source / service.dockerfile), service.args)
        wrong += [
            f"docker-compose.yaml has build.args.{name}, for which {service.dockerfile} has no "
            f"line ARG {name}"
            for name in missing
        ]
    if wrong:
        msg = f"task {source.name}: {'; '.join(wrong)}"
        raise DataError(msg)
    return text


def _toml(task: Mapping[str, Any], service: Service) -> str:
    """A task.toml; the agent's and the tests' time as the task has them."""
    metadata = {
        name: value
        for name in ("category", "difficulty", "tags")
        if isinstance(value := task.get(name), str | list)
    }
    environment = {
        "docker_image": service.image,
        "workdir": service.workdir,
        "start_cmd": service.command,
    }
    tables: Mapping[str, Mapping[str, Any]] = {
        "metadata": metadata,
        "verifier": {"timeout_sec": float(task.get("max_test_timeout_sec") or 60.0)},
        "agent": {"timeout_sec": float(task.get("max_agent_timeout_sec") or 360.0)},
        "environment": {name: value for name, value in environment.items() if value is not None},
        "environment.env": service.env,
    }
    said = (
        f"[{table}]\n" + "".join(f"{name} = {_value(value)}\n" for name, value in rows.items())
        for table, rows in tables.items()
    )
    return "\n".join(['version = "1.0"\n', *said])


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace(
        "\x7f", "\\u007f"
    )  # which TOML wants escaped


def _yaml(path: Path) -> Mapping[str, Any]:
    try:
        found: object = yaml.safe_load(text_of(path))
    except yaml.YAMLError as error:
        msg = f"{path}: it cannot be read: {error}"
        raise DataError(msg) from error
    if not isinstance(found, Mapping):
        msg = f"{path}: expected keys and values"
        raise DataError(msg)
    return found
