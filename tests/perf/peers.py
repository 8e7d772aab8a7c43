"""The tools a user would take instead, each in an environment of its own, on the same questions.

``python tests/perf/peers.py --install`` builds the environments; without the option each runs once
and what it took is printed. They talk to the mock endpoint on the loopback interface only.
"""

import argparse
import glob
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if not __package__:  # run as a script: only this folder is on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.perf.machine import Measured, measure
from tests.perf.rows import write_benchmark
from tests.support.endpoint import RunningEndpoint, running_endpoint

FILES = Path(__file__).resolve().parent / "peer_files"
CACHE = Path.home() / ".cache" / "pytest-nel-peers"
_QUIET_ENV = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OPENAI_API_KEY": "unused",
    "CONFIDENT_API_KEY": "",
}


class PeerFailed(Exception):
    """A peer did not do the work that it was measured at."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a peer is to do: the rows are in ``rows``, results go below ``out``."""

    rows: Path
    out: Path
    url: str
    concurrency: int


@dataclass(frozen=True, slots=True)
class Peer:
    """One tool.

    Attributes:
        name: Also the folder of its environment.
        packages: What is installed, the tool pinned.
        command: The command line, given the environment's ``bin`` and the job.
        right: How many answers its own report counts as right, given ``out`` and the job's size.
        settings: Environment variables of its run.
        home: The folder of its environment, where that is another peer's.
        keeps: Whether it leaves its results on the disk, as we do; else it is shown, not judged.
    """

    name: str
    packages: tuple[str, ...]
    command: Callable[[Path, Job], list[str]]
    right: Callable[[Path, int], float]
    settings: Mapping[str, str] = field(default_factory=dict)
    home: str = ""
    keeps: bool = True

    def folder(self, cache: Path) -> Path:
        """Where its environment is."""
        return cache / (self.home or self.name)


def _lm_eval(binaries: Path, job: Job) -> list[str]:
    text = (FILES / "perf_sums.yaml").read_text(encoding="utf-8")
    tasks = job.out / "tasks"
    tasks.mkdir()
    (tasks / "perf_sums.yaml").write_text(text.replace("PERF_ROWS", str(job.rows)))
    arguments = f"model=m,base_url={job.url}/chat/completions,num_concurrent={job.concurrency}"
    return [
        str(binaries / "lm_eval"), "--model", "local-chat-completions",
        "--model_args", arguments, "--tasks", "perf_sums", "--include_path", str(tasks),
        "--apply_chat_template", "--log_samples", "--output_path", str(job.out / "results"),
    ]  # fmt: skip


def _lm_eval_right(out: Path, count: int) -> float:
    path = glob.glob(f"{out}/results/**/results_*.json", recursive=True)[0]  # noqa: PTH207
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return float(found["results"]["perf_sums"]["exact_match,none"]) * count


def _inspect(binaries: Path, job: Job) -> list[str]:
    shutil.copy(FILES / "inspect_task.py", job.out)  # it takes relative paths only
    return [
        str(binaries / "inspect"), "eval", "inspect_task.py",
        "--model", "openai-api/mock/m", "--model-base-url", job.url,
        "--max-connections", str(job.concurrency), "--log-dir", str(job.out / "logs"),
        "--display", "plain",
    ]  # fmt: skip


def _inspect_right(out: Path, count: int) -> float:
    log = (out / "peer.log").read_text(encoding="utf-8", errors="replace")
    scores = re.findall(r"accuracy:?\s+([\d.]+)|mean:?\s+([\d.]+)", log)
    if not scores or not list((out / "logs").glob("*.eval")):
        return 0.0
    return float(scores[-1][0] or scores[-1][1]) * count


def _deepeval(binaries: Path, job: Job) -> list[str]:
    del job  # everything reaches it through the environment
    return [str(binaries / "python"), str(FILES / "deepeval_run.py")]


def _deepeval_right(out: Path, count: int) -> float:
    found = json.loads((out / "deepeval.json").read_text(encoding="utf-8"))
    return float(found["passed"]) if found["of"] == count else 0.0


PEERS = (
    Peer("lm_eval", ("lm-eval[api]==0.4.13",), _lm_eval, _lm_eval_right),
    Peer("inspect", ("inspect-ai==0.3.285", "openai"), _inspect, _inspect_right),
    Peer("deepeval", ("deepeval==4.3.1",), _deepeval, _deepeval_right),
    Peer(
        "deepeval, nothing kept", ("deepeval==4.3.1",), _deepeval, _deepeval_right,
        settings={"PERF_KEEPS_NOTHING": "1"}, home="deepeval", keeps=False,
    ),
)  # fmt: skip


def python_311() -> str:
    """A Python 3.11, for peers that do not run on newer ones."""
    found = sorted((Path.home() / ".pyenv" / "versions").glob("3.11.*/bin/python"))
    return str(found[-1]) if found else sys.executable


def installed(peer: Peer, cache: Path) -> bool:
    """Whether the environment is there, with the packages asked for."""
    marker = peer.folder(cache) / "installed.json"
    return marker.exists() and json.loads(marker.read_text()) == list(peer.packages)


def install(peer: Peer, cache: Path) -> None:
    """Build the peer's environment with uv, and compile it, so that no run pays for that."""
    if installed(peer, cache):
        return
    home = peer.folder(cache)
    shutil.rmtree(home, ignore_errors=True)
    python = home / "bin" / "python"
    for command in (
        ["uv", "venv", "-q", "--python", python_311(), str(home)],
        ["uv", "pip", "install", "-q", "--python", str(python), *peer.packages],
        [str(python), "-m", "compileall", "-q", "-j", "2", str(home / "lib")],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and "compileall" not in command:  # some ship templates that are no code
            msg = f"{peer.name}: {' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}"
            raise PeerFailed(msg)
    (home / "installed.json").write_text(json.dumps(list(peer.packages)))


def run_peer(
    peer: Peer, endpoint: RunningEndpoint, rows: Path, *, cache: Path, concurrency: int = 64
) -> tuple[Measured, Mapping[str, Any]]:
    """Run one peer over the rows; what it cost and what the endpoint saw.

    Raises:
        PeerFailed: It failed, asked too little or too much, or did not score all as right.
    """
    count = sum(1 for _ in rows.open(encoding="utf-8"))
    endpoint.reset()
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        out = Path(folder)
        job = Job(rows, out, endpoint.url, concurrency)
        env = _QUIET_ENV | {
            "PERF_ROWS": str(rows), "PERF_OUT": folder, "PERF_URL": endpoint.url,
            "PERF_CONCURRENCY": str(concurrency), "HF_HOME": f"{folder}/hf", "HOME": folder,
            "MOCK_API_KEY": "unused", "MOCK_BASE_URL": endpoint.url, "PYTHONPATH": "",
            **peer.settings,
        }  # fmt: skip
        command = peer.command(peer.folder(cache) / "bin", job)
        measured = measure(command, out / "peer.log", env=env, cwd=out, limit=420)
        stats = endpoint.stats()
        if measured.status != 0:
            msg = f"{peer.name}: exit {measured.status}\n{measured.output[-2500:]}"
            raise PeerFailed(msg)
        right = peer.right(out, count)
    if stats["distinct"] != count or stats["ok"] < count or round(right) != count:
        msg = (
            f"{peer.name}: expected {count} questions asked and right, got "
            f"{stats['distinct']} asked, {stats['ok']} answered, {right:g} right\n"
            f"{measured.output[-1500:]}"
        )
        raise PeerFailed(msg)
    return measured, stats


def main(argv: list[str] | None = None) -> None:
    """Build the environments, or run each peer once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="Build the environments and stop")
    parser.add_argument("--cache", type=Path, default=CACHE, help="Where the environments are")
    parser.add_argument("--count", type=int, default=2000, help="Questions")
    parser.add_argument("--only", nargs="*", default=None, choices=[p.name for p in PEERS])
    arguments = parser.parse_args(argv)
    chosen = [peer for peer in PEERS if not arguments.only or peer.name in arguments.only]
    for peer in chosen:
        install(peer, arguments.cache)
    if arguments.install:
        return
    with (
        tempfile.TemporaryDirectory(prefix="nelspeed-") as folder,
        running_endpoint(mode="gold", latency=0.05) as endpoint,
    ):
        rows = write_benchmark(Path(folder), arguments.count).with_name("perf.jsonl")
        for peer in chosen:
            cost, stats = run_peer(peer, endpoint, rows, cache=arguments.cache)
            print(
                f"{peer.name:10} wall {cost.wall:7.2f} s  cpu {cost.cpu:7.2f} s  "
                f"rss {cost.rss:5.0f} MB  span {stats['span']:6.2f} s  "
                f"in flight {stats['mean_in_flight']:5.1f}  requests {stats['requests']}"
            )


if __name__ == "__main__":
    main()
