"""Whether two runs have asked the same questions in the same way."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_nel.core.text import showable

_SHOWN = 60
_DIGEST = re.compile(r"\b(sha256:[0-9a-f]{12})[0-9a-f]+")
Said: TypeAlias = Mapping[str, Any]
"""What a run says about a field, by a name that a message can show; a None says nothing."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two bundles say about each other.

    Attributes:
        different: One line for each field that is not the same.
        unknown: Fields that one side does not say, or each in words that the other has not.
        allowed: Differing fields that the caller allows to differ.
        free: All fields that the caller allows to differ.
    """

    different: Sequence[str]
    unknown: Sequence[str]
    allowed: Sequence[str]
    free: Sequence[str] = ()


_HASHES = ("rows_hash", "content_hash")
"""Of what a dataset holds: as it is asked about, and as it was read."""


def _dataset(bundle: Mapping[str, Any]) -> Said:
    facts = _facts(bundle)
    hashes = {name: facts[name] for name in _HASHES if facts.get(name)}
    if hashes:
        return hashes
    revision = facts.get("revision")
    return {"dataset": facts.get("dataset") if revision else None, "revision": revision}


def _prompts(bundle: Mapping[str, Any]) -> Said:
    return {name: _facts(bundle).get(name) for name in ("prompts", "seeds")}


def _scorer(bundle: Mapping[str, Any]) -> Said:
    return {
        name: _facts(bundle).get(name)
        for name in ("scorer", "scorers", "primary", "extra", "pass_at")
    }


def _solver(bundle: Mapping[str, Any]) -> Said:
    facts = _facts(bundle).get("answering") or {}
    named = {name: value for name, value in facts.items() if name.partition(".")[0] == "solver"}
    return named or {"solver": None}


def _sampling(bundle: Mapping[str, Any]) -> Said:
    """As sent with the requests; a bundle of the reference system says what was configured."""
    facts = _facts(bundle)
    sent = facts.get("sampling")
    if not sent and "answering" in facts:
        mark = "sampling."
        said = facts["answering"] or {}
        sent = [{k.removeprefix(mark): v for k, v in said.items() if k.startswith(mark)}]
    elif not sent:
        config = bundle.get("config") or {}
        sent = [{name: config[name] for name in _SAMPLING if config.get(name) is not None}]
    merged: dict[str, Any] = {}
    for one in sent:
        for name, value in one.items():
            merged.setdefault(name, []).append(value)
    nothing = _LEFT if "answering" in facts else None  # ours say all that was sent
    return {name: _one_or_all(values) for name, values in sorted(merged.items())} or {
        "sampling": nothing
    }


_LEFT = "left to the server"


def _interceptors(bundle: Mapping[str, Any]) -> Said:
    """Those that can change answers; bundles of the reference system do not say theirs."""
    facts = _facts(bundle).get("answering")
    if facts is None:
        return {"interceptors": None}
    return {"interceptors": facts.get("service.interceptors", "none")}


_SAMPLING = (
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
)


def _one_or_all(values: Sequence[Any]) -> Any:
    distinct = [value for at, value in enumerate(values) if value not in values[:at]]
    return distinct[0] if len(distinct) == 1 else sorted(distinct, key=repr)


def timeout_of(bundle: Mapping[str, Any]) -> float | None:
    """Seconds for an attempt, of a bundle or a plan, where they decide rewards.

    An agent's time in a sandbox is part of the question: what it has left at the end is judged.
    """
    if "sandbox.type" not in (_facts(bundle).get("answering") or {}):
        return None
    seconds = (bundle.get("config") or {}).get("timeout")
    return None if seconds is None else float(seconds)


def _timeout(bundle: Mapping[str, Any]) -> Said:
    seconds = timeout_of(bundle)
    return {"timeout": None if seconds is None else f"{seconds:g} s"}


_IMAGES = ("image", "image_template", "images")
_NONE = "none"


def _sandbox(bundle: Mapping[str, Any]) -> Said:
    """What answers and judgements are made in, as far as it is said: type, limits, options."""
    return {
        f"{name} of {what}": value
        for what, box in _boxes(bundle).items()
        for name, value in {"type": _NONE, **box}.items()
        if name not in _IMAGES
    }


def _image(bundle: Mapping[str, Any]) -> Said:
    """A field of its own: whoever builds an image for each run can let it differ, and no limit."""
    return {
        f"{name} of {what}": box.get(name)
        for what, box in _boxes(bundle).items()
        for name in _IMAGES
    }


def _boxes(bundle: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    facts, mark = _facts(bundle), "sandbox."
    found: dict[str, Mapping[str, Any]] = {}
    if (said := facts.get("answering")) is not None:
        names = [name for name in said if name.startswith(mark)]
        found["answers"] = {name.removeprefix(mark): said[name] for name in names}
    if (judging := facts.get("judged_in")) is not None:
        found["judgements"] = judging
    return found


def _both(one: Said, other: Said) -> tuple[Said, Said]:
    """Of sandboxes what both sides speak of: answers, judgements, or both."""
    ends = [{name.rpartition(" ")[2] for name in said} for said in (one, other)]
    shared = ends[0] & ends[1]
    first, second = (
        {name: said[name] for name in said if name.rpartition(" ")[2] in shared}
        for said in (one, other)
    )
    return first, second


def _repeats(bundle: Mapping[str, Any]) -> Said:
    return {"repeats": (bundle.get("benchmark") or {}).get("repeats")}


def _version(bundle: Mapping[str, Any]) -> Said:
    return {"pytest-nel": (_facts(bundle).get("versions") or {}).get("pytest-nel")}


def _model(bundle: Mapping[str, Any]) -> Said:
    facts = _facts(bundle)
    return {"model": facts.get("model") or (bundle.get("config") or {}).get("model")}


def _facts(bundle: Mapping[str, Any]) -> Mapping[str, Any]:
    return bundle.get("fingerprint") or {}


FIELDS: Mapping[str, Callable[[Mapping[str, Any]], Said]] = {
    "dataset": _dataset,
    "prompts": _prompts,
    "scorer": _scorer,
    "solver": _solver,
    "sampling": _sampling,
    "interceptors": _interceptors,
    "timeout": _timeout,
    "sandbox": _sandbox,
    "image": _image,
    "repeats": _repeats,
    "version": _version,
    "model": _model,
}
MUST_MATCH = (
    *("dataset", "prompts", "scorer", "solver"),
    *("sampling", "interceptors", "timeout", "sandbox", "image", "repeats"),
)
_OF_BOXES = ("sandbox", "image")


def compared(
    baseline: Mapping[str, Any],
    candidate: Mapping[str, Any],
    fields: Iterable[str] = MUST_MATCH,
    allowed: Iterable[str] = (),
) -> Comparison:
    """Look at the fields of two bundles.

    What one side does not say is unknown, not different: bundles of the reference system say
    less than ours.
    """
    free = set(allowed)
    different, unknown, differing = [], [], []
    for name in fields:
        said = _differences(name, baseline, candidate)
        if said is None:
            unknown.append(name)
        elif said and name in free:
            differing.append(name)
        else:
            different += said
    return Comparison(different, unknown, differing, sorted(free))


def _differences(
    name: str, baseline: Mapping[str, Any], candidate: Mapping[str, Any]
) -> list[str] | None:
    """One line for each; None where that is not known."""
    one, other = FIELDS[name](baseline), FIELDS[name](candidate)
    known = [any(value is not None for value in said.values()) for said in (one, other)]
    ours = name != "prompts" and _facts(baseline) and _facts(candidate)
    if name in _OF_BOXES:
        if all(value in (None, _NONE) for value in (*one.values(), *other.values())):
            return []
        one, other = _both(one, other)
        known = [bool(one), bool(other)]
    elif not any(known) and (ours or name == "timeout"):
        return []  # neither has any: a solver of a user's own sends no sampling
    if name == "dataset":
        one, other = _shared(one, other)
    if not all(known) or not (one or other):
        return None
    return [
        f"{name}: {_named(key, name)}{_shown(one.get(key))} in the baseline, "
        f"{_shown(other.get(key))} in the candidate"
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key) and _LEFT not in (one.get(key), other.get(key))
    ]


def _shared(one: Said, other: Said) -> tuple[Said, Said]:
    """What both say of the dataset: the first hash that both have, else name and revision.

    Nothing where they have no word in common: then nobody knows.
    """
    names = [name for name in _HASHES if name in one and name in other][:1]
    if not names and not any(name in said for name in _HASHES for said in (one, other)):
        names = [*one]
    return {name: one[name] for name in names}, {name: other[name] for name in names}


def _named(key: str, field: str) -> str:
    return "" if key == field else f"{key} "


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    short = _DIGEST.sub(r"\1…", str(value))
    return showable(short, _SHOWN).replace("\n", " ")
