r"""Where a response says "here comes the answer", and what stands there.

Everything is found in one pass whose cost grows linearly with the text: every repetition in the
patterns is bounded or possessive, because responses come from models and may be megabytes of
anything.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

Rule: TypeAlias = Literal["boxed", "hash", "tag", "label", "prose"]

#: Rules under which a writer unmistakably announces an answer; "prose" is a sentence that may.
EXPLICIT: frozenset[Rule] = frozenset({"boxed", "hash", "tag", "label"})


class Marked(NamedTuple):
    """What follows one answer marker.

    Attributes:
        rule: Which kind of marker it was.
        payload: The first line with content after the marker (for a box: what is in it).
        final: Whether nothing but decoration follows the payload.
        boxes: What is in each box where a sentence has several; together they are the payload.
    """

    rule: Rule
    payload: str
    final: bool
    boxes: tuple[str, ...] = ()


class _Span(NamedTuple):
    rule: Rule
    start: int
    end: int
    payload: tuple[int, int] | None = None  # known for boxes: they have an end of their own


_ENGLISH = (
    r"(?:(?:final|correct|right|best)[ \t]{1,4})?answer(?:[ \t]{1,4}(?:choice|option|letter))?"
    r"|(?:correct|right|best)[ \t]{1,4}(?:option|choice)"
)
# The labels of MGSM's languages, then those of other much used ones.
_SPACED = (
    "উত্তর|antwort|respuesta|réponse|reponse|ответ|jibu|సమాధానం|"
    "risposta|resposta|svar|odpowiedź|odpověď|cevap|yanıt|jawaban"
    "|đáp án|उत्तर|जवाब|الجواب|الإجابة|תשובה|απάντηση"
)
_UNSPACED = "最终答案|最終答案|正确答案|正確答案|答案|答え|回答|정답|답|คำตอบ"
_WORD = rf"(?:(?<![^\W_])(?:{_ENGLISH}|{_SPACED})(?![^\W_])|(?:{_UNSPACED}))"
_DECORATION = r"[*_`~} \t]{0,8}"
_VERB = (
    r"(?:is|are|was|would[ ]be|should[ ]be|must[ ]be|ist|lautet|es|est|è|é|ni|adalah"
    r"|是|为|為|は|은|는|คือ|—)"
)

_MARKER = re.compile(
    rf"""
    (?P<box>\\f?boxed?(?![a-zA-Z])[ \t]{{0,4}})
    | (?P<hash>(?<!\S)\#{{4}}(?!\#)[ \t]{{0,4}})
    | (?P<tag><(?:final_?)?answer>)
    | (?P<heading>^[ \t*_\#>]{{0,8}}(?:(?:my|the)[ ])?{_WORD}[*_`~}} \t]{{0,8}}$)
    | (?P<label>{_WORD}{_DECORATION}[:：=])
    | (?P<prose>{_WORD}(?:[ \t]{{1,2}}to[ \t][^.:\n]{{1,80}}?)?{_DECORATION}{_VERB}
        (?:(?<=[^\x00-\x7f])|(?![^\W_])){_DECORATION}[:：]?)
    | (?P<bare>^[\s*_\#>-]{{0,8}}final[ \t]{{1,4}}answer(?=[ \t]))
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_RULES: dict[str, Rule] = {
    "hash": "hash",
    "tag": "tag",
    "label": "label",
    "heading": "label",
    "prose": "prose",
    "bare": "prose",
}
# What str.strip() takes for space.
_SPACES = (
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_CONTENT = re.compile(r"[^\s*_$#`~\\()\[\]{}:：.]|\\\{\s{0,4}\\\}")  # the empty set is an answer
_SENTENCE_END = re.compile(r"\n|[.!?](?=[\s$\\])")
_IS = re.compile(r"[\s$\\,;!]{0,8}=[\s$\\,;!]{0,8}")
_CORRECTS = re.compile(
    r"\b(?:not?|but(?! also)|wait|actually|correct(?:ed|ion)?|instead|rather|sorry|mistake)\b",
    re.IGNORECASE,
)
_MAX_BOXES = 60
_SENTENCE_START = re.compile(r"[.!?:;)*…][ \t*_]")
_ECHO = re.compile(
    r"""[\s*_`"'(]*+ (?:
        \$?\\?\{?(?:LETTER|ANSWER|NUMBER|INTEGER)\}?
      | [<\[{$(]{1,2}\s*(?:your[ ]|the[ ]|final[ ]|a[ ]){0,2}
        (?:letter|answer|number|option)\s*[>\]})$]{0,2}
      ) (?![^\W_]) .{0,40}""",
    re.VERBOSE,
)
_ECHO_ANY_CASE = re.compile(
    r"\W{0,4}your[ _](?:final[ _])?(?:answer|letter|choice)\b", re.IGNORECASE
)
_PAIRS = (
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
    ("«", "»"),
    ("「", "」"),
)
_WRAPPER = re.compile(
    r"\\(?:boxed|fbox|text|textbf|mathbf|mathrm|mbox|textit|bm|boldsymbol)\s{0,4}\{(.*)\}",
    re.DOTALL,
)


def marked(text: str) -> list[Marked]:
    """Every answer marker of the text with its payload, in order of appearance.

    Payloads that are blank or echo the instruction (``Answer: $LETTER``) are left out. Whether
    a payload *is* an answer is for the scorer to say.
    """
    spans = _outer(list(_spans(text)))
    content_end = _content_end(text)
    found: list[Marked] = []
    boxed = -1  # where the last box ended
    announced = False  # "Answer: The answer is 5": the sentence inherits the label's weight
    for position, span in enumerate(spans):
        limit = spans[position + 1].start if position + 1 < len(spans) else len(text)
        payload, end = _payload(text, span, limit)
        rule: Rule = "label" if announced and span.rule == "prose" else span.rule
        announced = rule in {"label", "tag"} and not payload and "\n" not in text[span.end : limit]
        if payload and not is_echo(payload):
            boxes: tuple[str, ...] = (payload,) if rule == "boxed" else ()
            if boxes and boxed >= 0 and _lists(text[boxed : span.start]):
                boxes = (*found.pop().boxes[: _MAX_BOXES - 1], *boxes)
            found.append(Marked(rule, ", ".join(boxes) or payload, end >= content_end, boxes))
            boxed = end if boxes else -1
    return found


def _outer(spans: list[_Span]) -> list[_Span]:
    r"""Without the markers inside a box: ``\boxed{1, \boxed{2}}`` holds two numbers."""
    kept: list[_Span] = []
    inside = 0
    for span in spans:
        if span.start >= inside:
            kept.append(span)
            inside = span.payload[1] if span.payload is not None else inside
    return kept


def _lists(between: str) -> bool:
    """Whether two boxes are one list: they stand in one sentence, and the second is no correction.

    The last of "x = [5] or x = [7]" alone would be a choice among guesses.
    """
    if len(between) > 200 or _SENTENCE_END.search(between):
        return False
    return not (_IS.fullmatch(between.lstrip("}")) or _CORRECTS.search(between))


def is_echo(payload: str) -> bool:
    """Whether the payload is the placeholder of an instruction, not an answer."""
    head = payload[:120]
    return bool(_ECHO.match(head) or _ECHO_ANY_CASE.match(head))


def clean(payload: str) -> str:
    r"""Take off what wraps an answer: markdown, math, quotes, ``\boxed``, a final dot."""
    text = payload.strip()
    for _ in range(8):
        before = text
        text = _unpair(text.strip(f"{_SPACES}*`").strip(f"{_SPACES}_"))
        text = _without_end(text)
        wrapped = _WRAPPER.fullmatch(text)
        if wrapped and _balanced(wrapped[1]):
            text = wrapped[1]
        if text == before:
            break
    return text


def announces_nothing(line: str) -> bool:
    """Whether the line ends with an answer marker that nothing, or only a placeholder, follows."""
    spans = list(_spans(line))
    payload = _payload(line, spans[-1], len(line))[0] if spans else ""
    return bool(spans) and (not has_content(payload) or is_echo(payload))


def last_line(text: str) -> str:
    """The last line with content, or ``""``."""
    for line in reversed(text.splitlines()):
        if _CONTENT.search(line):
            return line.strip()
    return ""


def has_content(text: str) -> bool:
    """Whether anything but white space, markdown and delimiters is there."""
    return _CONTENT.search(text) is not None


def _spans(text: str) -> Iterator[_Span]:
    closing: dict[int, int] | None = None
    for match in _MARKER.finditer(text):
        kind = match.lastgroup
        if kind == "box":
            closing = _brace_pairs(text) if closing is None else closing
            yield _box(text, match, closing)
        else:
            rule = _RULES[kind or ""]
            if kind == "label" and _in_sentence(text, match):
                rule = "prose"
            yield _Span(rule, match.start(), match.end())


def _in_sentence(text: str, match: re.Match[str]) -> bool:
    """Whether a label stands deep in a sentence: "we may check our answer: …" announces less."""
    far = max(0, match.start() - 200)
    start = max(text.rfind("\n", far, match.start()) + 1, far)
    before = _SENTENCE_START.split(text[start : match.start()])[-1]
    return len(before.split()) > 3 and "final" not in match[0].lower()


def _box(text: str, match: re.Match[str], closing: dict[int, int]) -> _Span:
    """A box's inside; a box that was never closed was cut off and holds no answer."""
    start = match.end()
    if text[start : start + 1] == "{":
        end = closing.get(start, start + 1)
        return _Span("boxed", match.start(), start + 1, (start + 1, end))
    token = re.compile(r"[^\s$\\,;]{0,40}").match(text, start)
    return _Span("boxed", match.start(), start, (start, token.end() if token else start))


def _brace_pairs(text: str) -> dict[int, int]:
    """Position of each opening brace → position of the closing one."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            stack.append(match.start())
        elif match[0] == "}" and stack:
            pairs[stack.pop()] = match.start()
    return pairs


def _payload(text: str, span: _Span, limit: int) -> tuple[str, int]:
    if span.payload is not None:
        start, end = span.payload
        inside = text[start:end].strip()
        return (inside if has_content(inside) else ""), end
    content = _CONTENT.search(text, span.end, limit)
    if content is None or (span.rule == "hash" and "\n" in text[span.end : content.start()]):
        return "", span.end
    # The line's own beginning belongs to the payload: it may hold a minus, "(" or "\\frac".
    start = max(span.end, text.rfind("\n", span.end, content.start()) + 1)
    end = text.find("\n", content.start(), limit)
    end = limit if end < 0 else end
    if span.rule == "tag":
        close = text.find("</", start, limit)
        end = close if close >= 0 else end
    return text[start:end].strip(), end


def _content_end(text: str) -> int:
    end = len(text)
    while end > 0 and not _CONTENT.match(text, end - 1):
        end -= 1
    return end


def _unpair(text: str) -> str:
    for opening, closing in _PAIRS:
        inner = text[len(opening) : -len(closing)]
        if (
            len(text) > len(opening) + len(closing) - 1
            and text.startswith(opening)
            and text.endswith(closing)
            and opening not in inner
            and closing not in inner
        ):
            return inner.strip()
    return text


def _without_end(text: str) -> str:
    """Drop sentence punctuation, and a brace or dollar whose opener stood before the marker."""
    text = text.rstrip(" \t\r\n.,;。、")
    if text.endswith("}") and not text.endswith("\\}") and text.count("}") > text.count("{"):
        return text[:-1]
    if text.endswith("$") and text.count("$") == 1 and len(text) > 1 and text[-2] != "\\":
        return text[:-1]
    return text


def _balanced(text: str) -> bool:
    depth = 0
    for match in _BRACE.finditer(text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            return False
    return depth == 0
