"""What a worker takes over from one that has died."""

from collections.abc import Mapping, Sequence

import pytest

from pytest_nel.core.types import AttemptKey
from pytest_nel.engine.past import Past
from pytest_nel.hooks.resume import past_with
from pytest_nel.hooks.state import Run
from pytest_nel.records.index import JournalIndex, index_journals
from pytest_nel.records.journal import turn_of


def suspects(run: Run, keys: Sequence[AttemptKey], indexes: Mapping[str, JournalIndex]) -> set[int]:
    """Indices into ``keys`` of the attempts that were begun in this session and never judged.

    One of them may have killed its worker; so may the attempt that it waited for, whose answer an
    earlier session may have brought.

    Args:
        run: The run.
        keys: What is inherited.
        indexes: What is written by now, by benchmark.
    """
    begun = {
        AttemptKey(name, *attempt)
        for name, index in indexes.items()
        for attempt, path, _ in index.unfinished()
        if turn_of(path) >= run.turn
    }
    return {index for index, key in enumerate(keys) if key in begun}


def adopt(run: Run, items: Sequence[pytest.Item], turn: int) -> None:
    """Take items over whose worker has died and is not replaced.

    Args:
        run: The run.
        items: In the order in which they will be run, after all others.
        turn: What is written from now on counts after all of a lower turn.
    """
    worker = run.worker
    assert worker is not None
    attempts = [item for item in items if is_attempt(item)]
    keys = [item.key for item in attempts]  # type: ignore[attr-defined]  # as just seen
    waited = bool(attempts) and items[0] is attempts[0]
    first = len(run.order)
    run.order = [*run.order, *keys]
    if run.engine is None:  # it begins with all of them
        worker.turn = turn
        worker.waited = first if waited else None
    elif keys:
        names = dict.fromkeys(key.benchmark for key in keys)
        indexes = {name: index_journals(run.directory / name / "journal") for name in names}
        pasts: dict[str, Past] = {
            name: past_with(run, name, index) for name, index in indexes.items()
        }
        alone = suspects(run, keys, indexes) | ({0} if waited else set())
        run.engine.take_over(keys, turn=turn, pasts=pasts, alone=alone)
    for position, item in enumerate(attempts, start=first):
        item.position = position  # type: ignore[attr-defined]  # as above


def is_attempt(item: pytest.Item) -> bool:
    """Whether an item is one of ours; without the class, whose module needs this one."""
    return isinstance(getattr(item, "key", None), AttemptKey)
