"""Attempts as traces of MLflow: each once, however often they are exported."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from pytest_nel.core.errors import InfraError
from pytest_nel.core.keys import digest
from pytest_nel.core.types import JsonObject
from pytest_nel.exporters._atif import messages_of
from pytest_nel.exporters.facts import key_of, model_of
from pytest_nel.exporters.protocol import Bundle
from pytest_nel.exporters.samples import Sample
from pytest_nel.records.judged import number
from pytest_nel.records.record import dumps

_KEY, _CONTENT = "nel.bundle", "nel.content"
_LONGEST = 4000
_FIELDS = ("task_id", "task_name", "category", "grading_type", "source")
_PAGE, _TOGETHER = 200, 100


def send_traces(client: Any, experiment: str, run_id: str, bundle: Bundle) -> int:
    """Make the traces that are not there as they are now, and delete those of other content.

    Returns:
        How many attempts have one.

    Raises:
        InfraError: The server does not have them afterwards.
    """
    mlflow: Any = import_module("mlflow")
    old = dict(_stored(client, experiment, run_id))
    wanted: set[str] = set()
    for sample in bundle.samples():
        mark = digest([run_id, sample.row, sample.beside.get("timing")])
        if mark not in old and mark not in wanted:
            _send(mlflow, _Trace(bundle, sample), experiment, run_id, mark)
        wanted.add(mark)
    mlflow.flush_trace_async_logging()
    gone = [number for mark, number in old.items() if mark not in wanted]
    for at in range(0, len(gone), _TOGETHER):
        client.delete_traces(experiment, trace_ids=gone[at : at + _TOGETHER])
    there = {mark for mark, _ in _stored(client, experiment, run_id)}
    if not wanted <= there:
        msg = f"{len(wanted - there):,} of {len(wanted):,} traces did not arrive at the server"
        raise InfraError(msg)
    return len(wanted)


def _stored(client: Any, experiment: str, run_id: str) -> Iterator[tuple[str, str]]:
    """What the server has of this run: digests of contents, and the traces' ids."""
    token = None
    while True:
        page = client.search_traces(
            experiment_ids=[experiment],
            filter_string=f"metadata.`mlflow.sourceRun` = '{run_id}'",
            max_results=_PAGE,
            page_token=token,
            include_spans=False,
        )
        for trace in page:
            yield trace.info.tags.get(_CONTENT, ""), trace.info.trace_id
        token = page.token
        if not token:
            return


class _Trace:
    """One attempt as spans: name, inputs, outputs, attributes, and the calls of tools inside."""

    def __init__(self, bundle: Bundle, sample: Sample) -> None:
        self.key = key_of(bundle)
        self.sample = sample
        again = f".r{sample.repeat}" if sample.repeat else ""
        self.name = f"sample_{sample.problem_idx}{again}"
        self.attributes = dict(_attributes(bundle, sample))
        steps = sample.row.get("trajectory")
        self.messages = messages_of(steps) if isinstance(steps, list) else []

    def times(self) -> tuple[int | None, int | None]:
        """Begin and end in ns of Unix time; None where they are not known."""
        began = number(self.sample.beside.get("timestamp"))
        timing = self.sample.beside.get("timing")
        took = number(timing.get("total_ms")) if isinstance(timing, Mapping) else None
        if began is None:
            return None, None
        start = int(began * 1e9)
        return start, start + int((took or 0.0) * 1e6)

    def inputs(self) -> JsonObject:
        """What was asked."""
        system = self.sample.beside.get("system_prompt")
        asked = {"prompt": _cut(self.sample.row.get("prompt"))}
        return {"system": _cut(system), **asked} if system else asked

    def outputs(self) -> JsonObject:
        """What came back; of an agent all messages."""
        answer: JsonObject = {"response": _cut(self.sample.row.get("model_response"))}
        if self.messages:
            told = [{**each, "content": _cut(each["content"])} for each in self.messages]
            answer["messages"] = told
        return answer

    def calls(self) -> Iterator[tuple[str, JsonObject, JsonObject]]:
        """Each call of a tool: its name, its arguments, its result."""
        results = {one.get("tool_call_id"): one for one in self.messages if one["role"] == "tool"}
        for message in self.messages:
            for call in message.get("tool_calls", ()):
                result = results.get(call["id"])
                said = {} if result is None else {"result": _cut(result["content"])}
                yield call["function"], {"arguments": _cut(dumps(call["arguments"]))}, said


def _send(mlflow: Any, trace: _Trace, experiment: str, run_id: str, mark: str) -> None:
    start, end = trace.times()
    root = mlflow.start_span_no_context(
        trace.name,
        span_type="AGENT",
        inputs=trace.inputs(),
        attributes=trace.attributes,
        tags={_KEY: trace.key, _CONTENT: mark},
        metadata={"mlflow.sourceRun": run_id},
        experiment_id=experiment,
        start_time_ns=start,
    )
    for name, arguments, result in trace.calls():
        span = mlflow.start_span_no_context(
            name or "tool",
            span_type="TOOL",
            parent_span=root,
            inputs=arguments,
            start_time_ns=start,
        )
        span.end(outputs=result, end_time_ns=end)
    lost = trace.sample.outcome == "unscored"
    root.end(outputs=trace.outputs(), status="ERROR" if lost else "OK", end_time_ns=end)


def _attributes(bundle: Bundle, sample: Sample) -> Iterator[tuple[str, Any]]:
    row = sample.row
    yield "nel.benchmark", bundle.benchmark
    yield "nel.model", model_of(bundle) or "unknown"
    yield "nel.problem_idx", sample.problem_idx
    yield "nel.repeat", sample.repeat
    yield "nel.outcome", sample.outcome
    if sample.reward is not None:
        yield "nel.reward", sample.reward
    metadata = row.get("metadata")
    known: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    for name in _FIELDS:
        if known.get(name) not in (None, ""):
            yield f"nel.{name}", _cut(known[name])
    if row.get("scoring_details"):
        yield "nel.scoring_details", _cut(dumps(row["scoring_details"]))
    if row.get("error"):
        yield "nel.error", _cut(row["error"])
    others = row.get("scorer_rewards")
    for name, said in others.items() if isinstance(others, Mapping) else ():
        if (reward := number(said)) is not None:
            yield f"nel.scorer.{name}", reward


def _cut(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…[truncated]"
