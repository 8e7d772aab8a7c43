"""Exporters by name: what is refused before a run begins, and in which words."""

from pathlib import Path
from typing import ClassVar

import pytest

from pytest_nel.config.load import parse_suite
from pytest_nel.config.schema import Model
from pytest_nel.core.errors import ConfigError
from pytest_nel.exporters.chosen import exporter_of, refuse_exports, run_export
from pytest_nel.exporters.protocol import Bundle
from tests.support.stored import write_run
from tests.unit.exporters.made import bundle_in

SUITE = """services: {m: {type: api, url: "http://x/v1", model: m, protocol: chat_completions}}
benchmarks: [{name: basics, solver: {type: simple, service: m}}]
output:
"""
HERE = f"{__name__}"


class Plain:
    """Takes its options as arguments, and fails at one benchmark."""

    def __init__(self, where: str = "there") -> None:
        self.where = where

    def export(self, bundle: Bundle) -> str:
        """Say where."""
        if bundle.benchmark == "broken":
            msg = "no room for sk-0123456789abcdef\nat all"
            raise RuntimeError(msg)
        return f"{self.where}/{bundle.benchmark}"


class Needing:
    """Needs what nobody has."""

    requires: ClassVar[tuple[str, str]] = ("no_such_package", "mlflow")

    class Config(Model):
        """None."""

    def export(self, bundle: Bundle) -> str:
        """Never called."""
        raise NotImplementedError(bundle)


def complaint(output: str, env: dict[str, str] | None = None) -> str:
    suite = parse_suite(f"{SUITE}{output}", "s.yaml", env)
    with pytest.raises(ConfigError) as caught:
        refuse_exports(suite)
    return str(caught.value)


def test_a_missing_package_is_named_with_the_way_to_get_it() -> None:
    message = complaint(f"  export: ['{HERE}:Needing']\n")

    assert message == (
        f"s.yaml:4: output.export[0]: exporter '{HERE}:Needing' needs the package no_such_package, "
        "which is missing: pip install 'pytest-nel[mlflow]'"
    )


def test_an_unknown_exporter_gets_a_suggestion() -> None:
    message = complaint("  export:\n  - mlfow\n")

    assert message.startswith("s.yaml:5: output.export[0]: no exporter is called 'mlfow'.")
    assert "Did you mean 'mlflow'? Known: inspect, mlflow, wandb" in message
    assert "package.module:Class" in message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("wandb: {projct: x}", "wandb.projct: unknown option. Did you mean 'project'?"),
        ("wandb: {tags: x}", "wandb.tags: expected a list, got 'x'"),
        ("inspect: {format: xml}", "inspect.format: expected one of 'eval' or 'json', got 'xml'"),
        ("mlfow: {}", "mlfow: no exporter is called 'mlfow'. Did you mean 'mlflow'?"),
        (
            "mlflow: {tracking_uri: 'https://me:pass@host'}",
            "mlflow.tracking_uri: there is a user name or password in it",
        ),
        (
            "mlflow: {tags: {x: '${MY_TOKEN}'}}",
            "mlflow.tags.x: MY_TOKEN is a secret, and what stands here may be exported",
        ),
        (f"'{HERE}:Plain': {{were: x}}", "Plain does not take these options: got an unexpected"),
        ("'no.such:Thing': {}", "'no.such:Thing' cannot be imported: ModuleNotFoundError"),
        (f"'{HERE}:HERE': {{}}", "is no exporter: expected a class with a method export(bundle)"),
    ],
)
def test_options_are_looked_at_before_anything_is_measured(options: str, said: str) -> None:
    message = complaint(f"  export_config:\n    {options}\n", {"MY_TOKEN": "sk-0123456789abcdef"})

    assert message.startswith("s.yaml:5: output.export_config.")
    assert said in message
    assert "pass@" not in message
    assert "sk-0123" not in message


def test_options_of_an_exporter_that_is_not_asked_need_no_package() -> None:
    suite = parse_suite(f"{SUITE}  export_config: {{'{HERE}:Needing': {{}}}}\n", "s.yaml")

    refuse_exports(suite)


@pytest.mark.parametrize("code", [0, None, 3])
def test_an_exporter_that_exits_has_failed(tmp_path: Path, code: int | None) -> None:
    class Leaving:
        def export(self, bundle: Bundle) -> str:
            del bundle
            raise SystemExit(code)

    write_run(tmp_path / "one", [1.0], name="one")

    done = [*run_export(Leaving(), [bundle_in(tmp_path / "one", [])])]

    assert [(one.text, one.failed) for one in done] == [(f"it called sys.exit({code!r})", True)]


def test_one_bundle_that_fails_keeps_no_other_from_being_exported(tmp_path: Path) -> None:
    bundles = []
    for name in ("one", "broken", "two"):
        write_run(tmp_path / name, [1.0], name=name)
        bundles.append(bundle_in(tmp_path / name, ["sk-0123456789abcdef"]))
    exporter = exporter_of(f"{HERE}:Plain", {"where": "here"}, "-d")

    done = [*run_export(exporter, bundles)]

    assert [(one.text, one.failed) for one in done] == [
        ("here/one", False),
        ("RuntimeError: no room for [API key] at all", True),
        ("here/two", False),
    ]


class Talkative(Plain):
    """Says much of what went wrong."""

    def export(self, bundle: Bundle) -> str:
        """Fail."""
        raise RuntimeError(f"{bundle.benchmark}\n" * 1000)


def test_a_long_error_is_one_short_line(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [1.0], name="sums")

    (done,) = run_export(Talkative(), [bundle_in(tmp_path / "a", [])])

    assert done.failed
    assert done.text.startswith("RuntimeError: sums sums")
    assert len(done.text) <= 200
    assert "\n" not in done.text
