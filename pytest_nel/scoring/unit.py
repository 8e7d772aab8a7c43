"""Units behind a number: which words are one, and which spellings mean the same."""

import re

#: Words that multiply. "dozen" is not among them: it is as often the unit that was asked for.
SCALES = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "萬": 10**4,
    "만": 10**4,
    "億": 10**8,
    "亿": 10**8,
    "억": 10**8,
}
CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee", "₩": "won"}
_LETTERS = frozenset("mgshlL")  # units when they stand apart from the number; "5m" may be a product
_SHORT = frozenset("amghsl")  # a day, km h, and not "less than x"
_SAME = {
    "mm": "millimeter", "cm": "centimeter", "m": "meter", "km": "kilometer", "ft": "foot",
    "feet": "foot", "in": "inch", "inches": "inch", "yd": "yard", "mi": "mile",
    "mg": "milligram", "g": "gram", "kg": "kilogram", "lb": "pound", "lbs": "pound", "oz": "ounce",
    "ml": "milliliter", "l": "liter", "s": "second", "sec": "second", "secs": "second",
    "min": "minute", "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
    "ms": "millisecond",
    "mph": "mile per hour", "km/h": "kilometer per hour", "kph": "kilometer per hour",
    "usd": "dollar", "us dollar": "dollar", "eur": "euro", "gbp": "pound", "deg": "degree",
    "percent": "%", "metre": "meter", "centimetre": "centimeter", "kilometre": "kilometer",
    "litre": "liter", "people": "person", "kelvin": "k", "hz": "hertz", "kb": "kilobyte",
    "mb": "megabyte", "gb": "gigabyte", "kwh": "kilowatt hour", "kw": "kilowatt", "°": "degree",
}  # fmt: skip
_GLUED = re.compile(
    r"(?:mm|cm|km(?:/h)?|kph|mph|ft|kg|mg|lbs?|oz|ml|mins?|hrs?|secs?|ms|usd|eur|gbp|hz|kb|mb|gb"
    r"|kwh?|degrees?|dollars?)"
    r"(?:\^?\{?[23]\}?|[²³])?(?![A-Za-z0-9])",
    re.IGNORECASE,
)
#: Words after a number that belong to its value, so that the number alone is not the answer.
_WORDS = (
    "pi tau sin cos tan cot csc sec log ln exp sqrt root mod modulo base infinity infty inf "
    "cup cap and or nor to by not plus minus times over squared cubed remainder with if when "
    "unless otherwise else except but is are was factorial choose half halves third thirds "
    "fourth fourths quarter quarters fifth fifths sixth sixths seventh sevenths eighth "
    "eighths ninth ninths tenth tenths twelfth twelfths hundredth hundredths thousandth "
    "thousandths zero one two three four five six seven eight nine ten eleven twelve than "
    "divided multiplied below wrong incorrect false "
    "hundred thousand million billion trillion negative xy yz xz ab bc ac"
)
_MATH = frozenset(_WORDS.split())
_UNIT = re.compile(r"[^\W\d_]{2,}(?:[ /-][^\W\d_]+){0,4}(?:[ ]?\^?[ ]?\{?([23])\}?|([²³]))?")


def glued_unit(text: str, position: int) -> bool:
    """Whether a known unit stands there, directly behind a number: ``18kg``."""
    return _GLUED.match(text, position) is not None


def canonical_unit(text: str, *, glued: bool) -> str | None:
    """The unit's one spelling: singular, long form, ``^2`` for square; None if it is no unit.

    Words that act on the number ("pi", "squared") are no units: ``2 pi`` is not 2. Neither is
    most single letters, which may be variables.
    """
    text = text.strip()
    if text in CURRENCIES:
        return CURRENCIES[text]
    if text in _LETTERS and not glued:
        return _SAME[text.lower()]
    match = _UNIT.fullmatch(text)
    if match is None or (glued and text.isascii() and not glued_unit(text, 0)):
        return None
    power = match[1] or {"²": "2", "³": "3"}.get(match[2] or "", "")
    stem = text[: match.start(1) if match[1] else match.start(2)] if power else text
    words = re.findall(r"[^\W\d_]+(?:/[^\W\d_]+)?", stem.casefold())
    if any(word in _MATH or (len(word) == 1 and word not in _SHORT) for word in words):
        return None
    if words[0] in {"square", "sq", "cubic"} and len(words) > 1:
        power = "3" if words[0] == "cubic" else "2"
        words = words[1:]
    unit = _singular(" ".join(words))
    return f"{unit}^{power}" if power else unit


def _singular(unit: str) -> str:
    unit = _SAME.get(unit, unit)
    if unit.endswith(("ches", "shes", "xes")):
        return unit[:-2]
    if unit.endswith("s") and not unit.endswith("ss") and len(unit) > 3:
        unit = unit[:-1]
    return _SAME.get(unit, unit)
