"""The text of a run's summary: pure functions of bundles, printed elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_nel.core.text import showable
from pytest_nel.gate.check import Check
from pytest_nel.gate.verdict import Exit
from pytest_nel.records.bundle import headline
from pytest_nel.records.workspaces import FOLDER, LOST, PARTIAL

_HEADER = (
    "benchmark",
    "scored",
    "score",
    "95 % CI",
    "unparsed",
    "truncated",
    "unscored",
    "tokens",
    "wall",
)
MAX_ROWS = 15
_FURTHER = "scorer:"
_LOST_NAMED = 5


class Line(NamedTuple):
    """A line and how it is coloured."""

    text: str
    markup: Mapping[str, bool] = {}


def summary_lines(bundles: Sequence[Mapping[str, Any]], most: int = MAX_ROWS) -> list[Line]:
    """The table of all benchmarks, at most 15 rows, worst news kept."""
    rows = [_row(bundle) for bundle in bundles[:most]]
    widths = [max(len(row[i]) for row in [_HEADER, *rows]) for i in range(len(_HEADER))]
    lines = [Line(_join(_HEADER, widths))]
    for bundle, row in zip(bundles, rows, strict=False):
        colour = {"red": True} if bundle["n_unscored"] else {}
        lines.append(Line(_join(row, widths), colour))
    if len(bundles) > most:
        lines.append(Line(f"… and {len(bundles) - most} more benchmarks, in the run directory"))
    return lines


def _row(bundle: Mapping[str, Any]) -> tuple[str, ...]:
    metric = headline(bundle)
    value = metric["value"]
    interval = "–"
    if "ci_lower" in metric:
        interval = f"{metric['ci_lower']:.3f}–{metric['ci_upper']:.3f}"
    stats = bundle["benchmark"]["scores"]["runtime"]
    scored, attempted = bundle["n_scored"], bundle["n_attempted"]
    return (
        str(bundle["benchmark"]["name"]),
        f"{scored:,}/{attempted:,}",
        "–" if value is None else f"{value:.3f}",
        interval,
        _share(bundle["n_unparsed"], scored),
        _share(bundle["n_truncated"], scored),
        f"{bundle['n_unscored']:,}",
        _tokens(stats),
        f"{stats['elapsed_seconds']:.1f} s",
    )


def _share(count: int, of: int) -> str:
    return f"{count:,} ({100 * count / of:.0f} %)" if count and of else f"{count:,}"


def _tokens(stats: Mapping[str, Any]) -> str:
    total: int = stats["total_tokens"]
    if not total and stats["steps_without_usage"]:
        return "unknown"
    return f"{total:,}" + ("+" if stats["steps_without_usage"] else "")


def _join(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "  ".join([first, *rest])


def cost_lines(bundles: Sequence[Mapping[str, Any]]) -> list[Line]:
    """What the run has cost, as far as prices are known: one line for each currency."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for bundle in bundles:
        if cost := bundle["benchmark"]["scores"]["runtime"].get("cost"):
            found.setdefault(str(cost["currency"]), []).append(cost)
    return [Line(_cost(currency, costs)) for currency, costs in sorted(found.items())]


def _cost(currency: str, costs: Sequence[Mapping[str, Any]]) -> str:
    prompt, completion = (sum(cost[name] for cost in costs) for name in ("prompt", "completion"))
    reasons = {
        "{n:,} attempts without usage": sum(cost["n_unknown"] for cost in costs),
        "{n:,} answers replaced": sum(cost["n_made_again"] for cost in costs),
    }
    why = ", ".join(text.format(n=n) for text, n in reasons.items() if n)
    return (
        f"cost: {'at least ' if why else ''}{_money(prompt + completion)} {currency} "
        f"(prompts {_money(prompt)}, completions {_money(completion)}{'; ' if why else ''}{why})"
    )


def _money(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.6f}".rstrip("0")


def kept_lines(kept: Mapping[str, int]) -> list[Line]:
    """What became of the attempts that an earlier process had begun."""
    said = {
        "kept": "{n:,} taken as recorded",
        "completed": "{n:,} of those given again to further scorers that had failed",
        "judged": "{n:,} judged from stored answers",
        "changed": "{n:,} solved again: another problem stands in their place",
        "again": "{n:,} asked again: not all of what was judged may be written or kept",
        "dropped": "{n:,} judgements counted no more: their problem is gone, or it, its scorer or "
        "its timeout has changed",
    }
    parts = [text.format(n=kept[name]) for name, text in said.items() if kept.get(name)]
    lines = [Line(f"of the earlier records: {', '.join(parts)}")] if parts else []
    return [*lines, *_lost_lines(kept)]


_LOST_WHY = {
    LOST: f"what they left is gone from {FOLDER}/ or changed",
    PARTIAL: "not all of what was judged is written: it has secrets, was judged in the sandbox "
    "where it was made, or is too long",
}


def _lost_lines(kept: Mapping[str, int]) -> Iterator[Line]:
    """Which answers could not be judged again, and what the table has of them."""
    for reason, why in _LOST_WHY.items():
        if not (n := kept.get(reason, 0)):
            continue
        names = [each.removeprefix(f"{reason} ") for each in kept if each.startswith(f"{reason} ")]
        shown = ", ".join([*names[:_LOST_NAMED], *(["…"] if n > _LOST_NAMED else [])])
        yield Line(
            f"{n:,} not judged again, since {why} ({shown}): their earlier scores still stand in "
            "the table, unless their problem or their scorer has changed",
            {"yellow": True},
        )


def run_lines(
    results: Sequence[tuple[Mapping[str, Any], Sequence[str]]],
    checks: Sequence[Check],
    between: Sequence[Line] = (),
    most: int = MAX_ROWS,
) -> list[Line]:
    """All that is said of bundles at the end.

    Args:
        results: Each bundle, with the journal lines that could not be read.
        checks: What was decided.
        between: What is said after the table.
        most: How many rows the table may have.
    """
    bundles = [bundle for bundle, _ in results]
    lines = [*summary_lines(bundles, most), *cost_lines(bundles), *between]
    for bundle in bundles[:5]:
        lines += [*scorer_line(bundle), *category_line(bundle)]
    for bundle, problems in results:
        lines += note_lines(bundle, problems)
    return [*lines, *check_lines(checks)]


def check_lines(checks: Sequence[Check]) -> list[Line]:
    """What did not pass; gates have a table of their own."""
    return [
        Line(
            f"{check.status.upper()} {check.id}: {check.reason}",
            {"yellow": True} if check.code is Exit.GO else {"red": True},
        )
        for check in checks
        if check.status != "passed" and "gate" not in check.facts
    ]


def note_lines(bundle: Mapping[str, Any], problems: Sequence[str]) -> list[Line]:
    """What a reader must know about one benchmark's numbers."""
    name = bundle["benchmark"]["name"]
    lines = []
    if bundle.get("partial"):
        shard = bundle.get("shard")
        part = f" (shard {shard[0]}/{shard[1]})" if shard else ""
        lines.append(Line(f"{name}: evaluated {bundle['evaluated']}{part}", {"yellow": True}))
    if again := bundle.get("n_made_again"):
        text = f"{name}: {again:,} were made again because of their outcome: no fair sample"
        lines.append(Line(text, {"yellow": True}))
    if cached := bundle.get("n_cached"):
        lines.append(Line(f"{name}: {cached:,} answers came from the cache"))
    if overtaken := bundle.get("n_overtaken", 0):
        text = (
            f"{name}: stopped early: quick answers are over-represented "
            f"({overtaken:,} that took longer have no score)"
        )
        lines.append(Line(text, {"yellow": True}))
    lines += _uncalled_tools(bundle)
    lines += _failed_scorers(bundle)
    lines += _judges(bundle)
    categories = bundle["benchmark"]["scores"]["failures"]["categories"]
    unscored = bundle["n_unscored"]
    if unscored:
        missing = {kind: facts for kind, facts in categories.items() if _lacks(facts)}
        kinds = ", ".join(f"{kind} ×{_lacks(facts)}" for kind, facts in missing.items())
        lines.append(Line(f"{name}: {unscored:,} without a score: {kinds}", {"red": True}))
        shown = [facts["exemplars"][0] for facts in missing.values() if facts["exemplars"]]
        lines += [_example(name, example) for example in shown[:3]]
    lines += [
        Line(f"{name}: journal: {showable(text, 300)}", {"yellow": True}) for text in problems[:3]
    ]
    return lines


def _uncalled_tools(bundle: Mapping[str, Any]) -> list[Line]:
    """A server that leaves tools out of the prompt does so without an error."""
    tools = bundle["benchmark"]["scores"]["runtime"].get("tools")
    if tools is None or tools["calls"]:
        return []
    text = f"{bundle['benchmark']['name']}: no tool was called in {tools['attempts']:,} attempts: "
    text += "the model may have seen none; see whether its server passes tools on, or have them "
    text += "written into the prompt by the solver's tool_format: text"
    return [Line(text, {"yellow": True})]


def _failed_scorers(bundle: Mapping[str, Any]) -> list[Line]:
    """Further scorers that failed: nothing else of a run shows it."""
    lines = []
    for name, metric in bundle["benchmark"]["scores"].items():
        if name.startswith(_FURTHER) and (failed := metric.get("n_failed")):
            error = " ".join(showable(metric["error"], 300).split())
            text = f"{bundle['benchmark']['name']}: scorer {name.removeprefix(_FURTHER)} failed on "
            text += f"{failed:,} {'answer' if failed == 1 else 'answers'}: {error}"
            lines.append(Line(text, {"yellow": True}))
    return lines


def _judges(bundle: Mapping[str, Any]) -> list[Line]:
    """What judging took, by service: no token of it is the model's."""
    lines = []
    for service, took in bundle["benchmark"]["scores"]["runtime"].get("judges", {}).items():
        text = f"{bundle['benchmark']['name']}: judge {service}: {took['calls']:,} replies, "
        text += f"{took['total_tokens']:,} tokens"
        if cost := took.get("cost"):
            text += f", {cost['total']:,.4f} {cost['currency']}"
        if unreadable := took["unreadable_replies"]:
            text += f", {unreadable:,} unreadable"
        lines.append(Line(text))
    return lines


def _lacks(category: Mapping[str, Any]) -> int:
    """Attempts of a failure category without a score; bundles of old do not tell them apart."""
    count: int = category.get("n_unscored", category["count"])
    return count


def _example(name: str, example: Mapping[str, Any]) -> Line:
    where = f"{name}[{example['problem_idx']}-r{example['repeat']}]"
    error = " ".join(showable(example["error"], 300).split())
    return Line(f"  {where}: {error}", {"red": True})


def scorer_line(bundle: Mapping[str, Any]) -> list[Line]:
    """What further scorers and judges say: none of it is in the table."""
    parts = []
    for name, metric in bundle["benchmark"]["scores"].items():
        if name.startswith(_FURTHER):
            n = metric["n"]
            says = "–" if metric["value"] is None else f"{metric['value']:.3f}"
            if "ci_lower" in metric:
                says += f", {metric['ci_lower']:.3f}–{metric['ci_upper']:.3f}"
            parts.append(f"{showable(name.removeprefix(_FURTHER), 60)} {says} ({n:,})")
    if not parts:
        return []
    return [Line(f"{bundle['benchmark']['name']} by further scorer: {'; '.join(parts)}")]


def category_line(bundle: Mapping[str, Any], limit: int = 6) -> list[Line]:
    """Scores by category, where there are a few."""
    found = bundle["benchmark"].get("categories") or {}
    if not 1 < len(found) <= limit:
        return []
    parts = [
        f"{showable(name, 60)} {facts['mean_reward']:.3f} ({facts['n']})".replace("\n", " ")
        for name, facts in found.items()
    ]
    return [Line(f"{bundle['benchmark']['name']} by category: {', '.join(parts)}")]


def shown_record(row: Mapping[str, Any], where: str) -> list[Line]:
    """A record in full view: expected, extracted, the end of the response, where it is kept."""
    outcome, details = row["outcome"], row.get("scoring_details") or {}
    lines = [Line(f"{where}: {outcome}", {"bold": True})]
    if outcome == "unscored":
        lines.append(Line(f"  cause:     {showable(str(row.get('error')), 1000)}"))
    rule = " ".join(str(details[name]) for name in ("method", "rule") if name in details)
    facts = [
        ("prompt", showable(str(row["prompt"]), 400)),
        ("expected", showable(str(row["expected_answer"]), 400)),
        ("extracted", _extracted(row) + (f"  [{rule}]" if rule else "")),
        ("response", _end(str(row["model_response"]))),
        ("finish", f"{row.get('finish_reason')}, {row.get('tokens')} tokens"),
    ]
    for name, text in facts:
        first, *rest = text.splitlines() or [""]
        lines.append(Line(f"  {name + ':':<10} {first}"))
        lines += [Line(f"             {line}") for line in rest]
    return lines


def _extracted(row: Mapping[str, Any]) -> str:
    extracted = row.get("extracted_answer")
    return "(none)" if extracted is None else showable(str(extracted), 400)


def _end(text: str, limit: int = 600) -> str:
    clean = showable(text, 1_000_000)
    return clean if len(clean) <= limit else "…" + clean[-limit:]
