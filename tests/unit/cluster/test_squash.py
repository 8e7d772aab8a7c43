"""Names of images, and what is made of them for enroot."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.cluster.squash import OF_THE_REFERENCE, Order, image
from pytest_nel.core.errors import ConfigError

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("target", "uri", "file"),
    [
        ("ubuntu", "docker://ubuntu", "ubuntu.sqsh"),
        ("me/x:1.0", "docker://me/x:1.0", "me-x-1.0.sqsh"),
        ("nvcr.io/nvidia/x:1", "docker://nvcr.io#nvidia/x:1", "nvcr.io-nvidia-x-1.sqsh"),
        ("nvcr.io#nvidia/x:1", "docker://nvcr.io#nvidia/x:1", "nvcr.io-nvidia-x-1.sqsh"),
        ("localhost:5000/x", "docker://localhost:5000#x", "localhost-5000-x.sqsh"),
        ("localhost/x", "docker://localhost#x", "localhost-x.sqsh"),
        (
            "docker://$oauthtoken@nvcr.io#a/x",
            "docker://$oauthtoken@nvcr.io#a/x",
            "nvcr.io-a-x.sqsh",
        ),
        (f"x@{DIGEST}", f"docker://x@{DIGEST}", f"x-sha256-{'a' * 64}.sqsh"),
    ],
)
def test_an_image_is_named_as_enroot_takes_it(target: str, uri: str, file: str) -> None:
    found = image(target)

    assert (found.uri, found.file_name) == (uri, file)


def test_registry_and_tag_complete_a_name_that_has_none() -> None:
    found = image("nel-x", registry="nvcr.io/team", tag="7")

    assert found.uri == "docker://nvcr.io#team/nel-x:7"


@pytest.mark.parametrize(
    ("target", "registry", "tag", "said"),
    [
        ("nvcr.io/x", "ghcr.io", None, "leave one out"),
        ("x:1", None, "2", "leave one out"),
        ("x", "Not A Registry", None, "-r expects a registry"),
        ("x", None, "a b", "-t expects a tag"),
        ("X", None, None, "expected an image such as"),
        ("x; rm -rf /", None, None, "expected an image such as"),
        ("dockerd://x", None, None, "expected an image such as"),
        *((name, None, None, "a Dockerfile of its own") for name in sorted(OF_THE_REFERENCE)),
    ],
)
def test_what_cannot_be_meant_is_refused(
    target: str, registry: str | None, tag: str | None, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        image(target, registry=registry, tag=tag)


def test_a_password_in_a_name_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as refused:
        image("docker://me:hunter22@nvcr.io#x")

    assert "hunter22" not in str(refused.value)


@pytest.mark.parametrize("file", ["a/b.sqsh", "..", "."])
def test_the_file_is_a_name_without_a_folder(file: str) -> None:
    with pytest.raises(ConfigError, match="-f expects the name of a file"):
        Order(image("x"), "/images", file).words()


_NASTY = st.text("ab'\"\\ $`;&|<>(){}*?~#!-\n\t\N{SNOWMAN}", min_size=1, max_size=12)


@given(folder=_NASTY, file=_NASTY)
def test_what_the_user_says_is_an_argument_and_never_code(folder: str, file: str) -> None:
    order = Order(image("x:1"), folder, file)
    shell, flag, script, *rest = order.words()

    assert (shell, flag) == ("sh", "-c")
    assert rest == ["sh", folder, file, "docker://x:1", "keep"]
    assert script == Order(image("y"), "/z", "z.sqsh").words()[2]


def test_the_script_is_one_that_a_plain_shell_reads(tmp_path: Path) -> None:
    script = Order(image("x"), "/z", "z.sqsh").words()[2]
    (tmp_path / "script").write_text(script)

    done = subprocess.run(["sh", "-n", str(tmp_path / "script")], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
