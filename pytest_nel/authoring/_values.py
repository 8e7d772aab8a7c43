"""Values of ``@benchmark`` that can be looked at for themselves."""

from collections.abc import Sequence

from pytest_nel.core.sandbox import SandboxSpec


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


def wrong_sandbox(sandbox: object, *, awaits: bool) -> str | None:
    """What is wrong with a benchmark's sandbox; ``awaits``: its scorer is async."""
    if sandbox is None:
        return None
    if not isinstance(sandbox, SandboxSpec) and not (isinstance(sandbox, str) and sandbox.strip()):
        return f"sandbox: expected an image's name or a SandboxSpec, got {sandbox!r}"
    if awaits:
        return None
    return (
        "sandbox: its scorer is plain and could await nothing that runs there: make it "
        "`async def`, and await sample.sandbox.exec(…)"
    )
