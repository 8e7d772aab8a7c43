"""Multiple choice: ``multichoice_regex`` wants a marker, ``mcq_extract`` is content with less."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.markers import EXPLICIT, is_echo, last_line, marked
from pytest_nel.scoring.verdict import judged, unparsed

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DEFAULT_CHOICES = 4
_LINE_LIMIT = 400

_DECORATION = re.compile(r"\\[a-zA-Z]+|\\[()\[\]]|</?[a-zA-Z]{1,8}>|[*_`$\\{}~]")
_HEAD = re.compile(
    r"[\s(\[<\"“«:：]{0,8}"
    r"(?:(?:is|the|option|choice|letter|answer|alternative|correct)\b[\s(\[\"“:：]{0,6}){0,4}"
    r"(?P<letter>[A-Za-z])(?![A-Za-z0-9À-ɏ])(?P<close>[)\]>\"”».:：,，。、]*)",
    re.IGNORECASE,
)
_SECOND = re.compile(
    r"[\s)\]\"'.,]{0,4}(?:[,;/|&+，、]|\b(?:and|or|und|oder|et|ou|y|o|e)\b|(?<=[,])|\s(?=[A-Z]\W*$))"
    r"[\s(\[\"']{0,4}(?:(?:option|choice|or|and)\s)?[(\[]?"
    r"(?P<second>[A-Za-z])(?![A-Za-z0-9À-ɏ'’])(?P<rest>.{0,40})"
)
_FORMULA = re.compile(r"\s{0,3}[=+^×<]|[-#/][A-Za-z0-9]|['’][a-z]")
_WORD = re.compile(r"\s+[A-Za-zÀ-ɏ]")
_CONNECTIVE = re.compile(
    r"\s+(?:because|since|as|is|are|was|with|for|due|based|from|given)\b", re.IGNORECASE
)
_ALONE = re.compile(
    r"[\s(\[\"'“]{0,6}(?:(?:option|choice)\s{1,3})?[(\[]?(?P<letter>[A-Za-z])[)\]\s.:,\"'”。]{0,6}",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"[\s(\[]{0,4}(?P<letter>[A-Z])[)\].:]{1,2}\s{1,4}\S")
_OTHER_LABEL = re.compile(r"(?<![A-Za-z0-9])[A-Z][).:](?=\s)")


class _Choices(NamedTuple):
    letters: str
    texts: tuple[str, ...]


class _Pick(NamedTuple):
    """A letter; ``""`` when there was one that cannot be the answer, with the reason."""

    letter: str
    reason: str = ""


def multichoice_regex(
    sample: ScorerInput,
    *,
    pattern: str | None = None,
    choices: Sequence[str] | int | None = None,
) -> VerifyResult:
    """Judge the letter behind the last explicit answer marker; without a marker: unparsed.

    Args:
        sample: ``metadata["choices"]`` or ``config["choices"]`` (list or number) says how many
            options there are, else four; ``config["pattern"]`` is the default of ``pattern``.
        pattern: A regular expression instead of our markers: its last match counts, its first
            group is the answer, compared with the target without regard to case.
        choices: The options or their number; wins over the sample's.

    Raises:
        ScorerError: The target is not a letter.
        ConfigError: ``pattern`` is no regular expression.
    """
    method = "multichoice_regex"
    pattern = pattern or sample.config.get("pattern")
    if pattern is not None:
        return _by_pattern(method, sample, pattern)
    options = _choices(method, sample, choices)
    target = _target(method, sample.target)
    pick, rule = _marked_letter(sample.response, options, explicit=True)
    return _verdict(method, pick, rule, target)


def mcq_extract(sample: ScorerInput, *, choices: Sequence[str] | int | None = None) -> VerifyResult:
    """Judge the letter of the last marker; lenient where there is none.

    On top of :func:`multichoice_regex` it takes "the answer is (B)" in a sentence, a last line
    that is nothing but a letter, and a reply of one line that begins ``B)`` or ``B.``.

    Raises:
        ScorerError: The target is not a letter.
    """
    method = "mcq_extract"
    options = _choices(method, sample, choices)
    target = _target(method, sample.target)
    pick, rule = _marked_letter(sample.response, options, explicit=False)
    if pick is None:
        pick, rule = _unmarked_letter(sample.response)
        if pick is not None and pick.letter not in options.letters:
            pick = _Pick("", f"{pick.letter!r} is not one of the {len(options.letters)} options")
    return _verdict(method, pick, rule, target)


def _verdict(method: str, pick: _Pick | None, rule: str, target: str) -> VerifyResult:
    if pick is None:
        return unparsed(method, "no option letter")
    if not pick.letter:
        return unparsed(method, pick.reason, rule=rule)
    return judged(method, pick.letter, correct=pick.letter == target, rule=rule)


def _marked_letter(response: str, options: _Choices, *, explicit: bool) -> tuple[_Pick | None, str]:
    for mark in reversed(marked(response)):
        if explicit and mark.rule not in EXPLICIT:
            continue
        pick = _read(mark.payload, options)
        if mark.rule == "hash" and not _ALONE.fullmatch(_bare(mark.payload)):
            continue  # "#### A closer look": a heading
        if pick is not None:
            return pick, mark.rule
    return None, "none"


def _read(payload: str, options: _Choices) -> _Pick | None:
    text = _bare(payload)
    match = _HEAD.match(text)
    if match is None:
        return None
    shown, rest = match["letter"], text[match.end() :]
    letter = shown.upper()
    after = text[match.end("letter") :]
    if _several(shown, after):
        return _Pick("", f"more than one option: {text[:60]!r}")
    if _FORMULA.match(after) or _is_word(shown, match["close"], rest, options):
        return None
    if letter not in options.letters:
        wanted = f"{letter!r} is not one of the {len(options.letters)} options"
        return _Pick("", wanted) if shown.isupper() else None
    return _Pick(letter)


def _several(shown: str, after: str) -> bool:
    """Whether another letter is offered beside the first: ``A, B``, ``A or B``, ``A/B``."""
    match = _SECOND.match(after)
    if match is None:
        return False
    second = match["second"]
    if second.isupper() != shown.isupper() or second == shown:
        return False
    return not (second in "AIai" and re.match(r"\s+[a-z]", match["rest"]))


def _is_word(shown: str, close: str, rest: str, options: _Choices) -> bool:
    """Whether the letter is a word of a sentence: "A cell divides", "I think", "a good guess"."""
    if close or not _WORD.match(rest) or (shown.isupper() and shown not in "AI"):
        return False
    position = _ALPHABET.index(shown.upper())
    option = options.texts[position] if position < len(options.texts) else ""
    if option and rest.strip(" .").casefold() == option.strip(" .").casefold():
        return False
    return shown in "Ii" or not _CONNECTIVE.match(rest)


def _unmarked_letter(response: str) -> tuple[_Pick | None, str]:
    lines = [line for line in response.splitlines() if line.strip()]
    bare = _bare(last_line(response))
    alone = _ALONE.fullmatch(bare)
    if alone and (alone["letter"].isupper() or len(lines) == 1):
        return _Pick(alone["letter"].upper()), "bare_letter"
    labelled = _LABELLED.match(bare) if len(lines) == 1 else None
    if labelled and not _OTHER_LABEL.search(bare, labelled.end()):
        return _Pick(labelled["letter"]), "labelled_option"
    return None, "none"


def _bare(payload: str) -> str:
    """Half-width, without LaTeX commands and markdown, at most one line of text."""
    return _DECORATION.sub("", unicodedata.normalize("NFKC", payload[:_LINE_LIMIT])).strip()


def _choices(method: str, sample: ScorerInput, choices: Sequence[str] | int | None) -> _Choices:
    for given in (choices, sample.metadata.get("choices"), sample.config.get("choices")):
        texts: tuple[str, ...] = ()
        if isinstance(given, int) and not isinstance(given, bool):
            count = given
        elif isinstance(given, Sequence) and not isinstance(given, str) and given:
            count, texts = len(given), tuple(str(text) for text in given)
        else:
            continue
        if not 1 <= count <= len(_ALPHABET):
            msg = f"{method}: letters stand for 1 to 26 choices, got {count}"
            raise ScorerError(msg)
        return _Choices(_ALPHABET[:count], texts)
    return _Choices(_ALPHABET[:_DEFAULT_CHOICES], ())


def _target(method: str, target: object) -> str:
    letter = _bare(str(target)).strip("(). ").upper()
    if len(letter) != 1 or letter not in _ALPHABET:
        msg = f"{method}: the target must be one letter, got {target!r}: check target_field"
        raise ScorerError(msg)
    return letter


def _by_pattern(method: str, sample: ScorerInput, pattern: str) -> VerifyResult:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        msg = f"{method}: pattern must be a regular expression, got {pattern!r}: {error}"
        raise ConfigError(msg) from error
    found = [m for m in compiled.finditer(sample.response) if not is_echo(m[0])]
    answer = (found[-1][1] if compiled.groups else found[-1][0]) if found else None
    if not answer or not answer.strip():
        return unparsed(method, "the pattern matches nothing", rule="pattern")
    answer = unicodedata.normalize("NFKC", answer).strip().upper()
    return judged(
        method, answer, correct=answer == str(sample.target).strip().upper(), rule="pattern"
    )
