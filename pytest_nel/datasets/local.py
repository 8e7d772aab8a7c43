"""Rows of a file: ``.jsonl``, ``.csv``, ``.tsv``, ``.tab``, ``.json`` and ``.parquet``.

All but parquet may be compressed, too: ``.jsonl.gz``.
"""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from pytest_nel.core.errors import DataError
from pytest_nel.datasets.source import Rows, SourceFiles

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_GZIP = ".gz"
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
READABLE = (".jsonl", ".csv", ".tsv", ".tab", ".json", ".parquet")
_BETWEEN = re.compile(r"[\s\[\],]*")
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
        if not self._path.is_file():
            self._refuse_missing()
        return read_file(self._path, limit)

    def files(self, *, fetch: bool) -> SourceFiles:
        """The file, which is here already."""
        del fetch
        if not self._path.is_file():
            self._refuse_missing()
        return SourceFiles(paths=(self._path,), size=self._path.stat().st_size, state="local")

    def _refuse_missing(self) -> NoReturn:
        hint = "paths are relative to the benchmark's file"
        if Path(self._spec).is_file():
            hint += f"; there is one at {Path(self._spec).absolute()}"
        elif _HUB_ID.fullmatch(self._spec) and kind_of(self._path.name) is None:
            hint = f"for one of the Hugging Face hub write hf://{self._spec}"
        msg = f"dataset {self._spec!r}: no file {self._path}; {hint}"
        raise DataError(msg)


def kind_of(name: str) -> str | None:
    """The ending that says how a file is read, as ``.jsonl``; None where nothing here reads it."""
    lower = name.lower()
    kind = PurePosixPath(lower.removesuffix(_GZIP)).suffix
    if kind not in READABLE or (kind == ".parquet" and lower.endswith(_GZIP)):
        return None
    return kind


def read_file(
    path: Path, limit: int | None, columns: Sequence[str] | None = None, *, name: str | None = None
) -> Rows:
    """Read a file by its ending; ``limit`` rows are parsed, no more.

    Args:
        path: The file.
        limit: As above; None means all.
        columns: Of a delimited file, the names of its columns: it has no header then. Of any
            other, the fields to keep.
        name: What the file is called in messages, and whose ending counts; None means its own.

    Raises:
        DataError: It is of an unknown kind, malformed, or lacks one of ``columns``.
    """
    called = name or path.name
    kind = kind_of(called)
    if kind is None:
        msg = f"{name or path}: expected a file ending in {', '.join(READABLE)}"
        raise DataError(msg)
    if kind in _DELIMITERS:
        return _read_delimited(path, limit, columns, called)
    rows = _READERS[kind](path, limit, called)
    return rows if columns is None else _only(rows, columns)


def _only(rows: Rows, columns: Sequence[str]) -> Rows:
    kept = []
    for index, row in enumerate(rows.rows):
        if not isinstance(row, dict):
            msg = f"{rows.where(index)}: expected an object with fields, got {type(row).__name__}"
            raise DataError(msg)
        missing = [name for name in columns if name not in row]
        if missing:
            msg = (
                f"{rows.where(index)}: there is no field {missing[0]!r}, which columns= names; "
                f"fields: {', '.join(sorted(map(str, row)))}"
            )
            raise DataError(msg)
        kept.append({name: row[name] for name in columns})
    return Rows(kept, rows.where)


def _bytes(path: Path, name: str) -> bytes:
    data = path.read_bytes()
    if not name.lower().endswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        msg = f"{name}: no readable gzip file: {error}"
        raise DataError(msg) from error


def _text(path: Path, name: str) -> str:
    data = _bytes(path, name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = f"{name} line {line}: not UTF-8: save the file as UTF-8"
        raise DataError(msg) from error
    return text.removeprefix("\N{BYTE ORDER MARK}")


def _read_jsonl(path: Path, limit: int | None, name: str) -> Rows:
    rows: list[Any] = []
    lines: list[int] = []
    text = _text(path, name)
    decode = json.JSONDecoder(object_pairs_hook=_object).decode
    # Split at line feeds alone: splitlines() would also cut at U+2028, which JSON text may hold.
    parts = text.split("\n")
    del text  # a large file is in memory once
    for number, line in enumerate(parts, start=1):
        if limit is not None and len(rows) >= limit:
            break
        if not line or line.isspace():
            continue
        try:
            rows.append(decode(line))
        except _TwiceError as error:
            msg = f"{name} line {number}: {error}"
            raise DataError(msg) from error
        except (ValueError, RecursionError) as error:
            msg = f"{name} line {number}: not a JSON object: {_json_reason(error)}"
            raise DataError(msg) from error
        lines.append(number)
    return Rows(rows, lambda index: f"{name} line {lines[index]}")


class _TwiceError(ValueError):
    """A key stands twice in an object; which value was meant nobody knows."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        msg = f"the key {twice!r} stands twice in one object: keep one of them"
        raise _TwiceError(msg)
    return made


def _line_of_twice(text: str) -> int:
    """Where the first value of a list begins that has a key twice, in JSON that has one."""
    decode = json.JSONDecoder(object_pairs_hook=_object).raw_decode
    at = _BETWEEN.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    while at < len(text):
        try:
            _, end = decode(text, at)
        except _TwiceError:
            break
        at = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
    return text.count("\n", 0, at) + 1


def _json_reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (column {error.colno})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a number has too many digits"


def _read_json(path: Path, limit: int | None, name: str) -> Rows:
    text = _text(path, name)
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except _TwiceError as error:
        msg = f"{name} line {_line_of_twice(text)}: {error}"
        raise DataError(msg) from error
    except (ValueError, RecursionError) as error:
        line = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        msg = f"{name}{line}: not JSON: {_json_reason(error)}"
        raise DataError(msg) from error
    if not isinstance(value, list):
        msg = f"{name}: expected a list of objects, got {type(value).__name__}"
        raise DataError(msg)
    return Rows(value[:limit], lambda index: f"{name}[{index}]")


def _read_delimited(
    path: Path, limit: int | None, columns: Sequence[str] | None, name: str
) -> Rows:
    text = _text(path, name)
    given = None if columns is None else list(columns)
    before = csv.field_size_limit(_FIELD_LIMIT)
    try:
        records = _records(text, _DELIMITERS[kind_of(name) or ""], name, given)
        pairs = list(islice(records, limit))
    finally:
        csv.field_size_limit(before)
    lines = [line for line, _ in pairs]
    return Rows([row for _, row in pairs], lambda at: f"{name} line {lines[at]}")


def _records(
    text: str, delimiter: str, name: str, header: list[str] | None
) -> Iterator[tuple[int, dict[str, str]]]:
    as_in = "as in the header" if header is None else "as columns= says"
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if header is None and cells:
                header = cells
                _check_header(header, f"{name} line {line}")
            elif header is not None and cells:
                if len(cells) != len(header):
                    msg = (
                        f"{name} line {line}: expected {len(header)} columns {as_in}, "
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


def _read_parquet(path: Path, limit: int | None, name: str) -> Rows:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        msg = f"{name}: reading parquet needs pyarrow: pip install 'pytest-nel[parquet]'"
        raise DataError(msg) from error
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        msg = f"{name}: no readable parquet file: {str(error).splitlines()[0]}"
        raise DataError(msg) from error
    _check_header(list(table.column_names), name)
    taken = table if limit is None else table.slice(0, limit)
    return Rows(taken.to_pylist(), lambda index: f"{name}[{index}]")


_READERS: Mapping[str, Callable[[Path, int | None, str], Rows]] = {
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".parquet": _read_parquet,
}
