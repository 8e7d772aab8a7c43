"""As JSON, not as text."""

import json
from pathlib import Path

assert json.loads(Path("merged.json").read_text()) == {"a": {"x": 1, "y": 3}, "b": 2}
