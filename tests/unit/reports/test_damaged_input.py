"""Whatever a bundle, a row or checks.json says: a report or a message, never a traceback."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError
from pytest_nel.records.gated import CHECKS
from pytest_nel.reports import REGISTRY
from tests.unit.reports.made import table, text

FORMATS = ("markdown", "html", "csv", "json", "latex")
METRIC = {"value": 0.5, "ci_lower": 0.1, "ci_upper": 0.9, "ci_method": "wilson", "n": 2}
BUNDLE: dict[str, Any] = {
    "run_id": "r",
    "timestamp": "2026-01-02T03:04:05+00:00",
    "config": {"model": "m", "temperature": 0.0},
    "fingerprint": {
        "models": ["m"],
        "rows_hash": "sha256:1",
        "prompts": "sha256:2",
        "scorer": "s",
        "sampling": [{"temperature": 0}],
        "versions": {"pytest-nel": "1"},
        "answering": {"solver.name": "chat", "sampling.seed": 1},
    },
    "partial": False,
    "shard": [1, 2],
    "evaluated": "2 of 2",
    **{f"n_{name}": 2 for name in ("planned", "attempted", "scored", "cached", "made_again")},
    **{f"n_{name}": 1 for name in ("correct", "wrong", "overtaken")},
    **{f"n_{name}": 0 for name in ("unparsed", "unscored", "truncated", "empty", "refusals")},
    "benchmark": {
        "name": "b",
        "samples": 2,
        "repeats": 1,
        "categories": {"x": {"mean_reward": 0.5, "n": 2, "n_unparsed": 0}},
        "scores": {
            "mean_reward": METRIC,
            "scorer:f1": METRIC | {"correct": 1, "total": 2},
            "rates": {"unparsed": METRIC},
            "breakdowns": {"lang": [METRIC | {"group": "en", "mean_reward": 0.5}]},
            "failures": {
                "categories": {
                    "timeout": {"count": 1, "n_unscored": 1, "exemplars": [{"error": "e"}]}
                }
            },
            "runtime": {
                "total_tokens": 9,
                "elapsed_seconds": 2.5,
                "steps_per_second": 0.8,
                "finish_reason_counts": {"stop": 2},
                "latency_percentiles_ms": {"p50": 12.5},
                "cost": {"total": 0.1, "currency": "USD", "n_unknown": 0},
            },
        },
    },
}
ROWS: list[dict[str, Any]] = [
    {
        "problem_idx": idx,
        "repeat": 0,
        "problem_id": f"p{idx}",
        "outcome": outcome,
        "reward": reward,
        "scorer_rewards": {"f1": 0.5},
        "prompt": "q",
        "model_response": "a",
        "extracted_answer": "a",
        "expected_answer": "e",
        "scoring_details": {"method": "m"},
        "metadata": {"category": "x"},
        "tokens": 3,
        "latency_ms": 2.0,
        "finish_reason": "stop",
        "failure_category": "timeout",
        "error": "e",
    }
    for idx, (outcome, reward) in enumerate([("correct", 1.0), ("wrong", 0.0)])
]
GATE = {"id": "p.yaml::b", "status": "failed", "reason": "worse", "delta": -0.1, "metric": "m"}
CONCLUDED = {"exit_code": 1, "checks": [GATE | {"delta_ci_lower": -0.2, "delta_ci_upper": 0.0}]}


def nested(depth: int) -> Any:
    made: Any = 1
    for level in range(depth):
        made = {"a": made} if level % 2 else [made]
    return made


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([10**30, -(10**400), 1.7e308, 5e-324, -1, "", "\ud800", "</script><!--"])
)
GARBAGE = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", "group", "a", "\ud800"]), inner, max_size=3)
    ),
    max_leaves=5,
) | st.sampled_from([nested(depth) for depth in (40, 60, 300)])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in it, itself not."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


SOUND = {"bundle": BUNDLE, "rows": ROWS, "checks": CONCLUDED}
PLACES = sorted(places(SOUND), key=repr)


def damaged(changes: Sequence[tuple[tuple[Any, ...], Any]]) -> Any:
    """What is sound, with something else in some places."""
    made = json.loads(json.dumps(SOUND))
    for path, value in changes:
        at = made
        for key in path[:-1]:
            at = at[key] if has(at, key) else None
        if has(at, path[-1]):
            at[path[-1]] = value
    return made


def has(value: Any, key: Any) -> bool:
    if isinstance(value, list):
        return isinstance(key, int) and key < len(value)
    return isinstance(value, dict) and key in value


def write(run: Path, content: Any) -> Path:
    """A run of one benchmark."""
    folder = run / "b"
    folder.mkdir(parents=True)
    (folder / "eval-1.json").write_text(json.dumps(content["bundle"]))
    rows = content["rows"] if isinstance(content["rows"], list) else [content["rows"]]
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run / CHECKS).write_text(json.dumps(content["checks"]))
    return run


def reported(run: Path, baseline: Path | None = None) -> None:
    """Write all reports, or learn in words why not."""
    try:
        made = table(run, baseline=baseline)
    except ConfigError:
        return
    for name in FORMATS:
        assert text(name, made).encode()


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(PLACES), GARBAGE), min_size=1, max_size=4))
def test_garbage_anywhere_gives_a_report_or_a_message(
    changes: list[tuple[tuple[Any, ...], Any]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sound = write(Path(folder, "sound"), SOUND)
        odd = write(Path(folder, "odd"), damaged(changes))

        reported(odd, sound)
        reported(sound, odd)


def test_all_formats_are_tried() -> None:
    assert set(FORMATS) == set(REGISTRY.rows)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "said",
    [
        '"reward": NaN',
        '"reward": 1e999',
        '"latency_ms": NaN',
        '"tokens": NaN',
        '"scoring_details": ["a"]',
        '"metadata": "abc"',
        '"finish_reason": ["x"], "tokens": {"a": 1}',
    ],
)
def test_an_odd_value_in_a_row_leaves_a_report(tmp_path: Path, name: str, said: str) -> None:
    run = write(tmp_path / "run", SOUND)
    line = f'{{"problem_idx": 2, "repeat": 0, "reward": 1, "prompt": "p", {said}}}\n'
    (run / "b" / "results.jsonl").write_text(line)

    made = text(name, table(run))

    assert "0.5" in made


@pytest.mark.parametrize("shard", [[1], [], "x", [None, 2], {"a": 1}])
def test_an_odd_shard_is_refused_in_words(tmp_path: Path, shard: object) -> None:
    changes = [(("bundle", "partial"), True), (("bundle", "shard"), shard)]
    run = write(tmp_path / "run", damaged(changes))

    with pytest.raises(ConfigError, match="shard: expected two numbers"):
        table(run)
