"""The modes, and that the script runs."""

import stat
import subprocess
from pathlib import Path


def mode(path: str) -> str:
    return oct(stat.S_IMODE(Path(path).stat().st_mode))


assert Path("secret").is_dir()
assert mode("secret") == "0o700"
assert mode("secret/key") == "0o600"
assert Path("run.sh").stat().st_mode & 0o111 == 0o111
assert subprocess.run(["./run.sh"], check=False).returncode == 0
