"""What docstrings say about fields."""

from pytest_nel.config.describe import field_texts, nested_models
from pytest_nel.config.schema import BenchmarkConfig, Generation, Model, RunConfig


class Options(Model):
    """Of something.

    Attributes:
        one: The first,
            in two lines.
        two: The second.

    Raises:
        three: No field.
    """

    one: int
    two: list[Generation | None]


class More(Options):
    """Without a section of its own."""


def test_the_attributes_of_a_docstring_are_read() -> None:
    texts = {"one": "The first, in two lines.", "two": "The second."}

    assert field_texts(Options) == texts
    assert field_texts(More) == texts


def test_models_are_found_in_any_kind_of_field() -> None:
    assert nested_models(Options) == {"Generation": Generation}
    assert nested_models(RunConfig)["BenchmarkConfig"] is BenchmarkConfig
