"""The JSON schema of suite files, and the page made from the same models."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_nel.cli.main import main
from pytest_nel.config._document import read_document
from pytest_nel.config.fields_page import fields_page
from pytest_nel.config.json_schema import suite_schema
from pytest_nel.engine.plugin_options import option_models
from pytest_nel.sandboxes import REGISTRY as SANDBOXES
from pytest_nel.services import REGISTRY as SERVICES
from pytest_nel.solvers import REGISTRY as SOLVERS

ROOT = Path(__file__).parents[3]
GOOD = {
    "_mine": {"anything": [1]},
    "services": {
        "model": {
            "type": "api",
            "url": "http://localhost:8000/v1/chat/completions",
            "protocol": "chat_completions",
            "api_key": "${KEY}",
            "generation": {"temperature": 0.5, "max_tokens": "${MAX_TOKENS}"},
        },
        "served": {"type": "llama_cpp", "threads": "${.services.served.parallel}"},
        "judges": {"type": "gym", "benchmark": "humaneval", "sandbox": {"type": "docker"}},
    },
    "benchmarks": [
        {"name": "basics", "repeats": "???", "solver": {"type": "simple", "service": "model"}},
        {"name": "basics", "playbook": "quick"},
    ],
    "output": {"timestamped": False},
    "cluster": {"type": "local"},
}


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = suite_schema(option_models(SERVICES), option_models(SOLVERS), option_models(SANDBOXES))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def changed(path: list[str | int], value: object) -> Any:
    suite: Any = copy.deepcopy(GOOD)
    at = suite
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return suite


def test_a_suite_with_references_variables_and_playbooks_is_valid(
    validator: jsonschema.Draft202012Validator,
) -> None:
    assert list(validator.iter_errors(GOOD)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["benchmark"], []),
        (["benchmarks", 0, "repeat"], 3),
        (["benchmarks", 0, "repeats"], "many"),
        (["benchmarks", 0, "solver", "system_promt"], "x"),
        (["benchmarks", 0, "solver", "type"], "simpel"),
        (["benchmarks", 0, "solver"], {"type": "simple"}),
        (["benchmarks", 0], {"solver": {"type": "simple", "service": "model"}}),
        (["benchmarks", 1, "repeat"], 3),
        (["services", "model", "thread"], 1),
        (["services", "judges", "sandbox", "memry"], "2g"),
        (["services", "model", "threads"], 1),
        (["services", "model", "generation", "temprature"], 1),
        (["services", "model", "type"], "apy"),
        (["services", "served", "threads"], 0),
        (["output", "reports"], ["html"]),
        (["cluster", "type"], "slurm"),
    ],
)
def test_a_misspelt_key_or_a_wrong_value_is_not(
    validator: jsonschema.Draft202012Validator, path: list[str | int], value: object
) -> None:
    assert list(validator.iter_errors(changed(path, value))) != []


@pytest.mark.parametrize("name", ["release.nel.yaml", "smoke.nel.yaml", "base.yaml"])
def test_our_examples_are_valid(validator: jsonschema.Draft202012Validator, name: str) -> None:
    text = (ROOT / "docs/examples/compose" / name).read_text(encoding="utf-8")

    assert list(validator.iter_errors(read_document(text).value)) == []


def test_a_file_with_defaults_may_leave_out_what_its_bases_say_but_not_misspell(
    validator: jsonschema.Draft202012Validator,
) -> None:
    part: Any = {
        "defaults": ["services/fast", {"_base_": "base"}, "_self_"],
        "services": {"model": {"timeout": 5, "api_key": None}, "judge": None},
    }

    assert list(validator.iter_errors(part)) == []
    assert list(validator.iter_errors({**part, "defaults": [{"_bas_": "x"}]})) != []
    assert list(validator.iter_errors({**part, "benchmark": []})) != []
    assert list(validator.iter_errors({**part, "output": {"dirr": "x"}})) != []


def test_each_field_of_the_schema_is_described(
    validator: jsonschema.Draft202012Validator,
) -> None:
    defs = validator.schema["$defs"]

    assert defs["service.api"]["properties"]["url"]["description"].startswith("The full request")
    assert defs["BenchmarkConfig"]["properties"]["strict"]["description"]


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["config", "schema"])

    assert status == 0
    assert json.loads(capsys.readouterr().out)["title"] == "A suite of pytest-nel"


def test_the_page_of_all_fields_is_what_the_models_say() -> None:
    page = (ROOT / "docs/reference/suite-fields.md").read_text(encoding="utf-8")

    made = fields_page(option_models(SERVICES), option_models(SOLVERS), option_models(SANDBOXES))

    assert page == made, "write it again: nel config schema --markdown > docs/reference/…"


def test_every_field_says_what_it_means() -> None:
    page = fields_page(option_models(SERVICES), option_models(SOLVERS), option_models(SANDBOXES))

    assert [line for line in page.splitlines() if line.endswith("|  |")] == []
