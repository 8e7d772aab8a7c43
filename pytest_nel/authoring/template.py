"""Prompt templates: ``{field}`` and nothing cleverer, checked before the first call."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from pytest_nel.core.errors import DataError

_FIELD = re.compile(r"\w(?:[\w -]*\w)?")
_FILE = re.compile(r"[^\s{}]+\.(?:txt|md)")
_JINJA = re.compile(r"[^\s{}]+\.(?:jinja2?|j2)")
_DOUBLE = "for a literal brace write {{ or }}"


class _Part(NamedTuple):
    literal: str
    field: str | None
    spec: str
    conversion: str | None


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template.

    Attributes:
        text: The template itself.
        where: Its place, for messages.
    """

    text: str
    where: str
    _parts: tuple[_Part, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields it uses, in order of appearance."""
        return tuple(dict.fromkeys(part.field for part in self._parts if part.field is not None))

    def render(self, row: Mapping[str, Any], at: str) -> str:
        """Fill in a row; braces inside values are plain text.

        Args:
            row: Field to value.
            at: The row's place, such as ``capitals.jsonl line 3``.

        Raises:
            DataError: The row lacks a field, it is null, or it does not suit its format.
        """
        pieces: list[str] = []
        for literal, name, spec, conversion in self._parts:
            pieces.append(literal)
            if name is not None:
                pieces.append(self._value(row, name, (spec, conversion), at))
        return "".join(pieces)

    def _value(
        self, row: Mapping[str, Any], name: str, form: tuple[str, str | None], at: str
    ) -> str:
        if name not in row:
            known = sorted(map(str, row))
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            msg = (
                f"{self.where}: the prompt uses {{{name}}}, but {at} has no field {name!r}.{hint} "
                f"Fields: {', '.join(known) or 'none'} ({_DOUBLE})"
            )
            raise DataError(msg)
        value = row[name]
        if value is None:
            msg = (
                f"{self.where}: the prompt uses {{{name}}}, which is null in {at}; "
                "fill it in with prepare_row"
            )
            raise DataError(msg)
        spec, conversion = form
        if isinstance(value, str) and not spec and conversion is None:
            return value
        try:
            return format(Formatter().convert_field(value, conversion), spec)
        except (TypeError, ValueError) as error:
            msg = f"{self.where}: {{{name}:{spec}}} does not suit {value!r} of {at}: {error}"
            raise DataError(msg) from error


def compile_template(text: str, where: str) -> Template:
    """Read a template once.

    Args:
        text: ``str.format`` syntax with plain field names; ``{{`` and ``}}`` are literal braces.
        where: Its place, for messages.

    Raises:
        DataError: The braces do not match, or hold something else than the name of a field.
    """
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        msg = f"{where}: the braces of the prompt do not match ({error}); {_DOUBLE}"
        raise DataError(msg) from error
    parts = [_Part(literal, name, spec or "", form) for literal, name, spec, form in parsed]
    for part in parts:
        if part.field is not None:
            _check_field(part, where)
    return Template(text, where, tuple(parts))


def prompt_text(prompt: str | Path, base: Path, where: str) -> str:
    """The template itself: a ``.txt`` or ``.md`` file is read, other text is the prompt.

    One line break at the end of the file is left out, since editors add it.

    Raises:
        DataError: The file is missing or no UTF-8, or it is a Jinja template.
    """
    if isinstance(prompt, str) and _JINJA.fullmatch(prompt):
        msg = f"{where}: {prompt}: Jinja is not supported: write {{field}} in a .txt or .md file"
        raise DataError(msg)
    if isinstance(prompt, str) and not _FILE.fullmatch(prompt) and not _is_file(prompt, base):
        return prompt
    path = base / prompt
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        msg = f"{where}: cannot read the prompt {path}: {error.strerror or error}"
        raise DataError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{where}: the prompt {path} is not UTF-8"
        raise DataError(msg) from error
    return text.removesuffix("\n")


def _is_file(prompt: str, base: Path) -> bool:
    """A file's name may hold spaces; a prompt of many lines is never one."""
    if "\n" in prompt or not prompt.endswith((".txt", ".md")) or len(prompt) > 200:
        return False
    return (base / prompt).is_file()


def _check_field(part: _Part, where: str) -> None:
    name = part.field or ""
    if re.search(r"\w[.\[]", name) and not re.search(r"[\"'\s]", name):
        msg = (
            f"{where}: {{{name}}} looks inside a field, which a prompt may not do; "
            "make a field of it with prepare_row"
        )
        raise DataError(msg)
    if not _FIELD.fullmatch(name) or "{" in part.spec:
        written = f"{name}:{part.spec}" if part.spec else name
        msg = f"{where}: {{{written}}} is no field of a prompt; {_DOUBLE}"
        raise DataError(msg)
