"""Three small benchmarks for the example suites; their rows are ours."""

from pytest_nel import ScorerInput, VerifyResult, benchmark, exact_match, fuzzy_match, scorer

_CAPITALS = [
    {"country": "France", "target": "Paris"},
    {"country": "Japan", "target": "Tokyo"},
    {"country": "Italy", "target": "Rome"},
    {"country": "Peru", "target": "Lima"},
]
_OPPOSITES = [
    {"word": "hot", "target": "cold"},
    {"word": "early", "target": "late"},
    {"word": "empty", "target": "full"},
    {"word": "north", "target": "south"},
]
_NEXT = [
    {"text": "one, two, three,", "target": "four"},
    {"text": "Monday, Tuesday, Wednesday,", "target": "Thursday"},
    {"text": "spring, summer, autumn,", "target": "winter"},
    {"text": "March, April, May,", "target": "June"},
]


@benchmark(
    name="capitals",
    dataset=_CAPITALS,
    prompt="What is the capital of {country}? Answer in one sentence.",
)
@scorer
def capitals(sample: ScorerInput) -> VerifyResult:
    """Look for the city as a whole word."""
    return fuzzy_match(sample)


@benchmark(
    name="opposites",
    dataset=_OPPOSITES,
    prompt="What is the opposite of '{word}'? Reply with one word.",
)
@scorer
def opposites(sample: ScorerInput) -> VerifyResult:
    """Compare words, case and punctuation aside."""
    return exact_match(sample)


@benchmark(name="next", dataset=_NEXT, prompt="{text}", endpoint_type="completions")
@scorer
def next_word(sample: ScorerInput) -> VerifyResult:
    """A base model goes on with the text: look for the word in it."""
    return fuzzy_match(sample)
