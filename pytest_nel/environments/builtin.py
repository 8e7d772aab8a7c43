"""A :class:`Benchmark` as an environment: its rows become problems, its scorer the judge.

Everything that can be wrong with the data is found while the run is planned: every row is
prepared and every prompt rendered once, before the first call.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_nel.authoring import catalog
from pytest_nel.authoring.benchmark import Benchmark, equals_target
from pytest_nel.authoring.mistakes import is_async
from pytest_nel.authoring.requirements import check_requirements
from pytest_nel.core.errors import ConfigError, NelError, ScorerError
from pytest_nel.core.keys import digest
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.registry import unknown
from pytest_nel.core.sandbox import Sandbox, SandboxSpec
from pytest_nel.core.sandbox_facts import spec_facts
from pytest_nel.core.source import constants, source_digest
from pytest_nel.core.types import ScorerInput, SeedResult, VerifyResult
from pytest_nel.environments._problems import Problems
from pytest_nel.scoring.judging.request import needs_judge
from pytest_nel.scoring.result import to_verify_result

OURS = "pytest_nel"  # the file of scorers that come with the package, in identities
INDEX = "problem_idx"  # the key of a seed's metadata that leads back to its row


class BenchmarkEnvironment(EvalEnvironment):
    """Problems of a ``@benchmark``.

    Args:
        benchmark: What to ask and how to judge.
        base: The folder for relative data and prompt files; None means the benchmark's own.
        limit: Take the first so many rows.

    Raises:
        ConfigError: A package is missing, or a row cannot become a problem.
    """

    def __init__(
        self, benchmark: Benchmark, *, base: Path | None = None, limit: int | None = None
    ) -> None:
        check_requirements(benchmark)
        self.benchmark = benchmark
        self.name = benchmark.name
        self.checks_results = True
        self._file = Path(benchmark.file).name
        self._method = f"byob_{benchmark.name}"
        self.min_score = benchmark.min_score
        self.judge_preset = benchmark.judge
        self.judges_now = benchmark.scorer is None or not is_async(benchmark.scorer)
        folder = Path(benchmark.file).parent if base is None else base
        self._limited = limit is not None
        self._problems = Problems(benchmark, folder, limit)
        self.needs_sandbox = benchmark.sandbox is not None
        made_of = {(spec.image, spec.environment_dir) for spec in self._problems.specs}
        self.images_by_problem = len(made_of) > 1
        self._chosen: Sequence[int] | None = None

    @classmethod
    def from_name(
        cls, name: str, *, base: Path, limit: int | None, params: Mapping[str, Any]
    ) -> EvalEnvironment:
        """Find the benchmark; a class written by an author is made with the params.

        Raises:
            ConfigError: There is none, or it does not take these params.
        """
        found = catalog.find(name, base=base)
        if isinstance(found, Benchmark):
            return cls(_with_params(found, params), limit=limit)
        return _instance(found, limit, params)

    def __len__(self) -> int:
        return len(self._problems.rows)

    @property
    def pass_at(self) -> float:
        """The benchmark's own."""
        return float(self.benchmark.pass_at)

    @property
    def endpoint_type(self) -> str:
        """``chat`` or ``completions``: which solver fits when the suite does not say."""
        return self.benchmark.endpoint_type

    @property
    def another_size(self) -> str | None:
        """That the data are not the whole set, or more than it; None where they are the set."""
        documented = self.benchmark.size
        if documented is None or len(self) == documented or self._limited:
            return None
        return (
            f"{self.name}: {len(self):,} problems were loaded, and the whole set has "
            f"{documented:,}: its scores compare with no published ones"
        )

    async def seed(self, idx: int) -> SeedResult:
        """As :meth:`seed_now`; nothing in it waits."""
        return self.seed_now(idx)

    def seed_now(self, idx: int) -> SeedResult:
        """The problem as a solver sees it: its metadata has no gold answer.

        Raises:
            IndexError: There is no such problem.
        """
        if not 0 <= idx < len(self):
            msg = f"idx={idx} out of range [0, {len(self)})"
            raise IndexError(msg)
        return self._problems.seed(idx)

    def verify_now(self, response: str, expected: str, metadata: Mapping[str, Any]) -> VerifyResult:
        """Judge in the calling thread.

        Raises:
            ScorerError: The scorer raised, or returned something that is no reward.
        """
        return self._judge(response, expected, metadata, None)

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        """Judge; an async scorer is awaited, a plain one runs right here.

        Raises:
            ScorerError: As :meth:`verify_now`.
        """
        if self.judges_now or self.benchmark.scorer is None:
            return self._judge(response, expected, metadata, sandbox)
        if not response.strip():
            return self._unparsed()
        idx = self._index(metadata)
        sample = self.sample(response, expected, metadata, sandbox)
        try:
            returned = await self.benchmark.scorer(sample)
        except Exception as error:  # as above
            raise self._scorer_error(error, idx) from error
        return self._result(returned, idx, response)

    def problem_id(self, idx: int) -> str:
        """The row's id, or the beginning of its content's hash (``-2`` for a second equal row)."""
        return self._problems.ids[idx]

    def twin(self, idx: int) -> str:
        """How many problems before it are asked the same; most often none."""
        return str(self._problems.twins.get(idx, 0))

    def prompt_digest(self) -> str:
        """``sha256:…`` over every problem as it is asked: prompts, system prompts, messages."""
        return self._problems.prompt_digest

    def problems_chosen(self, problems: Sequence[int]) -> None:
        """Told which problems the run has: the others' images are not asked for."""
        self._chosen = problems

    async def sandbox_specs(self) -> Sequence[SandboxSpec]:
        """Those of the run's problems, each once."""
        if self._chosen is None or not self.images_by_problem:
            return self._problems.specs
        return self._problems.specs_of(self._chosen)

    def fingerprint(self) -> Mapping[str, Any]:
        """What must be equal for two runs to have measured the same thing."""
        data = self._problems.dataset
        return {
            "benchmark": self.name,
            "dataset": data.source,
            "revision": data.revision,
            "content_hash": data.content_hash,
            **({"origin": data.origin} if data.origin else {}),
            "rows_hash": self._problems.rows_hash,
            "prompts": self.prompt_digest(),
            "seeds": self._problems.seeds_digest,
            "scorer": scorer_identity(self.benchmark),
            "extra": self._problems.extra_digest,
            "pass_at": self.pass_at,
        }

    def judging(self) -> Mapping[str, Any]:
        """The scorer with what it uses, its settings, and our version, since ours may be called."""
        benchmark = self.benchmark
        return {
            "source": source_digest(benchmark.scorer) if benchmark.scorer else "",
            "constants": constants(benchmark.scorer) if benchmark.scorer else {},
            "extra": benchmark.extra,
            "pass_at": self.pass_at,
            "pytest-nel": version("pytest-nel"),
            **self._judged_in(),
        }

    def _judged_in(self) -> Mapping[str, Any]:
        specs = [spec_facts(spec) for spec in self._problems.specs]
        return {"sandboxes": digest(specs)} if specs else {}

    def _judge(
        self, response: str, expected: str, metadata: Mapping[str, Any], sandbox: Sandbox | None
    ) -> VerifyResult:
        if not self.judges_now:
            msg = f"the scorer of {self.name} is async: await verify()"
            raise NotImplementedError(msg)
        if not response.strip():
            return self._unparsed()
        idx = self._index(metadata)
        sample = self.sample(response, expected, metadata, sandbox)
        try:
            returned = self._own(sample)
        except Exception as error:  # the author's code: anything may come
            raise self._scorer_error(error, idx) from error
        return self._result(returned, idx, response)

    def _own(self, sample: ScorerInput) -> object:
        """What the author's scorer returns; without one a judge decides, or equality does."""
        if self.benchmark.scorer is None and self.benchmark.judge is not None:
            return needs_judge()
        return (self.benchmark.scorer or equals_target)(sample)

    def sample(
        self,
        response: str,
        expected: str,
        metadata: Mapping[str, Any],
        sandbox: Sandbox | None = None,
    ) -> ScorerInput:
        """What a scorer sees: the whole row, gold answer included; the solver did not.

        Raises:
            ScorerError: The metadata does not say of which row it is.
        """
        row = self._problems.rows[self._index(metadata)]
        return ScorerInput(
            response=response,
            target=expected,
            metadata={**row, **metadata},
            config=dict(self.benchmark.extra),
            sandbox=sandbox,
        )

    def _index(self, metadata: Mapping[str, Any]) -> int:
        idx = metadata.get(INDEX)
        if isinstance(idx, int) and 0 <= idx < len(self):
            return idx
        msg = f"{self._file}:{self.name}: {INDEX}={idx!r} of the metadata leads to no problem"
        raise ScorerError(msg)

    def _result(self, returned: object, idx: int, response: str) -> VerifyResult:
        if inspect.iscoroutine(returned):
            returned.close()  # or Python warns that it was never awaited, far from here
        return to_verify_result(
            returned, method=self._method, where=self.where(idx), response=response
        )

    def _unparsed(self) -> VerifyResult:
        details = {"method": self._method, "empty": True}
        return VerifyResult(reward=0.0, scoring_details=details, parsed=False)

    def _scorer_error(self, error: Exception, idx: int) -> NelError:
        if isinstance(error, NelError):
            return error
        blamed = catalog.blame(error, self.benchmark.file)
        return ScorerError(f"{self.where(idx)}: the scorer failed: {blamed}")

    def where(self, idx: int) -> str:
        """The place of a problem's row, for messages."""
        place = self._problems.dataset.where(idx)
        return f"{self._file}:{self.name} {place} (id {self.problem_id(idx)!r})"


def scorer_identity(benchmark: Benchmark) -> str:
    """``file.py:function sha256:…`` of the scorer and of what it uses."""
    if benchmark.scorer is None and benchmark.judge is not None:
        return f"judge {benchmark.judge}"
    file = Path(benchmark.file).name if benchmark.scorer is not None else OURS
    return function_identity(benchmark.scorer or equals_target, file)


def function_identity(function: Any, file: str) -> str:
    """The same of any scorer; Any: a function, a ``partial`` of one, or an object to call."""
    named = function
    while hasattr(named, "func"):  # functools.partial
        named = named.func
    target = named if inspect.isroutine(named) else type(named)
    return f"{file}:{target.__qualname__} {source_digest(function)}"


def _with_params(benchmark: Benchmark, params: Mapping[str, Any]) -> Benchmark:
    """Params are new values for settings that the benchmark has."""
    for key in params:
        if key not in benchmark.extra:
            error = unknown(f"param of benchmark {benchmark.name}", key, sorted(benchmark.extra))
            raise error
    return replace(benchmark, extra={**benchmark.extra, **params}) if params else benchmark


def _instance(
    cls: type[EvalEnvironment], limit: int | None, params: Mapping[str, Any]
) -> EvalEnvironment:
    accepted = inspect.signature(cls).parameters
    named = [name for name, entry in accepted.items() if entry.kind is not entry.VAR_KEYWORD]
    if len(named) == len(accepted):  # no **kwargs
        for key in params:
            if key not in named:
                error = unknown(f"param of benchmark {cls.name}", key, named)
                raise error
    arguments = dict(params)
    if limit is not None and "num_examples" in named:
        given = arguments.get("num_examples")
        arguments["num_examples"] = min(limit, given) if isinstance(given, int) else limit
    try:
        return cls(**arguments)
    except NelError:
        raise
    except Exception as error:  # the author's code: anything may come
        file = inspect.getsourcefile(cls) or cls.__module__
        given = ", ".join(sorted(arguments)) or "no arguments"
        msg = f"benchmark {cls.name} cannot be made with {given}: {catalog.blame(error, file)}"
        raise ConfigError(msg) from error
