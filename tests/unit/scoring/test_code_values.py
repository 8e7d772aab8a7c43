"""What tests and candidate can tell each other, and what a candidate cannot."""

import pytest

from pytest_nel import ScorerError
from tests.support.code import GOOD, judged

VALUES = (
    "None, True, -5, 10**5000, 1.5, float('inf'), 'é\\ud800', b'a\\x00', bytearray(b'z'), 3+4j, "
    "(1, [2, {3}]), {(1, 2): frozenset([1])}"
)


@pytest.mark.asyncio
async def test_plain_values_arrive_as_they_are_both_ways() -> None:
    test = f"for v in ({VALUES}):\n    r = solve(v)\n    assert r == v and type(r) is type(v), v\n"

    result = await judged("def solve(a):\n    return a", test=test)

    assert result.scoring_details.get("error") is None
    assert result.reward == 1.0


@pytest.mark.parametrize(
    ("code", "equal"),
    [
        ("from fractions import Fraction\ndef solve(a): return Fraction(1, 2)", "0.5"),
        ("from decimal import Decimal\ndef solve(a): return Decimal('0.5')", "0.5"),
        (
            "from collections import Counter\ndef solve(a): return Counter('aab')",
            "{'a': 2, 'b': 1}",
        ),
        ("from enum import IntEnum\nclass E(IntEnum):\n    A = 1\ndef solve(a): return E.A", "1"),
    ],
)
@pytest.mark.asyncio
async def test_what_equals_a_plain_value_counts_as_it(code: str, equal: str) -> None:
    result = await judged(code, test=f"assert solve(0) == {equal}\n")

    assert result.reward == 1.0


OPAQUE = "def solve(a): return object()"
_AT_ONCE = "def check(f):\n    v = f(1)\n    assert f(v) == 3\n"
_LOOP = "def check(f):\n    for v in f(1):\n        last = v\n    assert last == 2\n"


@pytest.mark.parametrize(
    ("code", "test"),
    [
        (OPAQUE, _AT_ONCE),
        (OPAQUE, _AT_ONCE + "    try: f([f(1)])\n    except BaseException: pass\n"),
        ("def solve(a): return [object()]", "x = solve(1)\nassert solve({1: x[0]}) == 3\n"),
        ("def solve(a): return []", _LOOP),
        ("def solve(a): return {}[a]", "try: solve(1)\nexcept KeyError as e: solve(e)\n"),
        ("def solve(a): raise ImportError('numpy')", "assert solve(1) == 1\n"),
        ("def solve(a): raise NameError('f')", "assert solve(1) == 1\n"),
        ("def solve(a): return 2", "import sys\nif solve(1) != 3: sys.exit('wrong')\n"),
        ("def solve(a): return 10**9", "import os\nos._exit(solve(1) and 0)\n"),
    ],
)
@pytest.mark.asyncio
async def test_no_value_and_no_error_of_a_candidate_makes_it_unscored(code: str, test: str) -> None:
    result = await judged(code, test=test)

    assert (result.reward, result.parsed) == (0.0, True)
    assert result.scoring_details["error"]


@pytest.mark.asyncio
async def test_fractions_and_decimals_may_be_passed_on() -> None:
    code = "from fractions import Fraction\nfrom decimal import Decimal\ndef solve(a):\n"
    code += "    return Fraction(1, 3) if a == 0 else Decimal('0.1') if a == 1 else a * 3\n"

    result = await judged(code, test="assert solve(solve(0)) == 1 and solve(solve(1)) * 10 == 3\n")

    assert result.reward == 1.0


@pytest.mark.parametrize(
    ("code", "test"),
    [
        ("def solve(a):\n    yield from a", "assert tuple(solve([1, 2])) == (1, 2)\n"),
        ("def solve(a): return map(str, a)", "r = solve([1])\nassert next(r) == '1'\n"),
        ("def solve(a): return zip(a, a)", "assert dict(solve([1])) == {1: 1} != solve([1])\n"),
        (
            "def solve(a): return range(a)",
            "assert solve(3) == range(3) and solve(3) != [0, 1, 2]\n",
        ),
        ("def solve(a): return a.keys()", "assert solve({1: 2}) == {1} and len(solve({})) == 0\n"),
        ("def solve(a): return a.items()", "assert sorted(solve({1: 2})) == [(1, 2)]\n"),
        ("def solve(a): return a.values()", "assert sum(solve({1: 2, 2: 2})) == 4\n"),
        (
            "from collections import deque\ndef solve(a): return deque(a)",
            "assert list(solve(solve([1, 2]))) == [1, 2] and solve([1])[0] == 1\n",
        ),
        (
            "def solve(a):\n    yield from a",
            "assert list(solve(solve(x for x in 'ab'))) == ['a', 'b']\n",
        ),
        (
            "import itertools\ndef solve(a): return itertools.count(a)",
            "assert [x for x, _ in zip(solve(1), 'ab')] == [1, 2]\n",
        ),
        (
            "class C:\n    def __iter__(self): return iter([1])\ndef solve(a): return C()",
            "r = solve(1)\nassert list(r) == list(r) == [1] != r\n",
        ),
    ],
)
@pytest.mark.asyncio
async def test_what_can_be_iterated_over_arrives_so(code: str, test: str) -> None:
    result = await judged(code, test=test)

    assert (result.reward, result.scoring_details.get("error")) == (1.0, None)


CHANGES = """
def solve(a, then=0, *more, **named):
    if type(a) is list:
        a.append(then)
        a[0] = [a[-1], a]
    elif type(a) is dict:
        a.pop(1, 0)
        a["new"] = then
    elif type(a) is set:
        a |= {then, (1, then)}
    elif type(a) is bytearray:
        a += b"!"
    elif type(a) is tuple:
        a[0].extend(a[1])
    elif then:
        a.extend("ab")
    for each in more:
        each.clear()
    if named:
        named["key"].insert(0, len(named["key"]))
        raise KeyError("changed all the same")
"""
IN_PLACE = """
from collections import deque
a = [1]
solve(a, 2)
assert a[0][0] == 2 and a[0][1] is a and a[1:] == [2], a
a = {1: 2, 3: [4]}
kept = a[3]
solve(a, 5)
assert a == {3: [4], "new": 5} and a[3] is kept, a
a = {7}
solve(a, 8)
assert a == {7, 8, (1, 8)}
a = bytearray(b"x")
solve(a)
assert a == b"x!"
a, b = [1], [2]
solve((a, b))
assert (a, b) == ([1, 2], [2])
a = deque("xyz", 3)
solve(a, 1)
assert list(a) == ["z", "a", "b"] and a.maxlen == 3
deep = {"in": [[1, {2}]]}
solve(0, 0, deep["in"][0][1], deep["in"])
assert deep == {"in": []}
a = [9, 9]
try:
    solve(0, key=a)
except KeyError:
    assert a == [2, 9, 9]
else:
    assert False
"""


@pytest.mark.asyncio
async def test_what_a_call_changes_in_place_the_tests_see() -> None:
    result = await judged(CHANGES, test=IN_PLACE)
    idle = await judged("def solve(a, then=0, *more, **named): pass", test=IN_PLACE)

    assert (result.reward, result.scoring_details.get("error")) == (1.0, None)
    assert idle.reward == 0.0


@pytest.mark.asyncio
async def test_what_appears_twice_is_one_thing_and_what_comes_back_is_what_was_passed() -> None:
    code = "def solve(a, b):\n    a.append(1)\n    return [a, b, a is b, list(a)]"
    test = (
        "a = []\nr = solve(a, a)\nassert r[0] is r[1] is a and r[2] and r[3] == a == [1]\n"
        "b, c = [], []\nr = solve(b, c)\nassert r[:2] == [[1], []] and r[1] is c and not r[2]\n"
        "assert r[3] is not b\na.append(a)\nassert solve(a, [a])[1][0] is a\n"
    )

    result = await judged(code, test=test)

    assert (result.reward, result.scoring_details.get("error")) == (1.0, None)


def says(said: str) -> str:
    """A candidate that answers by itself, without its process's doing."""
    return (
        "import json, socket\nfrom gc import get_objects\ndef solve(a):\n"
        "    link = [o for o in get_objects() if isinstance(o, socket.socket)][0]\n"
        f"    link.sendall((json.dumps({said}) + '\\n').encode())\n"
    )


@pytest.mark.parametrize(
    "changed",
    [
        "{'0': {'d': []}}",
        "{'0': {'l': [{'@': 7}]}}",
        "{'3': {'l': []}}",
        "{'0': {'l': [{'?': ['x', True]}]}}",
        "{'0': {'n': [True, []]}}",
        "[]",
    ],
)
@pytest.mark.asyncio
async def test_a_change_that_is_none_is_the_candidates_failure(changed: str) -> None:
    code = says(f"dict(value=3, made=[], changed={changed})")
    test = "a = [1]\nassert solve(a) == 3\nassert a == [1]\n"

    result = await judged(code, test=test)
    fine = await judged(says("dict(value=3)"), test=test)

    assert (result.reward, result.parsed) == (0.0, True)
    assert fine.reward == 1.0


NAMED = (
    "from collections import namedtuple\nP = namedtuple('P', 'x y')\n"
    "def solve(a):\n    if type(a) is P: return a.x\n    return [P(a, y=[a]), P('b', 0)]"
)


@pytest.mark.asyncio
async def test_named_tuples_have_their_names() -> None:
    test = (
        "p, q = solve(3)\nassert p == (3, [3]) == (p.x, p.y) and repr(q)[:4] == 'P(x='\n"
        "assert q.y == 0 and solve(p) == 3\n"
    )

    result = await judged(NAMED, test=test)

    assert (result.reward, result.scoring_details.get("error")) == (1.0, None)


_ADDER = "def solve(a): return lambda b: a + b"
_POINT = "class Point:\n    x = 1\n    def __eq__(self, other): return True\n"
_POINT += "def solve(a): return Point()"


@pytest.mark.parametrize(
    ("code", "test", "kind"),
    [
        (_ADDER, "r = solve(1)\nassert callable(r)\nassert r(2) == 3\n", "function"),
        (_ADDER, "try: solve(1)(2)\nexcept TypeError: pass\n", "function"),
        (_POINT, "assert solve(1) == solve(1)\n", "Point"),
        (_POINT, "assert not callable(solve(1)) and solve(1).x == 1\n", "Point"),
        (_POINT, "assert len(solve(1)) == 1\n", "Point"),
        ("async def solve(a): return a", "import asyncio\nasyncio.run(solve(1))\n", "coroutine"),
        ("class K: pass\ndef solve(a): return {K: 1}", "assert solve(1)\n", "type"),
    ],
)
@pytest.mark.asyncio
async def test_what_has_no_plain_form_is_wrong_and_the_reason_names_it(
    code: str, test: str, kind: str
) -> None:
    result = await judged(code, test=test)

    assert (result.reward, result.parsed) == (0.0, True)
    assert f"returned a value of type {kind}, which has no plain form" in str(
        result.scoring_details["error"]
    )


@pytest.mark.asyncio
async def test_of_the_candidates_function_only_calls_can_be_asked_for() -> None:
    with pytest.raises(ScorerError, match=r"solve\.cache_clear: .*only calls"):
        await judged(GOOD, test="solve.cache_clear()\nassert solve([1]) == 1\n")

    late = await judged(GOOD, test="if solve([1]): solve.cache_clear()\n")

    assert late.reward == 0.0


@pytest.mark.parametrize(
    ("code", "test"),
    [
        (says("{'value': {'n': [False, [0] * 100_002]}}"), "solve(solve(1))\n"),
        (says("{'value': {'e': [False, [0] * 100_002]}}"), "solve([solve(1)])\n"),
        (
            "def solve(a): return iter([0] * 100_000)",
            "from itertools import chain\nsolve(chain(solve(1), solve(1)))\n",
        ),
        (
            "def solve(a): return [][1] if a else {}[1]",
            (
                "seen = []\nfor a in (0, 1):\n    try: solve(a)\n"
                "    except LookupError as error: seen.append(error)\nsolve(seen[0])\n"
            ),
        ),
    ],
)
@pytest.mark.asyncio
async def test_no_value_that_is_passed_on_makes_its_candidate_unscored(
    code: str, test: str
) -> None:
    result = await judged(code, test=test)

    assert (result.reward, result.parsed) == (0.0, True)
