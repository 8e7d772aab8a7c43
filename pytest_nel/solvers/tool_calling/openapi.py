"""The tools that an OpenAPI document describes: every operation that is posted to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_nel.core.types import JsonObject

SEED = "/seed_session"
_NOT_TOOLS = frozenset(
    {SEED, "/verify", "/run", "/health", "/openapi.json", "/docs", "/redoc", "/aggregate_metrics"}
)
_CATCH_ALL = re.compile(r"(?:/\{[^/{}]*\})+/?")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 64
_SESSION = "session_id"
_OF_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_NO_SCHEMA = frozenset({"default", "example", "examples", "enum", "const", "required"})
_WHOLE = "body"


@dataclass(frozen=True, slots=True)
class Operation:
    """One tool of a server.

    Attributes:
        tool: Its description, as chat completions have it.
        path: Where it is posted to, with ``{name}`` for what stands in the path.
        in_path: Arguments that stand in the path.
        in_query: Arguments that stand in the query.
        wrapped: The body is not an object but the argument ``body``.
        takes_session: The body has the field ``session_id``, which the model does not see.
    """

    tool: JsonObject
    path: str
    in_path: tuple[str, ...] = ()
    in_query: tuple[str, ...] = ()
    wrapped: bool = False
    takes_session: bool = False


def operations(document: Mapping[str, Any]) -> dict[str, Operation]:
    """The tools by name, in the order of the document."""
    found: dict[str, Operation] = {}
    paths = document.get("paths")
    for path, item in (paths if isinstance(paths, Mapping) else {}).items():
        post = item.get("post") if isinstance(item, Mapping) else None
        plain = path.rstrip("/") or "/"
        if not isinstance(post, Mapping) or plain in _NOT_TOOLS or _CATCH_ALL.fullmatch(path):
            continue
        name = _name(path, found)
        found[name] = _operation(document, name, path, item)
    return found


def body_schema(document: Mapping[str, Any], path: str) -> JsonObject | None:
    """The schema of the body that is posted to a path; None where nothing is posted there."""
    paths = document.get("paths")
    item = paths.get(path) if isinstance(paths, Mapping) else None
    post = item.get("post") if isinstance(item, Mapping) else None
    return _body(document, post) if isinstance(post, Mapping) else None


def resolved(document: Mapping[str, Any], schema: Any) -> Any:  # Any: JSON
    """A schema without references and titles; what refers to itself is any value there."""
    return _resolved(document, schema, ())


def _operation(
    document: Mapping[str, Any], name: str, path: str, item: Mapping[str, Any]
) -> Operation:
    post = item["post"]
    schema = _body(document, post)
    wrapped = bool(schema) and schema.get("type", "object") != "object"
    if wrapped:
        schema = {"type": "object", "properties": {_WHOLE: schema}, "required": [_WHOLE]}
    properties = dict(schema.get("properties") or {})
    required = [each for each in schema.get("required") or () if each != _SESSION]
    session = properties.pop(_SESSION, None) is not None
    places: dict[str, list[str]] = {"path": [], "query": []}
    for parameter in [*(item.get("parameters") or ()), *(post.get("parameters") or ())]:
        parameter = resolved(document, parameter)  # noqa: PLW2901 - the same, readable
        if parameter.get("in") not in places or parameter.get("name") == _SESSION:
            continue
        key = str(parameter.get("name"))
        places[parameter["in"]].append(key)
        about = {"description": said} if (said := parameter.get("description")) else {}
        properties[key] = {**about, **(parameter.get("schema") or {})}
        required += [key] if parameter.get("required") else []
    parameters = {**schema, "type": "object", "properties": properties, "required": required}
    if not required:
        del parameters["required"]
    description = post.get("summary") or post.get("description") or name
    function = {"name": name, "description": description, "parameters": parameters}
    return Operation(
        {"type": "function", "function": function},
        path,
        tuple(places["path"]),
        tuple(places["query"]),
        wrapped=wrapped,
        takes_session=session,
    )


def _name(path: str, taken: Mapping[str, object]) -> str:
    """A path as a name that every server takes, unlike those before it."""
    name = _NO_NAME.sub("_", path.strip("/")).strip("_")[:_LONGEST] or "root"
    base, number = name, 1
    while name in taken:
        number += 1
        name = f"{base[: _LONGEST - len(str(number)) - 1]}_{number}"
    return name


def _body(document: Mapping[str, Any], post: Mapping[str, Any]) -> JsonObject:
    body = resolved(document, post.get("requestBody") or {})
    content = body.get("content") if isinstance(body, Mapping) else None
    media = content.get("application/json") if isinstance(content, Mapping) else None
    schema = media.get("schema") if isinstance(media, Mapping) else None
    return schema if isinstance(schema, dict) else {}


def _resolved(document: Mapping[str, Any], value: Any, above: Sequence[str]) -> Any:  # Any: JSON
    if isinstance(value, list):
        return [_resolved(document, one, above) for one in value]
    if not isinstance(value, Mapping):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str):
        if reference in above:
            return {}
        target = _resolved(document, _at(document, reference), (*above, reference))
        beside = {name: one for name, one in value.items() if name != "$ref"}
        more = _resolved(document, beside, above)
        return {**target, **more} if isinstance(target, Mapping) else more
    return {
        name: _inside(document, name, one, above)
        for name, one in value.items()
        if not (name == "title" and isinstance(one, str))
    }


def _inside(document: Mapping[str, Any], name: str, value: Any, above: Sequence[str]) -> Any:
    if name in _NO_SCHEMA:
        return value
    if name in _OF_SCHEMAS and isinstance(value, Mapping):  # the keys are names, none is a word
        return {key: _resolved(document, one, above) for key, one in value.items()}
    return _resolved(document, value, above)


def _at(document: Mapping[str, Any], reference: str) -> Any:  # Any: JSON
    """What a reference within the document leads to; an empty schema where that is nothing."""
    value: Any = document
    if not reference.startswith("#/"):
        return {}
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        value = value.get(key) if isinstance(value, Mapping) else None
    return {} if value is None else value
