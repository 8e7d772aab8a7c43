"""Lets tox find the interpreters that pyenv installed but does not put on PATH.

tox loads this file by its name. They are appended, so what PATH finds today it finds first.
"""

import os
from pathlib import Path

_PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
_FOUND = sorted(str(folder) for folder in _PYENV.glob("versions/3.*/bin"))
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *_FOUND])
