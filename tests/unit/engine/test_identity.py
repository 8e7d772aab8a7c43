"""Keys: what determines an answer or its judgement changes them, nothing else does."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.types import Endpoint, SeedResult
from pytest_nel.engine.fingerprint import answering, fingerprint_of, needs_sandbox, reads_row
from pytest_nel.engine.identity import Identity
from pytest_nel.http.client import ModelClient
from pytest_nel.solvers.around import Around
from pytest_nel.solvers.harbor import HarborSolver
from pytest_nel.solvers.tool_calling import ToolCallingSolver

SEED = SeedResult("2+2=?", "4", {"category": "sums"}, system="be brief")
SOLVER = {"type": "simple", "service": "model", "generation": {"temperature": 0.0}}
API: dict[str, Any] = {
    "url": "http://one:8000/v1/chat/completions",
    "protocol": "chat_completions",
    "model": "m",
    "generation": {"top_p": 0.9},
}


def api(**changes: Any) -> PluginSpec:
    return PluginSpec(type="api", **{**API, **changes})


def key(
    seed: SeedResult = SEED,
    *,
    solver: dict[str, Any] | None = None,
    service: PluginSpec | None = None,
    repeat: int = 0,
    twin: str | None = None,
    row: bool = False,
) -> str:
    facts = answering(None, solver or SOLVER, service or api())
    return Identity(facts, {}, reads_row=row).solve_key(seed, repeat, twin=twin)


@pytest.mark.parametrize(
    "other",
    [
        key(replace(SEED, prompt="2+3=?")),
        key(replace(SEED, system=None)),
        key(replace(SEED, messages=[{"role": "user", "content": "2+2=?"}])),
        key(repeat=1),
        key(twin="1"),
        key(solver={**SOLVER, "system_prompt": "think"}),
        key(solver={**SOLVER, "type": "completion"}),
        key(solver={**SOLVER, "image_detail": "low"}),
        key(solver={**SOLVER, "generation": {"temperature": 0.7}}),
        key(solver={**SOLVER, "generation": {"temperature": 0.0, "max_tokens": 5}}),
        key(service=api(model="m2")),
        key(service=api(protocol="completions")),
        key(service=api(generation={"top_p": 0.8})),
    ],
)
def test_what_determines_an_answer_changes_its_key(other: str) -> None:
    assert other != key()


@pytest.mark.parametrize(
    "same",
    [
        key(replace(SEED, expected_answer="5")),
        key(replace(SEED, metadata={"category": "other"})),
        key(service=api(url="http://two:9999/v1/chat/completions")),
        key(service=api(api_key="${OTHER}", timeout=3, max_retries=9, max_concurrent=2)),
        key(solver={**SOLVER, "service": "renamed"}),
        key(solver={**SOLVER, "image_detail": "auto"}),
        key(solver={**SOLVER, "generation": {"temperature": 0.0, "top_p": 0.9, "seed": None}}),
    ],
)
def test_where_a_model_is_served_and_how_patiently_it_is_asked_change_nothing(same: str) -> None:
    assert same == key()


def proxied(name: str, **config: Any) -> str:
    return key(service=api(proxy={"interceptors": [{"name": name, "config": config}]}))


def test_what_an_interceptor_only_logs_or_counts_changes_no_key() -> None:
    limited, replay = {"max_turns": 5}, "reasoning_replay"

    assert proxied("turn_counter", every=7) == key()
    assert proxied("turn_counter", **limited, every=7) == proxied("turn_counter", **limited)
    assert proxied("turn_counter", **limited) != key()
    assert proxied(replay, log_misses=True) == proxied(replay)
    assert proxied(replay, mode="native") != proxied(replay)


def test_the_solvers_setting_stands_before_the_services() -> None:
    solver = {**SOLVER, "generation": {"top_p": 0.9}}

    assert key(solver=solver) == key(solver=solver, service=api(generation={"top_p": 0.1}))


def test_a_solver_that_may_read_the_row_has_keys_of_the_row() -> None:
    other = replace(SEED, metadata={"category": "other"})

    assert key(row=True) != key(other, row=True)
    assert key(row=True) == key(replace(SEED, expected_answer="5"), row=True)


def test_a_picture_counts_by_what_is_in_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    one.write_bytes(b"picture")
    two.write_bytes(b"picture")

    first = key(replace(SEED, images=[str(one)]))
    moved = key(replace(SEED, images=[str(two)]))
    two.write_bytes(b"another")
    changed = key(replace(SEED, images=[str(two)]))

    assert first == moved != changed
    assert first != key()


def test_a_judgement_has_the_key_of_its_answer_its_judge_and_the_gold_answer() -> None:
    plain = Identity({}, {"scorer": "a"}, reads_row=False)
    other = Identity({}, {"scorer": "b"}, reads_row=False)

    keys = {
        plain.score_key("k", "4", {}),
        plain.score_key("k2", "4", {}),
        plain.score_key("k", "5", {}),
        plain.score_key("k", "4", {"category": "x"}),
        other.score_key("k", "4", {}),
    }

    assert len(keys) == 5
    assert plain.score_key("k", "4", {}) in keys


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(first=st.dictionaries(st.text(), JSON), second=st.dictionaries(st.text(), JSON))
def test_keys_are_equal_exactly_when_the_facts_are(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    one = Identity({}, first, reads_row=False).score_key("k", "4", {})
    two = Identity({}, second, reads_row=False).score_key("k", "4", {})

    same = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (one == two) == same


@given(
    st.lists(
        st.tuples(st.text(), st.none() | st.text(), st.integers(0, 3)), unique=True, max_size=8
    )
)
def test_different_questions_never_share_a_key(asked: list[tuple[str, str | None, int]]) -> None:
    common = Identity({}, {}, reads_row=False)

    keys = {common.solve_key(SeedResult(prompt), n, twin=twin) for prompt, twin, n in asked}

    assert len(keys) == len(asked)


def test_what_is_no_json_has_a_key_as_well() -> None:
    common = Identity({}, {}, reads_row=True)
    unusual: Any = {"set": {1, 2}, "nan": float("nan"), 3: b"bytes"}
    odd = replace(SEED, metadata=unusual)

    assert common.solve_key(odd, 0) == common.solve_key(odd, 0)
    assert common.solve_key(odd, 0) != common.solve_key(SEED, 0)


SCRIPT = """
from pytest_nel.engine.identity import Identity
from pytest_nel.http.client import ModelClient
from pytest_nel.solvers.around import Around
from pytest_nel.solvers.harbor import HarborSolver
from pytest_nel.solvers.tool_calling import ToolCallingSolver
from pytest_nel.core.types import Endpoint, SeedResult
one = Identity({"b": {"x", "y"}, "a": 1}, {}, reads_row=True)
print(one.solve_key(SeedResult("q", metadata={"s": {"p", "q", "r"}}), 0))
"""


def test_a_key_is_the_same_in_every_process() -> None:
    root = Path(__file__).parents[3]

    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(said) == 1


class Own:
    def __init__(self, temperature: float, **more: object) -> None:
        self._temperature = temperature
        self.__dict__.update(more)


class Says:
    def __init__(self, prompt: str) -> None:
        self.prompt = prompt

    def fingerprint(self) -> dict[str, object]:
        return {"version": 2}


def test_a_solver_of_ones_own_counts_by_source_and_plain_attributes() -> None:
    assert answering(Own(0.5)) != answering(Own(0.7))
    assert answering(Own(0.5, tools=["a"])) != answering(Own(0.5, tools=["b"]))
    assert answering(Own(0.5, client=object())) == answering(Own(0.5, client=object()))


def test_keys_and_urls_of_a_solver_may_change() -> None:
    one = answering(Own(0.5, base_url="http://a:1", api_key="k1", client={"token": 1}))
    two = answering(Own(0.5, base_url="http://b:2", api_key="k2", client={"token": 1}))

    assert one == two
    assert "k1" not in json.dumps(fingerprint_of(one))


def test_a_solver_may_say_itself_what_it_is() -> None:
    assert answering(Says("a")) == answering(Says("b"))
    assert answering(Says("a"))["solver.version"] == 2


def test_only_our_own_solvers_are_known_to_look_at_the_text_alone() -> None:
    assert reads_row(Own(0.5))
    assert not reads_row(None, {"type": "simple"})
    assert not reads_row(None, {"type": "completion"})


AGENT = {"type": "agent", "service": "m", "agent": "mine"}


@pytest.mark.parametrize(("strategy", "asked_again"), [("override", 0), ("task", 1), ("max", 1)])
def test_an_agent_is_asked_again_where_its_task_gives_it_another_time(
    strategy: str, asked_again: int
) -> None:
    reads = reads_row(None, {**AGENT, "timeout_strategy": strategy})
    common = Identity({}, {}, reads_row=reads)
    before = {"task_digest": "1", "agent_timeout_sec": 60.0}

    keys = {
        common.solve_key(replace(SEED, metadata={**before, **changed}), 0)
        for changed in ({}, {"task_digest": "2"}, {"agent_timeout_sec": 600.0})
    }

    assert len(keys) == 1 + asked_again
    assert reads_row(None, AGENT) is False


@pytest.mark.parametrize("strategy", ["override", "task"])
def test_an_agent_reads_the_same_whether_it_is_configured_or_brought(
    tmp_path: Path, strategy: str
) -> None:
    (tmp_path / "run.sh.j2").write_text("work\n")
    entry = {"service": "m", "agent": str(tmp_path), "timeout_strategy": strategy}
    around = Around(60.0, PluginSpec(type="local"))

    brought = HarborSolver(around, HarborSolver.Config.model_validate(entry))

    assert reads_row(brought) == reads_row(None, {"type": "harbor", **entry})


@pytest.mark.parametrize("entry", [{"sandbox_tools": True}, {"resource_service": "g"}])
def test_a_solver_of_tools_reads_the_same_whether_it_is_configured_or_brought(
    entry: dict[str, object],
) -> None:
    full = {"service": "m", **entry}
    endpoint = Endpoint(name="m", url="http://127.0.0.1:9", protocol="chat_completions", model="m")

    brought = ToolCallingSolver(
        ModelClient(endpoint), ToolCallingSolver.Config.model_validate(full)
    )

    assert reads_row(brought) == reads_row(None, {"type": "tool_calling", **full})
    assert "solver.reads_fields" not in answering(brought)


def test_of_a_problem_a_solver_of_tools_reads_their_descriptions_unless_a_server_is_told_it() -> (
    None
):
    reads = reads_row(None, {"type": "tool_calling", "service": "m", "sandbox_tools": True})
    served = reads_row(None, {"type": "tool_calling", "service": "m", "resource_service": "g"})
    common = Identity({}, {}, reads_row=reads)
    tests, tools = {"task_digest": "1"}, {"tools": [{"name": "a"}]}

    keys = [
        common.solve_key(replace(SEED, metadata=each), 0)
        for each in (tests, {"task_digest": "2"}, {**tests, **tools})
    ]

    assert served is True
    assert keys[0] == keys[1] != keys[2]


def test_the_fingerprint_shows_numbers_and_hides_texts() -> None:
    facts = answering(None, {**SOLVER, "system_prompt": "the secret way"}, api())

    shown = fingerprint_of(facts)["answering"]

    assert shown["sampling.temperature"] == 0.0
    assert shown["model"] == "m"
    assert shown["solver.system_prompt"].startswith("sha256:")
    assert "secret way" not in json.dumps(shown)


def test_the_server_whose_tools_may_be_called_determines_answers() -> None:
    def facts(**gym: Any) -> dict[str, Any]:
        solver = {"type": "tool_calling", "service": "model", "resource_service": "tools"}
        return answering(None, solver, api(), PluginSpec(type="gym", **gym))

    one, other = (facts(benchmark=name) for name in ("a.py", "b.py"))

    assert one["resource.benchmark"] == "a.py"
    assert one != other
    assert facts(benchmark="a.py", startup_timeout=9.0) == one


def test_a_solver_whose_tools_are_those_of_a_sandbox_says_that_it_needs_one() -> None:
    tools = {"type": "tool_calling", "service": "m", "sandbox_tools": True}
    served = {"type": "tool_calling", "service": "m", "resource_service": "gym"}

    found = [needs_sandbox(one) for one in (tools, served, SOLVER)]

    assert found == [True, False, False]
