"""Python code inside a response: the block that defines what the tests call.

The fence rules are those of the other scorers; what is no fence is looked at line by line, since
small models forget them.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

_FENCE = re.compile(r"[ \t]{0,3}(?P<mark>`{3,8}|~{3,8})[ \t]*(?P<language>[^`\s]*)[^`]*")
_LANGUAGES = frozenset({"", "py", "python", "python3", "py3", "code"})
_BEGINNING = re.compile(r"(async\s+def|def|class|import|from|@)\b|@|[A-Za-z_]\w*\s*=")
_MAX_CHARACTERS = 400_000
_MAX_TRIES = 400  # times that unfenced text is given to Python's parser


def extract(response: str, entry_point: str, prompt: str = "") -> list[str] | None:
    """The code of a response and how it was found.

    In this order: the last fenced block that defines ``entry_point`` (``fence``); the last that
    is its body, going on where ``prompt`` ends (``fence_body``); the last that looks like a
    definition to whoever knows no grammar (``fence_unread``): the Python that runs it may be newer
    than the one here; without a fence the whole
    (``whole``), the longest run of lines that is Python and defines it (``lines``), and the
    longest beginning that goes on where ``prompt`` ends (``body``).

    Args:
        response: What the model has said.
        entry_point: The name that the tests call.
        prompt: The beginning of a program that the model was shown, or nothing.

    Returns:
        ``[code, rule]``; with a body ``prompt`` is part of the code. None: there is no such code.
    """
    text = response[-_MAX_CHARACTERS:].expandtabs(4) if "\t" in prompt else response
    text = text[-_MAX_CHARACTERS:].replace("\r\n", "\n")
    blocks = list(_fenced(text))
    for body in reversed(blocks):
        if defines(body, entry_point):
            return [body, "fence"]
    for body in reversed(blocks):
        if (whole := _continued(prompt, body.splitlines(), entry_point)) is not None:
            return [whole, "fence_body"]
    if blocks:
        looks = re.compile(rf"(?m)^(?:{_definition(entry_point)})")
        unread = next((body for body in reversed(blocks) if looks.search(body)), None)
        return None if unread is None else [unread, "fence_unread"]
    return _unfenced(text, entry_point, prompt)


def _unfenced(text: str, entry_point: str, prompt: str) -> list[str] | None:
    if defines(text, entry_point):
        return [text, "whole"]
    lines = text.splitlines()
    if (run := _longest(lines, entry_point)) is not None:
        return [run, "lines"]
    if (whole := _continued(prompt, lines, entry_point)) is not None:
        return [whole, "body"]
    return None


def defines(code: str, name: str) -> bool:
    """Whether it is Python that gives ``name`` a meaning at its top level."""
    tree = _parsed(code)
    return tree is not None and any(name in _names(node) for node in _top(tree.body))


def prelude(prompt: str) -> str:
    """The beginning of a program made whole: imports and helpers, its last function a stub."""
    for more in ("", "\n    pass\n"):
        if _parsed(prompt + more) is not None:
            return prompt + more
    return ""


def _top(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module does, those under ``if`` and ``try`` too."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _top(node.body)
            yield from _top(getattr(node, "orelse", []))


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # ValueError: a null byte; MemoryError: nested deeper than the parser goes


def _fenced(text: str) -> Iterator[str]:
    """The contents of fenced blocks of Python; one that is never closed goes to the end."""
    mark, language, indent = "", "", 0
    body: list[str] = []
    for line in text.splitlines(keepends=True):
        fence = _FENCE.fullmatch(line.rstrip("\n"))
        if not mark:
            if fence:
                mark, language, body = fence["mark"], fence["language"], []
                indent = len(line) - len(line.lstrip(" "))
        elif fence and fence["mark"].startswith(mark) and not fence["language"]:
            if language.casefold() in _LANGUAGES:
                yield "".join(body)
            mark = ""
        else:
            body.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    if mark and language.casefold() in _LANGUAGES:
        yield "".join(body)


def _longest(lines: Sequence[str], name: str) -> str | None:
    """The longest run of lines, from one that may begin a program, that defines ``name``."""
    wanted = re.compile(_definition(name))
    home = next((at for at, line in enumerate(lines) if wanted.match(line)), None)
    if home is None:
        return None
    begins = [at for at in range(home + 1) if _BEGINNING.match(lines[at])]
    ends = [at for at in range(len(lines), home, -1) if _may_end(lines, at)]
    tries = 0
    best: str | None = None
    for begin in begins:
        for end in ends:
            tries += 1
            if tries > _MAX_TRIES or (best is not None and end - begin <= best.count("\n")):
                break
            code = "\n".join(lines[begin:end]) + "\n"
            if defines(code, name):
                best = code
                break
    return best


def _definition(name: str) -> str:
    """What a line matches that gives ``name`` a meaning."""
    own = re.escape(name)
    return rf"(async\s+)?(def|class)\s+{own}\b|{own}\s*(:(?!=)|=(?!=))"


def _may_end(lines: Sequence[str], end: int) -> bool:
    """Whether a run may end before line ``end``: prose begins there, or nothing does."""
    return bool(lines[end - 1].strip()) and (end == len(lines) or not lines[end].startswith(" "))


def _continued(prompt: str, lines: Sequence[str], name: str) -> str | None:
    """The longest beginning of ``lines`` that goes on where the prompt ends, after the prompt."""
    first = next((line for line in lines if line.strip()), "")
    if not prompt.strip() or not first.startswith(" "):
        return None  # a body is indented, or it would be no part of the function
    tries = 0
    for end in range(len(lines), 0, -1):
        if not lines[end - 1].strip():
            continue
        tries += 1
        if tries > _MAX_TRIES:
            return None
        code = prompt.rstrip("\n") + "\n" + "\n".join(lines[:end]) + "\n"
        if defines(code, name):
            return code
    return None


def task(response: str, entry_point: str, prompt: str) -> Any:  # Any: JSON, for a worker
    """:func:`extract` and :func:`prelude` together, as a worker answers: ``[found, prelude]``."""
    return [extract(response, entry_point, prompt), prelude(prompt)]
