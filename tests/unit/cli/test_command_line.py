"""The stored words of a run: they mean the same options again, and hold no secret."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.cli._command_line import (
    add_options,
    add_run_arguments,
    pytest_arguments,
    resumed,
    without_secrets,
    words_of,
)


def parsed(*words: str) -> argparse.Namespace:
    """What ``nel eval run`` makes of them."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_run_arguments(parser)
    return parser.parse_args(words)


def anew(*words: str, rest: tuple[str, ...] = ()) -> argparse.Namespace:
    """What ``nel eval resume`` makes of them."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_options(parser, without=("output-dir", "resume", "bench"))
    options = parser.parse_args(words)
    options.rest = list(rest)
    return options


_value = st.text(max_size=10)


@given(
    prompt=_value,
    least=st.lists(_value, max_size=3),
    verbose=st.integers(0, 3),
    strict=st.booleans(),
)
def test_words_mean_the_options_that_they_were_made_of(
    prompt: str, least: list[str], verbose: int, *, strict: bool
) -> None:
    words = ["s.nel.yaml", f"--system-prompt={prompt}", *(f"--min={one}" for one in least)]
    options = parsed(*words, *["-v"] * verbose, *(["--strict"] if strict else []))

    again = parsed(*words_of(options))

    assert again == options


def test_a_resumed_command_has_the_stored_options_and_those_given_anew() -> None:
    stored = ["s.nel.yaml", "--temperature=0.5", "--min=a=0.1", "-v", "--", "-k", "x"]

    options = resumed(stored, anew("--temperature", "0", "--min", "b=0.2", rest=("-x",)))

    assert pytest_arguments(options, options.rest) == [
        *("-p", "nel", "--nel-temperature=0", "--nel-min=a=0.1", "--nel-min=b=0.2"),
        *("-v", "-k", "x", "-x", "s.nel.yaml"),
    ]


def test_an_override_anew_replaces_only_the_one_that_a_secret_was_left_out_of() -> None:
    stored = ["s.yaml", "--override=a.key=***", "--override=b.key=***", "--override=a.n=1"]

    options = resumed(stored, anew("-O", "a.key=${K}", "-O", "a.n=2"))

    assert options.override == ["b.key=***", "a.n=1", "a.key=${K}", "a.n=2"]


def test_what_was_for_one_call_is_not_said_again() -> None:
    stored = ["-b", "basics", "--resume", "--only=wrong", "--rescore"]

    options = resumed(stored, anew())

    assert words_of(options) == ["--bench=basics", "--resume"]


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("--model-url=http://me:pw@host/v1", "--model-url=***"),
        ("--model-url=http://host/v1?api_key=sk-1", "--model-url=***"),
        ("--model-url=http://host:8000/v1", None),
        ("--override=services.m.api_key=sk-1", "--override=services.m.api_key=***"),
        ("--override=services.m.api_key=${MY_KEY}", None),
        ("--override=services.m.url=http://me:pw@host/", "--override=services.m.url=***"),
        ("--override=benchmarks[0].repeats=3", None),
        ("--api-key-env=MY_KEY", None),
        ("--max-tokens=100", None),
        ("--system-prompt=Keep the token: secret=x", None),
        ("--some-plugin-token=abc", "--some-plugin-token=***"),
        ("s.nel.yaml", None),
    ],
)
def test_a_secret_is_left_out_of_what_is_stored(word: str, shown: str | None) -> None:
    assert without_secrets([word]) == [shown or word]


def test_a_secret_that_stands_alone_is_left_out_too() -> None:
    words = ["--", "--plugin-token", "abc", "-k", "x", "--no-token", "-x"]

    assert without_secrets(words) == ["--", "--plugin-token", "***", "-k", "x", "--no-token", "-x"]
