"""What an ``hf://`` address says: which dataset, files and rows."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from pytest_nel.core.errors import DataError

_PARAMETERS = ("columns", "config", "file", "revision", "split")
_FORM = "hf://org/name?config=…&split=…&revision=…"
_ID = re.compile(r"[\w.-]+(?:/[\w.-]+)?")
_BOUND = r"(-?\d+%?)?"
_SPLIT = re.compile(rf"(?P<name>[\w.-]+)(?P<slice>\[{_BOUND}:{_BOUND}\])?")
_CONFIG = "{config}"
_DEFAULT_SPLIT = "test"


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows from one bound to another, as ``[10:20]``, ``[:50%]`` or ``[-5:]``."""

    start: str | None
    stop: str | None

    def bounds(self, count: int) -> tuple[int, int]:
        """The positions in a split of so many rows."""
        start, stop, _ = slice(_at(self.start, count), _at(self.stop, count)).indices(count)
        return start, stop

    @property
    def enough(self) -> int | None:
        """How many rows from the first on hold all of it; None where all must be known."""
        texts = [text for text in (self.start, self.stop) if text is not None]
        if self.stop is None or any("%" in text or "-" in text for text in texts):
            return None
        return max(1, int(self.stop))


def _at(text: str | None, count: int) -> int | None:
    if text is None:
        return None
    if not text.endswith("%"):
        return int(text)
    return round(int(text[:-1]) * count / 100)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one configuration.

    Attributes:
        config: Its name; None where the address has none.
        split: As asked.
        file: The file in the repository, where the address names one.
    """

    config: str | None
    split: str
    file: str | None


@dataclass(frozen=True, slots=True)
class Address:
    """An ``hf://`` address, understood.

    Attributes:
        spec: The address itself.
        id: ``org/name``.
        configs: Those asked for; each row says its own where there are several.
        split: ``test`` where the address has none.
        rows: Which of the split's rows; None means all.
        revision: A branch, a tag or a commit; None means ``main``.
        file: A file of the repository, read in place of a split.
        columns: Names of the columns, see :func:`pytest_nel.datasets.local.read_file`.
    """

    spec: str
    id: str
    configs: Sequence[str] = ()
    split: str = _DEFAULT_SPLIT
    rows: Slice | None = None
    revision: str | None = None
    file: str | None = None
    columns: Sequence[str] | None = None

    @property
    def parts(self) -> list[Part]:
        """What is read, in this order."""
        names = self.configs or (None,)
        return [Part(name, self.split, self._file(name)) for name in names]

    def _file(self, config: str | None) -> str | None:
        return None if self.file is None else self.file.replace(_CONFIG, config or "")


def parsed(spec: str) -> Address:
    """Read an address.

    Raises:
        DataError: It is none, or says what nothing here understands.
    """
    bare, _, query = spec.removeprefix("hf://").partition("?")
    name = bare.strip("/")
    if not _ID.fullmatch(name) or "#" in query:
        msg = f"dataset {spec}: expected {_FORM}"
        raise DataError(msg)
    given = _parameters(spec, query)
    split, rows = _split(spec, given.get("split"))
    configs = _names(spec, "config", given.get("config")) or ()
    file = given.get("file")
    _check_file(spec, file, configs, splits="split" in given)
    columns = _names(spec, "columns", given.get("columns"))
    return Address(spec, name, configs, split, rows, given.get("revision"), file, columns)


def _parameters(spec: str, query: str) -> dict[str, str]:
    given = parse_qsl(query, keep_blank_values=True)
    names = [key for key, _ in given]
    for key, value in given:
        if key not in _PARAMETERS or not value or names.count(key) > 1:
            near = difflib.get_close_matches(key, _PARAMETERS, n=1)
            hint = f"; did you mean {near[0]}?" if near and near[0] != key else ""
            msg = (
                f"dataset {spec}: expected each of {', '.join(_PARAMETERS)} at most once, "
                f"got {key}={value}{hint}"
            )
            raise DataError(msg)
    return dict(given)


def _split(spec: str, text: str | None) -> tuple[str, Slice | None]:
    if text is None:
        return _DEFAULT_SPLIT, None
    match = _SPLIT.fullmatch(text)
    if match is None:
        msg = (
            f"dataset {spec}: split: expected one split, such as test, test[:100] or test[:10%], "
            f"got {text!r}"
        )
        raise DataError(msg)
    return match["name"], Slice(match[3], match[4]) if match["slice"] else None


def _names(spec: str, key: str, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len({*names}) < len(names):
        msg = f"dataset {spec}: {key}: expected names between commas, each once, got {text!r}"
        raise DataError(msg)
    return names


def _check_file(spec: str, file: str | None, configs: Sequence[str], *, splits: bool) -> None:
    if file is None:
        return
    problem = None
    if splits:
        problem = "file= and split= are both given: a file is read whole, drop one"
    elif bool(configs) != (_CONFIG in file):
        problem = f"config= beside file= fills {_CONFIG} in the name of the file: give both"
    elif file.startswith("/") or ".." in file.split("/"):
        problem = f"file: expected a path in the repository, got {file!r}"
    if problem:
        msg = f"dataset {spec}: {problem}"
        raise DataError(msg)
