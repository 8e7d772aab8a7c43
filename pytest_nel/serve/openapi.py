"""The OpenAPI page of a served benchmark, and one for people."""

import html
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from pytest_nel.core.types import JsonObject
from pytest_nel.serve.bodies import (
    MODELS,
    DatasetSize,
    GymVerifyReply,
    GymVerifyRequest,
    Health,
    Problem,
    SeedSessionReply,
    SeedSessionRequest,
    VerifyReply,
    VerifyRequest,
)

_REFERENCE = "#/components/schemas/{model}"


class Endpoint(NamedTuple):
    """One endpoint as the pages describe it; several bodies mean one of them."""

    method: str
    path: str
    summary: str
    replies: Sequence[type[BaseModel]]
    bodies: Sequence[type[BaseModel]] = ()
    refusals: Sequence[int] = ()
    open: bool = False


ENDPOINTS = (
    Endpoint("get", "/health", "Whether the server is ready, and for what", [Health], open=True),
    Endpoint("get", "/dataset_size", "How many problems there are", [DatasetSize]),
    Endpoint(
        *("post", "/seed_session", "A problem, its gold answer included"),
        [SeedSessionReply],
        [SeedSessionRequest],
        (400, 413, 422, 500),
    ),
    Endpoint(
        *("post", "/verify", "Judges an answer; no reward comes with an error"),
        [VerifyReply, GymVerifyReply],
        [VerifyRequest, GymVerifyRequest],
        (400, 413, 422, 500, 502),
    ),
)


def document(benchmark: str, *, guarded: bool) -> JsonObject:
    """The OpenAPI 3.1 document.

    Args:
        benchmark: What is served.
        guarded: Whether a bearer token is asked for.
    """
    _, schemas = models_json_schema(
        [(model, "validation") for model in MODELS], ref_template=_REFERENCE
    )
    components: JsonObject = {"schemas": schemas["$defs"]}
    if guarded:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"{benchmark}, served by pytest-nel",
            "version": version("pytest-nel"),
            "description": "Hands out the problems of a benchmark and judges answers.",
        },
        "paths": {one.path: {one.method: _operation(one, guarded=guarded)} for one in ENDPOINTS},
        "components": components,
    }


def page(benchmark: str) -> str:
    """The same for people: one page without anything from elsewhere."""
    rows = "".join(
        f"<tr><td><code>{one.method.upper()} {one.path}</code><td>{html.escape(one.summary)}"
        f"<td>{' or '.join(model.__name__ for model in one.bodies) or '–'}"
        f"<td>{' or '.join(model.__name__ for model in one.replies)}"
        for one in ENDPOINTS
    )
    title = html.escape(benchmark)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        "<style>body{font:1rem/1.5 sans-serif;margin:2rem}td,th{padding:.2rem 1rem .2rem 0;"
        "text-align:left}</style>"
        f"<h1>{title}</h1><p>A benchmark, served by pytest-nel. The schemas are in "
        '<a href="openapi.json">openapi.json</a>.'
        f"<table><tr><th>endpoint<th><th>request<th>reply{rows}</table></html>\n"
    )


def _operation(one: Endpoint, *, guarded: bool) -> JsonObject:
    refusals = {str(status): _refusal(status) for status in one.refusals}
    if guarded and not one.open:
        refusals["401"] = _refusal(401)
    operation: JsonObject = {
        "operationId": one.path.strip("/"),
        "summary": one.summary,
        "responses": {"200": {"description": "Done", **_content(one.replies)}, **refusals},
    }
    if one.bodies:
        operation["requestBody"] = {"required": True, **_content(one.bodies)}
    if guarded and not one.open:
        operation["security"] = [{"token": []}]
    return operation


_REFUSALS = {
    400: "No JSON object, or no such problem",
    401: "The bearer token is missing or wrong",
    413: "The body is too large",
    422: "A field is missing, of another type, or nothing that can be judged by",
    500: "The problem could not be made, or the scorer failed: there is no reward",
    502: "The model that judges was not reached, or said nothing usable: there is no reward",
}


def _refusal(status: int) -> JsonObject:
    return {"description": _REFUSALS[status], **_content([Problem])}


def _content(models: Sequence[type[BaseModel]]) -> JsonObject:
    found = [{"$ref": _REFERENCE.format(model=model.__name__)} for model in models]
    schema = found[0] if len(found) == 1 else {"anyOf": found}
    return {"content": {"application/json": {"schema": schema}}}
