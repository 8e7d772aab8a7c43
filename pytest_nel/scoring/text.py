"""``exact_match`` and ``fuzzy_match``, and the normal form of texts they compare."""

import re
import unicodedata

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.markers import announces_nothing, clean, last_line, marked
from pytest_nel.scoring.verdict import judged, unparsed

#: A response up to this many characters is all answer; of a longer one only the last line is.
SHORT = 300

_BEFORE = str.maketrans(
    {
        "−": "-", "\u2010": "-", "\u2011": "-", "⁄": "/", "’": "'", "—": " ", "–": "-",
        **{char: f"^{value}" for value, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    }
)  # fmt: skip
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})++(?![\d,])")
# What carries meaning: a sign, what stands between digits, and the symbols of formulas and names.
_KEPT = re.compile(
    r"(?P<plus>(?<![^\s(])\+(?=\.?\d))"
    r"|(?P<keep>(?<![\w)])-(?=\.?\d)|(?<=\d)[.,:/*^-](?=\d)|(?<![\w.])\.(?=\d)"
    r"|(?<=\w)[+#]{1,2}(?!\w)|[+=<>^/|~\\])|(?P<drop>.)",
    re.DOTALL,
)
_ARTICLE = re.compile(r"(?<!\S)(?:a|an|the)\s(?=\S)")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)


def normal_text(text: str) -> str:
    """NFKC, case folded, without articles, punctuation and markdown; white space collapsed.

    Kept: minus signs, decimal points and whatever else stands between digits, ``+ = < > ^ / # ~``
    where they mean something (``C++``). Accents count: "café" is not "cafe". A text of articles
    or punctuation only keeps them, so that it equals nothing else.
    """
    folded = unicodedata.normalize("NFKC", text.translate(_BEFORE)).casefold().replace("⁄", "/")
    folded = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), folded)
    kept = " ".join(_KEPT.sub(_keep, folded).split())
    without = _ARTICLE.sub("", f"{kept} ").strip() if kept else ""
    return without or kept or " ".join(folded.split()) or " ".join(text.split())


def exact_match(sample: ScorerInput) -> VerifyResult:
    """The whole response equals the target in normal form (:func:`normal_text`)."""
    answer = sample.response.strip()
    if not answer:
        return unparsed("exact_match", "empty response")
    correct = normal_text(answer) == normal_text(str(sample.target))
    return judged("exact_match", answer, correct=correct, rule="whole")


def fuzzy_match(sample: ScorerInput) -> VerifyResult:
    """A target occurs, in whole words, in the answer part of the response.

    Targets are ``metadata["correct_answers"]``, else the target. The answer part is what the last
    answer marker announces; without one the whole response if it has at most :data:`SHORT`
    characters, else its last line. A response that is merely contained in a target is wrong.

    Raises:
        ScorerError: There is no target.
    """
    targets = [normal_text(target) for target in _targets(sample)]
    if not sample.response.strip():
        return unparsed("fuzzy_match", "empty response")
    part, rule = answer_part(sample.response)
    if not part:
        return unparsed("fuzzy_match", "no answer after the marker, or no short last line")
    normal = normal_text(part)
    correct = any(_occurs(target, normal) for target in targets)
    return judged("fuzzy_match", part, correct=correct, rule=rule)


def _targets(sample: ScorerInput) -> list[str]:
    given = sample.metadata.get("correct_answers") or [sample.target]
    given = [given] if isinstance(given, str) else given
    targets = [str(target) for target in given if target is not None and str(target).strip()]
    if not targets:
        msg = (
            f"fuzzy_match: wants a target or metadata 'correct_answers', got {sample.target!r}: "
            "check target_field"
        )
        raise ScorerError(msg)
    return targets


def answer_part(response: str) -> tuple[str, str]:
    """What the last marker announces, else a short response, else its last line; and the rule."""
    marks = marked(response)
    explicit = [mark for mark in marks if mark.rule != "prose"]
    if marks:
        mark = (explicit or marks)[-1]
        return clean(mark.payload), mark.rule
    if announces_nothing(last_line(response)):
        return "", "none"
    whole = clean(response)
    if len(whole) <= SHORT:
        return whole, "whole"
    line = clean(last_line(response))
    return (line, "last_line") if len(line) <= SHORT else ("", "none")


def _occurs(target: str, text: str) -> bool:
    """Whether ``target`` stands in ``text`` between spaces (or beside an unspaced script)."""
    start = text.find(target)
    while start >= 0:
        end = start + len(target)
        if not (
            _glued(text[start - 1 : start], target[0]) or _glued(target[-1], text[end : end + 1])
        ):
            return True
        start = text.find(target, start + 1)
    return False


def _glued(left: str, right: str) -> bool:
    if not left or not right or left.isspace() or right.isspace():
        return False
    return not (_UNSPACED.match(left) or _UNSPACED.match(right))


def _keep(match: re.Match[str]) -> str:
    if match["keep"]:
        return match["keep"]
    char = match["drop"] or ""
    return "" if not char or unicodedata.category(char).startswith("P") or char in "$`" else char
