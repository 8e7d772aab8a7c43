"""Basics: 72 short questions of ours, to see that everything works from prompt to summary.

24 sums and products, 24 multiple-choice questions with the right letter spread evenly over A to D,
24 facts of one or two words. Written for this project, Apache-2.0 like the rest of it; no file is
downloaded. It is a smoke test: a small model gets some of it right and some of it wrong, a large
one gets nearly everything, and 24 questions a category tell no two good models apart.
"""

from collections.abc import Iterator
from typing import Any

from pytest_nel import (
    ScorerInput,
    VerifyResult,
    benchmark,
    fuzzy_match,
    mcq_extract,
    numeric_match,
    scorer,
)

_ARITHMETIC = (
    ("2 + 3", 5),
    ("7 + 5", 12),
    ("9 + 8", 17),
    ("14 + 6", 20),
    ("25 + 17", 42),
    ("38 + 45", 83),
    ("126 + 59", 185),
    ("415 + 388", 803),
    ("9 - 4", 5),
    ("15 - 7", 8),
    ("20 - 12", 8),
    ("53 - 28", 25),
    ("100 - 36", 64),
    ("502 - 147", 355),
    ("3 * 4", 12),
    ("6 * 7", 42),
    ("8 * 9", 72),
    ("12 * 11", 132),
    ("15 * 14", 210),
    ("23 * 17", 391),
    ("12 / 3", 4),
    ("45 / 9", 5),
    ("84 / 7", 12),
    ("144 / 16", 9),
)
_SPOKEN = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}

_CHOICE = (
    ("Which of these is an animal?", "a horse", "a stone", "a spoon", "a cloud"),
    ("Which of these can fly?", "a sparrow", "a snail", "a sheep", "a goldfish"),
    ("Which month comes right after March?", "April", "February", "June", "October"),
    ("Which of these is a fruit?", "a pear", "a potato", "a pebble", "a pillow"),
    ("How many legs does a spider have?", "eight", "four", "six", "ten"),
    ("What do bees make?", "honey", "milk", "paper", "salt"),
    ("Which of these is the largest?", "the Sun", "the Moon", "a bus", "the Earth"),
    ("Which of these is frozen water?", "ice", "steam", "sand", "oil"),
    ("Which continent is Egypt in?", "Africa", "Europe", "South America", "Australia"),
    ("Which planet is known for its rings?", "Saturn", "Mars", "Mercury", "Venus"),
    ("Which gas do plants take in from the air?", "carbon dioxide", "helium", "neon", "argon"),
    ("What is the opposite of 'ancient'?", "modern", "heavy", "quiet", "narrow"),
    ("Who wrote 'Hamlet'?", "William Shakespeare", "Leo Tolstoy", "Jane Austen", "Homer"),
    ("Which of these is a prime number?", "13", "12", "15", "21"),
    ("What does a thermometer measure?", "temperature", "weight", "distance", "time"),
    ("Which organ pumps blood?", "the heart", "the lung", "the liver", "the stomach"),
    ("Which shape has three sides?", "a triangle", "a square", "a circle", "a hexagon"),
    ("Which metal is attracted by a magnet?", "iron", "gold", "silver", "copper"),
    (
        "Which ocean lies between Europe and North America?",
        "Atlantic",
        "Pacific",
        "Indian",
        "Arctic",
    ),
    ("Which of these is a mammal?", "a whale", "a shark", "a lizard", "a penguin"),
    ("Which of these is a colour?", "purple", "Monday", "a banana", "a river"),
    ("Which instrument has black and white keys?", "a piano", "a drum", "a violin", "a trumpet"),
    ("Which unit measures electric current?", "ampere", "metre", "kilogram", "litre"),
    ("Which country has the city of Kyoto?", "Japan", "Brazil", "Norway", "Kenya"),
)
# Where the right option stands in the list; each letter six times, in no order.
_GOLD = "CADBDBACBACDADBCCBDABDAC"

_FACTS = (
    ("What is the capital of France?", "Paris"),
    ("What is the capital of Japan?", "Tokyo"),
    ("What is the capital of Italy?", "Rome"),
    ("What is the capital of Canada?", "Ottawa"),
    ("What is the capital of Australia?", "Canberra"),
    ("What is the capital of Turkey?", "Ankara"),
    ("What is the chemical symbol for gold?", "Au"),
    ("What is the chemical formula of water?", "H2O", "H₂O"),
    ("Which planet is closest to the Sun?", "Mercury"),
    ("Which planet is the largest in the solar system?", "Jupiter"),
    ("What is the tallest mountain above sea level?", "Everest", "Sagarmatha", "Chomolungma"),
    ("What is the largest ocean on Earth?", "Pacific"),
    ("Who painted the Mona Lisa?", "Leonardo da Vinci", "da Vinci", "Leonardo"),
    ("Who developed the theory of general relativity?", "Albert Einstein", "Einstein"),
    ("Who was the first person to walk on the Moon?", "Neil Armstrong", "Armstrong"),
    ("Which language is spoken by most people in Brazil?", "Portuguese"),
    (
        "What is the currency of the United Kingdom?",
        "pound",
        "pound sterling",
        "pounds",
        "sterling",
        "GBP",
    ),
    ("How many days are there in a leap year?", "366", "three hundred sixty-six"),
    ("How many sides does a hexagon have?", "six", "6"),
    ("What colour do you get by mixing blue and yellow paint?", "green"),
    ("Which animal is the largest on Earth?", "blue whale", "blue whales"),
    ("What is the freezing point of water in degrees Celsius?", "0", "zero"),
    ("In which year did the Second World War end?", "1945"),
    ("Which river flows through Cairo?", "Nile"),
)


def rows() -> list[dict[str, Any]]:  # Any: a row holds texts and lists of them
    """All 72 problems; ``prompt`` is the question with the instruction for its category."""
    return [*_arithmetic(), *_choice(), *_facts()]


def _arithmetic() -> Iterator[dict[str, Any]]:
    for number, (sum_, answer) in enumerate(_ARITHMETIC):
        left, sign, right = sum_.split()
        question = f"What is {left} {_SPOKEN[sign]} {right}?"
        yield {
            "id": f"arithmetic-{number}",
            "category": "arithmetic",
            "question": question,
            "prompt": f"{question} Reply with the number only.",
            "answer": str(answer),
        }


def _choice() -> Iterator[dict[str, Any]]:
    for number, (question, right, *wrong) in enumerate(_CHOICE):
        gold = _GOLD[number]
        place = "ABCD".index(gold)
        choices = [*wrong[:place], right, *wrong[place:]]
        options = "\n".join(
            f"{letter}) {text}" for letter, text in zip("ABCD", choices, strict=True)
        )
        yield {
            "id": f"choice-{number}",
            "category": "multiple choice",
            "question": question,
            "choices": choices,
            "prompt": f"Question: {question}\n{options}\n"
            "End with 'Answer: ' and the letter of the right option.",
            "answer": gold,
        }


def _facts() -> Iterator[dict[str, Any]]:
    for number, (question, *answers) in enumerate(_FACTS):
        yield {
            "id": f"fact-{number}",
            "category": "fact",
            "question": question,
            "prompt": f"{question} Reply with the answer only, in one or two words.",
            "answer": answers[0],
            "correct_answers": answers,
        }


_SCORERS = {"arithmetic": numeric_match, "multiple choice": mcq_extract, "fact": fuzzy_match}


@benchmark(name="basics", dataset=rows, prompt="{prompt}", target_field="answer")
@scorer
def basics(sample: ScorerInput) -> VerifyResult:
    """Compare numbers as numbers, letters as letters, and look for the fact as whole words."""
    return _SCORERS[sample.metadata["category"]](sample)
