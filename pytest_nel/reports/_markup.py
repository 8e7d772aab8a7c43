"""HTML by construction: whatever is no markup of ours is escaped."""

from html import escape

from pytest_nel.core.text import showable, storable

_VOID = frozenset({"meta", "link"})


class Markup(str):
    """Text that is HTML already; only this module makes it."""

    __slots__ = ()


def tag(element: str, /, *children: object, **attributes: object) -> Markup:
    """An element. Attributes: ``class_`` is class, ``aria_label`` aria-label; None leaves it out.

    Children that are no Markup are text; None is nothing.
    """
    made = [f"<{element}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        made.append(f" {label}" if value is True else f' {label}="{_text(value)}"')
    made.append(">")
    made += [inner(child) for child in children]
    if element not in _VOID:
        made.append(f"</{element}>")
    return Markup("".join(made))


def inner(child: object) -> Markup:
    """What stands in an element."""
    if isinstance(child, Markup):
        return child
    if isinstance(child, list | tuple):
        return Markup("".join(inner(one) for one in child))
    return Markup("" if child is None else _text(child))


def _text(value: object) -> str:
    return escape(showable(storable(str(value)), 5000))


def raw(content: str) -> Markup:
    """A style sheet or script of ours, which has nothing of others in it."""
    return Markup(content)


def data_block(name: str, content: str, *, what: str = "application/json") -> Markup:
    """A script element that is data: no part of it can end the element or begin another.

    Inside JSON the replaced characters stand in strings only, where the escapes mean the same.
    """
    for character in "<>&\u2028\u2029":
        content = content.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="{what}" id="{escape(name)}">{content}</script>\n')
