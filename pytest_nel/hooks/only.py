"""``--nel-only``: which attempts of an earlier run are made again."""

import pytest

from pytest_nel.hooks.item import AttemptItem
from pytest_nel.hooks.resume import earlier_index
from pytest_nel.hooks.state import Run


class Only:
    """Deselects everything else."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep attempts with that outcome, and tests that are no attempts."""
        kept: list[pytest.Item] = []
        dropped: list[pytest.Item] = []
        for item in items:
            (kept if self._wanted(item) else dropped).append(item)
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = kept

    def _wanted(self, item: pytest.Item) -> bool:
        if not isinstance(item, AttemptItem):
            return True
        index = earlier_index(self._run, item.key.benchmark)
        known = index.known(item.key.problem_idx, item.key.repeat)
        if known is None:
            return False
        waits = known.outcome is None and known.answer is not None  # for a judgement
        outcome = known.outcome or ("unscored" if waits else None)
        return bool(outcome == self._run.options.given["only"])
