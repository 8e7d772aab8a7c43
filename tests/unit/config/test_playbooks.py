"""Settings that an entry of ``benchmarks`` builds on."""

from pathlib import Path

import pytest

from tests.unit.config.test_compose import complaint, composed, write


def test_a_playbook_stands_below_the_entry_that_names_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": (
                "benchmarks:\n  - playbook: books/math.yaml\n    repeats: 2\n"
                "    shuffle_seed: null\n"
            ),
            "books/math.yaml": (
                "name: gsm8k\nrepeats: 4\nshuffle_seed: 1\nsolver: {type: simple, service: model}\n"
            ),
        },
    )

    suite = composed(tmp_path, "main.nel.yaml", "benchmarks[0].solver.service=other")

    assert suite.value["benchmarks"] == [
        {
            "name": "gsm8k",
            "repeats": 2,
            "shuffle_seed": None,
            "solver": {"type": "simple", "service": "other"},
        }
    ]
    assert str(suite.at(("benchmarks", 0, "name"))) == f"{tmp_path}/books/math.yaml:1"


def test_an_override_may_name_another_playbook(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": "benchmarks: [{playbook: one.yaml}]\n",
            "one.yaml": "name: one\nparams: {a: 1}\n",
            "two.yaml": "name: two\n",
        },
    )

    value = composed(tmp_path, "main.nel.yaml", "benchmarks[0].playbook=two").value

    assert value["benchmarks"] == [{"name": "two"}]


@pytest.mark.parametrize(
    ("playbook", "said"),
    [
        ("gone", "main.nel.yaml:1: playbook: no playbook 'gone' comes along, and no file in"),
        ("[a]", "expected a plain name or path, got a list"),
        ("'${NAME}'", "expected a plain name or path"),
        ("words", "words.yaml:1: expected a mapping with the keys of a benchmark"),
        ("nested", "nested.yaml:1: a playbook names no other"),
    ],
)
def test_what_is_no_playbook_is_refused(tmp_path: Path, playbook: str, said: str) -> None:
    write(
        tmp_path,
        {
            "main.nel.yaml": f"benchmarks: [{{playbook: {playbook}}}]\n",
            "words.yaml": "words\n",
            "nested.yaml": "playbook: words\n",
        },
    )

    assert said in complaint(tmp_path)
