"""Where results may go beside the run's directory, one file a destination."""

from pytest_nel.core.registry import Registry
from pytest_nel.exporters.protocol import Exporter

REGISTRY: Registry[Exporter] = Registry(
    "exporters",
    {
        "inspect": "pytest_nel.exporters.inspect:InspectExporter",
        "mlflow": "pytest_nel.exporters.mlflow:MlflowExporter",
        "wandb": "pytest_nel.exporters.wandb:WandbExporter",
    },
)
