"""Suite-level properties of the JUnit file: which run, which model, which scores."""

from importlib.metadata import version
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from pytest_nel.core.text import showable
from pytest_nel.hooks.state import Run
from pytest_nel.records.bundle import headline

_OF_A_CHECK = (
    *("baseline_score", "candidate_score", "delta", "delta_ci_lower", "delta_ci_upper"),
    *("n_paired", "n_missing", "max_drop_threshold", "score", "limit"),
)


class Junit:
    """Adds properties when the run is over; on the controller, since workers' are lost."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Called after the bundles are made and before the file is written."""
        xml: Any = session.config.stash.get(xml_key, None)
        if xml is None:
            return
        for name, value in self._properties():
            xml.add_global_property(f"nel.{name}", showable(str(value), 300))
        for check in self._run.checks:
            facts = {key: check.facts[key] for key in _OF_A_CHECK if key in check.facts}
            for key, value in facts.items():
                xml.node_reporter(check.id).add_property(f"nel.{key}", value)

    def _properties(self) -> list[tuple[str, object]]:
        found: list[tuple[str, object]] = [
            ("run_id", self._run.id),
            ("version", version("pytest-nel")),
        ]
        for derived in self._run.derived:
            name, bundle = derived.plan["benchmark"], derived.bundle
            metric = headline(bundle)
            found += [
                (f"{name}.model", ", ".join(bundle["fingerprint"]["models"])),
                (f"{name}.score", metric["value"]),
                (f"{name}.n_scored", bundle["n_scored"]),
                (f"{name}.n_planned", bundle["n_planned"]),
                (f"{name}.n_unparsed", bundle["n_unparsed"]),
                (f"{name}.n_unscored", bundle["n_unscored"]),
            ]
            if "ci_lower" in metric:
                found.append((f"{name}.ci", f"{metric['ci_lower']}..{metric['ci_upper']}"))
        return found
