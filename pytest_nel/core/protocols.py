"""The verbs: what the engine may ask of the parts that plug in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from pytest_nel.core.modules import kind_name
from pytest_nel.core.sandbox import ImageFacts, Sandbox, SandboxSpec
from pytest_nel.core.source import constants, plain_state, source_digest
from pytest_nel.core.types import Endpoint, SeedResult, SolveResult, VerifyResult


class Solver(Protocol):
    """Turns a problem into a response. Holds connections, never per-problem state.

    A solver may say what determines its answers with a method ``fingerprint()`` that returns a
    mapping of plain values; otherwise its source and its plain attributes do. One whose
    ``reads_row`` is False looks at the problem's text alone; one may name what it reads of the
    problem's metadata by an attribute ``reads_fields``, and a class that is registered by a static
    method ``row_fields(options)`` as well (None: all). One whose ``asks_model`` is False asks none,
    so that its tokens are 0 and not unknown.
    """

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        """Return the response; raise InfraError when the machinery failed."""
        ...


@runtime_checkable
class Opens(Protocol):
    """A part with resources bound to the engine's loop: opened before the first attempt."""

    async def open(self) -> None:
        """Acquire what needs a running loop."""
        ...

    async def close(self) -> None:
        """Release it; called once, also after a failure."""
        ...


class Service(Protocol):
    """A model deployment or an endpoint that runs elsewhere.

    Attributes:
        deploys: Whether ``start`` starts something: then one process does it for a whole run.
        answers_by: Its options that determine answers; two services that agree in them answer
            alike. What stands in no option as it is (an inherited variable, a file) may be
            said by an optional static method ``identity(options)``: a mapping of plain values,
            which is merged over those options.
    """

    deploys: ClassVar[bool]
    answers_by: ClassVar[tuple[str, ...]]

    def start(self) -> Endpoint:
        """Make it reachable (blocking; called once per run, before the engine's loop)."""
        ...

    def stop(self) -> None:
        """End what ``start`` began; called whatever happened."""
        ...


class EvalEnvironment:
    """A benchmark written as a class: it seeds problems and verifies answers.

    The engine owns the loop: an environment only seeds and verifies. Subclass it, set ``name``
    and implement the three methods below; :func:`pytest_nel.register` gives it a public name.
    """

    name: str = ""
    #: What the score must reach, where suite and command line do not say; None: anything will do.
    min_score: float | None = None

    async def dataset_size(self) -> int:
        """How many problems there are."""
        return len(self)

    def __len__(self) -> int:
        msg = f"{type(self).__name__} defines neither __len__ nor dataset_size()"
        raise TypeError(msg)

    async def seed(self, idx: int) -> SeedResult:
        """Problem ``idx`` (0-based position in the dataset)."""
        raise NotImplementedError

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        """Judge a response; ``metadata`` is that of the seed.

        Where that has ``trajectory``, the steps of the solver stand in its place.
        """
        raise NotImplementedError

    async def leave_solution(
        self, sandbox: Sandbox, metadata: Mapping[str, Any], limit: float
    ) -> bool:
        """Solve a problem as its author has, where :meth:`verify` raises ``NotJudged``.

        Args:
            sandbox: A solver's, in which nobody has worked.
            metadata: That of the seed.
            limit: Seconds that a solver has.

        Returns:
            False: it brings no solution, and the sandbox is as it was.
        """
        del sandbox, metadata, limit
        return False

    async def sandbox_specs(self) -> Sequence[SandboxSpec] | None:
        """Sandboxes that its problems will ask for, so that images are there beforehand."""
        return None

    def problems_chosen(self, problems: Sequence[int]) -> None:
        """Told which problems a run has, before it asks for images and sandboxes.

        Args:
            problems: Their positions in the dataset.

        Raises:
            ConfigError: One of them cannot be run.
        """

    def images_known(self, found: Sequence[tuple[SandboxSpec, ImageFacts]]) -> None:
        """Told what images say of themselves when they are there, before the first seed.

        Args:
            found: Sandboxes, of :meth:`sandbox_specs`, with what is known of their images.
        """

    def sandbox_warnings(self, memory: int | None, cpus: float | None) -> Iterable[str]:
        """What a user should know of sandboxes with these limits.

        Args:
            memory: Bytes; None: there is no such limit.
            cpus: Processors, as above.
        """
        del memory, cpus
        return ()

    async def prepare(self) -> None:
        """Called once before the first seed."""

    async def close(self) -> None:
        """Called once after the last verification."""

    #: The preset of the judge that grades its answers (``generic``, ``simpleqa``,
    #: ``healthbench``, ``rubric``), where verifying returns :func:`pytest_nel.needs_judge`;
    #: None: none does.
    judge_preset: str | None = None
    #: True when :meth:`verify_now` must be called instead of ``verify``: a blocking scorer then
    #: runs in the thread of whoever asks for the result, never on the engine's loop.
    judges_now: bool = False
    #: True when verifying needs a sandbox; a run without any is then refused before it begins.
    needs_sandbox: bool = False
    #: True when problems bring images of their own: an image then counts for its problem alone, and
    #: :meth:`sandbox_specs` asks for those of :meth:`problems_chosen` only.
    images_by_problem: bool = False
    #: True when ``verify`` judges what was done in the sandbox: an agent may then say nothing, and
    #: an empty response does not refuse its reward.
    judges_workspace: bool = False
    #: True when what ``verify_now`` returns has been checked already (a reward in [0, 1], plain
    #: details); a class of your own leaves it False and is checked by the engine.
    checks_results: bool = False

    def verify_now(self, response: str, expected: str, metadata: Mapping[str, Any]) -> VerifyResult:
        """Judge in the calling thread; used when :attr:`judges_now` is true."""
        raise NotImplementedError

    def problem_id(self, idx: int) -> str:
        """A name for the problem that survives reordering of the data."""
        return str(idx)

    def twin(self, idx: int) -> str:
        """What tells the problem from others that are asked the same.

        Answers of other runs are looked up by it: two equal problems are still asked twice.
        """
        return self.problem_id(idx)

    @property
    def pass_at(self) -> float:
        """The reward from which an attempt counts as correct."""
        return 1.0

    def judging(self) -> Mapping[str, Any]:
        """What determines judgements beside the answer and the gold answer.

        When it changes, stored answers are judged again. The default says: the source of the
        class, its neighbours in use, and the plain attributes of the object.
        """
        kind = type(self)
        return {
            "class": kind_name(kind),
            "source": source_digest(kind),
            "constants": constants(kind),
            "state": plain_state(self),
            "pass_at": self.pass_at,
        }

    def fingerprint(self) -> Mapping[str, Any]:
        """Facts that identify the data: id, revision, content hash where known."""
        return {"dataset": self.name}
