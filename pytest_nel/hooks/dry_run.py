"""``--nel-dry-run``: what a run would do, cost and decide; nothing is asked, nothing written.

Nothing is started either, but for servers of ``gym://`` benchmarks: nobody else knows their size.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cluster.daemon import no_daemon
from pytest_nel.config.dependencies import start_order
from pytest_nel.config.env_map import resolve
from pytest_nel.config.interpolate import getenv
from pytest_nel.config.schema import Prices
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.judge_panel import judge_prices
from pytest_nel.engine.loop import LoopThread
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.sandboxes import SLOTS
from pytest_nel.engine.validated import validated
from pytest_nel.gate.verdict import Exit
from pytest_nel.hooks.budgets import refuse_unpriced
from pytest_nel.hooks.gating import check_before, names_of_checks
from pytest_nel.hooks.refuse import limits_of
from pytest_nel.hooks.sandboxes import images_of, refuse_without_sandbox, too_small
from pytest_nel.hooks.services import parts_of
from pytest_nel.hooks.state import BenchmarkRun, Run
from pytest_nel.records.estimate import Estimate, each_of, estimate
from pytest_nel.records.sides import StoredRun, stored_run
from pytest_nel.services import REGISTRY as SERVICES
from pytest_nel.services.gpus import shared
from pytest_nel.services.logs import log_name
from pytest_nel.services.missing import missing

_FILES = (
    *("eval-*.json", "failure_analysis.json", "journal/*.jsonl", "plan.json"),
    *("results.jsonl", "runtime_stats.json", "trajectories.jsonl"),
)
_WHOLE_FILES = ("suite.nel.yaml", "run.json", "checks.json")


def only_plan(config: pytest.Config) -> None:
    """Make pytest collect and no more; before anything else is configured."""
    config.option.collectonly = True
    config.option.dist = "no"
    config.option.verbose = min(config.option.verbose, -2)  # the plan stands for the list of items


class DryRun:
    """Says the plan when everything is collected.

    Args:
        run: The run that will not be.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._trouble: list[str] = []
        self._plan: JsonObject = {}
        self._missing: list[JsonObject] = []
        self._no_daemon = cache(no_daemon)  # one that is far away is asked once

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Look at everything that a run looks at before it begins."""
        run = self._run
        if not run.benchmarks or run.config_error:
            return
        for look in (refuse_without_sandbox, check_before, refuse_unpriced):
            try:
                look(run)
            except NelError as error:
                self._trouble += str(error).splitlines()
        self._plan = self._made()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A plan that cannot be is a mistake of usage; the file is for machines."""
        if self._trouble or any(one["refused"] for one in self._missing):
            session.exitstatus = Exit.USAGE
        path = self._run.options.get("plan-file")
        if path is not None and self._plan:
            target = Path(self._run.config.invocation_params.dir, path)
            try:
                target.write_text(json.dumps(self._plan, indent=2) + "\n", encoding="utf-8")
            except OSError as error:
                self._trouble.append(f"{path}: the plan cannot be written: {error.strerror}")
                session.exitstatus = Exit.USAGE

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The plan in words."""
        if self._plan:
            terminalreporter.section(f"plan: {_started(self._plan)}")
            for line in plan_lines(self._plan):
                terminalreporter.write_line(line)
        for line in self._trouble:
            terminalreporter.write_line(line, red=True)

    def _made(self) -> JsonObject:
        run = self._run
        known = self._earlier()
        entries = [self._entry(bench, known) for bench in run.benchmarks.values()]
        services = dict.fromkeys(bench.service for bench in run.benchmarks.values())
        for bench in run.benchmarks.values():
            services |= dict.fromkeys(_judges_of(bench))
        used = start_order(run.services, [name for name in services if name in run.services])
        return {
            "benchmarks": entries,
            "total": _total(entries),
            "estimated_from": None if known is None else str(known.directory),
            "services": [self._service(name) for name in used],
            "would_not_start": self._missing,
            "started": [] if run.gym is None else list(run.gym.started),
            "checks": list(names_of_checks(run)),
            "directory": str(run.directory),
            "files": [
                *(str(run.directory / name) for name in _WHOLE_FILES),
                *(
                    str(run.directory / entry["benchmark"] / name)
                    for entry in entries
                    for name in _FILES
                ),
                *(str(run.directory / "logs" / log) for name in used for log in self._logs(name)),
                *(str(run.directory / "logs" / log) for log in _of_gym(run)),
            ],
            "warnings": [
                *shared({name: run.services[name] for name in used}),
                *(line for bench in run.benchmarks.values() for line in too_small(bench)),
            ],
            "problems": list(self._trouble),
        }

    def _earlier(self) -> StoredRun | None:
        """The run that tells what an attempt takes: the one named for it, else the baseline."""
        named = self._run.options.get("estimate-from")
        if named is None:
            return self._run.gating.baseline
        try:
            return stored_run(self._run.config.invocation_params.dir / named)
        except NelError as error:
            self._trouble.append(f"--nel-estimate-from: {error}")
            return None

    def _entry(self, bench: BenchmarkRun, known: StoredRun | None) -> JsonObject:
        plan = bench.plan
        attempts = len(plan.problems) * plan.repeats
        at_once = min([plan.config.max_concurrent, *self._limits(bench.service)])
        found = {}
        each = None if known is None else each_of(known, plan.id)
        if each is not None:
            known_prices = judge_prices(plan, self._run.services).get("judge_prices", {})
            asked = {name: known_prices.get(name, {}) for name in _judges_of(bench)}
            found = estimate(each, attempts, at_once, self._prices(bench), asked).as_json()
            found["from_attempts"] = each.seen
        return {
            "benchmark": plan.id,
            "problems": len(plan.problems),
            "dataset_size": plan.facts["dataset_size"],
            "repeats": plan.repeats,
            "attempts": attempts,
            "service": bench.service,
            "sandbox": self._sandbox(bench),
            "max_concurrent": at_once,
            "currency": (self._prices(bench) or {}).get("currency"),
            "budget": plan.config.budget.model_dump(exclude_none=True),
            "estimate": found or None,
        }

    def _sandbox(self, bench: BenchmarkRun) -> JsonObject | None:
        """Its type, how many there may be at once, and images; None without one."""
        spec, loop = bench.plan.config.sandbox, LoopThread("nel-plan")
        try:
            room = parts_of(self._run).sandboxes.room(spec)
            if room is None:
                return None
            specs = loop.call(bench.plan.environment.sandbox_specs()) or ()
        except NelError as error:
            self._trouble += str(error).splitlines()
            return None
        finally:
            loop.close()
        template = room.option("image_template")
        return {
            "type": spec.type,
            "concurrency": room.option("concurrency", SLOTS),
            "images": [template] if template else images_of(specs, room.option("image")),
        }

    def _limits(self, service: str | None) -> Iterator[int]:
        config = None if service is None else self._config(service)
        if config is not None:
            yield from (limit for _, limit in limits_of(config))

    def _config(self, service: str) -> Any:  # Any: each plugin has its own Config
        """The options of a service; None where it has none that are right."""
        spec = self._run.services.get(service)
        if spec is not None:
            model: Any = SERVICES.load(spec.type)
            with contextlib.suppress(NelError):  # it is said of the service itself
                return validated(model.Config, spec.options, f"services.{service}")
        return None

    def _logs(self, service: str) -> list[str]:
        if not SERVICES.load(self._run.services[service].type).deploys:
            return []
        count: int = getattr(self._config(service), "replicas", 1)
        return [log_name(service, replica, count) for replica in range(count)]

    def _model(self, service: str) -> str | None:
        """What it serves or is asked for; None where it is no model."""
        config = self._config(service)
        return (config.model or service) if hasattr(config, "model") else None

    def _prices(self, bench: BenchmarkRun) -> JsonObject | None:
        spec = self._run.services.get(bench.service or "")
        prices = None if spec is None else spec.options.get("prices")
        if prices is None:
            return None
        found: Prices = validated(Prices, prices, f"services.{bench.service}.prices")
        return found.model_dump()

    def _service(self, name: str) -> JsonObject:
        run, spec = self._run, self._run.services[name]
        kind = SERVICES.load(spec.type)
        try:
            service = Parts(run.services, log_dir=run.directory / "logs").service(name)
            lacks = missing(service, self._no_daemon)
        except NelError as error:
            self._note(error)
        else:
            self._missing += [] if lacks is None else [{"service": name, **lacks._asdict()}]
        variables = spec.options.get("extra_env")
        if isinstance(variables, Mapping):
            try:
                resolve(variables, f"services.{name}.extra_env")
            except ConfigError as error:
                self._note(error)
        key = str(spec.options.get("api_key") or "").removeprefix("${").removesuffix("}")
        if key and not getenv(key):
            self._trouble.append(f"services.{name}.api_key: the variable {key} is not set")
        url = spec.options.get("url")
        return {
            "name": name,
            "type": spec.type,
            "starts": kind.deploys,
            "model": self._model(name),
            "url": None if url is None else str(url).partition("?")[0],
        }

    def _note(self, error: NelError) -> None:
        """What several looks have found is said once."""
        self._trouble += [line for line in str(error).splitlines() if line not in self._trouble]


def _judges_of(bench: BenchmarkRun) -> list[str]:
    names = (name for spec in bench.plan.judges for name in spec.services())
    return list(dict.fromkeys(names))


def _total(entries: list[JsonObject]) -> JsonObject:
    """Sums; None where a part is unknown or has another currency."""
    found = [entry["estimate"] or {} for entry in entries]
    currencies = {entry["currency"] for entry in entries}
    sums: JsonObject = {"attempts": sum(entry["attempts"] for entry in entries)}
    for name in ("tokens", "cost", "seconds"):
        values = [each.get(name) for each in found]
        known = None not in values and (name != "cost" or len(currencies) == 1)
        sums[name] = sum(values) if known else None
    return sums


def _of_gym(run: Run) -> list[str]:
    return [] if run.gym is None else run.gym.files


def _started(plan: JsonObject) -> str:
    """What was started for it: servers that had to say how many problems there are."""
    count = len(plan["started"])
    if not count:
        return "nothing was started"
    what = "a server of problems" if count == 1 else f"{count} servers of problems"
    return f"nothing was started but {what}, to ask for the size"


def plan_lines(plan: JsonObject) -> Iterator[str]:
    """The plan for people."""
    for entry in plan["benchmarks"]:
        yield f"{entry['benchmark']}: {entry['attempts']:,} attempts{_about(entry)}"
    total = plan["total"]
    if len(plan["benchmarks"]) > 1:
        currency = plan["benchmarks"][0]["currency"]
        whole = {"estimate": total, "currency": currency}
        yield f"together: {total['attempts']:,} attempts{_about(whole)}"
    source = plan["estimated_from"]
    if source is None:
        yield "no estimate: name a run of a few problems with --nel-estimate-from DIR"
    else:
        yield f"estimated from {source}; the time is what answers take with none waiting in a queue"
    yield from _sandbox_lines(plan)
    yield from _services(plan)
    for warning in plan["warnings"]:
        yield f"warning: {warning}"
    for name in plan["checks"]:
        yield f"check {name}"
    yield f"would write into {plan['directory']}:"
    for path in plan["files"]:
        yield f"  {path.removeprefix(plan['directory'])[1:]}"


def _sandbox_lines(plan: JsonObject) -> Iterator[str]:
    for entry in plan["benchmarks"]:
        if (box := entry["sandbox"]) is not None:
            images = ", ".join(box["images"]) or "no image is named"
            most = f"{box['concurrency']} at once"
            yield f"sandbox of {entry['benchmark']} ({box['type']}, {most}): {images}"


def _services(plan: JsonObject) -> Iterator[str]:
    for service in plan["services"]:
        does = "would start" if service["starts"] else f"asks {service['url']}"
        what = ", ".join(filter(None, (service["type"], service["model"])))
        yield f"service {service['name']} ({what}): {does}"
    if plan["would_not_start"]:
        yield "would not start:"
    for one in plan["would_not_start"]:
        then = "; the run is refused" if one["refused"] else ""
        yield f"  service {one['service']}: {one['reason']}{then}"


def _about(entry: JsonObject) -> str:
    found = Estimate(**{name: (entry["estimate"] or {}).get(name) for name in Estimate.__slots__})
    said = []
    if found.tokens is not None:
        said.append(f"{found.tokens:,.0f} tokens")
    if found.cost is not None:
        said.append(f"{found.cost:,.2f} {entry['currency']}")
    if found.seconds is not None:
        said.append(_time(found.seconds))
    return f", about {', '.join(said)}" if said else ""


def _time(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
