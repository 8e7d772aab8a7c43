"""Text that is safe to store and to show: no lone surrogates, no control characters."""

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


def storable(text: str) -> str:
    """Replace lone surrogates by U+FFFD so that the text can be written as UTF-8.

    A surrogate *pair* that arrived as two code points becomes the character it stands for.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def showable(text: str, limit: int = 2000) -> str:
    """For terminals and XML: no ANSI codes, no control characters, at most ``limit`` characters.

    What is cut is the middle, since an answer stands at the end and a topic at the beginning.
    """
    clean = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _ANSI.sub("", storable(text)))
    if len(clean) <= limit:
        return clean
    head = limit // 3
    tail = limit - head
    return f"{clean[:head]}\n[… {len(clean) - limit} characters …]\n{clean[-tail:]}"
