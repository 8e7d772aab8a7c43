"""What sandboxes are made of, without any sandbox."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import UnknownName
from pytest_nel.sandboxes import REGISTRY
from pytest_nel.sandboxes._archive import Owner
from pytest_nel.sandboxes._docker_exec import _Frames
from pytest_nel.sandboxes._docker_images import owner_of, tag_of
from pytest_nel.sandboxes._kept import Kept
from pytest_nel.sandboxes._owner import is_gone, owner


@given(pieces=st.lists(st.binary(max_size=40)), limit=st.integers(2, 60))
def test_of_an_output_beginning_and_end_are_kept_however_it_comes(
    pieces: list[bytes], limit: int
) -> None:
    kept, whole = Kept(limit), b"".join(pieces)
    for piece in pieces:
        kept.add(piece)

    value = kept.value()

    assert kept.truncated == (len(whole) > limit)
    if not kept.truncated:
        assert value == whole
        return
    mark = f"\n[... {len(whole) - limit:,} bytes left out ...]\n".encode()
    assert value == whole[: limit - limit // 2] + mark + whole[len(whole) - limit // 2 :]


@given(
    frames=st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=20))),
    cut=st.integers(1, 9),
)
def test_a_stream_in_any_pieces_is_the_same_two_outputs(
    frames: list[tuple[int, bytes]], cut: int
) -> None:
    stream = b"".join(
        bytes([kind, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for kind, data in frames
    )
    outputs = Kept(10_000), Kept(10_000)
    reader = _Frames(outputs)

    for at in range(0, len(stream), cut):
        reader.feed(stream[at : at + cut])

    for kind, output in zip((1, 2), outputs, strict=True):
        assert output.value() == b"".join(data for of, data in frames if of == kind)


def test_the_tag_of_a_folder_follows_its_content_alone(tmp_path: Path) -> None:
    folder, twin = tmp_path / "two/one", tmp_path / "one/environment"
    for each in (folder, twin):
        each.mkdir(parents=True)
        (each / "Dockerfile").write_text("FROM x")
        (each / "run").write_text("")
    tags = [tag_of(folder), tag_of(twin)]
    os.utime(folder / "run", (1, 1))
    tags.append(tag_of(folder))
    (folder / "run").chmod(0o755)
    tags.append(tag_of(folder))
    (folder / "run").rename(folder / "walk")
    tags.append(tag_of(folder))

    assert tags[0] == tags[1] == tags[2]
    assert len(set(tags)) == 3
    assert all(tag.startswith("nel-env/one:") for tag in tags)


def test_an_image_for_one_platform_is_not_that_for_another(tmp_path: Path) -> None:
    tags = {tag_of(tmp_path, platform) for platform in (None, "linux/amd64", "linux/arm64")}

    assert len(tags) == 3
    assert tag_of(tmp_path, "linux/amd64") in tags


@pytest.mark.parametrize(
    ("user", "numbers"),
    [
        ("app", Owner(1001, 1002)),
        ("1001", Owner(1001, 1002)),
        ("app:staff", Owner(1001, 50)),
        ("77", Owner(77, 0)),
        ("77:88", Owner(77, 88)),
        ("who", None),
        ("app:who", None),
    ],
)
def test_a_user_is_looked_up_as_docker_does(user: str, numbers: Owner | None) -> None:
    users = "root:x:0:0::/root:/bin/sh\napp:x:1001:1002::/app:/bin/sh\n"

    assert owner_of(user, users, "root:x:0:\nstaff:x:50:\n") == numbers


def test_a_process_is_gone_only_where_that_can_be_known() -> None:
    ours = owner()

    assert is_gone(ours) is False
    assert is_gone({**ours, "began": "1"}) is True
    assert is_gone({**ours, "pid": str(2**22 + 1)}) is True
    assert is_gone({**ours, "host": "another"}) is None
    assert is_gone({**ours, "boot": "another"}) is None
    assert is_gone({}) is None


def test_kinds_are_named_as_their_files_and_those_to_come_are_refused_by_name() -> None:
    for name, row in REGISTRY.rows.items():
        assert row.startswith(f"pytest_nel.sandboxes.{name}:")
    with pytest.raises(UnknownName, match="'slurm' is not there yet: use docker"):
        REGISTRY.load("slurm")
    with pytest.raises(UnknownName, match="Did you mean 'docker'"):
        REGISTRY.load("dokcer")
