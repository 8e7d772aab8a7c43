"""What the docstring of a model says about its fields."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

_SECTION = re.compile(r"^Attributes:\n((?:[ ]{4}.*\n|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """The entries of its ``Attributes`` section, each as one line.

    What it leaves open is said by the classes that it extends.
    """
    texts: dict[str, str] = {}
    for cls in [one for one in reversed(inspect.getmro(model)) if one is not BaseModel]:
        found = _SECTION.search(f"{inspect.cleandoc(cls.__doc__ or '')}\n")
        if found is not None:
            texts |= {name: " ".join(text.split()) for name, text in _ENTRY.findall(found[1])}
    return texts


def nested_models(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The models of its fields and theirs, by the name of the class; itself is not among them."""
    found: dict[str, type[BaseModel]] = {}
    waiting = [model]
    while waiting:
        for field in waiting.pop().model_fields.values():
            for inner in _models(field.annotation):
                if inner is not model and inner.__name__ not in found:
                    found[inner.__name__] = inner
                    waiting.append(inner)
    return found


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
