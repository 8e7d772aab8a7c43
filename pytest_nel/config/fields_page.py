"""The reference page of every field of a suite file, made from the models themselves."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from pytest_nel.config.describe import field_texts, nested_models
from pytest_nel.config.schema import RunConfig

_INTRO = """\
# Every field of a suite file

This page is made from the models that validate suites (`nel config schema --markdown`).
[The suite file](suite.md) says what they are good for; `nel config schema` prints the same as a
JSON schema for editors.
"""
_KINDS = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "null": "null",
    "number": "number",
    "object": "mapping",
    "string": "text",
}
_BOUNDS = (
    ("minimum", "≥ "),
    ("exclusiveMinimum", "> "),
    ("maximum", "≤ "),
    ("exclusiveMaximum", "< "),
)


def fields_page(
    services: Mapping[str, type[BaseModel]],
    solvers: Mapping[str, type[BaseModel]],
    sandboxes: Mapping[str, type[BaseModel]],
) -> str:
    """Markdown: a table for each model, those of plugins by their type.

    Args:
        services: The options of each type of service.
        solvers: The options of each type of solver.
        sandboxes: The options of each type of sandbox; ``none`` has none.
    """
    shared: dict[str, type[BaseModel]] = {}
    lines = [_INTRO]
    lines += _section("## The whole file", RunConfig, shared)
    kinds = (("service", services), ("solver", solvers), ("sandbox", sandboxes))
    for kind, models in kinds:
        for name, model in models.items():
            lines += _section(f"## `type: {name}` ({kind})", model, shared)
    listed = dict(shared)
    for name in sorted(listed):
        if name != "PluginSpec":
            lines += _section(f"## {name}", listed[name], shared)
    return "\n".join(lines)


def _section(
    heading: str, model: type[BaseModel], shared: dict[str, type[BaseModel]]
) -> Iterator[str]:
    for name, inner in nested_models(model).items():
        if shared.setdefault(name, inner) is not inner:  # two of one name: each has its own
            shared[f"{name} of {model.__qualname__}"] = inner
    yield f"{heading}\n"
    yield _marked((model.__doc__ or "").strip().partition("\n")[0]) + "\n"
    texts = field_texts(model)
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    yield "| key | kind | default | meaning |"
    yield "|---|---|---|---|"
    for name, field in schema.get("properties", {}).items():
        default = "required" if name in required else _default(field)
        cells = (f"`{name}`", _kind(field), default, _marked(texts.get(name, "")))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _marked(text: str) -> str:
    """Markdown of what a docstring says."""
    return text.replace("``", "`")


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    if value is None or value in ({}, [], ""):
        return "none"
    if isinstance(value, dict):
        return "that of each key"
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return "mapping with `type`" if name == "PluginSpec" else f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        kinds = [_kind(inner) for inner in schema["anyOf"]]
        return " or ".join(dict.fromkeys(kinds))
    for key in ("enum", "const"):
        if key in schema:
            words = schema[key] if key == "enum" else [schema[key]]
            return " or ".join(f"`{word}`" for word in words)
    kind = _KINDS.get(str(schema.get("type")), "anything")
    if kind == "list" and schema.get("items"):
        kind = f"list of {_kind(schema['items'])}"
    if kind == "mapping" and isinstance(schema.get("additionalProperties"), dict):
        kind = f"mapping of {_kind(schema['additionalProperties'])}"
    bounds = [f"{sign}{schema[key]:g}" for key, sign in _BOUNDS if key in schema]
    return " ".join([kind, *(", ".join(bounds).split())]) if bounds else kind
