"""Text and answer are both looked at."""

from pathlib import Path

assert Path("text.txt").read_text().split("\n") == ["red green", "blue red", "red", ""]
assert Path("answer.txt").read_text().split() == ["red", "3"]
