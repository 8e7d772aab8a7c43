"""``json_schema``: the response holds JSON that is valid by the benchmark's schema."""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NoReturn

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.bounded import OutOfBounds, TaskFailed, ask, require
from pytest_nel.scoring.embedded import NoJson, embedded, too_deep
from pytest_nel.scoring.verdict import judged, unparsed

#: Imported by the worker before its time is counted.
NEEDS = ("jsonschema",)

_METHOD = "json_schema"
_MAX_ERRORS = 20
_MAX_LEVELS = 100
_MAX_MESSAGE = 300


def json_schema(sample: ScorerInput) -> VerifyResult:
    """Validate the JSON of a response: reward 1 when it is valid, 0 with the errors when not.

    The schema is ``sample.config["schema"]``, else ``sample.metadata["schema"]`` (an object, a
    truth value, or JSON text of one). Draft 2020-12 unless ``$schema`` names another. References
    lead within the schema; nothing is fetched. ``format`` is not asserted.

    Raises:
        ScorerError: There is no schema, or it cannot be used; the message says why.
        ConfigError: jsonschema is not installed.
    """
    require("jsonschema", extra="json", scorer=_METHOD)
    schema = _schema(sample)
    if not sample.response.strip():
        return unparsed(_METHOD, "empty response")
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    try:
        value = embedded(sample.response, wanted)
    except NoJson as error:
        result = unparsed(_METHOD, str(error))
        return _with_errors(result, [str(error)])
    if too_deep(value, _MAX_LEVELS):
        errors = [f"$: nested more than {_MAX_LEVELS} levels deep"]
        return _with_errors(judged(_METHOD, "", correct=False, rule="json"), errors)
    text = json.dumps(value, ensure_ascii=False)
    try:
        errors = _validated(value, schema)
    except (OutOfBounds, TaskFailed) as error:
        reason = f"whether it is valid could not be decided: {error}"
        result = judged(_METHOD, text, correct=False, rule="undecided", hint=reason)
        return _with_errors(result, [f"$: {reason}"])
    return _with_errors(judged(_METHOD, text, correct=not errors, rule="json"), errors)


def check_schema(schema: Any) -> None:  # Any: JSON
    """Refuse a schema that is none.

    Raises:
        ConfigError: It breaks the rules of its draft, or jsonschema is not installed.
    """
    require("jsonschema", extra="json", scorer=_METHOD)
    try:
        found = ask("schema:problem", json.dumps(schema))
    except (OutOfBounds, TaskFailed) as error:
        found = str(error)
    if found:
        msg = f"{_METHOD}: the schema is not valid: {found}"
        raise ConfigError(msg)


def problem(text: str) -> str:
    """What is wrong with the schema, or ""; a task for a worker."""
    from jsonschema import SchemaError  # noqa: PLC0415  # an extra

    try:
        _validator(text)
    except SchemaError as error:
        return f"{error.json_path}: {error.message}"[:_MAX_MESSAGE]
    return ""


def errors_of(value: Any, text: str) -> list[str] | str:
    """Path and message of each error, in the order of the paths; a task for a worker.

    Patterns of the schema may backtrack, which is why it is one. A text says instead why the
    schema cannot be used.
    """
    from jsonschema import SchemaError  # noqa: PLC0415  # an extra
    from referencing.exceptions import Unresolvable  # noqa: PLC0415  # comes with it

    try:
        return _errors(value, text)
    except (SchemaError, Unresolvable, re.error) as error:
        return f"{type(error).__name__}: {error}"[:_MAX_MESSAGE]


def _errors(value: Any, text: str) -> list[str]:
    found = _validator(text).iter_errors(value)
    ordered = sorted(found, key=lambda error: [str(part) for part in error.absolute_path])
    lines = [_line(error) for error in ordered]
    more = len(lines) - _MAX_ERRORS
    return lines if more <= 0 else [*lines[:_MAX_ERRORS], f"… and {more} more"]


@lru_cache(maxsize=16)
def _validator(text: str) -> Any:
    """The checked schema, with the drafts' own schemas to refer to and nothing else."""
    from jsonschema.validators import (  # noqa: PLC0415  # an extra
        Draft202012Validator,
        validator_for,
    )
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415  # comes with it

    schema = json.loads(text)
    kind = validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    return kind(schema, registry=REGISTRY)


def _line(error: Any) -> str:  # Any: jsonschema's ValidationError
    return f"{error.json_path}: {_message(error)}"[:_MAX_MESSAGE]


def _message(error: Any) -> str:
    keyword, wanted, value = error.validator, error.validator_value, error.instance
    if keyword == "type":
        kinds = wanted if isinstance(wanted, str) else " or ".join(wanted)
        return f"expected {kinds}, got {type(value).__name__}"
    if keyword == "enum":
        return f"value {value!r} not in enum {wanted}"
    if keyword in {"minItems", "maxItems"}:
        bound = "at least" if keyword == "minItems" else "at most"
        return f"expected {bound} {wanted} items, got {len(value)}"
    if keyword == "required":
        for name in wanted:  # one error for each, and only the message says for which
            if error.message.startswith(f"{name!r} "):
                return f"missing required field {name!r}"
    return str(error.message)


def _validated(value: Any, schema: Any, ask: Callable[..., Any] = ask) -> list[str]:
    """The errors.

    Raises:
        OutOfBounds: The value, though not the schema, was too much for a worker.
        TaskFailed: The validator broke on the value, though not on every one.
        ScorerError: The schema cannot be used.
    """
    text = json.dumps(schema)
    try:
        found = ask("schema:errors_of", value, text)
    except (OutOfBounds, TaskFailed):
        _check_usable(text, ask)
        raise
    if isinstance(found, str):
        _refuse(found)
    return list(found)


def _check_usable(text: str, ask: Callable[..., Any]) -> None:
    """Make sure that it was the value, not the schema, that ended the validation."""
    empty: tuple[Any, ...] = ({}, [])
    for value in empty:
        try:
            found = ask("schema:errors_of", value, text)
        except (OutOfBounds, TaskFailed) as error:
            found = str(error)
        if isinstance(found, str):
            _refuse(found)


def _refuse(reason: str) -> NoReturn:
    msg = f"{_METHOD}: the schema cannot be used on this response: {reason}"
    raise ScorerError(msg)


def _schema(sample: ScorerInput) -> Any:
    schema = sample.config.get("schema", sample.metadata.get("schema"))
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as error:
            msg = f"{_METHOD}: the schema is no JSON: {error}"
            raise ScorerError(msg) from error
    if isinstance(schema, Mapping | bool):
        return schema
    msg = (
        f"{_METHOD}: wants a JSON schema as config['schema'] or metadata['schema'], got {schema!r}"
    )
    raise ScorerError(msg)


def _with_errors(result: VerifyResult, errors: list[str]) -> VerifyResult:
    details = {**result.scoring_details, "errors": errors}
    return VerifyResult(result.reward, result.extracted_answer, details, parsed=result.parsed)
