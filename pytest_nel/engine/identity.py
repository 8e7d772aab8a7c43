"""What an attempt is: the key of its answer, and the key of that answer's judgement.

Two attempts with one ``solve_key`` ask the same model the same thing in the same way, wherever it
is served; their answers can stand for each other. Two with one ``score_key`` have in addition the
same judge and the same gold answer.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b, sha256
from typing import Any, Protocol

from pytest_nel.core.keys import digest
from pytest_nel.core.pictures import picture
from pytest_nel.core.types import SeedResult
from pytest_nel.engine.asked import Reads, read_of, worked_in
from pytest_nel.records.record import dumps

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False)
_SIZE = 16  # bytes; a key is written as 32 hex digits


class Images(Protocol):
    """Knows what the images of problems are made of, where only a problem tells them."""

    async def look(self, seed: SeedResult) -> None:
        """Learn it for one, before its keys are made."""
        ...

    def marks(self, seed: SeedResult) -> list[str | None]:
        """Their digests; empty where the benchmark's facts have them."""
        ...


class Identity:
    """What the keys of a benchmark's attempts have in common.

    Args:
        answering: What determines answers beside the problem: solver, model, sampling.
        judging: What determines judgements beside answer and gold answer.
        reads_row: What the solver may look at of the problem's metadata, beside its text.
        works_in_sandbox: Whether it may run something in the problem's sandbox.
        judges_in_sandbox: Whether the verifier may.
        images: What tells digests of images that are each problem's own.
    """

    def __init__(
        self,
        answering: Mapping[str, Any],
        judging: Mapping[str, Any],
        *,
        reads_row: Reads,
        works_in_sandbox: bool = False,
        judges_in_sandbox: bool = False,
        images: Images | None = None,
    ) -> None:
        self.answering = answering
        self.judging_facts = judging
        self.reads_row = reads_row
        self.works_in_sandbox = works_in_sandbox
        self._judges = judges_in_sandbox
        self._images = images
        self._answering = _ordered(answering)
        self._judging = _ordered(judging)
        self.judging = f"sha256:{sha256(self._judging).hexdigest()}"

    async def look(self, seed: SeedResult) -> None:
        """Learn what keys of a problem need beside it; to be awaited before they are made."""
        if self._images is not None and (self.works_in_sandbox or self._judges):
            await self._images.look(seed)

    def judged_in(self, seed: SeedResult, said: str) -> str:
        """What the verifier's sandbox is made of, its image included.

        Args:
            seed: The problem.
            said: Digest of what the problem says of it.
        """
        marks = self._marks(seed)
        return digest([said, marks]) if marks and self._judges else said

    def _marks(self, seed: SeedResult) -> list[str | None]:
        return [] if self._images is None else self._images.marks(seed)

    def solve_key(self, seed: SeedResult, repeat: int, *, twin: str | None = None) -> str:
        """The key of an answer; 32 hex digits.

        Args:
            seed: The problem.
            repeat: Which repeat; the same for all where repeats may share an answer.
            twin: What tells it from problems that are asked the same, for a key that stands
                outside its run.
        """
        asked: list[Any] = [seed.prompt, seed.messages, seed.system, repeat, twin]
        if seed.images:
            asked.append([picture(image) for image in seed.images])
        if self.reads_row:
            asked.append(read_of(seed.metadata, self.reads_row))
        if self.works_in_sandbox and (place := worked_in(seed)):
            asked.append(place)
        if self.works_in_sandbox and (marks := self._marks(seed)):
            asked.append(marks)
        return _key(self._answering, asked)

    def score_key(
        self,
        solve_key: str,
        seed_expected: str,
        metadata: Mapping[str, Any],
        judged_in: str = "",
    ) -> str:
        """The key of a judgement; 32 hex digits.

        Args:
            solve_key: The key of the answer.
            seed_expected: The gold answer.
            metadata: The problem's.
            judged_in: Digest of what the verifier's sandbox is made of.
        """
        asked = [solve_key, seed_expected, metadata]
        if self._judges and judged_in:
            asked.append(judged_in)
        return _key(self._judging, asked)


def _ordered(facts: Mapping[str, Any]) -> bytes:
    plain = json.loads(dumps(dict(facts)))
    return json.dumps(plain, sort_keys=True).encode("utf-8", "surrogatepass")


def _key(common: bytes, parts: list[Any]) -> str:
    mark = blake2b(common, digest_size=_SIZE)
    mark.update(_text(parts).encode("utf-8", "surrogatepass"))
    return mark.hexdigest()


def _text(parts: list[Any]) -> str:
    try:
        return _ENCODER.encode(parts)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(json.loads(dumps(parts)), sort_keys=True)
