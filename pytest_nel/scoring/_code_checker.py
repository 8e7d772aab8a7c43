"""What runs the tests: read by :mod:`code`, sent into a sandbox, never imported here.

The candidate is another process, of another user where the sandbox has users. The tests see a
function that asks it over a socket, and only plain values come back, so nothing of the candidate
runs here: it can read no test, replace no ``assert``, end no process. It runs only when this has
said that it has begun, so whatever happens from then on is its doing. Each is sent alone, so how
values are written on their way stands in both files. Python 3.7 and newer.
"""

import json
import os
import signal
import socket
import sys
from itertools import islice

from pytest_nel.scoring._code_values import CHANGEABLE, MOST, VIEWS, Values, number

_LONGEST = 16 * 1024 * 1024  # characters of one answer
_BUILTIN = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
_NO_PLAIN_FORM = (
    " (it returned a value of type %s, which has no plain form: no test can compare, call or look "
    "into it)"
)
_ENDS = ("StopIteration", "StopAsyncIteration")
_OF_A_FUNCTION = "the tests ask for %s.%s: of the candidate's function only calls can be asked for"


class _Failed(BaseException):
    """The candidate is gone, or said something that is no answer; no test may catch it."""


class _NotPlain(BaseException):
    """A test passes what cannot be sent: the tests are at fault."""

    def __init__(self, value):
        msg = "the tests pass a value of type %s: only plain values can be" % type(value).__name__
        super().__init__(msg)
        self.value = value


class _NoAttribute(AttributeError):
    """A test wants of the candidate's function what is none of its calls."""


class _Opaque:
    """A value that has no plain form: whoever compares it, or looks into it, has failed.

    It can no more than the value is known to: what a test asks of its kind is answered.
    """

    def __init__(self, name, fail):
        self._name, self._fail = name, fail

    def _refuse(self, what):
        self._fail("a value of type %s that it returned is %s" % (self._name, what))

    def _compare(self, *_others):
        self._refuse("compared")

    def __getattr__(self, wanted):
        self._refuse("asked for its " + wanted)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = _compare
    __hash__ = None


class _OpaqueFunction(_Opaque):
    """One that may be called where it is."""

    def __call__(self, *_others, **_more):
        """Fail."""
        self._refuse("called")


class _Iterable:
    """What can be iterated over, as often as one likes, and nothing else."""

    def __init__(self, values):
        self._values = values

    def __iter__(self):
        return iter(self._values())


def _several(cut, values):
    """The values of an iterator; asking on where there were too many is an error."""
    yield from values
    if cut:
        msg = "more than %d values" % MOST
        raise OverflowError(msg)


class _Values(Values):
    """What is sent are arguments of the tests, of which the candidate may have made some."""

    def __init__(self, candidate):
        super().__init__()
        self._candidate = candidate

    def plain(self, value, depth=0):
        """An argument of a test in JSON."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind in (int, float, complex):
            return number(value)
        if kind is bytes:
            return {"b": value.hex()}
        if any(kind is each for _, each in CHANGEABLE):
            return self.number_of(value)
        marks = {tuple: "t", frozenset: "z", VIEWS["k"]: "k", VIEWS["w"]: "w"}
        if kind in marks:
            return {marks[kind]: [self.plain(inner) for inner in value]}
        if kind is VIEWS["o"]:
            return {"o": [[self.plain(k), self.plain(v)] for k, v in value]}
        named = self.named_tuple(value, depth) if kind.__bases__ == (tuple,) else None
        return self._rare(value) if named is None else named

    def _rare(self, value):
        """What the candidate may have returned, and a test passes on."""
        kind = type(value)
        if issubclass(kind, _Opaque):
            value._refuse("passed on")  # noqa: SLF001 - what is public a test would see
        if kind is range:
            return {"g": [self.plain(each) for each in (value.start, value.stop, value.step)]}
        if (kind.__module__, kind.__name__) == ("fractions", "Fraction"):
            return {"r": ["%x" % value.numerator, "%x" % value.denominator]}
        if (kind.__module__, kind.__name__) == ("decimal", "Decimal"):
            return {"m": str(value)}
        if kind is _Iterable or hasattr(kind, "__next__"):
            first = [self.plain(each) for each in islice(value, MOST + 1)]
            if len(first) <= MOST:
                return {"e" if kind is _Iterable else "n": [False, first]}
        raise _NotPlain(value)

    def unusual(self, mark, inner):
        """What the candidate returned that is no plain value."""
        if mark == "?":
            kind = _OpaqueFunction if inner[1] is True else _Opaque
            return kind(self._candidate.opaque(str(inner[0])[:100]), self._candidate.fail)
        if mark not in ("n", "e") or len(inner[1]) > MOST:
            msg = "no value"
            raise ValueError(msg)
        cut, values = bool(inner[0]), [self.value(one) for one in inner[1]]
        return _several(cut, values) if mark == "n" else _Iterable(lambda: _several(cut, values))


class _Candidate:
    """The other process, as a function."""

    def __init__(self, name, stream, seconds, ends):
        self.__name__ = self.__qualname__ = name
        self._stream = stream
        self._seconds = seconds
        self._ends = ends
        self.gone = ""
        self.late = False
        self.answered = False
        self.kinds = []

    def __getattr__(self, wanted):
        raise _NoAttribute(_OF_A_FUNCTION % (self.__name__, wanted))

    def fail(self, why):
        """No test may catch that, whatever it catches."""
        self.gone = why
        raise _Failed(why)

    def opaque(self, kind):
        """Keep in mind that it has returned such a value."""
        self.kinds.append(kind)
        return kind

    def go(self):
        """Let it begin; from now on its time runs, with that of the tests."""
        signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, self._seconds, 1.0)  # again: a test may catch it
        self.say("")

    def _over(self, *_):
        self.late = True
        self.fail("not done within %g s" % self._seconds)

    def say(self, line):
        """A line for it."""
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except OSError:
            self.fail("it ended")

    def hear(self, values):
        """What it said last: a value; what it raised is raised, where it is a built-in error."""
        try:
            said = json.loads(self._stream.readline(_LONGEST))
            values.make(said.get("made", ()))
            for at, told in said.get("changed", {}).items():
                values.change(values.things[int(at)], told)
            if "value" in said:
                return values.value(said["value"])
            name, text = str(said["raised"]), str(said["text"])
        except Exception:  # it may say anything
            self.fail("it ended, or said what is no value")
        raise _error(name, text, self._ends)

    def __call__(self, *arguments, **keywords):
        """Ask it."""
        if self.gone:
            raise _Failed(self.gone)
        values = _Values(self)
        try:
            told = {"arguments": [values.plain(one) for one in arguments]}
            told["keywords"] = {name: values.plain(one) for name, one in keywords.items()}
            told["things"] = values.contents(0)
        except _NotPlain as error:
            if not self.answered or not _may_be_its(error.value):
                raise
            self.fail("what it returned or raised cannot be passed on")
        self.say(json.dumps(told))
        try:
            return self.hear(values)
        finally:
            self.answered = True


def _may_be_its(value):
    """Whether the candidate may have led to that value, which cannot be sent."""
    return isinstance(value, (BaseException, _Iterable)) or hasattr(type(value), "__next__")


def _error(name, text, ends):
    """What it raised; only tests that know of the ends of loops are given one.

    Elsewhere it would end theirs early: ``all(map(test, cases))`` is true of no case at all.
    """
    kind = _BUILTIN.get(name)
    if name in _ENDS and not ends:
        return RuntimeError(name + ": " + text)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(text)
        except TypeError:  # UnicodeDecodeError wants five arguments
            pass
    return Exception(name + ": " + text)  # whatever it was, it was raised


def _hidden():
    """No process of the same user may read this one's memory (PR_SET_DUMPABLE)."""
    try:
        import ctypes  # as above

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass


def _listen(path, wait):
    os.chdir(os.environ.get("TMPDIR", "/tmp"))  # the path of a socket has to be short
    os.mkdir(os.path.dirname(path), 0o711)
    door = socket.socket(socket.AF_UNIX)
    old = os.umask(0)
    door.bind(path)
    os.umask(old)
    door.listen(1)
    door.settimeout(wait)
    try:
        link, _ = door.accept()
    finally:
        door.close()
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
    link.settimeout(None)
    return link.makefile("rw", encoding="ascii", newline="\n")


def _judged(job, say):
    names = {"__name__": "tests"}
    exec(compile(job["prelude"], "prompt.py", "exec"), names)  # of the dataset
    code = compile(job["tests"], "tests.py", "exec")
    stream = _listen(job["socket"], job["wait"])
    ends = any(name in job["tests"] for name in _ENDS)
    candidate = _Candidate(job["entry_point"], stream, job["seconds"], ends)
    say({"begun": True})
    try:
        candidate.go()
        verdict = _tried(job["entry_point"], code, names, candidate)
    except _Failed as error:
        verdict = {"passed": False, "stage": "test", "error": "the candidate: %s" % error}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if candidate.late:
        verdict["timed_out"] = True
    if candidate.kinds and "error" in verdict:
        verdict["error"] += _NO_PLAIN_FORM % candidate.kinds[0]
    return verdict


def _tried(entry_point, code, names, candidate):
    try:
        loaded = candidate.hear(_Values(candidate))
    except Exception as error:  # what the candidate raised when it was loaded
        return {"passed": False, "stage": "load", "error": _words(error)}
    if loaded is not True:
        return {"passed": False, "stage": "load", "error": entry_point + " is no function"}
    names[entry_point] = candidate
    try:
        exec(code, names)  # as above
        if "check" in names:
            names["check"](candidate)
    except (ImportError, NameError, _NoAttribute) as error:
        if candidate.answered:  # which may have led there
            return {"passed": False, "stage": "test", "error": _words(error)}
        return {"broken": _words(error)}
    except SystemExit as error:  # of a script
        if error.code not in (None, 0):
            return {"passed": False, "stage": "test", "error": _words(error)}
    except Exception as error:  # an assertion, or what the candidate raised
        return {"passed": False, "stage": "test", "error": _words(error)}
    if candidate.gone:  # a test that catches everything has caught that, too
        raise _Failed(candidate.gone)
    return {"passed": True}


def _words(error):
    return ("%s: %s" % (type(error).__name__, error)).strip(": ")[:300]


def _main():
    _hidden()
    job = json.loads(sys.stdin.read())
    out, sys.stdout = sys.stdout, sys.stderr  # a test may print

    def say(said):
        said["token"] = job["token"]
        out.write("\n" + json.dumps(said) + "\n")
        out.flush()

    try:
        verdict = _judged(job, say)
    except _NotPlain as error:
        verdict = {"broken": str(error)}
    except socket.timeout:  # its first act, before it knows the program, is to call
        verdict = {"alone": True}
    except Exception as error:  # the tests themselves are broken
        verdict = {"broken": _words(error)}
    say(verdict)


if __name__ == "__main__":
    _main()
