"""What benchmarks read: from their names, or a suite's, to datasets and files."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.authoring.benchmark import Benchmark, DatasetSpec
from pytest_nel.authoring.catalog import Found, find
from pytest_nel.config.load import load_suite
from pytest_nel.core.errors import NelError
from pytest_nel.core.text import showable
from pytest_nel.core.units import size_text
from pytest_nel.datasets import source_of
from pytest_nel.datasets.load import load_rows
from pytest_nel.datasets.source import SourceFiles
from pytest_nel.engine.loop import LoopThread
from pytest_nel.environments import resolve

_SUITE = {".yaml", ".yml"}
_OWN = "made by the benchmark itself"


class Wanted(NamedTuple):
    """A benchmark that was asked for.

    Attributes:
        name: As it was given, or as the suite says it.
        base: The folder that a relative file is relative to.
        found: The benchmark; None where an environment of another scheme has the data.
        params: What the suite gives it.
    """

    name: str
    base: Path
    found: Found | None
    params: Mapping[str, Any]  # Any: JSON

    @property
    def dataset(self) -> DatasetSpec | None:
        """What it reads; None where only its own code knows."""
        return self.found.dataset if isinstance(self.found, Benchmark) else None

    @property
    def folder(self) -> Path:
        """The folder that a path in it is relative to."""
        return Path(self.found.file).parent if isinstance(self.found, Benchmark) else self.base


def add_names(parser: argparse.ArgumentParser, metavar: str) -> None:
    """Declare what names benchmarks."""
    parser.add_argument(
        "names",
        metavar=metavar,
        nargs="+",
        help="A name of nel list, file.py, file.py:name, or a suite file",
    )


def wanted(words: Iterable[str]) -> list[Wanted]:
    """The benchmarks that names and suite files mean, each once.

    Raises:
        ConfigError: There is no such benchmark, or a suite is wrong.
        OSError: A suite cannot be read.
    """
    made: dict[tuple[str, Path], Wanted] = {}
    for word in words:
        for name, base, params in _named(word):
            found = None if "://" in name else find(name, base=base)
            made.setdefault((name, base), Wanted(name, base, found, params))
    return list(made.values())


def _named(word: str) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    path = Path(word)
    if path.suffix.lower() not in _SUITE:
        yield word, Path(), {}
        return
    for entry in load_suite(path).config.benchmarks:
        yield entry.name, path.parent, entry.params


def looked_at(one: Wanted, *, fetch: bool) -> dict[str, Any]:  # Any: JSON
    """The facts of its data; with ``fetch``, what is missing is downloaded first.

    What goes wrong is in ``trouble``, so that one benchmark does not hide the others.
    """
    facts: dict[str, Any] = {"benchmark": one.name, "dataset": _called(one), "trouble": None}
    try:
        if not isinstance(one.dataset, str | Path):
            return facts | _own(one, fetch=fetch)
        spec = str(one.dataset)
        files = source_of(spec, one.folder).files(fetch=fetch)
        facts |= _files(files)
        if files.state != "missing":
            loaded = load_rows(one.dataset, base=one.folder, check_ids=False)
            facts |= {"rows": len(loaded.rows), "content_hash": loaded.content_hash}
    except (NelError, OSError) as error:
        facts["trouble"] = str(error)
    return facts


def _called(one: Wanted) -> str:
    if isinstance(one.dataset, str | Path):
        return str(one.dataset)
    return "rows" if isinstance(one.dataset, Sequence) else _OWN


def _own(one: Wanted, *, fetch: bool) -> dict[str, Any]:
    """Rows in the code; a function or a class is asked only where it may download."""
    if isinstance(one.dataset, Sequence):
        loaded = load_rows(one.dataset, base=one.folder, check_ids=False)
        return {"state": "local", "rows": len(loaded.rows), "content_hash": loaded.content_hash}
    if not fetch:
        return {"state": "unknown", "rows": None, "content_hash": None}
    loop = LoopThread()
    try:
        environment = resolve(one.name, base=one.base, params=one.params)
        size = loop.call(environment.dataset_size())
        said = environment.fingerprint().get("content_hash")
    finally:
        loop.close()
    return {"state": "cached", "rows": size, "content_hash": said}


def _files(files: SourceFiles) -> dict[str, Any]:
    return {
        "state": files.state,
        "revision": files.revision,
        "revision_asked": files.asked,
        "size": files.size,
        "rows": None,
        "content_hash": None,
        "gated": files.gated,
        "licence": files.licence,
        "page": files.page,
        "files": [str(path) for path in files.paths],
    }


def rows_text(count: int) -> str:
    """``1,319 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def described(facts: Mapping[str, Any]) -> str:
    """Some lines for people; what is not known is left out."""
    lines = [("dataset", facts["dataset"])]
    if facts.get("revision"):
        asked = facts["revision_asked"]
        said = f" ({asked} was asked for)" if asked not in {None, facts["revision"]} else ""
        lines.append(("revision", f"{facts['revision']}{said}"))
    size = [] if facts.get("size") is None else [size_text(facts["size"])]
    rows = [] if facts.get("rows") is None else [rows_text(facts["rows"])]
    lines.append(("size", ", ".join([*size, *rows])))
    lines.append(("content", facts.get("content_hash")))
    lines.append(("licence", facts.get("licence")))
    gated = {True: "yes: accept its terms at the page", False: "no", None: None}
    lines += [
        ("gated", gated[facts.get("gated")]),
        ("page", facts.get("page")),
        ("state", facts.get("state")),
    ]
    lines += [("file", path) for path in facts.get("files", ())]
    lines.append(("trouble", facts["trouble"]))
    text = "".join(f"  {name:9} {showable(str(value))}\n" for name, value in lines if value)
    return f"{showable(facts['benchmark'])}\n{text}"
