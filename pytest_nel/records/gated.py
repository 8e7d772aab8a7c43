"""The verdict of a run's gate, which its checks.json keeps whatever is derived again there."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject
from pytest_nel.gate.check import Check
from pytest_nel.gate.report import GateReport
from pytest_nel.gate.verdict import VERDICTS, Exit
from pytest_nel.records.plans import planned

CHECKS = "checks.json"
_RESULTS = "results.jsonl"
_AGAIN = "decide again by nel gate"


@dataclass(frozen=True, slots=True)
class Gated:
    """What a gate has decided about a run.

    Attributes:
        content: The object ``gate`` of checks.json.
        checks: The gate's.
    """

    content: JsonObject
    checks: Sequence[Check]

    @property
    def policy(self) -> str:
        """Its name."""
        return str(self.content.get("policy"))

    @property
    def decided(self) -> str:
        """The verdict as the gate gave it."""
        return str(self.content["verdict"])

    @property
    def stale(self) -> str | None:
        """Why it is not about the results that are there now, or None."""
        return str(self.content.get("stale_reason")) if self.content.get("stale") else None

    @property
    def verdict(self) -> str:
        """What it comes to now: of results that have changed only NO-GO still stands."""
        return "INCONCLUSIVE" if self.stale and self.decided != "NO-GO" else self.decided

    @property
    def reasons(self) -> list[str]:
        """Why."""
        said = [str(reason) for reason in self.content.get("verdict_reasons") or ()]
        if not self.stale:
            return said
        return [f"it was {self.decided}, and is stale: {self.stale}; {_AGAIN}", *said]

    @property
    def codes(self) -> set[int]:
        """The exit codes that it asks for."""
        codes = {int(check.code) for check in self.checks}
        if self.stale or not self.checks or self.decided == "NO-GO":
            codes.add(int(VERDICTS[self.verdict]))
        return codes


def content_of(report: GateReport, run_dir: Path) -> JsonObject:
    """What checks.json says of a gate: the report, and digests of the results it was about.

    Raises:
        OSError: They cannot be read.
    """
    return report.as_json() | {"results": _digests(run_dir)}


def gated(run_dir: Path) -> Gated | None:
    """The gate of a run, marked where its results are others now; None where there was none.

    Raises:
        ConfigError: checks.json is damaged, so that nobody knows what was decided.
        OSError: Something cannot be read.
    """
    path = run_dir / CHECKS
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = _read(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        msg = (
            f"{path}: damaged ({type(error).__name__}: {error}), so what a gate has decided is not "
            f"known: move it away, and {_AGAIN}"
        )
        raise ConfigError(msg) from error
    if found is None or found.stale:
        return found
    now, then = _digests(run_dir), found.content.get("results")
    if then == now:
        return found
    known = then if isinstance(then, dict) else {}
    changed = [name for name in sorted(now.keys() | known) if now.get(name) != known.get(name)]
    return _marked(found, f"the results of {', '.join(changed)} have changed since")


def _read(content: Mapping[str, Any]) -> Gated | None:
    gate = content.get("gate")
    if gate is None:
        return None
    policy = str(gate["policy"])
    _ = VERDICTS[gate["verdict"]]
    checks = [
        _check(said)
        for said in content["checks"]
        if said["id"] == policy or ("gate" in said and said["id"].startswith(f"{policy}::"))
    ]
    return Gated(gate, checks)


def _check(said: Mapping[str, Any]) -> Check:
    own = {"id", "status", "reason", "exit_code"}
    facts = {name: value for name, value in said.items() if name not in own}
    return Check(said["id"], said["status"], said["reason"], Exit(said["exit_code"]), facts)


def _marked(found: Gated, why: str) -> Gated:
    mark = {"stale": True, "stale_reason": why}
    return Gated(found.content | mark, [_aged(check, mark) for check in found.checks])


def _aged(check: Check, mark: Mapping[str, Any]) -> Check:
    """What failed stays so; what passed or was open is open."""
    facts = {**check.facts, **mark}
    if check.status == "failed":
        return replace(check, facts=facts)
    counts = check.facts.get("tier") != "advisory"
    code = Exit.INCONCLUSIVE if counts else check.code
    reason = f"stale, {_AGAIN}; it was {check.reason}"
    return replace(check, status="open", reason=reason, code=code, facts=facts)


def _digests(run_dir: Path) -> dict[str, str]:
    """SHA-256 of each benchmark's rows, by the name of its directory."""
    found = {}
    for directory in planned(run_dir):
        path = directory / _RESULTS
        if path.is_file():
            with path.open("rb") as file:
                found[directory.name] = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    return found
