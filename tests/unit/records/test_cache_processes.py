"""The answer cache under many processes at once, under kill -9 and on a full disk."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from pytest_nel.records.cache import ResponseCache

ROOT = Path(__file__).parents[3]
FILE_NAME = "answers.sqlite3"

WRITER = """
import json, random, sys
from pathlib import Path
from pytest_nel.records.cache import ResponseCache

folder, me, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
keys = [f"k{number}" for number in range(count)]
random.Random(me).shuffle(keys)
print("ready", flush=True)
sys.stdin.readline()
cache = ResponseCache(folder)
seen = {}
for key in keys:
    if cache.get(key) is None:
        cache.put(key, {"by": me, "key": key, "text": key * 50})
    seen[key] = cache.get(key)
again = {key: cache.get(key) for key in keys}
cache.close()
print(json.dumps([seen, again, cache.trouble]))
"""

FOREVER = """
import os, sys
from pathlib import Path
from pytest_nel.records.cache import ResponseCache

cache = ResponseCache(Path(sys.argv[1]), limit=3_000_000)
number = 0
while True:
    cache.put(f"k{number}", {"n": number, "text": os.urandom(2000).hex()})
    print(number, flush=True)
    number += 1
"""

FULL = """
import json, os, resource, sys
from pathlib import Path
from pytest_nel.records.cache import ResponseCache

cache = ResponseCache(Path(sys.argv[1]))
cache.put("k", {"response": "paid"})
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
for number in range(200):
    cache.put(f"k{number}", {"text": os.urandom(5000).hex()})
got = cache.get("k")
cache.close()
print(json.dumps([got, cache.trouble]))
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Another interpreter that sees this checkout."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def checked(folder: Path) -> list[tuple[str]]:
    """What SQLite says about the whole file; ``ok``, when all is well."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as db:
        return db.execute("PRAGMA integrity_check").fetchall()


def test_four_processes_agree_on_every_answer(tmp_path: Path) -> None:
    folder = tmp_path / "shared by four"
    writers = [start(WRITER, folder, me, 300) for me in range(4)]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()

    for writer in writers:  # all make the cache at the same time
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    outputs = [writer.communicate(timeout=120)[0] for writer in writers]

    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    results = [json.loads(output) for output in outputs]
    first = results[0][0]
    assert [trouble for _, _, trouble in results] == [None] * 4
    assert all(seen == first and again == first for seen, again, _ in results)
    assert all(answer["key"] == key for key, answer in first.items())
    assert len({answer["by"] for answer in first.values()}) > 1
    with closing(ResponseCache(folder)) as cache:
        assert {key: cache.get(key) for key in first} == first
        assert cache.info().entries == 300
    assert checked(folder) == [("ok",)]


def test_a_killed_process_leaves_every_answer_it_kept(tmp_path: Path) -> None:
    bystander = ResponseCache(tmp_path)
    bystander.put("mine", {"n": -1})
    writer = start(FOREVER, tmp_path)
    assert writer.stdout is not None
    for number in range(200):
        assert writer.stdout.readline() == f"{number}\n"

    writer.kill()
    rest = writer.communicate()[0].split()

    said = 199 + len(rest)
    with closing(bystander), closing(ResponseCache(tmp_path)) as cache:
        for one in (bystander, cache):
            assert one.get("mine") == {"n": -1}
            answers = [one.get(f"k{number}") for number in range(said)]
            assert [answer and answer["n"] for answer in answers] == list(range(said))
            one.put("k-1", {"n": 0})
            assert one.trouble is None
    assert checked(tmp_path) == [("ok",)]


def test_a_full_disk_costs_new_answers_only(tmp_path: Path) -> None:
    process = start(FULL, tmp_path)

    output = process.communicate(timeout=60)[0]

    assert process.returncode == 0
    got, trouble = json.loads(output)
    assert got == {"response": "paid"}
    assert trouble.startswith("the answer cache cannot be written: ")
    assert str(tmp_path / FILE_NAME) in trouble
    assert checked(tmp_path) == [("ok",)]
