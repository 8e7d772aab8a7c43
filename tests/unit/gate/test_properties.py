"""A better candidate never gets a worse verdict, and nothing hangs on the order of things."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limited
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.evaluate import Runs, evaluate
from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.policy import Policy, parse_policy
from pytest_nel.gate.report import GateReport
from pytest_nel.records.sides import runs_of
from tests.support.stored import FINGERPRINT

RANK = {"NO-GO": 0, "INCONCLUSIVE": 1, "GO": 2}
GONE = "gone"  # an attempt that was never made: it has no row
Attempt = float | str | None
Attempts = list[list[Attempt]]


@dataclass(frozen=True)
class Problems:
    """What both runs attempt: how many, in which categories and clusters."""

    count: int
    repeats: int
    categories: Sequence[str]
    clusters: Sequence[str]

    def side(self, attempts: Attempts) -> Side:
        rows = [
            Row(
                at,
                repeat,
                None if reward is None else float(reward),
                reward is not None and float(reward) >= 1.0,
                f"p{at}",
                self.categories[at],
                self.clusters[at],
            )
            for at, tries in enumerate(attempts)
            for repeat, reward in enumerate(tries)
            if reward != GONE
        ]
        planned = self.count * self.repeats
        bundle = {
            "benchmark": {"name": "b", "repeats": self.repeats, "samples": self.count},
            "fingerprint": FINGERPRINT,
            "n_planned": planned,
            "n_total": planned,
            "n_attempted": len(rows),
            "n_scored": sum(row.reward is not None for row in rows),
            "n_unparsed": sum(row.reward == 0 for row in rows),
        }
        return Side(bundle, rows)


def report_of(policy: Policy, *sides: tuple[Side, Side]) -> GateReport:
    """The gate over benchmarks b0, b1, …: each (baseline, candidate)."""
    base = {f"b{at}": one for at, (one, _) in enumerate(sides)}
    cand = {f"b{at}": other for at, (_, other) in enumerate(sides)}
    runs = Runs(
        {name: side.bundle for name, side in cand.items()},
        cand.__getitem__,
        {name: side.bundle for name, side in base.items()},
        base.__getitem__,
    )
    return evaluate(policy, runs)


LIMITS = {
    "max_drop": st.sampled_from([0.05, 0.15, 0.3, 0.6, None]),
    "max_relative_drop": st.sampled_from([0.05, 0.3, 0.8]),
    "relative_guard_below": st.sampled_from([0.3, 0.7]),
    "min_score": st.sampled_from([0.2, 0.5, 0.8]),
    "min_pass_rate": st.sampled_from([0.1, 0.5, {"p0": 1.0, "p1": 0.3}]),
    "must_pass": st.just(["p0", "p2"]),
    "per_category": st.sampled_from(
        [{"law": {"max_drop": 0.3, "min_score": 0.3}}, {"*": {"max_drop": 0.5}}]
    ),
    "max_unscored": st.sampled_from([0, 2, 0.1]),
    "max_unparsed": st.sampled_from([5, 0.3]),
    "evidence": st.sampled_from(["ci", "point"]),
}


@st.composite
def limits(draw: st.DrawFn, repeats: int) -> dict[str, Any]:
    names = draw(st.sets(st.sampled_from(sorted(LIMITS)), max_size=5))
    metrics = ["mean_reward", "pass@1", *(["pass@2"] if repeats > 1 else [])]
    chosen = {name: draw(LIMITS[name]) for name in sorted(names)}
    return chosen | {"metric": draw(st.sampled_from(metrics))}


@st.composite
def problems(draw: st.DrawFn) -> Problems:
    count = draw(st.integers(8, 60))
    names = random.Random(draw(st.integers(0, 3)))
    clustered = draw(st.booleans())
    return Problems(
        count,
        draw(st.integers(1, 3)),
        [names.choice(["law", "art", ""]) for _ in range(count)],
        [f"c{names.randrange(12)}" if clustered else "" for _ in range(count)],
    )


@st.composite
def attempts(draw: st.DrawFn, about: Problems, *, binary: bool) -> Attempts:
    """Mostly of one quality, so that verdicts other than INCONCLUSIVE come up."""
    right, gaps, gone = draw(st.floats(0, 1)), draw(st.sampled_from([0.0, 0.0, 0.1])), 0.0
    gone = draw(st.sampled_from([0.0, 0.0, 0.05]))
    chance = random.Random(draw(st.integers(0, 2**16)))

    def attempt() -> Attempt:
        if chance.random() < gone:
            return GONE
        if chance.random() < gaps:
            return None
        solved = chance.random() < right
        return float(solved) if binary or chance.random() < 0.5 else chance.randrange(5) / 4

    return [[attempt() for _ in range(about.repeats)] for _ in range(about.count)]


def better(chance: random.Random, share: float, one: Attempts) -> Attempts:
    """Some attempts with a higher reward; what is missing becomes correct."""

    def improved(reward: Attempt) -> Attempt:
        if chance.random() >= share:
            return reward
        if reward is None or isinstance(reward, str):
            return 1.0
        return max(reward, chance.choice([0.25, 0.5, 1.0, 1.0]))

    return [[improved(reward) for reward in tries] for tries in one]


@st.composite
def two_candidates(draw: st.DrawFn) -> tuple[Problems, Attempts, Attempts, Attempts]:
    """(problems, baseline, candidate, a candidate at least as good at each attempt)."""
    about = draw(problems())
    binary = draw(st.booleans())
    base = draw(attempts(about, binary=binary))
    cand = draw(attempts(about, binary=binary))
    share = draw(st.sampled_from([0.02, 0.1, 0.5, 1.0]))
    return about, base, cand, better(random.Random(draw(st.integers(0, 999))), share, cand)


@limited(max_examples=250, deadline=None)
@given(case=two_candidates(), data=st.data())
def test_a_candidate_that_is_at_least_as_good_never_gets_a_worse_verdict(
    case: tuple[Problems, Attempts, Attempts, Attempts], data: st.DataObject
) -> None:
    about, base, cand, improved = case
    policy = policy_with(data.draw(limits(about.repeats)))
    baseline = about.side(base)

    before = report_of(policy, (baseline, about.side(cand)))
    after = report_of(policy, (baseline, about.side(improved)))

    assert RANK[after.verdict] >= RANK[before.verdict], (before.as_json(), after.as_json())


def policy_with(limits: Mapping[str, Any], correction: str = "none") -> Policy:
    whole = {"version": 1, "correction": correction, "defaults": dict(limits)}
    return parse_policy(json.dumps(whole), "p.yaml")


@limited(max_examples=60, deadline=None)
@given(cases=st.lists(two_candidates(), min_size=2, max_size=4), data=st.data())
def test_so_it_is_with_holms_correction_over_several_benchmarks(
    cases: list[tuple[Problems, Attempts, Attempts, Attempts]], data: st.DataObject
) -> None:
    """Corrected p-values rise with each p-value, and those with the candidate."""
    policy = policy_with(data.draw(limits(1)) | {"metric": "mean_reward"}, "holm")
    baselines = [about.side(base) for about, base, _, _ in cases]
    before = [about.side(cand) for about, _, cand, _ in cases]
    after = [about.side(improved) for about, _, _, improved in cases]

    worse = report_of(policy, *zip(baselines, before, strict=True))
    good = report_of(policy, *zip(baselines, after, strict=True))

    assert RANK[good.verdict] >= RANK[worse.verdict], (worse.as_json(), good.as_json())


@st.composite
def runs(draw: st.DrawFn) -> tuple[Policy, Side, Side]:
    about, base, cand, _ = draw(two_candidates())
    return policy_with(draw(limits(about.repeats))), about.side(base), about.side(cand)


def shuffled(side: Side, seed: int) -> Side:
    rows = list(side.rows)
    random.Random(seed).shuffle(rows)
    return replace(side, rows=rows)


def sharded(side: Side, first: int) -> Side:
    """The rows of two shards, one after the other."""
    parts = [[row for row in side.rows if row.problem % 2 == half] for half in (0, 1)]
    return replace(side, rows=parts[first % 2] + parts[1 - first % 2])


@pytest.mark.parametrize("arranged", [shuffled, sharded])
@limited(max_examples=60, deadline=None)
@given(case=runs(), seed=st.integers(0, 99))
def test_the_order_of_rows_is_nothing(
    arranged: Callable[[Side, int], Side], case: tuple[Policy, Side, Side], seed: int
) -> None:
    policy, base, cand = case

    as_it_is = report_of(policy, (base, cand))
    otherwise = report_of(policy, (arranged(base, seed), arranged(cand, seed + 1)))

    assert otherwise.as_json() == as_it_is.as_json()


@limited(max_examples=60, deadline=None)
@given(case=runs(), seed=st.integers(0, 99))
def test_the_names_of_problems_are_nothing(case: tuple[Policy, Side, Side], seed: int) -> None:
    policy, base, cand = case
    names = [f"name {at}" for at in range(100)]
    random.Random(seed).shuffle(names)

    def renamed(side: Side) -> Side:
        rows = [row._replace(id=names[row.problem]) for row in side.rows]
        return replace(side, rows=rows)

    keys = {"must_pass", "min_pass_rate"} & policy.defaults.model_fields_set
    if keys:  # these name problems
        return
    as_it_is = report_of(policy, (base, cand))
    otherwise = report_of(policy, (renamed(base), renamed(cand)))

    assert otherwise.as_json() == as_it_is.as_json()


@limited(max_examples=60, deadline=None)
@given(case=two_candidates(), extra=st.integers(1, 10), most=st.sampled_from([0.05, 0.3, 0.6]))
def test_it_is_nothing_which_side_lists_more_problems(
    case: tuple[Problems, Attempts, Attempts, Attempts], extra: int, most: float
) -> None:
    """Half right there and unknown here is as far from the best as from the worst.

    Not with clusters, whose likeness is taken from what the baseline alone has.
    """
    about, base, cand, _ = case
    policy = policy_with({"max_drop": most, "metric": "mean_reward"})
    more = Problems(
        about.count + extra,
        about.repeats,
        [*about.categories, *[""] * extra],
        [""] * (about.count + extra),
    )
    half: Attempts = [[0.5] * about.repeats] * extra
    gone: Attempts = [[GONE] * about.repeats] * extra

    first = report_of(policy, (more.side([*base, *half]), more.side([*cand, *gone])))
    second = report_of(policy, (more.side([*base, *gone]), more.side([*cand, *half])))

    one, other = first.rows[0], second.rows[0]
    assert (one.status, one.delta, one.interval, one.n_paired, one.n_missing) == (
        other.status,
        other.delta,
        other.interval,
        other.n_paired,
        other.n_missing,
    )
    assert first.verdict == second.verdict


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([10**400, -(10**400), 2**63, "", "x", "correct", "\ud800", 0.5])
    | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
_PATHS: Sequence[tuple[str, ...]] = [
    ("config",),
    ("fingerprint",),
    *(("fingerprint", name) for name in (*FINGERPRINT, "scorers")),
    ("benchmark",),
    *(("benchmark", name) for name in ("name", "samples", "repeats", "scores")),
    ("benchmark", "scores", "mean_reward"),
    *(("benchmark", "scores", "mean_reward", name) for name in ("value", "ci_lower", "ci_upper")),
    ("benchmark", "scores", "runtime"),
    *(("benchmark", "scores", "runtime", name) for name in ("total_tokens", "cost")),
    ("benchmark", "scores", "runtime", "latency_percentiles_ms"),
    *((name,) for name in ("n_results", "n_planned", "n_total", "n_attempted", "n_scored")),
    *((name,) for name in ("n_unparsed", "n_truncated", "n_made_again", "shard", "turns")),
]
_ROW = {
    "problem_idx": 1,
    "repeat": 0,
    "problem_id": "p1",
    "outcome": "correct",
    "reward": 1.0,
    "scorer_rewards": {"f1": 0.5},
    "prompt": "q",
    "expected_answer": "a",
    "scoring_details": {},
    "metadata": {"category": "law", "cluster": "c"},
}


def put(whole: dict[str, Any], path: Sequence[str], value: object) -> None:
    for name in path[:-1]:
        inner = whole.get(name)
        if not isinstance(inner, dict):
            return
        whole = inner
    whole[path[-1]] = value


@st.composite
def run_files(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """(bundle, rows): sound ones with garbage anywhere."""
    scores = {"mean_reward": {"value": 0.5, "ci_lower": 0.4, "ci_upper": 0.6}, "runtime": {}}
    bundle: dict[str, Any] = {
        "benchmark": {"name": "mmlu", "samples": 20, "repeats": 1, "scores": scores},
        "fingerprint": dict(FINGERPRINT) if draw(st.booleans()) else {},
        "n_results": 20,
    }
    for path in draw(st.lists(st.sampled_from(_PATHS), max_size=3)):
        put(bundle, path, draw(_JSON))
    rows = [_ROW | {"problem_idx": at, "problem_id": f"p{at}"} for at in range(20)]
    for at in draw(st.lists(st.integers(0, 19), max_size=4)):
        names = st.sampled_from([*_ROW, "error_category"])
        rows[at] = rows[at] | {draw(names): draw(_JSON)}
    lines = [json.dumps(row) for row in rows]
    for at in draw(st.lists(st.integers(0, 19), max_size=3)):
        lines[at] = json.dumps(draw(_JSON))
    written = "\n".join(lines).encode()
    cut = draw(st.none() | st.integers(0, len(written)))
    whole = json.dumps(bundle if draw(st.integers(0, 9)) else draw(_JSON)).encode()
    return whole, written[:cut] + draw(st.sampled_from([b"", b"\n", b"\xff\xfe{", b"[" * 9000]))


_POLICIES = [
    "version: 1\ndefaults: {metric: mean_reward, max_drop: 0.2}\n",
    "version: 1\nbenchmarks: {mmlu: {metric: pass@1, max_drop: 0.2, max_relative_drop: 0.5}}\n",
    "version: 1\nbenchmarks: {mmlu: {metric: 'scorer:f1', min_score: 0.1, must_pass: [p1]}}\n",
    "version: 1\ndefaults: {metric: mean_reward, max_drop: 2, direction: lower_is_better}\n",
    (
        "version: 1\ncorrection: holm\ndefaults: {min_score: 0.2, min_pass_rate: 0.5, max_cost: 1,"
        " max_tokens: 5, max_p95_latency: 1, max_unscored: 0.5, max_unparsed: 1, max_truncated: 2,"
        " per_category: {law: {max_drop: 0.1, min_score: 0.1}}}\n"
    ),
    "version: 1\nbenchmarks: {mmlu: {tier: advisory, metric: mean_reward}}\n",
]


@limited(max_examples=150, deadline=None)
@given(base=run_files(), cand=run_files(), policy=st.sampled_from(_POLICIES))
def test_files_of_any_shape_are_decided_or_refused_in_words(
    base: tuple[bytes, bytes], cand: tuple[bytes, bytes], policy: str
) -> None:
    with TemporaryDirectory() as folder:
        for name, (bundle, rows) in (("base", base), ("cand", cand)):
            (Path(folder) / name / "mmlu").mkdir(parents=True)
            (Path(folder) / name / "mmlu" / "eval-1.json").write_bytes(bundle)
            (Path(folder) / name / "mmlu" / "results.jsonl").write_bytes(rows)
        said = decided_or_refused(Path(folder), policy)

    assert said in RANK or len(said) > 20


def decided_or_refused(folder: Path, policy: str) -> str:
    """The verdict, whose report is JSON, or the message."""
    try:
        report = evaluate(parse_policy(policy, "p.yaml"), runs_of(folder / "cand", folder / "base"))
    except ConfigError as error:
        return str(error)
    json.dumps(report.as_json(), allow_nan=False)
    return report.verdict
