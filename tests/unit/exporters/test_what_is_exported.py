"""What leaves a bundle: numbers that are known, texts without secrets, attempts with a score."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.exporters._atif import messages_of
from pytest_nel.exporters.facts import facts_of, key_of, metrics_of, settings_of
from pytest_nel.exporters.hidden import Hidden
from pytest_nel.exporters.mlflow import named
from pytest_nel.exporters.wandb import table_rows
from tests.support.stored import write_reference_run, write_run
from tests.unit.exporters.made import bundle_in, with_scores

REWARDS: list[list[float | None]] = [[1.0, 0.0], [0.5, None]]
SECRET = 'sk-"quoted"/0123456789'  # noqa: S105  # made up


def test_metrics_are_exported_with_their_intervals_and_unknown_ones_are_not(tmp_path: Path) -> None:
    write_run(tmp_path / "run", REWARDS, bundle=with_scores())

    metrics = metrics_of(bundle_in(tmp_path))

    assert {n: v for n, v in metrics.items() if not n.startswith(("n_", "runtime/"))} == {
        "mean_reward": 0.5,
        "mean_reward/ci_lower": 0.0,
        "mean_reward/ci_upper": 0.9,
        "pass@1": 0.25,
        "scorer:f1": 0.75,
        "rate/unscored": 0.25,
    }
    assert (metrics["n_scored"], metrics["n_unscored"], metrics["n_problems"]) == (3, 1, 2)
    assert metrics["runtime/cost/total"] == 1.5
    assert metrics["runtime/latency_ms/p50"] == 7.5
    assert "runtime/total_tokens" not in metrics  # no server has said any, which is not 0


def test_settings_that_determine_no_answer_are_not_among_the_settings(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [1.0], bundle=with_scores())

    settings = settings_of(bundle_in(tmp_path))

    assert settings["solver.type"] == "simple"
    assert settings["repeats"] == "2"
    assert settings["model"] == "m"
    assert "max_concurrent" not in settings


def test_the_timeout_is_a_setting_where_it_decides_rewards(tmp_path: Path) -> None:
    inside = {"answering": {"solver.type": "agent", "sandbox.type": "docker"}}
    timed = {"config": {"timeout": 600.0}}
    write_run(tmp_path / "agent", REWARDS, fingerprint=inside, bundle=timed)
    write_run(tmp_path / "plain", REWARDS, bundle=timed)

    of_agent = settings_of(bundle_in(tmp_path / "agent"))
    of_plain = settings_of(bundle_in(tmp_path / "plain"))

    assert of_agent["timeout"] == "600.0"
    assert "timeout" not in of_plain


def test_the_key_is_that_of_the_run_however_far_it_is(tmp_path: Path) -> None:
    half = with_scores(run_id="r", turns=1, complete=False)
    whole = with_scores(run_id="r", turns=2)
    other = with_scores(run_id="q")
    shard = with_scores(run_id="r", shard=[0, 2])

    keys = []
    for name, said in [("half", half), ("whole", whole), ("other", other), ("shard", shard)]:
        write_run(tmp_path / name, [1.0], bundle=said)
        keys.append(key_of(bundle_in(tmp_path / name)))

    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert facts_of(bundle_in(tmp_path / "half"))["complete"] == "false"


def test_an_attempt_without_a_score_has_no_reward_in_ours_and_in_the_reference_systems_runs(
    tmp_path: Path,
) -> None:
    write_run(tmp_path / "ours", [[1.0, None]])
    failed = {1: {"error": "timeout", "error_category": "infra_error"}}
    write_reference_run(tmp_path / "theirs", [1.0, 0.0, 0.0], details=failed)

    ours = [(s.repeat, s.outcome, s.reward) for s in bundle_in(tmp_path / "ours").samples()]
    theirs = [
        (s.problem_idx, s.outcome, s.reward) for s in bundle_in(tmp_path / "theirs").samples()
    ]

    assert ours == [(0, "correct", 1.0), (1, "unscored", None)]
    assert theirs == [(0, "correct", 1.0), (1, "unscored", None), (2, "wrong", 0.0)]
    assert [row[4] for row in table_rows(bundle_in(tmp_path / "ours"))] == [1.0, None]


def test_lines_of_the_other_file_are_matched_and_damaged_ones_are_counted(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [1.0, 0.0, 1.0])
    results = tmp_path / "run" / "mmlu" / "results.jsonl"
    results.write_text(results.read_text() + '{"problem_idx": 9, "outc\n[1]\n')
    beside = [{"problem_idx": at, "repeat": 0, "system_prompt": f"s{at}"} for at in (0, 2)]
    results.with_name("trajectories.jsonl").write_text(
        "".join(json.dumps(b) + "\n" for b in beside)
    )

    samples = bundle_in(tmp_path).samples()
    found = [one.beside.get("system_prompt") for one in samples]

    assert found == ["s0", None, "s2"]
    assert samples.damaged == 2


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
@pytest.mark.parametrize("file", ["results.jsonl", "trajectories.jsonl"])
@pytest.mark.parametrize("damaged", [0, 1, 3])
def test_a_damaged_line_takes_nothing_from_other_samples(
    tmp_path: Path, order: tuple[int, ...], file: str, damaged: int
) -> None:
    write_run(tmp_path / "run", [1.0] * 4)
    results = tmp_path / "run" / "mmlu" / "results.jsonl"
    rows = results.read_text().splitlines()
    beside = [
        json.dumps({"problem_idx": at, "repeat": 0, "system_prompt": f"s{at}"}) for at in order
    ]
    lines = {"results.jsonl": [rows[at] for at in order], "trajectories.jsonl": beside}
    lines[file][damaged] = lines[file][damaged][:20]
    for name, each in lines.items():
        results.with_name(name).write_text("\n".join(each) + "\n")

    found = {
        one.problem_idx: one.beside.get("system_prompt") for one in bundle_in(tmp_path).samples()
    }

    whole = {at: f"s{at}" for at in order if at != order[damaged]}
    lost = {order[damaged]: None} if file == "trajectories.jsonl" else {}
    assert found == {**whole, **lost}


def test_secrets_are_in_nothing_that_an_exporter_is_given(tmp_path: Path) -> None:
    said = with_scores(config={"params": {"note": f"key {SECRET}"}})
    write_run(tmp_path / "run", [1.0], bundle=said, row={"prompt": f"use {SECRET} now"})

    bundle = bundle_in(tmp_path, [SECRET, "short"])
    assert bundle.results is not None
    bundle.hidden.copy(bundle.results, tmp_path / "copy.jsonl")

    (sample,) = bundle.samples()
    assert sample.row["prompt"] == "use [API key] now"
    assert bundle.content["config"]["params"]["note"] == "key [API key]"
    assert "0123456789" not in (tmp_path / "copy.jsonl").read_text()
    assert bundle.hidden.text("a short one") == "a short one"


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=8, max_size=30),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_no_secret_survives_in_json(secret: str, before: str, after: str) -> None:
    line = json.dumps({"text": f"{before}{secret}{after}"})

    shown = Hidden([secret]).line(line)["text"]

    assert secret not in shown.replace("[API key]", "\0")


def test_mlflow_takes_these_names_and_no_two_become_one() -> None:
    names = {"pass@1": 1, "pass^2": 2, "scorer:f1": 3, "a:b": 4, "a;b": 5, "../x//y": 6, "": 7}

    made = named(names)

    assert list(made.values()) == list(names.values())
    assert list(made)[:4] == ["pass_at_1", "pass_hat_2", "scorer/f1", "a_b"]
    assert list(made)[4].startswith("a_b_")
    assert list(made)[5] == "_/x/y"


@given(st.dictionaries(st.text(max_size=300), st.integers(), max_size=8))
def test_any_name_is_made_fit_for_mlflow(names: dict[str, int]) -> None:
    made = named(names)

    assert len(made) == len(names)
    for name in made:
        assert 0 < len(name) <= 250
        assert set(name) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./ -"
        )
        assert not any(part in {"", ".", ".."} for part in name.split("/"))


def test_steps_of_an_agent_become_messages_and_synthetic_text_goes() -> None:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"cmd": "ls"}}
    steps = [
        {"source": "user", "message": "list"},
        {
            "source": "agent",
            "message": "Executed bash c1",
            "reasoning_content": "hm",
            "tool_calls": [call],
            "observation": {"results": [{"source_call_id": "c1", "content": "a.txt"}]},
        },
        {"source": "agent", "message": "Executed bash c1"},
        "no step",
    ]

    messages = messages_of(steps)

    assert messages == [
        {"role": "user", "content": "list"},
        {
            "role": "assistant",
            "content": "",
            "reasoning": "hm",
            "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}],
        },
        {"role": "tool", "content": "a.txt", "tool_call_id": "c1", "function": "bash"},
        {"role": "assistant", "content": "Executed bash c1"},
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "source",
                    "message",
                    "tool_calls",
                    "observation",
                    "results",
                    "content",
                    "arguments",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_whatever_a_trajectory_is_it_becomes_messages_with_a_role_and_text(
    steps: list[object],
) -> None:
    for message in messages_of(steps):
        assert message["role"] in {"user", "system", "assistant", "tool"}
        assert isinstance(message["content"], str)


def test_a_bundle_whose_records_are_gone_has_no_samples(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [1.0])
    (tmp_path / "run" / "mmlu" / "results.jsonl").unlink()

    assert [*bundle_in(tmp_path).samples()] == []


@pytest.mark.parametrize("timestamp", ["2026-03-02T09:14:51Z", "2026-03-02T09:14:51", "?"])
def test_a_run_has_a_time_with_a_zone(tmp_path: Path, timestamp: str) -> None:
    from pytest_nel.exporters.facts import began

    write_run(tmp_path / "run", [1.0], bundle={"timestamp": timestamp})

    when = began(bundle_in(tmp_path))

    assert when.tzinfo is not None
    assert timestamp == "?" or when.isoformat() == "2026-03-02T09:14:51+00:00"
