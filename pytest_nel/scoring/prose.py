"""Where an answer ends and words about it begin.

An answer may only be cut before words that cannot be a part of it: no digit, sign, bracket,
command or name may be lost, and no word that adds, replaces or restricts a value ("or", "but",
"seven", "otherwise"). What remains in doubt is not cut: a wrong answer that counts is worse than
a right one that does not.
"""

import re
from collections.abc import Iterator

from pytest_nel.scoring.markers import clean
from pytest_nel.scoring.number import parse_quantity

_SENTENCE = re.compile(r"(.*?[^\s.])[.!?](?=\s)", re.DOTALL)
_CUT = re.compile(
    r"[(;]|,(?!\d)|[–—](?=\s{0,4}[^\W\d_]{2})|(?<=\s)(?=(?:because|since|as|which|so|for|per|in|each)\b)"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*+")
_BETWEEN = re.compile(r"[\s,;:.!?\"“”'’–—]*+")
_SHORT_WORDS = frozenset("aAI")
_EXPLAINING = (
    "because since as which so where who whose that it she he they we this these those there thus "
    "hence therefore after given per in each for"
)
_EXPLAINS = frozenset(_EXPLAINING.split())
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion half halves third thirds quarter quarters both "
    "double twice triple infinity infinite infinitely undefined none nothing nobody"
)
_OPERATIONS = (
    "pi tau sin cos tan cot sec csc log ln exp sqrt root roots mod modulo base plus minus times "
    "over squared cubed factorial choose divided multiplied negative percent remainder power"
)
_ALTERS = (
    "or nor not no but otherwise else if unless when whenever except wait actually however instead "
    "rather wrong incorrect mistake never cannot neither either also respectively maybe perhaps "
    "possibly alternatively less more than until sorry correction and"
)
_FORBIDDEN = frozenset(f"{_NUMBERS} {_OPERATIONS} {_ALTERS}".split())
# A reason may hold numbers, as long as it is one clause.
_REASON = re.compile(r"\(?(?:because|since)\b(?P<clause>[^,;:.!?()]*+)\)?", re.IGNORECASE)


def beginnings(text: str) -> list[str]:
    """The first sentence, and what stands before the first comma, bracket or explaining word."""
    return [head for head, _, _ in _splits(text)]


def without_prose(text: str) -> list[str]:
    """The beginnings of the text behind which there is nothing but words about it.

    The first sentence may be any answer; within a sentence it must be a number.
    """
    found = []
    for head, rest, in_sentence in _splits(text):
        if not in_sentence:
            if _is_sentence(rest):
                found.append(head)
        elif parse_quantity(clean(head)) is not None and _explains(rest):
            found.append(head)
    return found


def _splits(text: str) -> Iterator[tuple[str, str, bool]]:
    """Beginning, rest, and whether the cut is within a sentence."""
    sentence = _SENTENCE.match(text)
    head, further = text, ""
    if sentence:
        head, further = sentence[1], text[sentence.end() :]
        yield head, further, False
    cut = _CUT.search(head)
    if cut and (not further or _is_sentence(further)):
        yield head[: cut.start()], head[cut.start() :].strip(), True


def _explains(rest: str) -> bool:
    reason = _REASON.fullmatch(rest.lstrip(",;–— "))
    if reason and not _ALTERING.intersection(_lower(reason["clause"])):
        return True
    if rest.startswith("("):
        if not rest.endswith(")"):
            return False
        rest = rest[1:-1]
    words = _prose(rest)
    return bool(words) and words[0].casefold() in _EXPLAINS and len(words) > 1


def _is_sentence(rest: str) -> bool:
    """Names alone ("Paris. London.") are a second answer, not a sentence about the first."""
    words = _prose(rest)
    return len(words) > 1 and any(not word[0].isupper() for word in words)


def _prose(text: str) -> list[str]:
    """The words of a text that is nothing but harmless words, else none."""
    words: list[str] = []
    position = _end(_BETWEEN, text, 0)
    while position < len(text):
        word = _WORD.match(text, position)
        if word is None or not _harmless(word[0]):
            return []
        words.append(word[0])
        position = _end(_BETWEEN, text, word.end())
    return words


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _harmless(word: str) -> bool:
    letters = word.replace("'", "").replace("’", "").replace("-", "")
    if not letters.isalpha():  # superscripts count as letters of words in regular expressions
        return False
    if len(letters) == 1:
        return word in _SHORT_WORDS or not letters.isascii()
    parts = re.split(r"['’-]", word.casefold())
    return not _FORBIDDEN.intersection(parts) and "t" not in parts[1:]


def _lower(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


_ALTERING = frozenset(_ALTERS.split()) - {"than", "more", "less"}
