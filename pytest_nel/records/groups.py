"""Scores by group: by category, and by whatever else the records say in a few words."""

import math
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.core.types import JsonObject
from pytest_nel.records.columns import UNPARSED, UNSCORED, Codes, Columns, Table
from pytest_nel.records.metrics import estimate

UNKNOWN = "unknown"


@dataclass(slots=True)
class _Group:
    """The scored attempts of one group, summed by problem."""

    sums: list[tuple[float, int]] = field(default_factory=list)
    clusters: "array[int]" = field(default_factory=lambda: array("i"))
    binary: bool = True
    n: int = 0
    unparsed: int = 0

    def add(self, rewards: list[float], cluster: int | None) -> None:
        self.sums.append((math.fsum(rewards), len(rewards)))
        self.n += len(rewards)
        self.binary = self.binary and all(reward in (0.0, 1.0) for reward in rewards)
        if cluster is not None:
            self.clusters.append(cluster)

    def facts(self) -> JsonObject:
        metric = estimate(self.sums, binary=self.binary, clusters=self.clusters)
        return {"mean_reward": metric.pop("value"), "n": self.n, **metric}


def _grouped(columns: Columns, table: Table, codes: Codes) -> dict[int, _Group]:
    groups: dict[int, _Group] = defaultdict(_Group)
    for problem, rows in columns.by_problem():
        rewards: dict[int, list[float]] = {}
        for row in rows:
            if columns.flags[row] & UNSCORED:
                continue
            code = codes[row]
            rewards.setdefault(code, []).append(columns.reward[row])
            groups[code].unparsed += bool(columns.flags[row] & UNPARSED)
        for code, found in rewards.items():
            groups[code].add(found, table.cluster_of(problem))
    return groups


def categories(columns: Columns, table: Table) -> JsonObject:
    """Scores by ``metadata.category``, empty where no attempt has one.

    Attempts without one are ``unknown`` where others have one.
    """
    if not columns.categories.names:
        return {}
    groups = _grouped(columns, table, columns.categories)
    names = {code: name for name, code in columns.categories.names.items()}
    found: dict[str, Any] = {}
    for code, group in groups.items():
        name = names.get(code) or _unused(UNKNOWN, names.values())
        found[name] = group.facts() | {"n_unparsed": group.unparsed}
    return dict(sorted(found.items())) if set(groups) != {0} else {}


def _unused(name: str, taken: Any) -> str:  # Any: whatever can be looked through
    while name in taken:
        name += "_"
    return name


def breakdowns(columns: Columns, table: Table) -> JsonObject:
    """Scores by each field of scoring_details and metadata that divides the attempts.

    A field counts when it is a bool or a text of less than 100 characters in every scored
    attempt and has 2 to 50 values, fewer than there are problems. Of two fields of one name that
    of scoring_details is shown.
    """
    found: JsonObject = {}
    for (_, name), codes in sorted((columns.fields or {}).items()):
        if name in found or not 2 <= len(codes.names) < len(table.problem):
            continue
        groups = _grouped(columns, table, codes)
        rows = [{"group": text, **groups[code].facts()} for text, code in codes.names.items()]
        for row in rows:
            del row["n_problems"]
        found[name] = sorted(rows, key=lambda row: str(row["group"]))
    return dict(sorted(found.items()))
