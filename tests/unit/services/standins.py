"""Programs of the names of real engines, which serve what the tests serve and say how they ran."""

import json
import sys
from pathlib import Path
from typing import Any

SERVED = Path(__file__).parents[2] / "support" / "served.py"
_PROGRAM = """#!{python}
import json, os, runpy, sys
words = sys.argv[1:]
kept = {{name: os.environ.get(name) for name in {names!r}}}
with open({log!r}, "a") as log:
    log.write(json.dumps([os.path.basename(sys.argv[0]), words, kept]) + "\\n")
served = [{served!r}, words[words.index("--port") + 1], {fault!r}]
sys.argv = served
runpy.run_path({served!r}, run_name="__main__")
"""


def stand_in(folder: Path, name: str, *, names: tuple[str, ...] = (), fault: str = "") -> Path:
    """Write a program ``name`` into ``folder``; the file where it says its words and variables."""
    folder.mkdir(exist_ok=True)
    log = folder / "calls.jsonl"
    program = folder / name
    program.write_text(
        _PROGRAM.format(
            python=sys.executable, names=names, log=str(log), served=str(SERVED), fault=fault
        )
    )
    program.chmod(0o755)
    return log


def calls(log: Path) -> list[list[Any]]:
    """Its starts: program, words, variables."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
