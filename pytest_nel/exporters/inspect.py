"""Inspect: a log per benchmark, which ``inspect view`` opens."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal

from pytest_nel.config.schema import Model
from pytest_nel.core.keys import digest, safe_name
from pytest_nel.exporters._atif import messages_of
from pytest_nel.exporters.facts import began, facts_of, key_of, model_of, settings_of
from pytest_nel.exporters.protocol import Bundle
from pytest_nel.exporters.samples import Sample
from pytest_nel.records.judged import number

_DEFAULT = "default"
_FURTHER = "scorer:"
_UNKNOWN_MODEL = "unknown"
_STOPS = {
    "stop": "stop",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}


class InspectExporter:
    """A log of Inspect per benchmark of a run; exporting it again writes the same file."""

    requires: ClassVar[tuple[str, str]] = ("inspect_ai", "inspect")

    class Config(Model):
        """Options of ``inspect``.

        Attributes:
            output_dir: Where logs go, in a folder for each run; null means beside the bundle.
            format: `eval`, the compact one, or `json`.
        """

        output_dir: Path | None = None
        format: Literal["eval", "json"] = "eval"

    def __init__(self, config: Config) -> None:
        self._config = config

    def export(self, bundle: Bundle) -> str:
        """Write the log, whole or not at all."""
        path = self._path(bundle)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f".{path.name}")
        samples = bundle.samples()
        found = {(one.problem_idx, one.repeat): one for one in samples}  # of several the last
        log = _log(bundle, found.values(), samples.damaged)
        try:
            import_module("inspect_ai.log").write_eval_log(log, str(scratch), self._config.format)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
        damaged = f"; {samples.damaged:,} damaged lines left out" if samples.damaged else ""
        return f"{path}, {len(found):,} samples{damaged}"

    def _path(self, bundle: Bundle) -> Path:
        name = f"{safe_name(bundle.benchmark)}_inspect.{self._config.format}"
        if self._config.output_dir is None:
            return bundle.path.parent / name
        return self._config.output_dir / safe_name(bundle.run_id) / name


def _log(bundle: Bundle, samples: Any, damaged: int) -> Any:
    """The log; its ids are made of the bundle's key, so the same bundle gives the same log."""
    logs, content, key = import_module("inspect_ai.log"), bundle.content, key_of(bundle)
    benchmark, made = content["benchmark"], began(bundle).isoformat()
    model = model_of(bundle) or _UNKNOWN_MODEL
    spec = logs.EvalSpec(
        eval_id=key[:22],
        run_id=bundle.run_id,
        task_id=key[:22],
        created=made,
        task=bundle.benchmark,
        dataset=logs.EvalDataset(
            name=_dataset(content), samples=len({one.problem_idx for one in samples}), shuffled=None
        ),
        model=model,
        config=logs.EvalConfig(epochs=benchmark.get("repeats") or 1),
        packages={"pytest-nel": version("pytest-nel")},
        metadata={"settings": settings_of(bundle), "run": facts_of(bundle)},
    )
    return logs.EvalLog(
        status="success" if content.get("complete", True) else "cancelled",
        eval=spec,
        results=_results(logs, content, damaged),
        stats=logs.EvalStats(started_at=made, completed_at=made),
        samples=[_sample(one, key, model) for one in samples],
    )


def _dataset(content: Mapping[str, Any]) -> str:
    fingerprint = content.get("fingerprint")
    said = fingerprint.get("dataset") if isinstance(fingerprint, Mapping) else None
    return str(said or content["benchmark"]["name"])


def _results(logs: Any, content: Mapping[str, Any], damaged: int) -> Any:
    """Metrics as the bundle has them, with their intervals; Inspect is not to make its own."""
    scorers: dict[str, dict[str, Any]] = {_DEFAULT: {}}
    for name, said in (content["benchmark"].get("scores") or {}).items():
        value = number(said.get("value")) if isinstance(said, Mapping) else None
        if value is None:
            continue
        scorer, metric = _DEFAULT, name
        if name.startswith(_FURTHER):
            scorer, metric = name.removeprefix(_FURTHER), "mean_reward"
        beside = {key: inner for key, inner in said.items() if key != "value"}
        scorers.setdefault(scorer, {})[metric] = logs.EvalMetric(
            name=metric, value=value, metadata=beside
        )
    scored, attempted = content.get("n_scored"), content.get("n_attempted")
    scores = [
        logs.EvalScore(
            name=name,
            scorer=name,
            scored_samples=scored if name == _DEFAULT else None,
            unscored_samples=content.get("n_unscored") if name == _DEFAULT else None,
            metrics=metrics,
        )
        for name, metrics in scorers.items()
    ]
    total = attempted if attempted is not None else content.get("n_results") or 0
    return logs.EvalResults(
        total_samples=max(total, content.get("n_planned") or 0),
        completed_samples=total if scored is None else scored,
        scores=scores,
        metadata={"damaged_lines": damaged} if damaged else None,
    )


def _sample(sample: Sample, key: str, model: str) -> Any:
    logs, row = import_module("inspect_ai.log"), sample.row
    name = f"{key}-{sample.problem_idx}-{sample.repeat}"
    timing = sample.beside.get("timing") or {}
    took, worked = number(timing.get("total_ms")), number(timing.get("model_ms"))
    output = _output(sample, name, model)
    metadata = row.get("metadata")
    usage = output.usage
    return logs.EvalSample(
        id=sample.problem_idx,
        epoch=sample.repeat + 1,
        input=_text(row.get("prompt")),
        target=_text(row.get("expected_answer")),
        messages=[*_messages(sample, name, output)],
        output=output,
        scores=_scores(sample) or None,
        metadata={
            **(metadata if isinstance(metadata, Mapping) else {}),
            "problem_id": row.get("problem_id"),
            "outcome": sample.outcome,
        },
        model_usage={} if usage is None else {model: usage},
        total_time=None if took is None else took / 1000,
        working_time=None if worked is None else worked / 1000,
        uuid=digest(name).partition(":")[2][:22],
        error=_error(logs, sample),
    )


def _scores(sample: Sample) -> dict[str, Any]:
    """What was scored: an attempt without a score, or a scorer that failed, has no 0 here."""
    score = import_module("inspect_ai.scorer").Score
    row = sample.row
    found: dict[str, Any] = {}
    if sample.reward is not None:
        answer, details = row.get("extracted_answer"), row.get("scoring_details")
        found[_DEFAULT] = score(
            value=sample.reward,
            answer=None if answer is None else _text(answer),
            metadata=dict(details) if isinstance(details, Mapping) else None,
        )
        others = row.get("scorer_rewards")
        for name, said in others.items() if isinstance(others, Mapping) else ():
            if (reward := number(said)) is not None:
                found[str(name)] = score(value=reward)
    return found


def _error(logs: Any, sample: Sample) -> Any:
    if sample.outcome != "unscored":
        return None
    row = sample.row
    details = row.get("scoring_details")
    said = row.get("error") or (details.get("error") if isinstance(details, Mapping) else None)
    kind = row.get("failure_category") or "unscored"
    text = f"{kind}: {said}" if said else f"{kind}: this attempt has no score"
    return logs.EvalError(message=text, traceback="", traceback_ansi="")


def _output(sample: Sample, name: str, model: str) -> Any:
    """The reply; empty where there was none."""
    models, row = import_module("inspect_ai.model"), sample.row
    answered = row.get("finish_reason") is not None or row.get("model_response")
    if not answered:
        error = row.get("error")
        return models.ModelOutput(model=model, error=None if error is None else _text(error))
    message = models.ChatMessageAssistant(
        id=f"{name}-answer",
        content=_content(models, _text(row.get("model_response")), row.get("reasoning")),
        source="generate",
        model=model,
    )
    latency = number(row.get("latency_ms"))
    return models.ModelOutput(
        model=model,
        choices=[
            models.ChatCompletionChoice(
                message=message, stop_reason=_STOPS.get(str(row.get("finish_reason")), "unknown")
            )
        ],
        usage=_usage(models, sample),
        time=None if latency is None else latency / 1000,
    )


def _usage(models: Any, sample: Sample) -> Any:
    """Tokens where both parts are known: Inspect would take what is unknown for 0."""
    model = sample.beside.get("model")
    tokens = model.get("tokens") if isinstance(model, Mapping) else None
    if not isinstance(tokens, Mapping):
        return None
    prompt, completion = tokens.get("prompt"), tokens.get("completion")
    if type(prompt) is not int or type(completion) is not int:
        return None
    total, thought = tokens.get("total"), tokens.get("reasoning")
    return models.ModelUsage(
        input_tokens=prompt,
        output_tokens=completion,
        total_tokens=total if type(total) is int else prompt + completion,
        reasoning_tokens=thought if type(thought) is int else None,
    )


def _messages(sample: Sample, name: str, output: Any) -> Iterator[Any]:
    """What was said: the steps of an agent, else what was asked and the reply."""
    models = import_module("inspect_ai.model")
    steps = sample.row.get("trajectory")
    if isinstance(steps, list) and (told := messages_of(steps)):
        yield from (_message(models, each, f"{name}-{at}") for at, each in enumerate(told))
        return
    for at, message in enumerate(_asked(sample)):
        yield _message(models, message, f"{name}-{at}")
    if output.choices:
        yield output.choices[0].message


def _asked(sample: Sample) -> Iterator[Mapping[str, Any]]:
    messages = sample.beside.get("messages")
    if isinstance(messages, list) and messages:
        yield from (each for each in messages if isinstance(each, Mapping))
        return
    if system := sample.beside.get("system_prompt"):
        yield {"role": "system", "content": _text(system)}
    yield {"role": "user", "content": _text(sample.row.get("prompt"))}


def _message(models: Any, message: Mapping[str, Any], name: str) -> Any:
    role, text = message.get("role"), _words(message.get("content"))
    if role == "system":
        return models.ChatMessageSystem(id=name, content=text)
    if role == "tool":
        return models.ChatMessageTool(
            id=name,
            content=text,
            tool_call_id=message.get("tool_call_id"),
            function=message.get("function"),
        )
    if role != "assistant":
        return models.ChatMessageUser(id=name, content=text)
    call = import_module("inspect_ai.tool").ToolCall
    calls = [call(**each) for each in message.get("tool_calls") or () if "arguments" in each]
    return models.ChatMessageAssistant(
        id=name,
        content=_content(models, text, message.get("reasoning")),
        tool_calls=calls or None,
    )


def _content(models: Any, text: str, reasoning: object) -> Any:
    if not reasoning:
        return text
    thought = models.ContentReasoning(reasoning=_text(reasoning))
    return [thought, models.ContentText(text=text)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _words(content: object) -> str:
    """The text of a message, whose content may be a list of parts."""
    if not isinstance(content, list):
        return _text(content)
    parts = [part for part in content if isinstance(part, Mapping)]
    return "\n".join(
        _text(part["text"]) if "text" in part else f"[{part.get('type', 'a part')}]"
        for part in parts
    )
