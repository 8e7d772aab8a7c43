"""What runs a candidate's code: read by :mod:`code`, sent into a sandbox, never imported here.

It is not trusted: whatever it sends is only ever a value that the candidate returned, and the
tests, which know the right one, run in another process of another user. Python 3.7 and newer.
"""

import __future__

import json
import os
import socket
import sys
import time
from itertools import islice

from pytest_nel.scoring._code_values import CHANGEABLE, MOST, VIEWS, Values, number

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_MARKS = (("t", tuple), ("z", frozenset), ("k", VIEWS["k"]), ("w", VIEWS["w"]))


class _Values(Values):
    """What is sent is whatever the candidate returns."""

    def plain(self, value, depth=0):
        """A value in JSON; what has no plain form is said to have none."""
        if depth > 200:
            return {"?": ["nested too deeply", False]}
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, (int, float, complex)):
            return number(value)
        if isinstance(value, bytes):
            return {"b": bytes(value).hex()}
        if isinstance(value, tuple(kind for _, kind in CHANGEABLE)):
            return self.number_of(value)
        if isinstance(value, tuple) and type(value) is not tuple:
            named = self.named_tuple(value, depth)
            if named is not None:
                return named
        for mark, kind in _MARKS:
            if isinstance(value, kind):
                return {mark: [self.plain(inner, depth + 1) for inner in value]}
        if isinstance(value, VIEWS["o"]):
            pairs = [[self.plain(k, depth + 1), self.plain(v, depth + 1)] for k, v in value]
            return {"o": pairs}
        return self._rare(value, depth)

    def _rare(self, value, depth):
        """What is no plain value and equals one, or can be iterated over."""
        kind = type(value)
        if hasattr(value, "numerator") and hasattr(value, "denominator"):  # a fraction
            return {"r": ["%x" % int(value.numerator), "%x" % int(value.denominator)]}
        if kind.__module__ == "decimal":
            return {"m": str(value)}
        if kind.__module__ == "numpy" and hasattr(value, "tolist"):
            return self.plain(value.tolist(), depth + 1)
        if kind is range:
            return {"g": [self.plain(each) for each in (value.start, value.stop, value.step)]}
        if hasattr(kind, "__iter__"):
            first = [self.plain(inner, depth + 1) for inner in islice(value, MOST + 1)]
            mark = "n" if hasattr(kind, "__next__") else "e"
            return {mark: [len(first) > MOST, first[:MOST]]}
        return {"?": [kind.__name__, callable(value)]}

    def unusual(self, mark, inner):
        """What the tests pass on of what can only be iterated over."""
        values = [self.value(one) for one in inner[1]]
        return iter(values) if mark == "n" else values

    def with_changes(self, said, before):
        """An answer with what has become of the arguments; ``before``: what was in each."""
        said["made"] = self.contents(len(before))  # first: a generator may change more
        said["changed"] = {}
        for at, old in enumerate(before):
            now = self.content(self.things[at])
            if json.dumps(now) != json.dumps(old):
                said["changed"][at] = now
        said["made"] += self.contents(len(before) + len(said["made"]))
        return said


def _said(call, values, before=()):
    """What a call came to; everything that it may raise is an answer."""
    try:
        try:
            said = {"value": values.plain(call())}
        except BaseException as error:  # sys.exit() too is what the candidate did
            said = _raised(error)
        return values.with_changes(said, before)
    except BaseException as error:  # of what it has put into its arguments
        return _raised(error)


def _raised(error):
    return {"raised": type(error).__name__, "text": str(error)[:500]}


def _loaded(job, names):
    """Run the prompt's part, then the program: a file of its own, with ``__future__`` on top."""
    before = compile(job["prelude"], "prompt.py", "exec", dont_inherit=True)
    exec(before, names)  # the point
    flags = before.co_flags & _FUTURE
    exec(compile(job["program"], "candidate.py", "exec", flags, dont_inherit=True), names)
    return callable(names.get(job["entry_point"]))


def _easy_to_kill():
    """Where memory runs out, this process is to go before the one with the tests."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as mine:
            mine.write("1000")
    except OSError:
        pass


def _main():
    job = json.loads(sys.stdin.read())
    _easy_to_kill()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what it prints nobody reads
    os.chdir(os.environ.get("TMPDIR", "/tmp"))
    link = socket.socket(socket.AF_UNIX)
    until = time.monotonic() + job["wait"]
    while True:
        try:
            link.connect(job["socket"])
            break
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(0.05)
    stream = link.makefile("rw", encoding="ascii", newline="\n")
    if not stream.readline():  # the tests are ready, and the time runs
        return
    names = {"__name__": "candidate"}

    def tell(said):
        stream.write(json.dumps(said) + "\n")
        stream.flush()

    tell(_said(lambda: _loaded(job, names), _Values()))
    for line in stream:
        tell(_asked(json.loads(line), names.get(job["entry_point"])))


def _asked(told, function):
    values = _Values()
    values.make(told["things"])
    arguments = [values.value(one) for one in told["arguments"]]
    keywords = {name: values.value(one) for name, one in told["keywords"].items()}
    return _said(lambda: function(*arguments, **keywords), values, told["things"])


if __name__ == "__main__":
    _main()
