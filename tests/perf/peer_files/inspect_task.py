"""The same questions as an inspect_ai task; runs in inspect_ai's own environment."""

import os

from inspect_ai import Task, task  # type: ignore[import-not-found]
from inspect_ai.dataset import FieldSpec, json_dataset  # type: ignore[import-not-found]
from inspect_ai.scorer import exact  # type: ignore[import-not-found]
from inspect_ai.solver import generate  # type: ignore[import-not-found]


@task  # type: ignore[untyped-decorator]
def perf() -> Task:
    """Generate, then compare exactly."""
    fields = FieldSpec(input="question", target="target", id="id")
    dataset = json_dataset(os.environ["PERF_ROWS"], fields)
    return Task(dataset=dataset, solver=generate(), scorer=exact())
