"""Facts about attempts as columns: a few bytes for each, whatever its answer was.

A row is an attempt, in the order in which it came. What is made of the columns does not depend on
that order.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from typing import Any, NamedTuple

from pytest_nel.scoring.text import normal_text
from pytest_nel.stats.agreement import majority_reward

UNSCORED, CORRECT, UNPARSED, TRUNCATED, EMPTY, REFUSED = (1 << bit for bit in range(6))
"""Bits of :attr:`Columns.flags`."""

_MOST_GROUPS = 50
_LONGEST_VALUE = 100
_NO_GROUPS = {
    *("correct", "extracted", "extracted_answer", "reward", "parsed", "error"),
    *("category", "cluster"),
}
"""Fields that would only repeat the outcome, or have a place of their own."""


class Codes:
    """A column of texts, each of them kept once; 0 stands for none."""

    def __init__(self, kind: str = "i") -> None:
        self.names: dict[str, int] = {}
        self._codes = array(kind)

    def put(self, row: int, name: str) -> None:
        """Note the text of a row; rows that are passed over have none."""
        self._codes.extend([0] * (row - len(self._codes)))
        self._codes.append(self.names.setdefault(name, len(self.names) + 1))

    def __getitem__(self, row: int) -> int:
        return self._codes[row] if row < len(self._codes) else 0


class Scores(NamedTuple):
    """The rewards of a further scorer, and whose they are."""

    problem: "array[int]"
    reward: "array[float]"


class Table(NamedTuple):
    """Sums of each problem that has a score, by problem.

    Attributes:
        problem: Which; ascending.
        scored: Attempts with a reward.
        total: Sum of their rewards.
        correct: How many of them are correct.
        majority: Reward of the most common answer; empty where votes are unknown.
        cluster: Number of its cluster; empty where some problem has none, or several.
    """

    problem: "array[int]"
    scored: "array[int]"
    total: "array[float]"
    correct: "array[int]"
    majority: "array[float]"
    cluster: "array[int]"

    def cluster_of(self, problem: int) -> int | None:
        """The number of a problem's cluster; None where clusters, or its scores, are unknown."""
        place = bisect_left(self.problem, problem)
        there = place < len(self.cluster) and self.problem[place] == problem
        return self.cluster[place] if there else None


@dataclass(slots=True)
class Columns:
    """See the module.

    Attributes:
        votes: Whether answers are compared with one another.
        problem: The problem of each row.
        reward: NaN where the attempt is unscored.
        flags: Bits, see :data:`UNSCORED`.
        vote: Digest of the extracted answer's normal form, 0 for none.
        votes_unknown: A scorer judged an answer and did not say what it took as the answer.
        categories: ``metadata["category"]``.
        clusters: ``metadata["cluster"]``.
        scorers: Further scorers by name.
        fields: What may be broken down by, by place and name; None before the first score.
    """

    votes: bool = False
    problem: "array[int]" = field(default_factory=lambda: array("q"))
    reward: "array[float]" = field(default_factory=lambda: array("d"))
    flags: "array[int]" = field(default_factory=lambda: array("B"))
    vote: "array[int]" = field(default_factory=lambda: array("q"))
    votes_unknown: bool = False
    categories: Codes = field(default_factory=Codes)
    clusters: Codes = field(default_factory=Codes)
    scorers: dict[str, Scores] = field(default_factory=dict)
    fields: dict[tuple[str, str], Codes] | None = None
    _order: "array[int]" = field(default_factory=lambda: array("i"))

    def __len__(self) -> int:
        return len(self.problem)

    def add(self, solved: Mapping[str, Any], scored: Mapping[str, Any], flags: int) -> None:
        """Append one record, given as its two journal objects."""
        row, reward = len(self.problem), scored.get("reward")
        problem = int(solved["problem_idx"])
        self.problem.append(problem)
        self.reward.append(math.nan if reward is None else float(reward))
        self.flags.append(flags)
        metadata = {**(solved.get("seed_metadata") or {}), **(scored.get("metadata") or {})}
        for name, codes in (("category", self.categories), ("cluster", self.clusters)):
            if (value := metadata.get(name)) not in (None, ""):
                codes.put(row, str(value))
        for name, other in (scored.get("scorer_rewards") or {}).items():
            self._further(problem, name, other)
        if self.votes:
            self.vote.append(0 if reward is None else self._voted(scored))
        if reward is not None:
            self._group(row, {**(solved.get("details") or {}), **_details(scored)}, metadata)

    def _further(self, problem: int, name: str, reward: float | None) -> None:
        scores = self.scorers.setdefault(name, Scores(array("q"), array("d")))
        if reward is not None:
            scores.problem.append(problem)
            scores.reward.append(float(reward))

    def _voted(self, scored: Mapping[str, Any]) -> int:
        extracted = scored.get("extracted")
        if extracted is not None:
            return _short_hash(normal_text(str(extracted)))
        if scored["outcome"] != "unparsed" and not scored.get("failure"):
            self.votes_unknown = True
        return 0

    def _group(self, row: int, details: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        places = {"details": details, "metadata": metadata}
        if self.fields is None:
            self.fields = {
                (place, name): Codes("B")
                for place, values in places.items()
                for name, value in values.items()
                if name not in _NO_GROUPS and _groups(value)
            }
        lost = []
        for key, codes in self.fields.items():
            value = places[key[0]].get(key[1])
            if not _groups(value):
                lost.append(key)
                continue
            codes.put(row, str(value))
            if len(codes.names) > _MOST_GROUPS:
                lost.append(key)
        for key in lost:
            del self.fields[key]

    def by_problem(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Each problem with its rows."""
        if len(self._order) != len(self.problem):
            rows = sorted(range(len(self.problem)), key=self.problem.__getitem__)
            self._order = array("i", rows)
        for problem, found in groupby(self._order, key=self.problem.__getitem__):
            yield problem, [*found]

    def table(self) -> Table:
        """The sums of problems that have a score."""
        table = Table(array("q"), array("i"), array("d"), array("i"), array("d"), array("i"))
        votes = self.votes and not self.votes_unknown
        clustered = bool(self.clusters.names)
        for problem, attempts in self.by_problem():
            rows = [row for row in attempts if not self.flags[row] & UNSCORED]
            if not rows:
                continue
            table.problem.append(problem)
            table.scored.append(len(rows))
            table.total.append(math.fsum(self.reward[row] for row in rows))
            table.correct.append(sum(bool(self.flags[row] & CORRECT) for row in rows))
            if votes:
                given = [(self.vote[row] or None, self.reward[row]) for row in rows]
                table.majority.append(majority_reward(given))
            if clustered:
                found = {self.clusters[row] for row in rows}
                clustered = len(found) == 1 and 0 not in found
                table.cluster.append(min(found))
        if not clustered:
            del table.cluster[:]
        return table


def _details(scored: Mapping[str, Any]) -> Mapping[str, Any]:
    details: Mapping[str, Any] = scored.get("details") or {}
    return details


def _groups(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and len(value) < _LONGEST_VALUE)


def _short_hash(text: str) -> int:
    """Never 0; two different answers are taken for one in 1 of 10^19 pairs."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1
