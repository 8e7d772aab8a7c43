"""The speed harness judges rightly; the cases themselves are run by run.py, not by pytest."""

import json
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.perf import cases_installed, plugin_run, rows
from tests.perf.bench import Bench
from tests.perf.cases_run import fair_seeds, ideal
from tests.perf.figures import Figure, document, judge, markdown, number, table
from tests.perf.machine import ROOT, Calibration, Measured, Running, Speed, measure
from tests.perf.peers import PEERS, installed, python_311
from tests.perf.plugin_run import CaseFailed, Load, check, command_line, written
from tests.support.behaviour import Behaviour, Model, draws
from tests.support.endpoint import running_endpoint
from tests.support.tally import possible_span


def calibration(*speeds: tuple[float, float]) -> Calibration:
    """One that has read these speeds."""
    made = Calibration()
    made.speeds = [Speed(*speed) for speed in speeds]
    return made


def cost(status: int | None = 0) -> Measured:
    """A command that ended so."""
    return Measured(wall=1.0, cpu=1.0, rss=50.0, status=status, output="the end", started=0.0)


def test_the_calibration_loop_is_timed_by_the_clock_and_by_cpu() -> None:
    made = Calibration()

    reading = made.read()

    assert reading == 0
    assert 0 < made.speeds[0].cpu <= made.speeds[0].wall * 1.5
    assert made.k(0, 0) == (1.0, 1.0)


def test_k_is_the_slowdown_against_the_fastest_reading_of_the_run() -> None:
    made = calibration((0.03, 0.02), (0.05, 0.04), (0.02, 0.02))

    k = made.k(0, 1)

    assert k == pytest.approx((2.0, 1.5))


@pytest.mark.parametrize("slow", [(0.06, 0.03), (0.03, 0.06)])
def test_cpu_time_is_divided_by_the_slowdown_that_shows_in_clock_and_cpu(
    slow: tuple[float, float],
) -> None:
    figure = Figure("x", 600, "us", target=450, adjust="cpu", span=(0, 0))

    judged = judge(figure, calibration(slow, (0.02, 0.02)))

    assert judged.value == pytest.approx(400)
    assert (judged.raw, judged.verdict) == (600, "met")
    assert judged.applied == pytest.approx(1.5)


def test_a_rate_is_multiplied_by_that_slowdown() -> None:
    figure = Figure("x", 700, "/s", target=900, better="higher", adjust="rate", span=(0, 0))

    judged = judge(figure, calibration((0.09, 0.03), (0.02, 0.02)))

    assert judged.value == pytest.approx(1050)
    assert judged.verdict == "met"


@pytest.mark.parametrize(("slow", "verdict"), [(0.02, "MISSED"), (0.04, "met")])
def test_the_busy_target_holds_only_where_the_machine_was_not_quiet(
    slow: float, verdict: str
) -> None:
    figure = Figure("x", 1.15, "ratio", target=1.10, busy_target=1.20, span=(0, 0))

    judged = judge(figure, calibration((slow, slow), (0.02, 0.02)))

    assert judged.verdict == verdict


def test_a_case_that_broke_is_an_error_and_null_in_the_json() -> None:
    made = calibration((0.02, 0.02))
    judged = judge(Figure("x", math.nan, ""), made)

    written_down = json.loads(document([judged], made))

    assert judged.verdict == "ERROR"
    assert written_down["figures"][0]["value"] is None


def test_both_tables_have_a_line_per_figure_and_the_same_cells() -> None:
    made = calibration((0.02, 0.02))
    judged = [judge(Figure(f"case {i}", i * 1000.0, "s", target=1.0), made) for i in (1, 2)]

    plain, marked = table(judged).splitlines(), markdown(judged).splitlines()

    assert (len(plain), len(marked)) == (3, 4)
    assert marked[2] == "| case 1 | 1,000 | s | 1 | 1,000 | MISSED | 1.00 |  |"
    assert plain[2].split() == ["case", "2", "2,000", "s", "1", "2,000", "MISSED", "1.00"]


@given(st.floats(1e-3, 1e9))
def test_a_printed_number_is_within_a_percent_of_the_figure(value: float) -> None:
    printed = float(number(value).replace(",", ""))

    assert printed == pytest.approx(value, rel=0.01)


def test_a_command_is_measured_whole(tmp_path: Path) -> None:
    code = "import time; x = bytearray(80_000_000); time.sleep(0.3); print('done')"

    measured = measure([sys.executable, "-c", code], tmp_path / "log")

    assert measured.status == 0
    assert measured.output == "done\n"
    assert 0.3 <= measured.wall < 5
    assert 80 < measured.rss < 400
    assert 0 < measured.cpu < measured.wall


def test_a_command_past_its_limit_is_killed_and_has_no_status(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    running = Running(command, tmp_path / "log", {}, tmp_path)

    measured = running.wait(0.2)

    assert measured.status is None
    with pytest.raises(ProcessLookupError):
        os.kill(running.process.pid, 0)


def test_the_modules_of_a_pytest_run_are_those_it_has_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("import colorsys\ndef test_one(): pass\n")
    bench = Bench(python=sys.executable, quick=True, rounds=1, say=lambda _line: None)
    command = ["-m", "pytest", "-q", "test_one.py"]
    (tmp_path / "conftest.py").write_text(cases_installed._CONFTEST)

    found = cases_installed.modules(bench, tmp_path, command)

    assert {"colorsys", "pytest", "test_one"} <= set(found)


def test_imports_are_timed_with_the_others_already_loaded() -> None:
    alone = cases_installed._import_ms(sys.executable, [], ["asyncio"])
    again = cases_installed._import_ms(sys.executable, ["asyncio"], ["asyncio"])

    assert again < alone


def test_rows_differ_and_carry_their_gold_for_the_endpoint(tmp_path: Path) -> None:
    path = rows.write_benchmark(tmp_path, 50)

    lines = [json.loads(line) for line in (tmp_path / "perf.jsonl").read_text().splitlines()]

    assert path.name == "bench_perf.py"
    assert len({line["question"] for line in lines}) == 50
    assert all(f"[gold={line['target']}]" in line["question"] for line in lines)


def test_the_ideal_rounds_up_to_whole_waves() -> None:
    assert ideal(2000, 0.5) == 16.0
    assert ideal(14_042, 0.1) == pytest.approx(22.0)


def test_the_latencies_of_a_fair_seed_leave_the_room_asked_for() -> None:
    order = [b"%d" % index for index in range(1500)]

    seeds = fair_seeds(order, 0.8, 2)

    assert seeds == sorted(set(seeds))
    for seed in seeds:
        model = Model(Behaviour(latency=0.5, sigma=1.0, seed=seed))
        latencies = [model.delay(draws(seed, digest, 0).latency) for digest in order]
        assert sum(latencies) / 64 / possible_span(latencies, 64) >= 0.8


def test_a_room_that_no_seed_leaves_is_an_error() -> None:
    with pytest.raises(CaseFailed, match="room"):
        fair_seeds([b"only one"], 0.9, 1)


def test_the_command_line_is_what_a_user_types(tmp_path: Path) -> None:
    load = Load(10, extra=("--junitxml={out}/j.xml",), probe=False)

    line = command_line(sys.executable, "http://127.0.0.1:1/v1", load, tmp_path)

    assert line[1:4] == ["-m", "pytest", "-p"]
    assert line[line.index("--nel-max-concurrent") + 1] == "64"
    assert line[-1] == f"--junitxml={tmp_path}/j.xml"


def test_records_are_counted_only_beside_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "results.jsonl").write_text("{}\n{}\n")
    before = written(tmp_path)

    (tmp_path / "perf" / "eval-perf.json").write_text("{}")

    assert (before, written(tmp_path)) == (None, 2)


@pytest.mark.parametrize(
    ("status", "stats", "records"),
    [
        (1, {}, 10),
        (None, {}, 10),
        (0, {"ok": 9}, 10),
        (0, {"distinct": 9}, 10),
        (0, {"paid_twice": 1}, 10),
        (0, {}, 9),
        (0, {}, None),
    ],
)
def test_a_run_that_did_not_do_its_work_is_no_figure(
    status: int | None, stats: dict[str, int], records: int | None
) -> None:
    seen = {"ok": 10, "distinct": 10, "paid_twice": 0} | stats

    with pytest.raises(CaseFailed, match="the end"):
        check(cost(status), seen, Load(10), records)


def test_a_run_that_did_its_work_passes() -> None:
    check(cost(), {"ok": 10, "distinct": 10, "paid_twice": 0}, Load(10), 10)


def test_a_run_counts_until_the_last_item_is_reported() -> None:
    moments, stats = {"reported": 9.0}, {"first": 2.0, "last": 8.0}

    assert plugin_run.PluginRun(cost(), moments, stats).run == 7.0


def test_the_probe_notes_the_moments_of_a_pytest_run_in_order(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.perf.probe", "test_two.py"]
    env = {"NEL_PERF_PROBE": str(tmp_path / "probe.json"), "PYTHONPATH": str(ROOT)}

    measured = measure(command, tmp_path / "log", env=env, cwd=tmp_path)

    found = json.loads((tmp_path / "probe.json").read_text())
    moments = [
        found[name] for name in ("configured", "collecting", "collected", "reported", "ended")
    ]
    assert measured.status == 0
    assert moments == sorted(moments)
    assert (found["items"], found["peak_mb"] > 10) == (2, True)


def test_kinds_are_measured_in_turn_between_calibrations() -> None:
    seen: list[str] = []
    bench = Bench(python=sys.executable, quick=False, rounds=2, say=lambda _line: None)

    def kind(name: str, value: float) -> float:
        seen.append(name)
        return value

    values, span = bench.interleaved(partial(kind, "a", 1.0), partial(kind, "b", 2.0))

    assert seen == ["a", "b", "a", "b"]
    assert (values, span) == ([[1.0, 1.0], [2.0, 2.0]], (0, 4))


def test_the_load_generator_reports_the_rate_it_reached() -> None:
    with running_endpoint(mode="gold") as endpoint:
        script = Path(__file__).with_name("hammer.py")
        done = subprocess.run(
            [sys.executable, str(script), str(endpoint.port), "500", "8"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        stats = endpoint.stats()

    assert json.loads(done.stdout)["rate"] > 100
    assert (stats["ok"], stats["distinct"], stats["max_in_flight"] <= 8) == (500, 500, True)


def test_one_command_measures_a_case_and_writes_its_figures_down(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("run.py"))
    options = ["--json", str(tmp_path / "f.json"), "--markdown", str(tmp_path / "f.md")]
    command = [sys.executable, script, "--quick", "--only", "endpoint", *options]

    measured = measure(command, tmp_path / "log", cwd=tmp_path)

    [figure] = json.loads((tmp_path / "f.json").read_text())["figures"]
    assert measured.status in {0, 1}  # 1: below its target, on a machine busy enough
    assert figure["raw"] > 100
    assert "mock endpoint" in (tmp_path / "f.md").read_text()
    assert "mock endpoint" in measured.output


def test_a_case_whose_run_fails_is_an_error_line_and_exit_1(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text('#!/bin/sh\n[ "$1" = -c ] && echo True && exit 0\necho no plugin; exit 4\n')
    broken.chmod(0o755)

    script = str(Path(__file__).with_name("run.py"))
    options = ["--python", str(broken), "--json", str(tmp_path / "f.json")]
    command = [sys.executable, script, "--quick", "--only", "half-second", *options]
    measured = measure(command, tmp_path / "log", cwd=tmp_path)

    assert measured.status == 1
    assert "no plugin" in measured.output
    assert "ERROR" in measured.output


def test_peers_are_pinned_and_not_taken_as_installed_from_an_empty_folder(tmp_path: Path) -> None:
    assert all("==" in peer.packages[0] for peer in PEERS)
    assert not any(installed(peer, tmp_path) for peer in PEERS)
    assert Path(python_311()).exists()
