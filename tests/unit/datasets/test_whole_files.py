"""Data without rows: folders and zips, here and on the web."""

import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from pytest_nel.core.errors import DataError
from pytest_nel.datasets.whole import FileTree, file_tree, local_files
from tests.unit.datasets.test_harbor_places import git


def zipped(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return path


@pytest.fixture
def trees(tmp_path: Path) -> list[FileTree]:
    folder = tmp_path / "folder"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.txt").write_text("A")
    (folder / "b.txt").write_text("B")
    topped = tmp_path / "topped.zip"
    with zipfile.ZipFile(topped, "w") as file:
        file.writestr("top/in/a.txt", "A")
        file.writestr("top/b.txt", "B")
    flat = tmp_path / "flat.zip"
    with zipfile.ZipFile(flat, "w") as file:
        file.writestr("in/a.txt", "A")
        file.writestr("b.txt", "B")
    return [FileTree(folder), FileTree(topped), FileTree(flat)]


def test_a_folder_and_a_zip_are_read_alike_and_nothing_outside(trees: list[FileTree]) -> None:
    for tree in trees:
        assert (tree.read("in/a.txt"), tree.read("b.txt")) == (b"A", b"B")
        assert (tree.names("in"), tree.names(".")) == (["a.txt"], ["b.txt"])
        assert tree.read("no.txt") is tree.read("../flat.zip") is tree.read("/etc/hosts") is None


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")

    for name in ("text.zip", "nowhere"):
        with pytest.raises(DataError, match="expected a folder or a zip"):
            FileTree(tmp_path / name)


def test_a_zip_of_the_web_is_pinned_cached_and_replaced_by_local_data(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "own.zip", a="A")
    pin = sha256(archive.read_bytes()).hexdigest()
    cached = tmp_path / "cache" / "downloads" / pin / "tasks.zip"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(archive.read_bytes())
    (tmp_path / "datasets.yaml").write_text("https://h.example/tasks.zip: own.zip\nnamed: .\n")
    away = {"NEL_CACHE_DIR": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    local = {**away, "NEL_DATA_DIR": str(tmp_path)}

    pinned = file_tree(f"https://h.example/tasks.zip#sha256={pin}", env=away.get)
    mapped = file_tree("https://h.example/tasks.zip", env=local.get)
    named = local_files("named", env=local.get)

    assert (pinned.path, mapped.path) == (cached, archive)
    assert named is not None
    assert named.names(".")[:2] == ["datasets.yaml", "own.zip"]
    assert local_files("other", env=local.get) is local_files("named", env=away.get) is None
    with pytest.raises(DataError, match="HF_HUB_OFFLINE forbids"):
        file_tree("https://h.example/tasks.zip", env=away.get)
    (tmp_path / "datasets.yaml").write_text("named: gone\n")
    with pytest.raises(DataError, match="named: no file or folder"):
        local_files("named", env=local.get)


def test_files_of_a_commit_are_fetched_once(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a.md").write_text("first")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    commit = git(folder, "rev-parse", "HEAD")
    (folder / "a.md").write_text("second")
    git(folder, "commit", "-q", "-am", "two")
    env = {"NEL_CACHE_DIR": str(tmp_path / "cache")}
    address = f"git+{folder.as_uri()}@{commit}"

    found = file_tree(address, env=env.get)
    shutil.rmtree(folder)
    again = file_tree(address, env=env.get)

    assert found.read("a.md") == again.read("a.md") == b"first"
    assert found.names(".") == ["a.md"]


def test_no_link_of_a_repository_leads_to_a_file_of_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (tmp_path / "own.md").write_text("of nobody else")
    (folder / "a.md").write_text("theirs")
    (folder / "inside.md").symlink_to("a.md")
    (folder / "outside.md").symlink_to(tmp_path / "own.md")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    address = f"git+{folder.as_uri()}@{git(folder, 'rev-parse', 'HEAD')}"

    found = file_tree(address, env={"NEL_CACHE_DIR": str(tmp_path / "cache")}.get)

    assert found.read("inside.md") == b"theirs"
    assert FileTree(folder).read("outside.md") == b"of nobody else"  # a folder of one's own
    with pytest.raises(DataError, match=r"outside\.md: is a link that leads out of the repository"):
        found.read("outside.md")


@pytest.mark.parametrize(
    "address", ["git+https://h.example/r@main", "git+https://h.example/r", f"git+ext::x@{'0' * 40}"]
)
def test_a_repository_is_named_with_its_commit(address: str) -> None:
    with pytest.raises(DataError, match=r"expected git\+https://HOST/REPOSITORY@COMMIT"):
        file_tree(address)
