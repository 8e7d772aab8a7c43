"""Half for the right header, all for the right rows."""

import csv
import json
from pathlib import Path

table = Path("totals.csv")
rows = list(csv.reader(table.open())) if table.exists() else []
header = float(rows[:1] == [["region", "total"]])
right = float(rows[1:] == [["north", "12"], ["south", "5"]])
named = {"header": header, "rows": right, "reward": header * right}
Path("/logs/verifier/reward.json").write_text(json.dumps(named))
