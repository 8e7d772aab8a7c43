"""Values of ``@benchmark`` that can be looked at for themselves."""

from collections.abc import Sequence


def is_label(name: object) -> bool:
    """Whether it is text without space around it or line breaks."""
    return isinstance(name, str) and name.strip() == name != "" and name.isprintable()


def wrong_requirements(requirements: Sequence[str]) -> str | None:
    """What is wrong with requirements, or None."""
    if not requirements:
        return None
    from packaging.requirements import (  # noqa: PLC0415  # few benchmarks have any
        InvalidRequirement,
        Requirement,
    )

    for text in requirements:
        try:
            Requirement(text)
        except (InvalidRequirement, TypeError) as error:
            return f"requirements: {text!r} is no requirement that pip takes: {error}"
    return None
