"""A JSON schema of suite files, for editors: it knows the options of every plugin.

It is a little more generous than the program: wherever a value may come from a variable or from
another place of the file, a reference is allowed, and a file with ``defaults`` may leave out
whatever its bases say.
"""

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from pytest_nel.config.describe import field_texts, nested_models
from pytest_nel.config.schema import NoSandboxConfig, RunConfig

_PART = "part."
_REFERENCE = {"$ref": "#/$defs/reference"}
_DEFAULTS = {
    "type": "array",
    "description": "What this file builds on: group/name, a name, {_base_: name}, or _self_.",
    "items": {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {"_base_": {"type": "string"}},
                "required": ["_base_"],
                "additionalProperties": False,
            },
        ]
    },
}
_PLAYBOOK = {
    "type": "string",
    "description": "Settings that this entry builds on: the name of a playbook, or its file.",
}


def suite_schema(
    services: Mapping[str, type[BaseModel]],
    solvers: Mapping[str, type[BaseModel]],
    sandboxes: Mapping[str, type[BaseModel]],
) -> dict[str, Any]:
    """Build the schema of a whole suite file.

    Args:
        services: The options of each type of service.
        solvers: The options of each type of solver.
        sandboxes: The options of each type of sandbox; ``none`` is added.
    """
    root, defs = _model_schema(RunConfig, "")
    del defs["PluginSpec"]
    defs["service"] = _by_type("service", services, defs)
    defs["solver"] = _by_type("solver", solvers, defs)
    defs["sandbox"] = _by_type("sandbox", {"none": NoSandboxConfig, **sandboxes}, defs)
    root["properties"]["services"]["additionalProperties"] = {"$ref": "#/$defs/service"}
    root["properties"]["sandboxes"]["additionalProperties"] = {"$ref": "#/$defs/sandbox"}
    root["properties"] |= {"defaults": _DEFAULTS}
    root["patternProperties"] = {"^_": {}}
    benchmark = defs["BenchmarkConfig"]
    benchmark["properties"]["solver"] = {"$ref": "#/$defs/solver"}
    benchmark["properties"]["playbook"] = _PLAYBOOK
    _with_sandbox(benchmark)
    for name in services:
        _with_sandbox(defs[f"service.{name}"])
        defs.pop(f"service.{name}.PluginSpec", None)
    defs["suite"] = root
    defs = {name: _with_references(schema) for name, schema in defs.items()}
    parts = {f"{_PART}{name}": _part(schema) for name, schema in defs.items()}
    defs["suite"]["properties"]["benchmarks"] = _entries(defs["suite"]["properties"]["benchmarks"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A suite of pytest-nel",
        "type": "object",
        "if": {"required": ["defaults"]},
        "then": {"$ref": f"#/$defs/{_PART}suite"},
        "else": {"$ref": "#/$defs/suite"},
        "$defs": {
            **{name: defs[name] for name in sorted(defs)},
            **{name: parts[name] for name in sorted(parts)},
            "reference": {
                "type": "string",
                "pattern": r"\$\{|^\?\?\?$",
                "description": "A reference, ${NAME} or ${.a.b}, or ??? for what is still to say.",
            },
        },
    }


def _with_sandbox(schema: dict[str, Any]) -> None:
    """Have a ``sandbox`` among its properties be one of a known type, or a name."""
    said = schema["properties"].get("sandbox")
    if said is not None:
        either = {"anyOf": [{"$ref": "#/$defs/sandbox"}, {"type": "string"}]}
        schema["properties"]["sandbox"] = {"description": said["description"], **either}


def _model_schema(model: type[BaseModel], prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of a model and those that it refers to, with descriptions."""
    schema = model.model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
    defs: dict[str, Any] = schema.pop("$defs", {})
    models = nested_models(model)
    for name, inner in defs.items():
        if name in models:
            _describe(inner, models[name])
    _describe(schema, model)
    return schema, {f"{prefix}{name}": inner for name, inner in defs.items()}


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    schema.pop("title", None)
    schema["description"] = (model.__doc__ or "").strip().partition("\n")[0]
    texts = field_texts(model)
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        if name in texts:
            field["description"] = texts[name]


def _by_type(
    kind: str, models: Mapping[str, type[BaseModel]], defs: dict[str, Any]
) -> dict[str, Any]:
    """One schema that looks at ``type`` to know which options there are."""
    branches = []
    for name, model in models.items():
        prefix = f"{kind}.{name}"
        schema, inner = _model_schema(model, f"{prefix}.")
        schema["properties"] = {"type": {"const": name}, **schema.get("properties", {})}
        defs |= {**inner, prefix: schema}
        branches.append(
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"$ref": f"#/$defs/{prefix}"},
            }
        )
    return {
        "type": "object",
        "properties": {"type": {"enum": list(models)}},
        "required": ["type"],
        "allOf": branches,
    }


def _with_references(schema: Any) -> Any:
    """The same, with a reference allowed as the value of any property but ``type``."""
    if isinstance(schema, list):
        return [_with_references(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _with_references(inner) for key, inner in schema.items() if key != "default"}
    if "properties" in changed and "if" not in changed:
        changed["properties"] = {
            name: inner if name in {"type", "defaults", "playbook"} else _or_reference(inner)
            for name, inner in changed["properties"].items()
        }
    if "default" in schema:
        changed["default"] = schema["default"]
    return changed


def _or_reference(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "string" and not {"pattern", "enum", "const"} & set(schema):
        return schema
    kept = ("description", "default")
    beside: dict[str, Any] = {key: schema[key] for key in kept if key in schema}
    return {**beside, "anyOf": [schema, _REFERENCE]}


def _part(schema: Any, *, of_condition: bool = False) -> Any:
    """The same for a file that builds on others: nothing is required, and a null deletes."""
    if isinstance(schema, list):
        return [_part(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if of_condition:
        return copy.deepcopy(schema)
    left_out = {"required", "minItems", "minProperties"}
    changed = {
        key: _part(inner, of_condition=key == "if")
        for key, inner in schema.items()
        if key not in left_out
    }
    if isinstance(changed.get("$ref"), str) and changed["$ref"] != _REFERENCE["$ref"]:
        name = changed["$ref"].removeprefix("#/$defs/")
        changed["$ref"] = f"#/$defs/{_PART}{name}"
    if isinstance(changed.get("properties"), dict):
        changed["properties"] = {
            name: _or_null(inner) for name, inner in changed["properties"].items()
        }
    if isinstance(changed.get("additionalProperties"), dict):
        changed["additionalProperties"] = _or_null(changed["additionalProperties"])
    return changed


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _entries(schema: dict[str, Any]) -> dict[str, Any]:
    """An entry of ``benchmarks`` that has a playbook may leave out what that one says."""
    changed = copy.deepcopy(schema)
    entries = changed["anyOf"][0]
    entries["items"] = {
        "if": {"required": ["playbook"]},
        "then": {"$ref": f"#/$defs/{_PART}BenchmarkConfig"},
        "else": entries["items"],
    }
    return changed
