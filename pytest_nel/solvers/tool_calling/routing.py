"""Which toolbox does which call, and in what order."""

import asyncio
from collections.abc import Mapping, Sequence

from pytest_nel.core.errors import DataError, InfraError
from pytest_nel.core.types import JsonObject
from pytest_nel.solvers.tool_calling.tools import Called, Toolbox, ToolCall, cut, name_of

TOOLS = "tools"
"""The key of a problem's metadata under which it describes tools."""


class Router:
    """The tools of one problem, wherever they come from; of equal names the first counts.

    Args:
        boxes: Where calls go.
        limit: Characters of what a call tells the model.
        given: The problem's own descriptions, which are sent instead of those of the boxes. A box
            that takes any gets calls of names that no box knows.

    Raises:
        InfraError: There is no tool.
        DataError: The problem describes one that nothing here does.
    """

    def __init__(
        self, boxes: Sequence[Toolbox], limit: int, given: Sequence[JsonObject] | None = None
    ) -> None:
        self._limit = limit
        self._routes: dict[str, Toolbox] = {}
        known: dict[str, JsonObject] = {}
        for box in boxes:
            for tool in box.described:
                if known.setdefault(name_of(tool), tool) is tool:
                    self._routes[name_of(tool)] = box
        self.described: list[JsonObject] = list(known.values() if given is None else given)
        if given is not None:
            self._routes = _routes_of([name_of(tool) for tool in given], self._routes, boxes)
        if not self.described:
            msg = "no tools available: the resource server offers none"
            raise InfraError(msg, retryable=False)

    async def call(self, calls: Sequence[ToolCall]) -> list[Called]:
        """Make the calls of a turn; their outcomes in the order of the calls.

        Those that depend on each other's effects are made one after the other, others at once.

        Raises:
            InfraError: The machinery failed; no call is left running.
        """
        outcomes: dict[int, Called] = {}
        ordered: dict[int, list[tuple[int, ToolCall, Toolbox]]] = {}
        waiting = []
        for at, call in enumerate(calls):
            box = self._routes.get(call.name)
            trouble = call.trouble if box is not None else self._unknown(call)
            if trouble is not None or box is None:
                outcomes[at] = Called(f"Error: {trouble}", is_error=True)
            elif box.in_order:
                ordered.setdefault(id(box), []).append((at, call, box))
            else:
                waiting.append([(at, call, box)])
        rows = [*ordered.values(), *waiting]
        ended = await asyncio.gather(*(self._row(row) for row in rows), return_exceptions=True)
        for one in ended:
            if isinstance(one, BaseException):
                raise one
            outcomes |= one
        return [outcomes[at] for at in range(len(calls))]

    async def _row(self, row: Sequence[tuple[int, ToolCall, Toolbox]]) -> Mapping[int, Called]:
        done = {}
        for at, call, box in row:
            outcome = await box.call(call.name, call.arguments)
            done[at] = outcome._replace(content=cut(outcome.content, self._limit))
        return done

    def _unknown(self, call: ToolCall) -> str:
        if not call.name and call.trouble:
            return call.trouble
        names = ", ".join(self._routes)
        return f"there is no tool called {call.name!r}; the tools are {names}"


def _routes_of(
    wanted: Sequence[str], known: Mapping[str, Toolbox], boxes: Sequence[Toolbox]
) -> dict[str, Toolbox]:
    """Where calls of a problem's own tools go."""
    for_any = next((box for box in boxes if box.takes_any), None)
    routes = {name: box for name in wanted if (box := known.get(name, for_any)) is not None}
    lacking = [name for name in wanted if name not in routes]
    if lacking:
        msg = (
            f"the problem's metadata `tools` describe {', '.join(lacking)}, and nothing here does "
            f"that: there is {', '.join(known)}. Name the server that does by resource_service"
        )
        raise DataError(msg)
    return routes


def given_tools(metadata: Mapping[str, object]) -> list[JsonObject] | None:
    """The tools that a problem describes itself, as chat completions have them; None: it does not.

    Raises:
        DataError: They are no list of functions with names.
    """
    tools = metadata.get(TOOLS)
    if not tools:
        return None
    if not isinstance(tools, list | tuple):
        msg = f"the problem's metadata `tools` is a {type(tools).__name__}: a list is expected"
        raise DataError(msg)
    found = [_nested(tool) for tool in tools]
    for at, tool in enumerate(found):
        if not isinstance(tool.get("function"), Mapping) or name_of(tool) in ("", "None"):
            msg = (
                f"the problem's metadata `tools[{at}]` describes no function: expected "
                '{"type": "function", "function": {"name": …}}'
            )
            raise DataError(msg)
    return found


def _nested(tool: object) -> JsonObject:
    """A function as chat completions have it; responses have its fields beside ``type``."""
    if not isinstance(tool, Mapping):
        return {}
    if "function" in tool or "name" not in tool:
        return dict(tool)
    inner = {name: value for name, value in tool.items() if name != "type"}
    return {"type": "function", "function": inner}
