#!/bin/bash
set -e
python3 - <<'END'
import json
json.dump({"a": {"x": 1, "y": 3}, "b": 2}, open("merged.json", "w"))
END
