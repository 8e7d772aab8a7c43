"""What an attempt is: the key of its answer, and the key of that answer's judgement.

Two attempts with one ``solve_key`` ask the same model the same thing in the same way, wherever it
is served; their answers can stand for each other. Two with one ``score_key`` have in addition the
same judge and the same gold answer.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b, sha256
from typing import Any

from pytest_nel.core.pictures import picture
from pytest_nel.core.types import SeedResult
from pytest_nel.records.record import dumps

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False)
_SIZE = 16  # bytes; a key is written as 32 hex digits


class Identity:
    """What the keys of a benchmark's attempts have in common.

    Args:
        answering: What determines answers beside the problem: solver, model, sampling.
        judging: What determines judgements beside answer and gold answer.
        reads_row: Whether the solver may look at the problem's metadata, not at its text alone.
    """

    def __init__(
        self, answering: Mapping[str, Any], judging: Mapping[str, Any], *, reads_row: bool
    ) -> None:
        self.answering = answering
        self.reads_row = reads_row
        self._answering = _ordered(answering)
        self._judging = _ordered(judging)
        self.judging = f"sha256:{sha256(self._judging).hexdigest()}"

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
            asked.append(seed.metadata)
        return _key(self._answering, asked)

    def score_key(self, solve_key: str, seed_expected: str, metadata: Mapping[str, Any]) -> str:
        """The key of a judgement; 32 hex digits."""
        return _key(self._judging, [solve_key, seed_expected, metadata])


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
