"""Where Harbor datasets lie: folders, registries, repositories; all of a dataset or none of it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._fetch import Fetcher, Patience
from pytest_nel.datasets._harbor_kept import FRESH, kept_registry
from pytest_nel.datasets._harbor_registry import default_version, entries, registered
from pytest_nel.datasets.harbor import Dataset, find_dataset
from tests.unit.datasets.test_harbor_folders import task

Find = Callable[..., Dataset]


def git(folder: Path, *args: str) -> str:
    me = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    command = ["git", "-C", str(folder), *me, *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    """Tasks ``a`` and ``b`` of a first commit, and a second with more."""
    folder = tmp_path / "repository"
    for name in ("a", "b"):
        task(folder / "data" / name)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    first = git(folder, "rev-parse", "HEAD")
    task(folder / "data" / "c", instruction="Later.\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "two")
    return folder, first


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """Looks for datasets from an empty folder, with the registry and the cache beside it."""
    env = {
        "HARBOR_REGISTRY": str(tmp_path / "registry.json"),
        "HARBOR_REGISTRY_OVERRIDE_DIR": str(tmp_path / "overrides"),
        "NEL_CACHE_DIR": str(tmp_path / "cache"),
    }
    (tmp_path / "overrides").mkdir()
    (tmp_path / "registry.json").write_text("[]")
    (tmp_path / "here").mkdir()

    def found(spec: str, **options: frozenset[str]) -> Dataset:
        return find_dataset(spec, base=tmp_path / "here", env=env.get, **options)

    return found


def register(path: Path, version: str, repository: Path, commit: str | None, *names: str) -> None:
    rows = json.loads(path.read_text()) if path.exists() else []
    tasks = [
        {"name": n, "git_url": str(repository), "git_commit_id": commit, "path": f"data/{n}"}
        for n in names
    ]
    rows.append({"name": "org/set", "version": version, "description": "", "tasks": tasks})
    path.write_text(json.dumps(rows))


def test_folders_go_before_registries(tmp_path: Path, find: Find) -> None:
    task(tmp_path / "here" / "mine" / "one")
    task(tmp_path / "here" / "harbor_datasets" / "org__set@1.0" / "two")

    one, whole, named = find("mine/one"), find("mine"), find("org/set@1.0")

    assert (one.name, [each.name for each in one.folders]) == ("one", ["one"])
    assert (whole.name, [each.name for each in whole.folders]) == ("mine", ["one"])
    assert (named.name, [each.name for each in named.folders]) == ("org__set@1.0", ["two"])


def test_a_registered_version_has_its_own_tasks_and_no_others(
    tmp_path: Path, find: Find, repository: tuple[Path, str]
) -> None:
    folder, first = repository
    register(tmp_path / "registry.json", "1.0", folder, first, "b", "a")
    register(tmp_path / "registry.json", "2.0", folder, None, "c")

    newest, old = find("org/set"), find("org/set@1.0")
    part = find("org/set@1.0", names=frozenset({"a"}))
    (folder / ".git").rename(folder / "gone")  # what was fetched needs nobody any more
    again = find("org/set@1.0")

    assert (newest.name, [each.name for each in newest.folders]) == ("org__set@2.0", ["c"])
    assert [each.name for each in old.folders] == ["b", "a"]
    assert again == old
    assert [each.name for each in part.folders] == ["a"]
    assert sorted(each.name for each in old.folders[0].parent.iterdir()) == ["a", "b"]


def test_overrides_go_before_the_registry(
    tmp_path: Path, find: Find, repository: tuple[Path, str]
) -> None:
    folder, first = repository
    register(tmp_path / "registry.json", "1.0", folder, first, "a")
    register(tmp_path / "overrides" / "mine.json", "1.0", folder, first, "b")

    found = find("org/set@1.0")

    assert [each.name for each in found.folders] == ["b"]


@pytest.mark.parametrize("where", ["registry.json", "overrides/mine.json"])
def test_one_version_listed_twice_is_refused_where_it_is_meant(
    tmp_path: Path, find: Find, repository: tuple[Path, str], where: str
) -> None:
    folder, first = repository
    for names in ("a", "ab"):
        register(tmp_path / where, "1.0", folder, first, *names)
    other = [{"name": "org/other", "version": "1", "tasks": []}]
    (tmp_path / "registry.json").write_text(
        json.dumps(json.loads((tmp_path / "registry.json").read_text()) + other)
    )

    with pytest.raises(DataError, match=r"org/set@1\.0 is listed twice, with 2 and 1 tasks"):
        find("org/set")

    assert find("org/other").folders == ()


def test_what_a_run_has_fetched_is_read_where_the_network_may_not_be_asked(
    tmp_path: Path, repository: tuple[Path, str]
) -> None:
    folder, _ = repository
    address = "https://registry.example/registry.json"
    tasks = [{"name": "a", "git_url": str(folder), "path": "data/a"}]
    content = json.dumps([{"name": "org/set", "version": "1", "tasks": tasks}]).encode()
    env = {"HARBOR_REGISTRY": address, "NEL_CACHE_DIR": str(tmp_path / "cache")}
    fetched: list[int] = []
    now = [0.0]

    def fetch() -> bytes:
        fetched.append(1)
        return content

    def read() -> object:
        return kept_registry(address, env.get, fetch, lambda: now[0])

    env["HF_HUB_OFFLINE"] = "1"
    with pytest.raises(DataError, match=r"HF_HUB_OFFLINE forbids asking for it.*HARBOR_REGISTRY"):
        read()
    del env["HF_HUB_OFFLINE"]
    first = read()
    copy = next((tmp_path / "cache" / "harbor").glob("registry-*.json"))
    now[0] = copy.stat().st_mtime + FRESH / 2
    again = read()
    now[0] += FRESH
    later = read()
    env["HF_HUB_OFFLINE"] = "1"
    alone = find_dataset("org/set", base=tmp_path, env=env.get)

    assert first == again == later
    assert len(fetched) == 2
    assert [each.name for each in alone.folders] == ["a"]  # its repository is a folder


@pytest.mark.parametrize("commit", ["0" * 40, None])
def test_no_repository_is_asked_where_that_is_forbidden(tmp_path: Path, commit: str | None) -> None:
    url = "https://127.0.0.1:9/set.git"
    task = {"name": "a", "git_url": url, "git_commit_id": commit, "path": "a"}
    (tmp_path / "mine.json").write_text(
        json.dumps({"name": "set", "version": "1", "tasks": [task]})
    )
    env = {
        "HARBOR_REGISTRY": str(tmp_path / "mine.json"),
        "NEL_CACHE_DIR": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
    }
    lacks = f"the newest commit of {url}" if commit is None else f"{url} at {commit}"

    with pytest.raises(DataError, match=f"{lacks} is not in .*HF_HUB_OFFLINE forbids"):
        find_dataset("set", base=tmp_path, env=env.get)


@pytest.mark.parametrize("wrong", ["commit", "path", "repository"])
def test_what_cannot_be_had_whole_leaves_nothing(
    tmp_path: Path, find: Find, repository: tuple[Path, str], wrong: str
) -> None:
    folder, first = repository
    where = tmp_path / "nowhere" if wrong == "repository" else folder
    commit = "0" * 40 if wrong == "commit" else first
    names = ("a", "nothing") if wrong == "path" else ("a",)
    register(tmp_path / "registry.json", "1.0", where, commit, *names)

    with pytest.raises(DataError, match=r"there is no folder|git fetch of"):
        find("org/set@1.0")

    assert [each for each in (tmp_path / "cache" / "harbor").iterdir() if each.is_dir()] == []


def test_what_is_nowhere_is_said_with_all_the_places(tmp_path: Path, find: Find) -> None:
    with pytest.raises(DataError) as refused:
        find("org/set@1.0")

    with pytest.raises(DataError, match="expected the folder or the name"):
        find("")
    said = str(refused.value)
    assert str(tmp_path / "here" / "org/set@1.0") in said
    assert "harbor_datasets/org__set@1.0" in said
    register(tmp_path / "registry.json", "1.0", tmp_path, None, "a")
    with pytest.raises(DataError, match=r"the registry has the versions 1\.0"):
        find("org/set@3")
    (tmp_path / "registry.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        find("org/set@3")


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        (["1.0", "head", "2.0"], "head"),
        (["1.9", "1.10", "1.2"], "1.10"),
        (["2.0-rc1", "2.0", "1.0"], "2.0"),
        (["old", "new"], "new"),
        (["v1", "v2", "odd"], "v2"),
    ],
)
def test_the_version_that_is_meant_where_none_is_named(versions: list[str], chosen: str) -> None:
    assert default_version(versions) == chosen


@pytest.mark.parametrize(
    "task",
    [
        {"git_url": "u", "path": "../x"},
        {"git_url": "u", "path": "/x"},
        {"git_url": "--upload-pack=x", "path": "x"},
        {"git_url": "ext::sh -c x", "path": "x"},
        {"git_url": "u", "path": "x", "git_commit_id": "--x"},
        {"path": "x"},
        "x",
    ],
)
def test_registries_lead_nowhere_else(task: object) -> None:
    with pytest.raises(DataError, match="expected a list of"):
        list(entries([{"name": "n", "version": "1", "tasks": [task]}], "registry.json"))


def test_a_registry_that_nobody_reaches_says_what_helps_for_tasks(tmp_path: Path) -> None:
    env = {"HARBOR_REGISTRY": "https://127.0.0.1:9/registry.json"}
    fetcher = Fetcher(Patience(tries=1))

    with pytest.raises(DataError, match="cannot be reached") as raised:
        registered("org/set", None, base=tmp_path, env=env.get, fetcher=fetcher)

    said = str(raised.value)
    for helps in (
        "HARBOR_DATASETS_DIR",
        "harbor://FOLDER",
        "HARBOR_REGISTRY=FILE",
        "NEL_CACHE_DIR",
    ):
        assert helps in said
    assert "prefetch" not in said
    assert "NEL_DATA_DIR" not in said


def test_a_folder_that_is_not_there_is_named_where_nobody_reaches_the_registry(
    tmp_path: Path,
) -> None:
    env = {"HARBOR_REGISTRY": "https://127.0.0.1:9/r.json", "HF_HUB_OFFLINE": "1"}
    env["NEL_CACHE_DIR"] = str(tmp_path)

    with pytest.raises(DataError, match="the Harbor registry") as raised:
        find_dataset("tasks", base=tmp_path, env=env.get)

    assert str(raised.value).startswith(f"harbor://tasks: there is no folder {tmp_path}/tasks; ")
