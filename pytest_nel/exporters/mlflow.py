"""MLflow: one run per benchmark, with metrics, settings and the result files."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from pytest_nel.config.interpolate import getenv
from pytest_nel.config.schema import Model
from pytest_nel.config.urls import secret_in, split_url
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.keys import digest
from pytest_nel.exporters._mlflow_traces import send_traces
from pytest_nel.exporters.facts import began, facts_of, key_of, metrics_of, settings_of
from pytest_nel.exporters.protocol import Bundle
from pytest_nel.http.ping import silent
from pytest_nel.records.record import indented

_URI = "MLFLOW_TRACKING_URI"
_KEY_TAG = "nel.bundle"
_REFUSED = re.compile(r"[^A-Za-z0-9_./ -]")
_LONGEST_NAME, _LONGEST_VALUE, _MOST_AT_ONCE = 250, 500, 100
_RACE = "_MLFLOW_TELEMETRY_SESSION_ID"
"""A thread of MLflow takes this variable away while its HTTP client reads all variables."""
_PATIENCE = 10.0  # seconds to find out whether a server is there; its own client takes minutes


class MlflowExporter:
    """One MLflow run per benchmark of a run; exporting it again updates that run."""

    requires: ClassVar[tuple[str, str]] = ("mlflow", "mlflow")

    class Config(Model):
        """Options of ``mlflow``.

        Attributes:
            tracking_uri: The server; null means the variable MLFLOW_TRACKING_URI. What its users
                authenticate with is read by MLflow from the environment.
            experiment: Its experiment, made where it is not there.
            run_name: Of the MLflow run; null means the run's id and the benchmark.
            tags: Further tags of the MLflow run.
            artifacts: Whether bundle.json and results.jsonl, which holds prompts and answers,
                are uploaded.
            traces: Whether each attempt becomes a trace of the run, with prompt and answer.
        """

        tracking_uri: str | None = None
        experiment: str = Field(default="nemo-evaluator", min_length=1)
        run_name: str | None = None
        tags: dict[str, str] = Field(default_factory=dict)
        artifacts: bool = True
        traces: bool = False

        @field_validator("tracking_uri")
        @classmethod
        def _no_secret(cls, uri: str | None) -> str | None:
            found = None if uri is None else secret_in(split_url(uri))
            if found is not None:
                msg = (
                    f"there is a {found} in it: export MLFLOW_TRACKING_USERNAME and "
                    "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, instead"
                )
                raise ValueError(msg)
            return uri

    def __init__(self, config: Config) -> None:
        self._config = config

    def export(self, bundle: Bundle) -> str:
        """Make the run, or bring it up to date.

        Raises:
            ConfigError: No server is named.
            InfraError: None answers.
        """
        uri = self._config.tracking_uri or getenv(_URI)
        if not uri:
            msg = f"no tracking server: set the option tracking_uri, or export {_URI}"
            raise ConfigError(msg)
        _refuse_silent(uri)
        mlflow: Any = import_module("mlflow")
        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(uri)  # traces, and some files, go where this says
        try:
            return self._tried(mlflow.MlflowClient(tracking_uri=uri), bundle)
        finally:
            mlflow.set_tracking_uri(before)

    def _tried(self, client: Any, bundle: Bundle) -> str:
        broken = import_module("mlflow.exceptions").MlflowException
        for _ in range(2):
            try:
                return self._export(client, bundle)
            except broken as error:
                if _RACE not in str(error):
                    raise
        return self._export(client, bundle)

    def _export(self, client: Any, bundle: Bundle) -> str:
        experiment = _experiment(client, self._config.experiment)
        metrics, params = named(metrics_of(bundle)), named(settings_of(bundle))
        params = {name: value[:_LONGEST_VALUE] for name, value in params.items()}
        run_id = self._run(client, experiment, bundle, metrics, params)
        _log(client, run_id, metrics, params, bundle)
        if self._config.artifacts:
            _upload(client, run_id, bundle)
        said = f"run {run_id} of experiment {self._config.experiment!r}"
        if self._config.traces:
            said += f", {send_traces(client, experiment, run_id, bundle):,} traces"
        done = "FINISHED" if bundle.content.get("complete", True) else "KILLED"
        client.set_terminated(run_id, status=done)
        return said

    def _run(
        self,
        client: Any,
        experiment: str,
        bundle: Bundle,
        metrics: Mapping[str, float],
        params: Mapping[str, str],
    ) -> str:
        """The run of this bundle, made where there is none that can become what it is now."""
        tags, key = self._tags(bundle), key_of(bundle)
        found = client.search_runs([experiment], filter_string=f"tags.`{_KEY_TAG}` = '{key}'")
        kept: dict[str, str] = {}
        for old in found:
            if _can_become(old.data, metrics, params):
                for name, value in tags.items():
                    client.set_tag(old.info.run_id, name, value)
                return str(old.info.run_id)
            kept |= {n: v for n, v in old.data.tags.items() if _is_theirs(n)}
        start = int(began(bundle).timestamp() * 1000)
        run = client.create_run(experiment, start_time=start, tags={**kept, **tags})
        for old in found:  # its parameters and metrics cannot be changed, or taken away
            client.delete_run(old.info.run_id)
        return str(run.info.run_id)

    def _tags(self, bundle: Bundle) -> dict[str, str]:
        name = self._config.run_name or f"{bundle.run_id} {bundle.benchmark}"
        facts = {f"nel.{fact}": value for fact, value in facts_of(bundle).items()}
        facts |= {_KEY_TAG: key_of(bundle), "mlflow.runName": name}
        return {**facts, "mlflow.source.name": "pytest-nel", **self._config.tags}


def named(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same under names that MLflow takes, which knows no ``@``: ``pass_at_1``.

    Two names that would become one are told apart by a digest.
    """
    made: dict[str, Any] = {}
    for name, value in values.items():
        fit = name.replace("@", "_at_").replace("^", "_hat_").replace("scorer:", "scorer/")
        parts = [part.strip() for part in _REFUSED.sub("_", fit).split("/")]
        fit = "/".join(part.replace("..", "_") for part in parts if part not in {"", "."})
        if len(fit) > _LONGEST_NAME or not fit or fit in made:
            fit = f"{fit[: _LONGEST_NAME - 9]}_{digest(name).partition(':')[2][:8]}"
        made[fit] = value
    return made


def _can_become(old: Any, metrics: Mapping[str, float], params: Mapping[str, str]) -> bool:
    """MLflow changes no parameter and forgets no metric."""
    same = all(params.get(name) == value for name, value in old.params.items())
    return same and set(old.metrics) <= set(metrics)


def _is_theirs(tag: str) -> bool:
    return tag == "mlflow.note.content" or not tag.startswith(("mlflow.", "nel."))


def _experiment(client: Any, name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is None:
        return str(client.create_experiment(name))
    if found.lifecycle_stage != "active":
        msg = f"experiment {name!r} was deleted on the server: restore it, or name another"
        raise ConfigError(msg)
    return str(found.experiment_id)


def _log(
    client: Any,
    run_id: str,
    metrics: Mapping[str, float],
    params: Mapping[str, str],
    bundle: Bundle,
) -> None:
    """Log all of it; what is there already, with the same time, changes nothing.

    Of several values of a metric MLflow shows that of the last step, so a resumption has a higher
    one.
    """
    entities = import_module("mlflow.entities")
    at, step = int(bundle.path.stat().st_mtime * 1000), int(bundle.content.get("turns") or 1)
    values = [entities.Metric(name, value, at, step) for name, value in metrics.items()]
    for some in _pieces(values):
        client.log_batch(run_id, metrics=some)
    for some in _pieces([entities.Param(name, value) for name, value in params.items()]):
        client.log_batch(run_id, params=some)


def _pieces(values: list[Any]) -> Iterator[list[Any]]:
    for at in range(0, len(values), _MOST_AT_ONCE):
        yield values[at : at + _MOST_AT_ONCE]


def _upload(client: Any, run_id: str, bundle: Bundle) -> None:
    with tempfile.TemporaryDirectory(prefix="nel-mlflow-") as folder:
        whole = Path(folder, "bundle.json")
        whole.write_text(indented(bundle.content), encoding="utf-8")
        client.log_artifact(run_id, str(whole))
        if bundle.results is not None:
            rows = Path(folder, "results.jsonl")
            bundle.hidden.copy(bundle.results, rows)
            client.log_artifact(run_id, str(rows))


def _refuse_silent(uri: str) -> None:
    """Any answer will do: what it says is the client's concern."""
    if not uri.startswith(("http://", "https://")):
        return
    if (silence := silent(uri, _PATIENCE)) is not None:
        msg = f"no MLflow server answers at {split_url(uri).netloc.rpartition('@')[2]}: {silence}"
        raise InfraError(msg)
