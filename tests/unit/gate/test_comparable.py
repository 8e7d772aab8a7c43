"""Which fields of two bundles must be the same, and what is not known on both sides."""

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_nel.gate.comparable import FIELDS, MUST_MATCH, compared
from tests.support.stored import FINGERPRINT


def bundle(**changed: Any) -> dict[str, Any]:
    return {"fingerprint": {**FINGERPRINT, **changed}, "benchmark": {"name": "b", "repeats": 1}}


REFERENCE: Mapping[str, Any] = {
    "config": {"model": "m", "temperature": 0.0},
    "benchmark": {"name": "b", "repeats": 1},
}


def test_equal_bundles_differ_in_nothing() -> None:
    found = compared(bundle(), bundle(), FIELDS)

    assert (found.different, found.unknown, found.allowed) == ([], [], [])


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"rows_hash": "x"}, "dataset: rows_hash sha256:rows in the baseline, x in the candidate"),
        ({"seeds": "x"}, "prompts: seeds sha256:seeds in the baseline, x in the candidate"),
        ({"extra": "x"}, "scorer: extra  in the baseline, x in the candidate"),
        ({"scorers": ["f1"]}, "scorer: scorers nothing in the baseline, ['f1'] in the candidate"),
        (
            {"sampling": [{"temperature": 0.0, "top_p": 0.5}]},
            "sampling: top_p nothing in the baseline, 0.5 in the candidate",
        ),
        (
            {"sampling": [{"temperature": 0.0}, {"temperature": 1.0}]},
            "sampling: temperature 0.0 in the baseline, [0.0, 1.0] in the candidate",
        ),
    ],
)
def test_each_difference_is_a_line_with_both_values(changed: Mapping[str, Any], line: str) -> None:
    assert compared(bundle(), bundle(**changed), MUST_MATCH).different == [line]


def test_the_order_of_what_was_sent_is_nothing() -> None:
    one, other = [{"temperature": 0.0}, {"temperature": 1.0}], [{"temperature": 1.0}]

    found = compared(bundle(sampling=one), bundle(sampling=[*other, one[0]]))

    assert found.different == []


@pytest.mark.parametrize(("inside", "refused"), [(True, True), (False, False)])
def test_the_time_of_attempts_must_be_the_same_where_they_are_made_in_sandboxes(
    *, inside: bool, refused: bool
) -> None:
    facts = {"sandbox.type": "docker"} if inside else {}
    sides = [
        {**bundle(answering={"solver.type": "agent", **facts}), "config": {"timeout": seconds}}
        for seconds in (600, 3600)
    ]

    found = compared(*sides)

    line = "timeout: 600 s in the baseline, 3600 s in the candidate"
    assert found.different == ([line] if refused else [])
    assert "timeout" not in found.unknown


BOX = {"type": "docker", "memory": "256m", "images": "sha256:one"}


def boxed(answers: Mapping[str, Any] | None, judgements: Mapping[str, Any] | None) -> Any:
    facts = {f"sandbox.{name}": value for name, value in (answers or {}).items()}
    more = {} if judgements is None else {"judged_in": judgements}
    return bundle(answering={**FINGERPRINT["answering"], **facts}, **more)


SMALL, NEW = BOX | {"memory": "64m"}, BOX | {"images": "sha256:two"}
MEMORY = "sandbox: memory of {} 256m in the baseline, 64m in the candidate"
IMAGE = "image: images of {} sha256:one in the baseline, sha256:two in the candidate"


@pytest.mark.parametrize(
    ("one", "other", "lines"),
    [
        (boxed(BOX, BOX), boxed(BOX, BOX), []),
        (boxed({}, BOX), boxed({}, SMALL), [MEMORY.format("judgements")]),
        (boxed(BOX, {}), boxed(SMALL, {}), [MEMORY.format("answers")]),
        (boxed(BOX, BOX), boxed(BOX, SMALL), [MEMORY.format("judgements")]),  # judged anew
        (boxed({}, BOX), boxed({}, NEW), [IMAGE.format("judgements")]),
        (
            boxed({"type": "local"}, {}),
            boxed({}, {}),
            ["sandbox: type of answers local in the baseline, none in the candidate"],
        ),
    ],
)
def test_sandboxes_must_be_the_same(one: Any, other: Any, lines: list[str]) -> None:
    found = compared(one, other)

    assert found.different == lines
    assert not {"sandbox", "image"} & {*found.unknown}


@pytest.mark.parametrize(
    ("one", "other", "unknown"),
    [
        (REFERENCE, bundle(judged_in={}), False),  # neither was in any, as far as anybody knows
        (REFERENCE, boxed(BOX, BOX), True),
        (boxed(BOX, None), boxed(BOX, BOX), False),  # of judgements one side says nothing
        (boxed({}, None), boxed({}, BOX), False),
    ],
)
def test_of_sandboxes_only_what_both_sides_say_is_compared(
    one: Any, other: Any, *, unknown: bool
) -> None:
    found = compared(one, other)

    assert [line for line in found.different if line.startswith(("sandbox", "image"))] == []
    assert ("sandbox" in found.unknown) is unknown


def test_an_image_may_be_allowed_to_differ_and_limits_not() -> None:
    both = SMALL | {"images": "sha256:two"}

    found = compared(boxed({}, BOX), boxed({}, both), allowed=["image"])

    assert found.allowed == ["image"]
    assert [line.split(":")[0] for line in found.different] == ["sandbox"]


def test_what_one_side_does_not_say_is_unknown() -> None:
    found = compared(REFERENCE, bundle())

    assert found.different == []
    assert found.unknown == ["dataset", "prompts", "scorer", "solver", "interceptors"]


def test_what_the_reference_system_does_say_is_compared() -> None:
    other = {**REFERENCE, "config": {"model": "m", "temperature": 1.0}}

    assert compared(other, bundle()).different == [
        "sampling: temperature 1.0 in the baseline, 0.0 in the candidate"
    ]


def test_a_difference_that_is_allowed_is_named_apart() -> None:
    found = compared(bundle(), bundle(rows_hash="x", pass_at=0.5), allowed=["dataset", "model"])

    assert found.allowed == ["dataset"]
    assert [line.split(":")[0] for line in found.different] == ["scorer"]


def test_an_allowance_for_what_does_not_differ_is_nothing() -> None:
    assert compared(bundle(), bundle(), allowed=FIELDS).allowed == []


def hashed(**facts: str) -> dict[str, Any]:
    whole = {**bundle(), "fingerprint": {**FINGERPRINT, **facts}}
    if "rows_hash" not in facts:
        del whole["fingerprint"]["rows_hash"]
    return whole


def test_hashes_of_different_kinds_leave_the_dataset_unknown() -> None:
    found = compared(hashed(rows_hash="r"), hashed(content_hash="c"), ["dataset"])

    assert (found.different, found.unknown) == ([], ["dataset"])


def test_a_hash_and_a_revision_leave_it_unknown_as_well() -> None:
    found = compared(hashed(rows_hash="r"), hashed(dataset="d", revision="1"), ["dataset"])

    assert (found.different, found.unknown) == ([], ["dataset"])


def test_the_hash_that_both_have_is_compared() -> None:
    both = hashed(rows_hash="r", content_hash="c")

    found = compared(both, hashed(content_hash="x"), ["dataset"])

    assert found.different == ["dataset: content_hash c in the baseline, x in the candidate"]


def test_of_two_hashes_the_rows_that_are_asked_about_count() -> None:
    """A file with more rows than are asked about is another file and the same benchmark."""
    one, other = (hashed(rows_hash="r", content_hash=content) for content in "cd")

    found = compared(one, other, ["dataset"])

    assert (found.different, found.unknown) == ([], [])


def test_revisions_are_compared_where_there_is_no_hash() -> None:
    one, other = (hashed(dataset="d", revision=name) for name in "12")

    found = compared(one, other, ["dataset"])

    assert found.different == ["dataset: revision 1 in the baseline, 2 in the candidate"]


def answered_by(**more: Any) -> dict[str, Any]:
    answering = {**FINGERPRINT.get("answering", {}), "solver.type": "simple", **more}
    return bundle(answering=answering, sampling=[{}])


def test_runs_with_other_interceptors_are_not_comparable() -> None:
    other = answered_by(**{"service.interceptors": "sha256:1"})

    found = compared(answered_by(), other)

    assert found.different == [
        "interceptors: none in the baseline, sha256:1 in the candidate",
    ]
    assert compared(other, other).different == []
    assert compared(answered_by(), other, allowed=["interceptors"]).different == []


def test_that_nothing_was_sent_is_known_and_differs_from_what_was() -> None:
    warm = answered_by() | {}
    warm["fingerprint"] = {**warm["fingerprint"], "sampling": [{"temperature": 0.9}]}

    found = compared(answered_by(), warm)

    line = "sampling: temperature nothing in the baseline, 0.9 in the candidate"
    assert found.different == [line]
    assert "sampling" not in found.unknown
    assert compared(answered_by(), answered_by()).different == []
