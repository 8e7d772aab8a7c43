"""Rows of a file: ``.jsonl``, ``.csv``, ``.tsv``, ``.tab``, ``.json`` and ``.parquet``."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from pytest_nel.core.errors import DataError
from pytest_nel.datasets.source import Rows

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_FIELD_LIMIT = 2**31 - 1  # csv's own limit, 128 KiB, is less than a long document


class LocalSource:
    """A file beside the benchmark, or anywhere by an absolute path."""

    def __init__(self, spec: str, *, base: Path) -> None:
        self._spec = spec
        self._path = base / spec

    def read(self, limit: int | None) -> Rows:
        """Read the file by its ending; ``limit`` rows are parsed, no more.

        Raises:
            DataError: It is missing, of an unknown kind or malformed.
        """
        reader = _READERS.get(self._path.suffix.lower())
        if not self._path.is_file():
            self._refuse_missing()
        if reader is None:
            msg = f"{self._path}: expected a file ending in {', '.join(_READERS)}"
            raise DataError(msg)
        return reader(self._path, limit)

    def _refuse_missing(self) -> NoReturn:
        hint = "paths are relative to the benchmark's file"
        if Path(self._spec).is_file():
            hint += f"; there is one at {Path(self._spec).absolute()}"
        elif _HUB_ID.fullmatch(self._spec) and self._path.suffix.lower() not in _READERS:
            hint = f"for one of the Hugging Face hub write hf://{self._spec}"
        msg = f"dataset {self._spec!r}: no file {self._path}; {hint}"
        raise DataError(msg)


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = f"{path} line {line}: not UTF-8: save the file as UTF-8"
        raise DataError(msg) from error
    return text.removeprefix("\N{BYTE ORDER MARK}")


def _read_jsonl(path: Path, limit: int | None) -> Rows:
    rows: list[Any] = []
    lines: list[int] = []
    decode = json.JSONDecoder().decode
    # Split at line feeds alone: splitlines() would also cut at U+2028, which JSON text may hold.
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if limit is not None and len(rows) >= limit:
            break
        if not line or line.isspace():
            continue
        try:
            rows.append(decode(line))
        except (ValueError, RecursionError) as error:
            msg = f"{path.name} line {number}: not a JSON object: {_json_reason(error)}"
            raise DataError(msg) from error
        lines.append(number)
    return Rows(rows, lambda index: f"{path.name} line {lines[index]}")


def _json_reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (column {error.colno})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a number has too many digits"


def _read_json(path: Path, limit: int | None) -> Rows:
    try:
        value = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        line = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        msg = f"{path.name}{line}: not JSON: {_json_reason(error)}"
        raise DataError(msg) from error
    if not isinstance(value, list):
        msg = f"{path.name}: expected a list of objects, got {type(value).__name__}"
        raise DataError(msg)
    return Rows(value[:limit], lambda index: f"{path.name}[{index}]")


def _delimited(delimiter: str) -> Callable[[Path, int | None], Rows]:
    def read(path: Path, limit: int | None) -> Rows:
        text = _text(path)
        before = csv.field_size_limit(_FIELD_LIMIT)
        try:
            pairs = list(islice(_records(text, delimiter, path.name), limit))
        finally:
            csv.field_size_limit(before)
        lines = [line for line, _ in pairs]
        return Rows([row for _, row in pairs], lambda at: f"{path.name} line {lines[at]}")

    return read


def _records(text: str, delimiter: str, name: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if header is None and cells:
                header = cells
                _check_header(header, f"{name} line {line}")
            elif header is not None and cells:
                if len(cells) != len(header):
                    msg = (
                        f"{name} line {line}: expected {len(header)} columns as in the header, "
                        f"got {len(cells)}"
                    )
                    raise DataError(msg)
                yield line, dict(zip(header, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        msg = f"{name} line {line}: {error}"
        raise DataError(msg) from error


def _check_header(header: list[str], where: str) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        msg = f"{where}: column {twice[0]!r} occurs twice in the header"
        raise DataError(msg)


def _read_parquet(path: Path, limit: int | None) -> Rows:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        msg = f"{path.name}: reading parquet needs pyarrow: pip install 'pytest-nel[parquet]'"
        raise DataError(msg) from error
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        msg = f"{path.name}: no readable parquet file: {str(error).splitlines()[0]}"
        raise DataError(msg) from error
    _check_header(list(table.column_names), path.name)
    taken = table if limit is None else table.slice(0, limit)
    return Rows(taken.to_pylist(), lambda index: f"{path.name}[{index}]")


_READERS: Mapping[str, Callable[[Path, int | None], Rows]] = {
    ".jsonl": _read_jsonl,
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".tab": _delimited("\t"),
    ".json": _read_json,
    ".parquet": _read_parquet,
}
