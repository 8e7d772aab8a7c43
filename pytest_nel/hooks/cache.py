"""The response cache of a run, where one is asked for."""

from pathlib import Path

from pytest_nel.engine.cached import CachedAnswers
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.past import Mode
from pytest_nel.hooks.state import Run
from pytest_nel.records.cache import DEFAULT_LIMIT, ResponseCache


def cache_of(run: Run, identity: Identity) -> tuple[CachedAnswers | None, bool]:
    """The cache, opened once, and whether a benchmark's repeats may share its answers.

    Raises:
        ConfigError: It cannot be opened.
    """
    place = run.options.get("cache")
    if place is None or run.mode is Mode.RESCORE:
        return None, False
    if run.cache is None:
        folder = run.config.invocation_params.dir / Path(place)
        limit = run.options.get("cache-size", DEFAULT_LIMIT)
        run.cache = CachedAnswers(ResponseCache(folder, limit=limit))
    wanted = bool(run.options.get("cache-share-repeats"))
    cold = identity.answering.get("sampling.temperature") == 0
    return run.cache, wanted and cold
