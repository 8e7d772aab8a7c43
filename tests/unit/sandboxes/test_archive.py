"""What comes out of a sandbox is written where it may be, and nowhere else."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.sandbox import SandboxError
from pytest_nel.sandboxes._archive import Owner, add_tree, unpack


def entry(name: str, kind: bytes = tarfile.REGTYPE, *, to: str = "", mode: int = 0o644) -> bytes:
    """One entry of an archive; what is in a file is its name."""
    one = tarfile.TarInfo(name)
    one.type, one.linkname, one.mode = kind, to, mode
    data = name.encode() if kind == tarfile.REGTYPE else b""
    one.size = len(data)
    padding = b"\0" * (-len(data) % 512)
    return one.tobuf(tarfile.PAX_FORMAT) + data + padding


def tree(folder: Path) -> Iterator[str]:
    """All that is there, links not followed."""
    for above, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            yield (Path(above) / name).relative_to(folder).as_posix()


def test_no_entry_is_written_outside(tmp_path: Path) -> None:
    hostile = [
        *(entry("d", tarfile.DIRTYPE, mode=0o755), entry("../up"), entry("/absolute")),
        *(entry("d/../../up"), entry("d/fine"), entry("d/dev", tarfile.CHRTYPE)),
        *(entry("d/out", tarfile.SYMTYPE, to="../.."), entry("d/out/through")),
        *(entry("d/in", tarfile.SYMTYPE, to="sub"), entry("d/in/file")),
        *(entry("d/abs", tarfile.SYMTYPE, to="/etc"), entry("d/pipe", tarfile.FIFOTYPE)),
        *(entry("d/host", tarfile.LNKTYPE, to="/etc/passwd"), entry("d/a/b/c")),
        *(entry("d/twin", tarfile.LNKTYPE, to="d/fine"), entry("d/s", mode=0o6755)),
        *(entry("d/n", tarfile.SYMTYPE, to="a/.."), entry("d/m", tarfile.SYMTYPE, to="n/../..")),
        *(entry("d/loop", tarfile.SYMTYPE, to="loop"),),
    ]
    home = tmp_path / "home"
    home.mkdir()

    unpack([*hostile, b"\0" * 1024], home / "target")

    assert sorted(tree(home)) == [
        *("target", "target/a", "target/a/b", "target/a/b/c", "target/fine"),
        *("target/in", "target/in/file", "target/n", "target/out", "target/out/through"),
        *("target/s", "target/twin"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert (home / "target/twin").read_text() == "d/fine"
    assert stat.S_IMODE((home / "target/s").stat().st_mode) == 0o755


def test_links_that_lead_out_only_by_way_of_each_other_are_left_out(tmp_path: Path) -> None:
    """``deep/er`` is the target itself, so that ``deep/er/../..`` is two levels above it."""
    hostile = [
        *(entry("d", tarfile.DIRTYPE), entry("d/deep", tarfile.DIRTYPE)),
        *(entry("d/deep/er", tarfile.SYMTYPE, to=".."),),
        *(entry("d/away", tarfile.SYMTYPE, to="deep/er/../../secret"),),
    ]
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "home").mkdir()

    unpack([*hostile, b"\0" * 1024], tmp_path / "home/target")

    assert not (tmp_path / "home/target/away").is_symlink()
    assert (tmp_path / "home/target/deep/er").is_symlink()


_PARTS = st.lists(st.sampled_from(["a", "b", "..", ".", "d"]), min_size=1, max_size=4)
_NAMES = _PARTS.map("/".join)
_ENTRIES = st.one_of(
    st.builds(entry, _NAMES),
    st.builds(entry, _NAMES, st.just(tarfile.DIRTYPE)),
    st.builds(entry, _NAMES, st.sampled_from([tarfile.SYMTYPE, tarfile.LNKTYPE]), to=_NAMES),
)


@settings(max_examples=200, deadline=None)
@given(entries=st.lists(_ENTRIES, max_size=8))
def test_whatever_comes_all_of_it_stays_inside(
    entries: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    outer = tmp_path_factory.mktemp("outer")
    (outer / "a").write_text("a's")

    unpack([*entries, b"\0" * 1024], outer / "in/target")

    assert (outer / "a").read_text() == "a's"
    assert {path.name for path in outer.iterdir()} <= {"a", "in"}
    assert {path.name for path in (outer / "in").iterdir()} <= {"target"}
    target = (outer / "in/target").resolve()
    for name in tree(outer / "in"):
        assert (outer / "in" / name).resolve().is_relative_to(target)


def _endless() -> Iterator[bytes]:
    one = tarfile.TarInfo("d/big")
    one.size = 2**50
    yield one.tobuf(tarfile.GNU_FORMAT)
    while True:
        yield b"\0" * 2**16


def _sparse() -> Iterator[bytes]:
    one = tarfile.TarInfo("d/sparse")
    one.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.size": str(2**50),
        "GNU.sparse.map": "0,0",
    }
    yield one.tobuf(tarfile.PAX_FORMAT) + b"\0" * 1024


@pytest.mark.parametrize("pieces", [_endless, _sparse])
def test_too_much_is_refused_before_it_is_written(tmp_path: Path, pieces: object) -> None:
    assert callable(pieces)

    with pytest.raises(SandboxError, match="more than 1,000,000 bytes"):
        unpack(pieces(), tmp_path / "target", limit=1_000_000)

    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 2_000_000


@pytest.mark.parametrize("data", [b"no archive", b"", entry("d/cut")[:700]])
def test_what_is_no_archive_is_a_fault_of_the_sandbox(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(SandboxError, match="no tar stream"):
        unpack([data], tmp_path / "target")


def test_what_goes_in_is_whole_and_belongs_to_whom_it_is_for(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one").write_text("1")
    os.link(folder / "one", folder / "two")
    os.mkfifo(folder / "pipe")
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            add_tree(tar, folder, "x", Owner(7, 8))
        file.seek(0)
        with tarfile.open(fileobj=file) as tar:
            owners = {(one.uid, one.gid, one.uname) for one in tar}
        file.seek(0)
        unpack([file.getvalue()], tmp_path / "back")

    assert owners == {(7, 8, "")}
    assert [(path.name, path.read_text()) for path in sorted((tmp_path / "back").iterdir())] == [
        ("one", "1"),
        ("two", "1"),
    ]
