"""Weights & Biases: one run per benchmark, online or into files for ``wandb sync``."""

import shutil
import tempfile
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.exporters.facts import facts_of, key_of, metrics_of, settings_of
from pytest_nel.exporters.protocol import Bundle
from pytest_nel.records.record import indented

_SILENT = {
    "silent": True,
    "console": "off",
    "disable_git": True,
    "disable_code": True,
    "save_code": False,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}
"""Nothing but results: no command line, no code, no output, no facts about this machine."""
_COLUMNS = (
    *("problem_idx", "repeat", "problem_id", "outcome", "reward", "prompt", "response"),
    *("extracted_answer", "expected_answer"),
)


class WandbExporter:
    """One run of Weights & Biases per benchmark of a run; exporting it again updates that run."""

    requires: ClassVar[tuple[str, str]] = ("wandb", "wandb")

    class Config(Model):
        """Options of ``wandb``. The key is read by wandb itself: WANDB_API_KEY, or `wandb login`.

        Attributes:
            project: Its project.
            entity: The user or team that it belongs to; null means the default of the key.
            mode: online, or offline, which writes files; null means the variable WANDB_MODE.
            name: Of the run; null means the run's id and the benchmark.
            tags: Of the run.
            output_dir: Where the folder `wandb` goes; null means the run's directory.
            artifacts: Whether bundle.json, results.jsonl and a table of samples, which hold
                prompts and answers, are uploaded.
            max_samples: Rows of that table at most; results.jsonl has all.
        """

        project: str = Field(default="nemo-evaluator", min_length=1)
        entity: str | None = None
        mode: Literal["online", "offline"] | None = None
        name: str | None = None
        tags: list[str] = Field(default_factory=list)
        output_dir: Path | None = None
        artifacts: bool = True
        max_samples: int = Field(default=10_000, ge=0, le=200_000)

    def __init__(self, config: Config) -> None:
        self._config = config

    def export(self, bundle: Bundle) -> str:
        """Make the run, or bring it up to date; offline, in place of what was not synced yet."""
        wandb: Any = import_module("wandb")  # heavy
        folder = self._config.output_dir or bundle.run_dir
        folder.mkdir(parents=True, exist_ok=True)
        key = key_of(bundle)
        earlier = [*folder.glob(f"wandb/offline-run-*-{key}")]
        run = self._begin(wandb, bundle, folder, key)
        try:
            _describe(run, bundle)
            if self._config.artifacts:
                self._upload(wandb, run, bundle, key)
        except BaseException:
            run.finish(exit_code=1)
            raise
        run.finish()
        if not run.offline:
            return str(run.url)
        made = Path(run.dir).parent
        for old in earlier:
            if old != made and not any(old.glob("*.synced")):
                shutil.rmtree(old, ignore_errors=True)
        return f"{made}: `wandb sync` sends it"

    def _begin(self, wandb: Any, bundle: Bundle, folder: Path, key: str) -> Any:
        known = wandb.Settings.model_fields
        silent = {name: value for name, value in _SILENT.items() if name in known}
        return wandb.init(
            project=self._config.project,
            entity=self._config.entity,
            id=key,
            resume="allow",
            reinit="create_new",
            name=self._config.name or f"{bundle.run_id} {bundle.benchmark}",
            group=bundle.run_id,
            job_type="evaluation",
            tags=self._config.tags or None,
            dir=str(folder),
            mode=self._config.mode,
            settings=wandb.Settings(**silent),
        )

    def _upload(self, wandb: Any, run: Any, bundle: Bundle, key: str) -> None:
        """The same content is the same version of the artifact."""
        with tempfile.TemporaryDirectory(prefix="nel-wandb-") as name:
            artifact = wandb.Artifact(f"nel-{key}", type="evaluation")
            whole = Path(name, "bundle.json")
            whole.write_text(indented(bundle.content), encoding="utf-8")
            artifact.add_file(str(whole))
            if bundle.results is not None:
                rows = Path(name, "results.jsonl")
                bundle.hidden.copy(bundle.results, rows)
                artifact.add_file(str(rows))
                table = [*islice(table_rows(bundle), self._config.max_samples)]
                artifact.add(
                    wandb.Table(columns=[*_COLUMNS], data=table, allow_mixed_types=True), "samples"
                )
            run.log_artifact(artifact)


def table_rows(bundle: Bundle) -> Iterator[list[Any]]:
    """A row for each attempt; the reward of one without a score is None."""
    for sample in bundle.samples():
        row = sample.row
        yield [
            sample.problem_idx,
            sample.repeat,
            str(row.get("problem_id") or ""),
            sample.outcome,
            sample.reward,
            *(
                _text(row.get(name))
                for name in ("prompt", "model_response", "extracted_answer", "expected_answer")
            ),
        ]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _describe(run: Any, bundle: Bundle) -> None:
    """Settings and metrics as they are now; what an earlier export said beside them goes."""
    run.config.update(
        {**settings_of(bundle), "nel": facts_of(bundle)},
        allow_val_change=True,
    )
    metrics = metrics_of(bundle)
    for name in [name for name in run.summary.keys() if name not in metrics]:  # noqa: SIM118
        if not name.startswith("_"):
            del run.summary[name]
    run.summary.update(metrics)
