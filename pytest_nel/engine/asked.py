"""What is asked, as a record has it."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pytest_nel.core.keys import digest
from pytest_nel.core.pictures import picture
from pytest_nel.core.sandbox_facts import spec_facts
from pytest_nel.core.types import JsonObject, SeedResult
from pytest_nel.records.record import Solved

Reads: TypeAlias = bool | tuple[str, ...]
"""What a solver may look at of a problem's metadata: all, nothing, or these."""


def read_of(metadata: Mapping[str, Any], reads: Reads) -> JsonObject:
    """The metadata that a solver may look at."""
    if isinstance(reads, bool):
        return dict(metadata) if reads else {}
    return {name: metadata[name] for name in reads if name in metadata}


def fill_in(solved: Solved, seed: SeedResult) -> None:
    """Note what is asked, and what the answer will be judged by."""
    solved.prompt = seed.prompt
    solved.messages = None if _is_plain(seed) else seed.messages
    solved.system = seed.system
    solved.images = [picture(image) for image in seed.images or ()]
    solved.expected = seed.expected_answer
    solved.metadata = seed.metadata
    solved.judged_in = _judged_in(seed)


def reads_files(seed: SeedResult) -> bool:
    """Whether :func:`fill_in` and keys read files of this machine, the first time at least."""
    specs = (seed.sandbox_spec, seed.verify_sandbox_spec)
    return any(spec is not None and (spec.files or spec.environment_dir) for spec in specs)


def worked_in(seed: SeedResult) -> JsonObject:
    """What determines where a solver works; empty where the problem says nothing of it."""
    where = {
        "spec": spec_facts(seed.sandbox_spec),
        "pre_agent_cmd": seed.pre_agent_cmd,
        "pre_agent_required": seed.pre_agent_required or None,
        "capture_cmd": seed.capture_cmd,
    }
    return {name: value for name, value in where.items() if value is not None}


def _judged_in(seed: SeedResult) -> str:
    if seed.sandbox_spec is None and seed.verify_sandbox_spec is None:
        return ""
    where = [spec_facts(seed.verify_sandbox_spec), worked_in(seed), seed.apply_cmd]
    return digest(where)


def _is_plain(seed: SeedResult) -> bool:
    """Whether the messages say no more than system and prompt do."""
    plain = [{"role": "user", "content": seed.prompt}]
    if seed.system:
        plain.insert(0, {"role": "system", "content": seed.system})
    return seed.messages is None or list(seed.messages) == plain
