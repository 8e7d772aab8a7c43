"""``nel cache-sqsh``: here, and on another machine over a real ssh connection."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.processes import until
from tests.support.sshd import Sshd, no_sshd, running_sshd

SQUASH = """#!/bin/sh
# A stand-in for enroot: notes its words, and does what the tag says.
printf '%s\\n' "$*" >>"$0.calls"
[ "$1 $2 $4" = "import -o --" ] || exit 9
[ -e "$3" ] && exit 8
echo "[INFO] Fetching image" >&2
printf half >"$3"
case $5 in
  *:broken) echo "[ERROR] unauthorized" >&2; exit 1 ;;
  *:slow) : >"$0.began"; sleep 60 ;;
esac
printf ' and half' >>"$3"
"""
needs_sshd = pytest.mark.skipif(no_sshd() is not None, reason=str(no_sshd()))


class Place(NamedTuple):
    """A machine with enroot."""

    folder: Path

    @property
    def enroot(self) -> Path:
        return self.folder / "bin" / "enroot"

    def called(self) -> list[str]:
        calls = Path(f"{self.enroot}.calls")
        return calls.read_text().splitlines() if calls.exists() else []

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "pytest_nel.cli.main", "cache-sqsh", *words]

    def environ(self, home: Path) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.enroot.parent}:/usr/bin:/bin",
            "HOME": str(home),
            "SSH_AUTH_SOCK": "",
        }

    def nel(self, *words: str, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*words),
            env=self.environ(home or self.folder),
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.enroot.parent.mkdir()
    made.enroot.write_text(SQUASH)
    made.enroot.chmod(0o755)
    return made


@pytest.fixture
def sshd(place: Place) -> Iterator[Sshd]:
    folder = place.folder / "sshd"
    folder.mkdir()
    with running_sshd(folder, f"{place.enroot.parent}:/usr/bin:/bin") as server:
        yield server


def test_an_image_is_imported_here_once_and_again_when_it_is_forced(place: Place) -> None:
    images = place.folder / "my images"
    words = ("nvcr.io/nvidia/x:1", "local", str(images))

    first, again = place.nel(*words), place.nel(*words)
    forced = place.nel(*words, "--force", "-f", "nvcr.io-nvidia-x-1.sqsh")

    assert (first.returncode, again.returncode, forced.returncode) == (0, 0, 0), first.stderr
    assert [path.name for path in images.iterdir()] == ["nvcr.io-nvidia-x-1.sqsh"]
    assert (images / "nvcr.io-nvidia-x-1.sqsh").read_text() == "half and half"
    assert len(place.called()) == 2
    assert place.called()[0].endswith(" -- docker://nvcr.io#nvidia/x:1")
    assert "(13 bytes): imported" in first.stdout
    assert "was there" in again.stdout


def test_an_import_that_fails_leaves_nothing_and_says_why(place: Place) -> None:
    done = place.nel("x", "localhost", str(place.folder / "images"), "-t", "broken")

    assert done.returncode == 1
    assert "x-broken.sqsh was not made here (status 1): [ERROR] unauthorized" in done.stderr
    assert list((place.folder / "images").iterdir()) == []


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_a_folder_in_the_files_place_is_no_image_and_is_left_alone(
    place: Place, more: tuple[str, ...]
) -> None:
    (place.folder / "images" / "x.sqsh").mkdir(parents=True)

    done = place.nel("x", "local", str(place.folder / "images"), *more)

    assert done.returncode == 1
    assert "was not made here (status 1): x.sqsh is a folder there" in done.stderr
    assert place.called() == []
    assert [path.name for path in (place.folder / "images").rglob("*")] == ["x.sqsh"]


@needs_sshd
def test_on_another_machine_names_arrive_as_they_are(place: Place, sshd: Sshd) -> None:
    home = sshd.home(place.folder / "home")
    folder = place.folder / "it's $HOME; touch x"

    done = place.nel("x:1", "box", str(folder), "-f", "a `b` *.sqsh", home=home)

    assert done.returncode == 0, done.stderr
    assert (folder / "a `b` *.sqsh").read_text() == "half and half"
    assert [path.name for path in folder.iterdir()] == ["a `b` *.sqsh"]
    assert "[INFO] Fetching image" in done.stderr
    assert done.stdout.startswith(f"box:{folder}/a `b` *.sqsh (13 bytes): imported")


@needs_sshd
def test_ctrl_c_ends_the_import_on_the_other_machine(place: Place, sshd: Sshd) -> None:
    home = sshd.home(place.folder / "home")
    images = place.folder / "images"

    with subprocess.Popen(
        place.command("x:slow", "box", str(images)),
        env=place.environ(home),
        stderr=subprocess.PIPE,
    ) as process:
        assert until(Path(f"{place.enroot}.began").exists)
        process.send_signal(signal.SIGINT)
        status = process.wait(20)

    assert status == 130
    assert until(lambda: list(images.iterdir()) == [])


@needs_sshd
@pytest.mark.parametrize(
    ("key", "known", "said"),
    [
        (False, True, "is not let in"),
        (True, False, "its key is not known: connect once with `ssh box`"),
    ],
)
def test_whom_the_machine_refuses_and_whom_nobody_knows_is_said(
    key: bool,  # noqa: FBT001 - a parameter of the test
    known: bool,  # noqa: FBT001 - as above
    said: str,
    place: Place,
    sshd: Sshd,
) -> None:
    home = sshd.home(place.folder / "home", key=key, known=known)

    done = place.nel("x:1", "box", "/images", home=home)

    assert done.returncode == 4
    assert said in done.stderr
    assert place.called() == []


@needs_sshd
def test_a_machine_without_enroot_is_said(place: Place, sshd: Sshd) -> None:
    home = sshd.home(place.folder / "home")
    place.enroot.unlink()

    done = place.nel("x:1", "box", str(place.folder / "images"), home=home)

    assert done.returncode == 1
    assert "nel cache-sqsh: enroot is not on the PATH on box" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("harbor", "box", "/images"), "a Dockerfile of its own"),
        (("x:1", "box", "/images/x.sqsh"), "OUTPUT_PATH is the folder"),
        (("x:1", "box", "/images", "-f", "a/b"), "without a folder"),
        (("x:1", "a b", "/images"), "expected [USER@]HOST[:PORT]"),
    ],
)
def test_a_mistake_is_status_4(words: tuple[str, ...], said: str, place: Place) -> None:
    done = place.nel(*words)

    assert done.returncode == 4
    assert said in done.stderr


def test_a_configuration_of_ssh_that_makes_no_sense_is_said(place: Place) -> None:
    (place.folder / ".ssh").mkdir()
    (place.folder / ".ssh/config").write_text("Host box\n  nonsense\n")

    done = place.nel("x:1", "box", "/images")

    assert done.returncode == 4
    assert "box: ~/.ssh/config cannot be read" in done.stderr
