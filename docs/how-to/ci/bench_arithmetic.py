"""A thousand sums, differences and products: put your own benchmark in its place."""

from pytest_nel import ScorerInput, benchmark, numeric_match, scorer


def _row(number: int) -> dict[str, str]:
    """The same for each run: two runs can only be compared on the same questions."""
    left, right = 100 + 37 * number % 900, 10 + number % 89
    kind, sign, gold = (
        ("sum", "+", left + right),
        ("difference", "-", left - right),
        ("product", "*", left * right),
    )[number % 3]
    question = f"{left} {sign} {right}"
    return {"id": f"{number}", "question": question, "target": f"{gold}", "category": kind}


@benchmark(
    name="arithmetic",
    dataset=[_row(number) for number in range(1000)],
    prompt="What is {question}? Answer with the number alone.",
)
@scorer
def arithmetic(sample: ScorerInput) -> object:
    """Compare as numbers: 1,200 is 1200."""
    return numeric_match(sample)
