"""``nel package`` with a real daemon: the image is built, and runs the benchmark."""

import io
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli.main import main
from tests.support.containers import client, no_docker

BASE = "nel-tests-shell:1"
TAG = "localhost:1/nel-tests-packaged:1"
#: What an image needs that has a shell and no more; its python says what it is told.
PYTHON = """#!/bin/sh
for word in "$@"; do echo "word $word"; done
case "$*" in *pip*) [ "$ANSWER" = 42 ] || { echo "no such package" >&2; exit 3; } ;; esac
"""
BENCH = """from pytest_nel import benchmark


@benchmark(name="mine", dataset=[{"target": "2"}], prompt="1+1?")
def mine(sample):
    return sample.response == sample.target
"""


def _no_shell() -> str | None:
    missing = [name for name in ("sh", "ldd") if shutil.which(name) is None]
    return f"needs {missing[0]} for an image of tests" if missing else None


pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(bool(no_docker() or _no_shell()), reason=str(no_docker() or _no_shell())),
]


@pytest.fixture(scope="module")
def docker() -> Iterator[Any]:
    """A client, with the image that others begin with; what is built is removed."""
    shell = str(Path(str(shutil.which("sh"))).resolve())
    said = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w", dereference=True) as tar:
            for path in re.findall(r"(/\S+) \(", said):
                tar.add(path)
            tar.add(shell, "bin/sh")
            program = tarfile.TarInfo("bin/python")
            program.mode, program.size = 0o755, len(PYTHON)
            tar.addfile(program, io.BytesIO(PYTHON.encode()))
        data = file.getvalue()
    made = client()
    try:
        name, _, tag = BASE.partition(":")
        made.api.import_image_from_data(data, repository=name, tag=tag, changes=["ENV PATH=/bin"])
        yield made
        for image in (TAG, BASE):
            made.images.remove(image, force=True)
    finally:
        made.close()


def package(folder: Path, *words: str) -> int:
    wheel = folder / "pytest_nel-9.9-py3-none-any.whl"
    wheel.touch()
    file = folder / "bench_mine.py"
    file.write_text(BENCH)
    line = ["-m", str(file), "-t", TAG, "--base-image", BASE, "--wheel", str(wheel)]
    return main(["package", *line, *words])


def test_an_image_runs_its_benchmark_with_the_words_it_is_given(
    docker: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status = package(tmp_path, "--build-arg", "ANSWER=42")

    said = capfd.readouterr()
    assert status == 0, said.err
    assert f"{TAG} (sha256:" in said.out
    assert "word /nel/requirements.txt" in said.err
    ran = docker.containers.run(TAG, ["--model-id", "m"], remove=True, network_disabled=True)
    words = ["-m", "pytest_nel.cli.main", "eval", "run", "-b", "/app/bench_mine.py"]
    assert ran.decode().splitlines() == [f"word {each}" for each in [*words, "--model-id", "m"]]


def test_a_build_that_fails_is_status_1_with_its_last_words(
    docker: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    del docker

    status = package(tmp_path, "--build-arg", "ANSWER=41")

    said = capfd.readouterr().err
    assert status == 1
    _, _, error = said.partition(f"nel package: {TAG} was not built:\n")
    assert "no such package" in error
    assert "returned a non-zero code: 3" in error


def test_what_no_registry_takes_is_built_and_not_pushed(
    docker: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    del docker

    status = package(tmp_path, "--build-arg", "ANSWER=42", "--push")

    said = capfd.readouterr()
    assert status == 1
    assert f"nel package: {TAG} was built and not pushed" in said.err
    assert said.out == ""
