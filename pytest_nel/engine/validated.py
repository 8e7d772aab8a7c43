"""Options of plugins through their own models."""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import ValidationError

from pytest_nel.config.interpolate import dotted
from pytest_nel.config.problems import taken_for_numbers
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.registry import unknown


def validated(model: Any, options: Mapping[str, Any], where: str) -> Any:
    """Plugin options through the plugin's own pydantic model; one line per mistake."""
    try:
        made = model(**options)
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_input=False, include_url=False):
            place = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                known = list(_inside(model, problem["loc"][:-1]).model_fields)
                inner = ".".join([where, *(str(part) for part in problem["loc"][:-1])])
                name = str(problem["loc"][-1])
                lines.append(str(unknown(f"option at {inner}", name, known)))
            else:
                said = problem["msg"].removeprefix("Value error, ")
                lines.append(f"{where}{'.' + place if place else ''}: {said}")
        raise ConfigError("\n".join(lines)) from None
    if lines := [
        f"{where}.{dotted(problem.path)}: {problem.message}"
        for problem in taken_for_numbers(options, made)
    ]:
        raise ConfigError("\n".join(lines))
    return made


def _inside(model: Any, place: tuple[int | str, ...]) -> Any:  # Any: a pydantic model's class
    """The model of what stands at a place inside another; the outer one where it is none."""
    for name in place:
        field = model.model_fields.get(name)
        kinds = () if field is None else (field.annotation, *get_args(field.annotation))
        model = next((each for each in kinds if hasattr(each, "model_fields")), model)
    return model
