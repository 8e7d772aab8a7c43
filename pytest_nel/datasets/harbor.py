"""Datasets of the Harbor format: a folder, one of ``HARBOR_DATASETS_DIR``, or of a registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._harbor_clone import Clones
from pytest_nel.datasets._harbor_registry import registered
from pytest_nel.datasets._hub import Getenv
from pytest_nel.datasets.harbor_task import TASK, is_task, meant_as_task, passed_over

DATASETS_DIR = "HARBOR_DATASETS_DIR"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Where the tasks of a dataset lie.

    Attributes:
        name: As results call it, ``swebench-verified@1.0``.
        folders: One for each task, in the dataset's order.
        origin: ``local``, ``registry`` or ``terminal-bench``.
        names: The tasks' names, where they are not those of their folders.
        refused: Why a task cannot be run, by its name.
        passed_over: Folders beside them that are no tasks, and have something of one.
    """

    name: str
    folders: tuple[Path, ...]
    origin: str
    names: tuple[str, ...] | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    passed_over: tuple[Path, ...] = ()

    def tasks(self) -> dict[str, Path]:
        """The folders by the tasks' names.

        Raises:
            DataError: Two have the same.
        """
        names = self.names or tuple(folder.name for folder in self.folders)
        found = dict(zip(names, self.folders, strict=True))
        if len(found) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            msg = f"{self.name}: several tasks are called {', '.join(twice)}"
            raise DataError(msg)
        return found


def find_dataset(
    spec: str, *, base: Path, env: Getenv, names: frozenset[str] | None = None
) -> Dataset:
    """The dataset that is meant by ``path-or-name[@version]``.

    Args:
        spec: Without ``harbor://``.
        base: The folder that relative paths are relative to.
        env: Gives variables.
        names: Fetch these tasks alone; None: all.

    Raises:
        DataError: There is none, or it cannot be had whole.
    """
    if not spec.partition("@")[0].strip():
        msg = f"harbor://{spec}: expected the folder or the name of a dataset behind harbor://"
        raise DataError(msg)
    local = _local(spec, base, env)
    if local is not None:
        return local
    name, _, version = spec.partition("@")
    try:
        entry = registered(name, version or None, base=base, env=env)
    except DataError as error:  # whoever means a folder of theirs knows of no registry
        msg = f"harbor://{spec}: there is no folder {Path(base, spec).expanduser()}; {error}"
        raise DataError(msg) from error
    if entry is None:
        msg = (
            f"harbor://{spec}: expected a folder of tasks ({base / spec}), one in {DATASETS_DIR} "
            f"({_datasets_dir(base, env) / spec.replace('/', '__')}), or a dataset of the registry"
        )
        raise DataError(msg)
    wanted = [task for task in entry.tasks if names is None or task.name in names]
    folders = Clones(env).fetched(wanted)
    name = f"{entry.name.replace('/', '__')}@{entry.version}"
    return Dataset(name, folders, "registry", tuple(task.name for task in wanted))


def _local(spec: str, base: Path, env: Getenv) -> Dataset | None:
    folders = [Path(base, spec).expanduser()] if spec.strip() else []
    folders.append(_datasets_dir(base, env) / spec.replace("/", "__"))
    for folder in folders:
        if is_task(folder):
            return Dataset(folder.resolve().name, (folder.resolve(),), "local")
        if folder.is_dir():
            return _of_folder(folder.resolve())
    return None


def _of_folder(folder: Path) -> Dataset:
    others = tuple(sorted(each for each in folder.iterdir() if passed_over(each)))
    return Dataset(folder.name, _tasks_in(folder), "local", passed_over=others)


def _tasks_in(folder: Path) -> tuple[Path, ...]:
    found = tuple(sorted(each for each in folder.iterdir() if meant_as_task(each)))
    if not any(is_task(each) for each in found):
        msg = f"{folder}: expected folders of tasks in it, each with a {TASK}, and there are none"
        raise DataError(msg)
    return found


def _datasets_dir(base: Path, env: Getenv) -> Path:
    return Path(base, env(DATASETS_DIR) or "harbor_datasets").expanduser()
