"""Values on their way between tests and candidate: read by :mod:`code`, sent with both scripts.

A value is JSON. What can be changed in place stands in a table, and as ``{"@": number}`` wherever
it is meant, so what a call has changed can be said, and what appears twice is one thing on the
other side, too. Never imported here; Python 3.7 and newer.
"""

from collections import deque, namedtuple

SMALL = 1 << 63  # integers below it are numbers in JSON, too
MOST = 100_000  # values of an iterator
VIEWS = {"k": type({}.keys()), "o": type({}.items()), "w": type({}.values())}
CHANGEABLE = (("l", list), ("d", dict), ("s", set), ("q", deque), ("y", bytearray))
_KINDS = dict(CHANGEABLE)
_NAMED = {}  # kinds of named tuples that have been seen, by name and fields


class Values:
    """The values of one call. Each side says what it sends, and what the rest becomes.

    Attributes:
        things: What can be changed in place; its place here is its number.
    """

    def __init__(self):
        self.things = []
        self._numbers = {}

    def plain(self, value, depth=0):
        """A value in JSON."""
        raise NotImplementedError

    def unusual(self, mark, inner):
        """A value of a mark that only one side knows."""
        raise NotImplementedError

    def number_of(self, thing):
        """What stands for it; it is kept, or its address could become another's."""
        number = self._numbers.setdefault(id(thing), len(self.things))
        if number == len(self.things):
            self.things.append(thing)
        return {"@": number}

    def contents(self, first):
        """What is in the things from a number on, also in those found meanwhile."""
        told = []
        while first + len(told) < len(self.things):
            told.append(self.content(self.things[first + len(told)]))
        return told

    def content(self, thing):
        """What is in one."""
        mark = next(mark for mark, kind in CHANGEABLE if isinstance(thing, kind))
        if mark == "y":
            return {mark: bytes(thing).hex()}
        if mark == "d":
            return {mark: [[self.plain(k), self.plain(v)] for k, v in list(thing.items())]}
        inner = [self.plain(one) for one in list(thing)]
        return {mark: [thing.maxlen, inner] if mark == "q" else inner}

    def make(self, told):
        """Further things; first empty, for they may be in each other."""
        first = len(self.things)
        for each in told:
            ((mark, inner),) = each.items()
            self.number_of(deque(maxlen=inner[0]) if mark == "q" else _KINDS[mark]())
        for at, each in enumerate(told, first):
            self.change(self.things[at], each)

    def change(self, thing, told):
        """Let that be in it."""
        ((mark, inner),) = told.items()
        if not isinstance(thing, _KINDS[mark]):
            msg = "another kind"
            raise TypeError(msg)
        if mark == "y":
            thing[:] = bytes.fromhex(inner)
            return
        if mark == "d":
            new = {self.value(key): self.value(value) for key, value in inner}
        else:
            new = [self.value(one) for one in (inner[1] if mark == "q" else inner)]
        if mark == "l":
            thing[:] = new
            return
        thing.clear()
        (thing.extend if mark == "q" else thing.update)(new)

    def value(self, told):
        """What was told, as a value again."""
        if told is None or isinstance(told, (bool, str, int, float)):
            return told
        ((mark, inner),) = told.items()
        if mark == "@":
            return self.things[inner]
        if mark in _ONE:
            return _ONE[mark](inner)
        if mark == "o":
            return {self.value(key): self.value(value) for key, value in inner}.items()
        if mark == "u":
            values = [self.value(one) for one in inner[2]]
            return tuple.__new__(_named(inner[0], tuple(inner[1]), len(values)), values)
        if mark in _MANY:
            return _MANY[mark]([self.value(one) for one in inner])
        return self.unusual(mark, inner)

    def named_tuple(self, value, depth):
        """A named tuple; None: it is none."""
        kind, fields = type(value), getattr(type(value), "_fields", None)
        if type(fields) is not tuple or not all(type(one) is str for one in fields):
            return None
        _NAMED[kind.__name__, fields] = kind  # should it come back
        return {"u": [kind.__name__, fields, [self.plain(one, depth + 1) for one in value]]}


def _named(name, fields, count):
    if len(fields) != count:
        msg = "as many fields as values"
        raise ValueError(msg)
    kind = _NAMED.get((name, fields))
    if kind is None:
        kind = namedtuple(name, fields, rename=True)  # noqa: PYI024 - known by its fields only
        _NAMED[name, fields] = kind
    return kind


def number(value):
    """An integer, float or complex number in JSON."""
    if isinstance(value, int):
        value = int(value)
        return value if -SMALL < value < SMALL else {"i": "%x" % value}
    if isinstance(value, float):
        value = float(value)
        return value if abs(value) < float("inf") else {"f": value.hex()}
    return {"c": [value.real.hex(), value.imag.hex()]}


def _fraction(inner):
    from fractions import Fraction  # not every small Python has it

    return Fraction(int(inner[0], 16), int(inner[1], 16))


def _decimal(inner):
    from decimal import Decimal  # as above

    return Decimal(inner)


_ONE = {
    "b": bytes.fromhex,
    "i": lambda inner: int(inner, 16),
    "f": float.fromhex,
    "c": lambda inner: complex(float.fromhex(inner[0]), float.fromhex(inner[1])),
    "r": _fraction,
    "m": _decimal,
}
_MANY = {
    "t": tuple,
    "z": frozenset,
    "g": lambda values: range(*values),
    "k": lambda values: dict.fromkeys(values).keys(),
    "w": lambda values: dict(enumerate(values)).values(),
}
