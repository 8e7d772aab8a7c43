"""``nel package``: what goes into the image of a benchmark, and what is refused."""

import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from pytest_nel.cli._context import default_base
from pytest_nel.cli.main import main

BENCH = '''"""A benchmark that has its data, its prompt and a helper beside it."""
from tools.judging import same
from pytest_nel import benchmark, scorer


@benchmark(name="mine", dataset="rows.jsonl", prompt="ask.txt", requirements=["pyyaml>=6"])
@scorer
def mine(sample):
    """Right is what is the same."""
    return same(sample.response, sample.target)
'''
WHEEL = "pytest_nel-9.9-py3-none-any.whl"
HELPER = "def same(one, other):\n    return one.strip() == other\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark, a wheel to install, and things that do not belong to it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [each for each in sys.modules if each.partition(".")[0] in {"team", "tools"}]:
        monkeypatch.delitem(sys.modules, name)  # of the test before
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'none.sock'}")
    files = {
        "bench_mine.py": BENCH,
        "rows.jsonl": '{"question": "1+1?", "target": "2"}\n{"question": "2+2?", "target": "4"}\n',
        "ask.txt": "{question}",
        "tools/__init__.py": "",
        "tools/judging.py": HELPER,
        "tools/unused.py": "raise RuntimeError\n",
        ".env": "KEY=1\n",
        "pytest_nel-9.9-py3-none-any.whl": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def package(*words: str, module: str = "bench_mine.py", tag: str = "me/mine:1") -> int:
    return main(["package", "-m", module, "-t", tag, "--wheel", WHEEL, *words])


def written(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_context_has_what_the_benchmark_needs_and_nothing_else(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "more.txt").write_text("numpy>=2\n")

    status = package("--output", "image", "--requirements", "more.txt", module="bench_mine.py:mine")

    said = capsys.readouterr()
    assert status == 0, said.err
    assert said.out == "docker build -t me/mine:1 image\n"
    assert written(project / "image") == {
        *("Dockerfile", "nel/pytest_nel-9.9-py3-none-any.whl", "nel/requirements.txt"),
        *("nel/user-requirements.txt", "app/bench_mine.py", "app/rows.jsonl", "app/ask.txt"),
        *("app/tools/__init__.py", "app/tools/judging.py"),
    }
    assert (project / "image/nel/requirements.txt").read_text().splitlines() == [
        "pytest-nel @ file:///nel/pytest_nel-9.9-py3-none-any.whl",
        "pyyaml>=6",
        "-r user-requirements.txt",
    ]
    lines = (project / "image/Dockerfile").read_text().splitlines()
    assert f"FROM {default_base()}" in lines
    runs = json.loads(lines[-1].removeprefix("ENTRYPOINT "))
    assert runs[-4:] == ["eval", "run", "-b", "/app/bench_mine.py:mine"]


def test_what_a_dockerfile_copies_is_there(project: Path) -> None:
    package("--output", "image/Dockerfile.mine", module="basics")

    lines = (project / "image/Dockerfile.mine").read_text().splitlines()
    copied = [line.split()[1] for line in lines if line.startswith("COPY ")]
    assert copied == ["nel/", "app/"]
    assert all((project / "image" / name).is_dir() for name in copied)
    assert '"basics"]' in lines[-1]


def test_a_module_of_a_package_keeps_its_place(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(project / "tools", project / "work/team/tools")
    for name in ("bench_mine.py", "rows.jsonl", "ask.txt"):
        shutil.copy(project / name, project / "work/team" / name)
    (project / "work/team/__init__.py").write_text("")
    text = BENCH.replace("from tools", "from team.tools")
    (project / "work/team/bench_mine.py").write_text(text)

    status = package("--output", "image", module="work/team/bench_mine.py")
    monkeypatch.chdir(project / "work")
    line = ["-m", "team.bench_mine", "-t", "x", "--output", "../again", "--wheel", f"../{WHEEL}"]
    dotted = main(["package", *line])

    assert (status, dotted) == (0, 0)
    assert written(project / "again") == written(project / "image")
    assert "app/team/tools/judging.py" in written(project / "image")
    assert "/app/team/bench_mine.py" in (project / "image/Dockerfile").read_text()


READS = BENCH.replace("return same(", "open(__file__[:-3] + '.d/keys').read()\n    return same(")


def test_what_else_it_reads_is_missed_until_it_is_included(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "bench_mine.py").write_text(READS)
    (project / "bench_mine.d").mkdir()
    (project / "bench_mine.d/keys").write_text("")
    (project / "bench_mine.d/.env").write_text("")

    without = package("--output", "image")
    said = capsys.readouterr().err
    included = package("--output", "image", "--include", "bench_mine.d")

    assert (without, included) == (4, 0)
    assert "does not work where only the files are that go into the image" in said
    assert "bench_mine.d/keys" in said
    found = written(project / "image")
    assert {name for name in found if "bench_mine.d" in name} == {"app/bench_mine.d/keys"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-m", "bench_none.py"), "no such benchmark file"),
        (("-m", "nothing"), "unknown benchmark 'nothing'"),
        (("-m", "bench_broken.py"), "bench_broken.py:1: ZeroDivisionError"),
        (("-m", "bench_wrong.py"), "nel package: bench_wrong.py:"),
        (("-t", "Not A Tag"), "-t expects a name such as"),
        (("--base-image", "python:3.12\nUSER 0"), "--base-image expects an image"),
        (("--requirements", "none.txt"), "none.txt"),
        (("--requirements", "login.txt"), "login.txt:1: a URL with a login"),
        (("--requirements", "other.txt"), "other.txt:1: names another file"),
        (("--include", "/etc/hostname"), "lies outside"),
        (("--wheel", "none.whl"), "--wheel expects a file"),
        (("--build-arg", "A"), "--build-arg expects NAME=VALUE"),
        (("--output", "tools"), "needs a new or an empty folder"),
        (("--output", "Dockerfile"), "name another, such as image/Dockerfile"),
        (("--output", "image", "--push"), "nothing to --push"),
    ],
)
def test_a_mistake_is_status_4_and_nothing_is_made(
    words: tuple[str, ...], said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "bench_broken.py").write_text("1 / 0\n")
    (project / "bench_wrong.py").write_text(BENCH.replace("return same(", "return not same("))
    (project / "login.txt").write_text("x @ https://me:hunter22@example.org/x.whl\n")
    (project / "other.txt").write_text("-r base.txt\n")

    try:
        status = package(*words)
    except SystemExit as ended:  # argparse's way
        status = int(str(ended.code))

    error = capsys.readouterr().err
    assert status == 4
    assert said in error
    assert "hunter22" not in error
    assert not (project / "image").exists()


@pytest.mark.parametrize(
    "argument",
    ["HF_TOKEN=x", "INDEX=https://me:sk-planted-0123456789@x/simple", "A=sk-planted-0123456789"],
)
def test_a_secret_among_the_build_arguments_is_refused_and_not_shown(
    argument: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-0123456789")

    status = package("--output", "image", "--build-arg", argument)

    said = capsys.readouterr().err
    assert status == 4
    assert "everybody who has the image could read it" in said
    assert "sk-planted" not in said
    assert not (project / "image").exists()


def test_a_file_with_a_secret_stays_out_of_an_image(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-0123456789")
    (project / "tools/judging.py").write_text(f"KEY = 'sk-planted-0123456789'\n{HELPER}")

    status = package("--output", "image")

    said = capsys.readouterr().err
    assert status == 4
    assert "app/tools/judging.py: holds the value of the variable PLANTED_API_KEY" in said
    assert not (project / "image").exists()


def test_without_a_daemon_there_is_one_error_and_a_way_out(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = package()

    *_, said = capsys.readouterr().err.splitlines()
    assert status == 1
    assert f"no docker daemon answers: {project / 'none.sock'}: No such file" in said
    assert "--output DIR" in said


def test_of_a_checkout_a_wheel_is_built_with_all_that_is_in_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["package", "-m", "bench_mine.py", "-t", "mine", "--output", "image"])

    said = capsys.readouterr().err
    assert status == 0, said
    assert "a wheel of the checkout" in said
    [wheel] = (project / "image/nel").glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        assert "pytest_nel/cli/package.py" in file.namelist()
