"""What is asked, as a record has it."""

from pytest_nel.core.pictures import picture
from pytest_nel.core.types import SeedResult
from pytest_nel.records.record import Solved


def fill_in(solved: Solved, seed: SeedResult) -> None:
    """Note what is asked, and what the answer will be judged by."""
    solved.prompt = seed.prompt
    solved.messages = None if _is_plain(seed) else seed.messages
    solved.system = seed.system
    solved.images = [picture(image) for image in seed.images or ()]
    solved.expected = seed.expected_answer
    solved.metadata = seed.metadata


def _is_plain(seed: SeedResult) -> bool:
    """Whether the messages say no more than system and prompt do."""
    plain = [{"role": "user", "content": seed.prompt}]
    if seed.system:
        plain.insert(0, {"role": "system", "content": seed.system})
    return seed.messages is None or list(seed.messages) == plain
