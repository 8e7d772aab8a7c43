"""Options that every kind of sandbox has."""

import re
from collections.abc import Mapping
from string import Formatter
from typing import Annotated, ClassVar

from pydantic import AfterValidator, ConfigDict, Field

from pytest_nel.config.env_map import EnvMap
from pytest_nel.config.schema import Model

MAX_CONCURRENT = 1024
OUTPUT_LIMIT = 2**20
_FIELD = re.compile(r"(?!\d+([.\[]|$))[^.\[\]]+(\.[^.\[\]]+|\[[^\]]+\])*")
"""A name, with attributes and keys of what it names; columns may be called by any characters."""
_CONVERSIONS = "rsa"


def _template(text: str) -> str:
    """As it is, where every brace of it encloses the name of a field."""
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        msg = f"expected a name with {{field}} for fields of the problem's metadata: {error}"
        raise ValueError(msg) from None
    for _, field, format_spec, conversion in parts:
        if not _FIELD.fullmatch(field or ""):
            msg = (
                "expected {field}, the name of a field of the problem's metadata, not its place, "
                f"got {{{field}}}"
            )
            raise ValueError(msg)
        if "{" in (format_spec or "") or conversion not in {None, *_CONVERSIONS}:
            msg = (
                f"expected {{field}}, {{field:FORMAT}} or {{field!r}}, with one of r, s and a, got "
                f"{{{field}{'' if conversion is None else f'!{conversion}'}"
                f"{f':{format_spec}' if format_spec else ''}}}"
            )
            raise ValueError(msg)
    return text


class CommonOptions(Model):
    """How sandboxes of any kind are used.

    Attributes:
        image: The image of problems that bring none.
        image_template: An image's name with ``{field}`` for fields of the problem's metadata; it
            goes before the problem's own image.
        concurrency: How many there are at a time.
        container_env: Variables of every command, ``host:VAR``, ``runtime:VAR`` or ``lit:text``;
            what a problem sets itself goes before.
        capture_cmd: Packs the workspace after solving; null: as the benchmark has it.
        verify_timeout: Seconds for bringing the workspace into the sandbox of the judgement.
        stateful: Whether an answer is judged in the sandbox where it was made.
        scrub_git_history: Whether commits that HEAD does not descend from are removed first.
        output_limit: Bytes that are kept of each of stdout and stderr of a command; of more, the
            middle is left out.
    """

    # A wrong value of a variable may be a secret: no error may quote it.
    model_config = ConfigDict(hide_input_in_errors=True)

    not_here: ClassVar[Mapping[str, str]] = {
        "timeout": (
            "nothing would read it: `timeout` of the benchmark limits an attempt, verify_timeout "
            "its judgement"
        ),
    }

    image: Annotated[str, Field(min_length=1)] | None = None
    image_template: Annotated[str, Field(min_length=1), AfterValidator(_template)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] = 4
    container_env: EnvMap = Field(default_factory=dict)
    capture_cmd: Annotated[str, Field(min_length=1)] | None = None
    verify_timeout: Annotated[float, Field(gt=0)] = 600.0
    stateful: bool = False
    scrub_git_history: bool = False
    output_limit: Annotated[int, Field(ge=1024)] = OUTPUT_LIMIT
