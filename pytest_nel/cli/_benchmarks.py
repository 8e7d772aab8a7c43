"""What is known of a benchmark without a network: its kind, its size, what it needs."""

import ast
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.authoring.catalog import Found, find
from pytest_nel.core.errors import NelError
from pytest_nel.datasets import WEB
from pytest_nel.scoring.catalog import SCORERS
from pytest_nel.scoring.code import code_sandbox

_OURS = "pytest_nel.benchmarks"
_HUB = "hf"


class Known(NamedTuple):
    """A benchmark as ``nel list`` shows it.

    Attributes:
        name: What ``-b`` takes.
        description: The first line of its docstring.
        type: ``chat`` or ``completions``; ``class`` where a class does all itself.
        answer: The built-in scorers that its own uses; without a scorer ``judge`` where a model
            grades, else ``equal``; ``own`` where it uses none of ours.
        size: Problems, as its author says or as the data have; None where only a download tells.
        judge: Whether its answers are graded by a model.
        sandbox: Whether its problems come with an image to work in.
        network: Whether its data is downloaded.
        packages: What must be installed.
        trouble: Why it cannot be loaded here; None where it can.
    """

    name: str
    description: str
    type: str = ""
    answer: str = ""
    size: int | None = None
    judge: bool = False
    sandbox: bool = False
    network: bool = False
    packages: tuple[str, ...] = ()
    trouble: str | None = None

    @property
    def needs(self) -> str:
        """``judge, network, datasets>=2``, or nothing."""
        words = [name for name in ("judge", "sandbox", "network") if getattr(self, name)]
        return ", ".join([*words, *self.packages])


def known(name: str) -> Known:
    """Look at an installed benchmark; one that cannot be loaded is there, too."""
    description = first_line(f"{_OURS}.{name}")
    try:
        found = find(name, base=Path())
    except NelError as error:
        return Known(name, description, trouble=str(error))
    except Exception as error:  # noqa: BLE001 - others' code is imported: anything may come
        return Known(name, description, trouble=f"{type(error).__name__}: {error}")
    return _of(name, description, found)


def _of(name: str, description: str, found: Found) -> Known:
    if not isinstance(found, Benchmark):
        said = (found.__doc__ or "").strip().partition("\n")[0]
        judge, sandbox = found.judge_preset is not None, found.needs_sandbox
        return Known(name, description or said, type="class", judge=judge, sandbox=sandbox)
    scheme = found.dataset.partition("://")[0] if isinstance(found.dataset, str) else ""
    return Known(
        name,
        description,
        type=found.endpoint_type,
        answer="judge" if found.scorer is None and found.judge else _answer(found.scorer),
        size=_size(found),
        judge=found.judge is not None,
        sandbox=found.sandbox is not None,
        network=scheme in {_HUB, *WEB},
        packages=(*(["pytest-nel[hf]"] if scheme == _HUB else []), *found.requirements),
    )


def _answer(scorer: Callable[..., Any] | None) -> str:
    """Read off the names that a scorer uses: nobody has to declare it, so it cannot be wrong."""
    if scorer is None:
        return "equal"
    used = _used(scorer)
    ours = {**SCORERS, "code_sandbox": code_sandbox}
    return ", ".join(name for name, one in ours.items() if one in used) or "own"


def _used(function: Callable[..., Any]) -> list[object]:
    """What a function names, and the values of tables among that."""
    code, there = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    named = [there.get(name) for name in (() if code is None else code.co_names)]
    tables = [value for value in named if isinstance(value, Mapping)]
    return [*named, *(value for table in tables for value in table.values())]


def _size(found: Benchmark) -> int | None:
    if found.size is not None:
        return found.size
    dataset = found.dataset
    if isinstance(dataset, str | Path):
        file = Path(found.file).parent / dataset
        return _lines(file) if file.suffix == ".jsonl" and file.is_file() else None
    if not callable(dataset):
        return len(dataset)
    if not str(getattr(dataset, "__module__", "")).startswith(_OURS):
        return None
    # a function of ours makes its rows; what must be fetched has a name with a scheme
    return sum(1 for _ in dataset())


def _lines(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def first_line(module: str) -> str:
    """Of a module's docstring, read and not run: it may need what is not installed."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return ""
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def first_comment(file: Path) -> str:
    """The first sentence of a YAML file's opening comment."""
    words = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        words.append(line.lstrip("# "))
    return re.split(r"(?<=[.?])\s", " ".join(words), maxsplit=1)[0]
