"""The tools of a problem's sandbox: a shell, whole files, and an editor."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_nel.core.sandbox import ExecResult, Sandbox
from pytest_nel.core.types import JsonObject
from pytest_nel.solvers.tool_calling import editor
from pytest_nel.solvers.tool_calling.editor import CannotEdit
from pytest_nel.solvers.tool_calling.schemas import SANDBOX_TOOLS
from pytest_nel.solvers.tool_calling.shell import FileTrouble, Shell
from pytest_nel.solvers.tool_calling.tools import Called

_UNDOS = 50
"""Edits of a file that can be taken back."""
_SYNONYMS = {"file_text": "new_str", "insert_text": "new_str"}  # as other editors call them


class _Wanted(Exception):
    """An argument is missing or of the wrong kind; the message is for the model."""


class _Edit(NamedTuple):
    before: bytes | None  # None: there was no file
    after: bytes


class SandboxTools:
    """The four tools of one problem.

    Args:
        sandbox: The problem's.
        patience: Seconds for each call.
    """

    in_order = True
    takes_any = False

    def __init__(self, sandbox: Sandbox, patience: float) -> None:
        self._shell = Shell(sandbox, patience)
        self._patience = patience
        self._edits: dict[str, deque[_Edit]] = {}
        self._tools = {
            "bash": self._bash,
            "file_read": self._file_read,
            "file_write": self._file_write,
            "str_replace_editor": self._editor,
        }
        self._commands = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "undo_edit": self._undo,
        }

    @property
    def described(self) -> Sequence[JsonObject]:
        """The tools as chat completions describe them."""
        return SANDBOX_TOOLS

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Called:
        """Do what one of them does.

        Raises:
            SandboxError: The sandbox failed.
        """
        try:
            return await self._tools[name](arguments)
        except (_Wanted, FileTrouble, CannotEdit) as error:
            return Called(str(error), is_error=True)

    async def _bash(self, arguments: Mapping[str, Any]) -> Called:
        command = _string(arguments, "command")
        if not command.strip():
            return Called("No command provided.", is_error=True)
        if "\0" in command:
            return Called("A command cannot hold a NUL character.", is_error=True)
        return _printed(await self._shell.run(command), self._patience)

    async def _file_read(self, arguments: Mapping[str, Any]) -> Called:
        path = await self._shell.absolute(_path(arguments))
        return Called(editor.storable_bytes(editor.text_of(await self._shell.read(path))))

    async def _file_write(self, arguments: Mapping[str, Any]) -> Called:
        path = await self._shell.absolute(_path(arguments))
        return await self._written(path, _string(arguments, "content").encode())

    async def _editor(self, arguments: Mapping[str, Any]) -> Called:
        given = {_SYNONYMS.get(name, name): value for name, value in arguments.items()}
        command = self._commands.get(_string(given, "command"))
        if command is None:
            msg = f"command must be one of {', '.join(self._commands)}"
            raise _Wanted(msg)
        return await command(await self._shell.absolute(_path(given)), given)

    async def _view(self, path: str, given: Mapping[str, Any]) -> Called:
        try:
            data = await self._shell.read(path)
        except FileTrouble as error:
            if not error.is_directory:
                raise
            return Called("\n".join(await self._shell.listing(path)) or "(an empty directory)")
        shown = editor.numbered(editor.text_of(data), _range(given))
        return Called(shown or "(an empty file)")

    async def _create(self, path: str, given: Mapping[str, Any]) -> Called:
        return await self._written(path, _string(given, "new_str").encode())

    async def _str_replace(self, path: str, given: Mapping[str, Any]) -> Called:
        old = _string(given, "old_str")
        new = _string(given, "new_str") if given.get("new_str") is not None else ""
        data = await self._shell.read(path)
        text = editor.replaced(editor.text_of(data), old, new, path)
        return await self._edited(path, data, editor.bytes_of(text))

    async def _insert(self, path: str, given: Mapping[str, Any]) -> Called:
        after = given.get("insert_line")
        if not isinstance(after, int) or isinstance(after, bool):
            msg = f"insert_line must be a whole number, got {after!r}"
            raise _Wanted(msg)
        new = _string(given, "new_str")
        data = await self._shell.read(path)
        text = editor.inserted(editor.text_of(data), after, new)
        return await self._edited(path, data, editor.bytes_of(text))

    async def _undo(self, path: str, given: Mapping[str, Any]) -> Called:
        del given
        edits = self._edits.get(path)
        if not edits:
            return Called(f"No edit of {path} to undo.", is_error=True)
        last = edits[-1]
        if await self._shell.read(path) != last.after:
            return Called(
                f"{path} has been changed since its last edit by something else: not undone.",
                is_error=True,
            )
        if last.before is None:
            await self._shell.remove(path)
        else:
            await self._shell.write(path, last.before)
        edits.pop()
        undone = "it is gone again" if last.before is None else f"{len(last.before)} bytes"
        return Called(f"Undid the last edit of {path}: {undone}.")

    async def _written(self, path: str, data: bytes) -> Called:
        try:
            before: bytes | None = await self._shell.read(path)
        except FileTrouble as error:
            if error.is_directory:
                raise
            if not error.missing:  # one that cannot be read can be written, but not brought back
                await self._shell.write(path, data)
                self._edits.pop(path, None)
                return Called(f"Written {len(data)} bytes to {path}.")
            before = None
        return await self._edited(path, before, data)

    async def _edited(self, path: str, before: bytes | None, after: bytes) -> Called:
        await self._shell.write(path, after)
        self._edits.setdefault(path, deque(maxlen=_UNDOS)).append(_Edit(before, after))
        return Called(f"Written {len(after)} bytes to {path}.")


def _printed(done: ExecResult, patience: float) -> Called:
    """What a command printed, as the model is told."""
    parts = [done.stdout]
    if done.stderr:
        parts.append(f"STDERR:\n{done.stderr}")
    shown = "\n".join(part.removesuffix("\n") for part in parts if part) or "(no output)"
    if done.timed_out:
        ended = f"[timed out after {patience:g} s: it was ended with all that it had started]"
        return Called(f"{ended}\n{shown}", is_error=True)
    if done.return_code:
        return Called(f"[exit code {done.return_code}]\n{shown}", is_error=True)
    return Called(shown)


def _string(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        came = "nothing" if value is None else f"{type(value).__name__}"
        msg = f"{name} must be a string, got {came}"
        raise _Wanted(msg)
    return value


def _path(arguments: Mapping[str, Any]) -> str:
    path = _string(arguments, "path")
    if not path:
        msg = "path must not be empty"
        raise _Wanted(msg)
    return path


def _range(given: Mapping[str, Any]) -> tuple[int, int] | None:
    value = given.get("view_range")
    if value is None:
        return None
    fits = isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value)
    if not fits:
        msg = f"view_range must be two whole numbers, got {value!r}"
        raise _Wanted(msg)
    return value[0], value[1]
