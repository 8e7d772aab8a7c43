"""A scorer is tried on its own benchmark before a token is spent.

A right answer must get full marks, and an empty one nothing. What a right answer looks like the
author says with ``gold=``; otherwise the gold answer is tried alone and in the forms that prompts
usually ask for, and one that is understood is enough.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from pytest_nel.authoring.benchmark import Gold, equals_target
from pytest_nel.authoring.catalog import blame
from pytest_nel.authoring.mistakes import is_async
from pytest_nel.authoring.template import compile_template
from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.text import showable
from pytest_nel.core.types import ScorerInput, SeedResult, VerifyResult
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.scoring.judging.request import wants_judge
from pytest_nel.scoring.result import to_verify_result

PASSED = "passed"
SKIPPED = "skipped"
_FORMS = ("{}", "Answer: {}", "\\boxed{{{}}}", "#### {}", "The answer is {}.")
_ROWS = 100
"""Rows that are tried at most."""
_LEAST = 3
"""Rows that are tried however long it takes, where none of them has a right answer to try."""
_SECONDS = 0.5
"""Seconds after which no further row is tried."""
_PAIRS = 20
"""Wrong answers that are tried at most."""
_PATIENCE = 60.0
"""Seconds for one judgement of an async scorer."""
_SHOWN = 200
_DEPTH = 3
"""Lists within lists that are looked into: spans of the first of several references."""
_OTHERS = 9
"""Answers that a message lists beside the first."""
_SCHEMA = "only the schema says what is right"
_JUDGED = "a model judges, and asking it costs something"
_RUNS = "its scorer runs code, and there is no sandbox yet"
_PATTERN = "only the pattern says what an answer looks like"
_WAYS_OUT = (
    "Correct the data or the scorer, say with gold= what a right answer looks like, or measure "
    "all the same with --nel-no-selftest"
)


class Found(NamedTuple):
    """What the self-test has found.

    Attributes:
        status: ``passed``, or ``not possible: `` and why.
        warning: What a reader should know beside it.
    """

    status: str
    warning: str | None = None


class Trial(NamedTuple):
    """One judgement of the self-test.

    Attributes:
        kind: ``gold``, ``empty`` or ``wrong``: the gold answer of another problem.
        problem_idx: The problem.
        answer: What was judged.
        reward: What it got; None where the scorer failed.
        fine: Whether that is as it should be. A form of the gold answer that is not understood
            need not be a mistake: others are tried.
    """

    kind: str
    problem_idx: int
    answer: str
    reward: float | None
    fine: bool


def selftest(
    environment: EvalEnvironment,
    problems: Sequence[int],
    run: Callable[[Any], Any],
    *,
    on_trial: Callable[[Trial], None] | None = None,
    sandbox: Sandbox | None = None,
) -> Found:
    """Try the scorer of a ``@benchmark`` on the first of its planned problems.

    Further scorers are not tried: what they reward need not be the gold answer.

    Args:
        environment: The benchmark.
        problems: Those planned, in their order.
        run: Runs a coroutine on a loop and returns what it returns.
        on_trial: Called with each judgement.
        sandbox: Where a scorer that runs code runs it; all answers share it.

    Raises:
        ConfigError: A gold answer does not get full marks, or an empty answer gets some; the
            message names file, line, row and the ways out.
    """
    if not isinstance(environment, BenchmarkEnvironment):
        return Found("not possible: a class judges in a way of its own")
    benchmark = environment.benchmark
    if benchmark.scorer is None and benchmark.judge is not None:
        return Found(f"not possible: {_JUDGED}")
    if benchmark.sandbox is not None and sandbox is None:
        return Found(f"not possible: {_RUNS}")
    if benchmark.gold is None and benchmark.scorer is not None and is_async(benchmark.scorer):
        return Found(
            "not possible: the scorer is async and may ask somebody else; gold= lets it be tried"
        )
    return _SelfTest(environment, run, on_trial, sandbox).all(problems)


_Form: TypeAlias = tuple[str, str]
"""How an answer is made of the gold answer: which reading of it, in which words."""


class _Problem(NamedTuple):
    """A problem, and the right answer to it that the scorer has understood."""

    idx: int
    seed: SeedResult
    answer: str = ""


@dataclass(slots=True)
class _SelfTest:
    """One under way.

    Attributes:
        environment: The benchmark.
        run: Runs a coroutine.
        on_trial: Hears of each judgement.
        sandbox: Where code runs, if any does.
        good: Problems whose right answer was understood.
        understood: The form of the last of them.
        closed: Why each answer that was tried last may be no right one; None: it should be.
    """

    environment: BenchmarkEnvironment
    run: Callable[[Any], Any]
    on_trial: Callable[[Trial], None] | None = None
    sandbox: Sandbox | None = None
    good: list[_Problem] = field(default_factory=list)
    understood: _Form = ("target", "{}")
    closed: set[str | None] = field(default_factory=set)

    def all(self, problems: Sequence[int]) -> Found:
        until = time.perf_counter() + _SECONDS
        for tried, problem in enumerate(self._different(problems[:_ROWS])):
            enough = self.good or tried >= _LEAST
            if enough and time.perf_counter() > until:
                break
            self._nothing_for_nothing(problem)
            if (why := self._full_marks(problem)) is not None:
                help_ = "" if why == _JUDGED else "; gold= lets it be tried"
                return Found(f"not possible: {why}{help_}")
        if not self.good:
            return Found("not possible: there is no gold answer")
        return Found(PASSED, self._always_right(until))

    def _different(self, problems: Sequence[int]) -> Iterator[_Problem]:
        seen: set[tuple[str, str]] = set()
        for idx in problems:
            seed = self.environment.seed_now(idx)
            mark = (seed.prompt or str(seed.messages), seed.expected_answer)
            if mark not in seen:
                seen.add(mark)
                yield _Problem(idx, seed)

    def _nothing_for_nothing(self, problem: _Problem) -> None:
        """One that raises, or returns no reward, gives none: it is never asked in a run."""
        try:
            result = self._judged(problem, "")
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException:  # noqa: BLE001 - a user's scorer may raise anything
            self._tell("empty", problem, "", None)
            return
        self._tell("empty", problem, "", result.reward)
        if result.reward > 0:
            what = f"an empty answer gets {result.reward:g} and must get 0"
            raise ConfigError(self._refusal(problem, what))

    def _full_marks(self, problem: _Problem) -> str | None:
        """Why a right answer cannot be known, if none was understood for that; else None."""
        answers = self._right_answers(problem)
        self.closed.clear()
        first = ""
        for form, answer in answers.items():
            trouble = self._falls_short(problem, answer)
            if not trouble:
                self.good.append(problem._replace(answer=answer))
                self.understood = form
                return None
            first = first or trouble
        if not answers:
            return None
        if (why := self._unknowable()) is not None:
            return why
        listed = [*dict.fromkeys(answers.values())]
        others = ", ".join(_short(answer) for answer in listed[1 : _OTHERS + 1])
        others += ", …" if len(listed) > _OTHERS + 1 else ""
        also = f" (no better: {others})" if others else ""
        what = f"the gold answer {_short(listed[0])} {first}{also}"
        raise ConfigError(self._refusal(problem, what))

    def _unknowable(self) -> str | None:
        """Why all that was tried just now may be no right answer, whatever the gold answer is."""
        if self.closed == {_JUDGED}:
            return _JUDGED
        if self.environment.benchmark.gold is not None or len(self.closed) != 1:
            return None
        (why,) = self.closed
        return None if why == _PATTERN and self.good else why

    def _tell(self, kind: str, problem: _Problem, answer: str, reward: float | None) -> None:
        if self.on_trial is None:
            return
        if kind == "gold":
            fine = reward is not None and reward >= self.environment.pass_at
        elif kind == "wrong":
            fine = reward is None or reward < self.environment.pass_at
        else:
            fine = not reward
        self.on_trial(Trial(kind, problem.idx, answer, reward, fine))

    def _falls_short(self, problem: _Problem, answer: str, kind: str = "gold") -> str:
        """How an answer fares that does not get full marks; empty where it does."""
        wanted = self.environment.pass_at
        try:
            result = self._judged(problem, answer)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a user's scorer may raise anything
            self.closed.add(None)
            self._tell(kind, problem, answer, None)
            ours = isinstance(error, ScorerError)
            said = error if ours else blame(error, self.environment.benchmark.file)
            return f"cannot be judged: {said}"
        self._tell(kind, problem, answer, result.reward)
        if result.reward >= wanted:
            return ""
        self.closed.add(_closed(result))
        read = "nothing" if result.extracted_answer is None else _short(result.extracted_answer)
        said = f"gets {result.reward:g} and must get {wanted:g}; the scorer read {read} out of it"
        return said + _why(result.scoring_details)

    def _right_answers(self, problem: _Problem) -> dict[_Form, str]:
        """What may be understood, the form first that was understood last."""
        gold = self.environment.benchmark.gold
        sample = self._sample(problem, "")
        if gold is None:
            answers = {
                (kind, form): form.format(text)
                for kind, text in _readings(sample).items()
                for form in _FORMS
            }
            known = answers.get(self.understood)
            return answers if known is None else {self.understood: known, **answers}
        said = self._said(gold, problem, sample)
        return {("gold", "{}"): said} if said.strip() else {}

    def _said(self, gold: str | Gold, problem: _Problem, sample: ScorerInput) -> str:
        """What the author says is right; empty where nothing is."""
        if isinstance(gold, str):
            place = self.environment.where(problem.idx)
            template = compile_template(gold, f"{place}: gold")
            return template.render({**sample.metadata, "target": sample.target}, place)
        try:
            said: object = gold(sample)
        except Exception as error:  # the author's code: anything may come
            what = f"gold failed: {blame(error, self.environment.benchmark.file)}"
            raise ConfigError(self._refusal(problem, what)) from error
        if said is not None and not isinstance(said, str):
            what = f"gold must return text or None, it returned {type(said).__name__}"
            raise ConfigError(self._refusal(problem, what))
        return said or ""

    def _sample(self, problem: _Problem, answer: str) -> ScorerInput:
        """Made anew for each judgement, as in a run: a scorer may change what it is given."""
        seed = problem.seed
        facts = (seed.expected_answer, seed.metadata, self.sandbox)
        return self.environment.sample(answer, *facts)

    def _judged(self, problem: _Problem, answer: str) -> VerifyResult:
        """What the scorer itself says, also of an empty answer."""
        scorer = self.environment.benchmark.scorer or equals_target
        returned: Any = scorer(self._sample(problem, answer))
        if is_async(scorer):
            returned = self.run(asyncio.wait_for(returned, _PATIENCE))
        place = self.environment.where(problem.idx)
        return to_verify_result(returned, method="", where=place, response=answer or "-")

    def _always_right(self, until: float) -> str | None:
        """A warning where each problem's gold answer was right for another problem, too."""
        tried = 0
        for one, other in pairwise(self.good[: _PAIRS + 1]):
            if time.perf_counter() > until:
                break
            if _same(one.seed.expected_answer, other.seed.expected_answer):
                continue
            if self._falls_short(one, other.answer, "wrong"):
                return None
            tried += 1
        if not tried:
            return None
        what = "a wrong answer" if tried == 1 else f"each of {tried} wrong answers"
        return (
            f"{self.environment.name}: its scorer gave full marks to {what} in the self-test "
            "(gold answers of other problems)"
        )

    def _refusal(self, problem: _Problem, what: str) -> str:
        benchmark = self.environment.benchmark
        return (
            f"{benchmark.file}:{benchmark.line}: benchmark {benchmark.name!r}: self-test of the "
            f"scorer: {self.environment.where(problem.idx)}: {what}. {_WAYS_OUT}"
        )


def _readings(sample: ScorerInput) -> dict[str, str]:
    """The gold answer as text, and where it is a list what that may stand for.

    A list can be one answer (an interval, spans), or hold several each of which is right. By
    kind, so that the next row is tried as the last one was understood.
    """
    accepted = sample.metadata.get("correct_answers")
    listed = _listed(accepted)
    first = listed[0] if listed else accepted
    found = _read("target", sample.target) | _read("correct_answers[0]", first)
    return {kind: text for kind, text in found.items() if text.strip()}


def _read(kind: str, value: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for depth in range(_DEPTH):
        named = kind + "[0]" * depth
        plain = not isinstance(value, list | dict)
        found[named] = str(value) if plain else json.dumps(value, ensure_ascii=False)
        listed = _listed(value)
        if not listed:
            break
        if not any(isinstance(part, list | dict) for part in listed):
            found[f"{named}, joined"] = ", ".join(str(part) for part in listed)
        value = listed[0]
    return {} if value is None else found


def _listed(value: object) -> list[object] | None:
    """The list that a value is, or is the JSON of."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) else None


def _closed(result: VerifyResult) -> str | None:
    """Why the gold answer does not show what a right answer looks like, as the details say."""
    details = result.scoring_details
    if wants_judge(details):
        return _JUDGED
    if details.get("method") == "json_schema":
        return _SCHEMA
    if details.get("rule") == "pattern" and not result.parsed:
        return _PATTERN
    return None


def _why(details: Mapping[str, Any]) -> str:
    """What a scorer itself says of its verdict, as ``code_sandbox`` does of code that failed."""
    said = [value for key in ("error", "reason") if isinstance(value := details.get(key), str)]
    return f" ({showable(said[0], 2 * _SHOWN)})" if said and said[0] else ""


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _short(text: str) -> str:
    said = repr(text)
    return said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
