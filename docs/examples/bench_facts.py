"""Questions whose answers a model grades, as SimpleQA does."""

from pytest_nel import Benchmark

facts = Benchmark(
    name="facts",
    dataset=[
        {"question": "Who wrote 'Faust'?", "target": "Johann Wolfgang von Goethe"},
        {"question": "Which element has the symbol W?", "target": "tungsten"},
        {"question": "In which year did the Berlin Wall fall?", "target": "1989"},
    ],
    prompt="{question}",
    judge="simpleqa",
)
