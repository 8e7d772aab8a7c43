"""A dataset's rows, checked and hashed: from a path, ``hf://``, a list or a function."""

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from pytest_nel.authoring.catalog import blame
from pytest_nel.core.errors import DataError, NelError
from pytest_nel.datasets import source_of
from pytest_nel.datasets.source import Origin, Rows

Row: TypeAlias = dict[str, Any]  # Any: JSON values
Spec: TypeAlias = str | Path | Sequence[Mapping[str, Any]] | Callable[..., Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Rows of plain JSON values.

    Attributes:
        rows: At least one.
        source: What the benchmark calls its data.
        revision: What pins it, where the source has such a thing.
        content_hash: ``sha256:…`` of the rows' canonical JSON, equal to ``core.keys.digest(rows)``.
        digests: The first 12 hex digits of each row's own.
        where: The place of a row by its position, as ``capitals.jsonl line 17``.
        origin: ``hub``, ``web``, or ``local`` where ``NEL_DATA_DIR`` has a file in their place;
            None where the source has but one place.
    """

    rows: list[Row]
    source: str
    revision: str | None
    content_hash: str
    digests: list[str]
    where: Callable[[int], str]
    origin: Origin | None = None


def load_rows(
    spec: Spec,
    *,
    base: Path,
    limit: int | None = None,
    id_field: str | None = None,
    check_ids: bool = True,
) -> Dataset:
    """Load a dataset.

    Args:
        spec: A path (``.jsonl .csv .tsv .tab .json .parquet``), ``hf://…``, ``https://…``, rows,
            or a function that returns rows, called with ``num_examples=limit`` if it takes that.
        base: The folder that a relative path is relative to.
        limit: Take the first so many rows.
        id_field: The field whose values must differ; None means ``id`` where every row has one.
        check_ids: Whether to check them at all.

    Raises:
        DataError: A row or the whole is unusable; the message names file, line and field.
    """
    if limit is not None and limit < 1:
        msg = f"a limit of {limit} rows leaves nothing to ask; it must be at least 1"
        raise DataError(msg)
    source, read = _read(spec, base, limit)
    if not read.rows:
        msg = f"dataset {source}: there are no rows in it"
        raise DataError(msg)
    rows, digests, content_hash = plain_rows(read.rows, read.where, copy=not read.fresh)
    if check_ids:
        row_ids(rows, id_field, read.where)
    return Dataset(rows, source, read.revision, content_hash, digests, read.where, read.origin)


def plain_rows(
    rows: Sequence[Any], where: Callable[[int], str], *, copy: bool
) -> tuple[list[Row], list[str], str]:
    """Check that rows are JSON objects, and hash them.

    Dates and decimals become text. With ``copy`` the rows share nothing with those given, so
    that changing them in place changes nobody else's.

    Returns:
        The rows, the short digest of each, and the hash of all.
    """
    encoder = _Encoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
    plain: list[Row] = []
    digests: list[str] = []
    total = sha256(b"[")
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            msg = f"{where(index)}: expected an object with fields, got {_shown(row)}"
            raise DataError(msg)
        if copy and not all(isinstance(key, str) for key in row):  # a file has no other keys
            msg = f"{where(index)}: {_offence(row)}"
            raise DataError(msg)
        encoder.changed = False
        try:
            text = encoder.encode(row)
        except (TypeError, ValueError, RecursionError) as error:
            msg = f"{where(index)}: {_offence(row) or error}"
            raise DataError(msg) from error
        data = text.encode()
        total.update(b"," + data if index else data)
        digests.append(sha256(data).hexdigest()[:12])
        plain.append(_copied(row) if copy or encoder.changed else row)
    total.update(b"]")
    return plain, digests, f"sha256:{total.hexdigest()}"


def row_ids(
    rows: Sequence[Row], id_field: str | None, where: Callable[[int], str]
) -> list[str] | None:
    """The rows' own names, or None when no field was given and not every row has an ``id``.

    Raises:
        DataError: Two are equal as text (``1`` and ``"1"`` are), or one is missing or no name.
    """
    if id_field is None and not all(_is_id(row.get("id")) for row in rows):
        return None
    field = id_field or "id"
    seen: dict[str, int] = {}
    clashes: list[str] = []
    for index, row in enumerate(rows):
        value = row.get(field)
        if not _is_id(value):
            msg = f"{where(index)}: field {field!r} should name the problem, got {_shown(value)}"
            raise DataError(msg)
        first = seen.setdefault(str(value), index)
        if first != index:
            clashes.append(f"{value!r} in {where(first)} and {where(index)}")
    if clashes:
        more = f" and {len(clashes) - 5} more" if len(clashes) > 5 else ""
        msg = f"field {field!r} should differ in every row: {'; '.join(clashes[:5])}{more}"
        raise DataError(msg)
    return list(seen)


class _Encoder(json.JSONEncoder):
    """Canonical JSON; notes whether it had to turn a value into text."""

    changed = False

    def default(self, o: Any) -> Any:
        """Dates, decimals and numpy scalars have an obvious plain form; nothing else has."""
        self.changed = True
        if isinstance(o, datetime | date | time):
            return o.isoformat()
        if isinstance(o, Decimal):
            return str(o)
        if type(o).__module__ == "numpy" and getattr(o, "ndim", None) == 0:
            return o.item()
        return super().default(o)


def _copied(row: Row) -> Row:
    """Plain values in the row's own order, which canonical JSON would lose."""
    if all(isinstance(value, str | int | float | None) for value in row.values()):
        return dict(row)
    copied: Row = json.loads(_Encoder().encode(row))
    return copied


def _read(spec: Spec, base: Path, limit: int | None) -> tuple[str, Rows]:
    if isinstance(spec, str | Path):
        text = str(spec)
        return text, source_of(text, base).read(limit)
    if callable(spec):
        return _called(spec, limit)
    return "rows", Rows(list(spec[:limit]), lambda index: f"rows[{index}]", fresh=False)


def _called(function: Callable[..., Iterable[Any]], limit: int | None) -> tuple[str, Rows]:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    arguments = {"num_examples": limit} if _takes_num_examples(function) else {}
    try:
        rows = list(islice(function(**arguments), limit))
    except (NelError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the author's code: anything may come, sys.exit() as well
        msg = f"dataset {name}(): {blame(error, _file_of(function))}"
        raise DataError(msg) from error
    return f"{name}()", Rows(rows, lambda index: f"{name}()[{index}]", fresh=False)


def _file_of(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsourcefile(inspect.unwrap(function)) or ""
    except TypeError:  # an object with __call__, a built-in
        return ""


def _takes_num_examples(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a built-in without a signature
        return False
    return any(
        entry.kind is entry.VAR_KEYWORD
        or (entry.name == "num_examples" and entry.kind is not entry.POSITIONAL_ONLY)
        for entry in parameters
    )


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def _offence(value: object, at: str = "", depth: int = 0) -> str | None:
    """What JSON has no word for, with the field it is in."""
    if not isinstance(value, dict | list | tuple):
        return _leaf_offence(value, at)
    if depth > 50:
        return f"field {at[:80]!r}: nested too deeply"
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and not isinstance(key, str):
            return f"the name of a field must be text, got {_shown(key)}"
        inside = f"{at}.{key}".lstrip(".") if isinstance(value, dict) else f"{at}[{key}]"
        found = _offence(inner, inside, depth + 1)
        if found:
            return found
    return None


def _leaf_offence(value: object, at: str) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"field {at!r}: {value} is no value; write null, text or a number"
    try:
        _Encoder().encode(value)
    except (TypeError, ValueError):
        return f"field {at!r}: expected text, numbers, lists or objects, got {_shown(value)}"
    return None


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:80] + '…'}"
