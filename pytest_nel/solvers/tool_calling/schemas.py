"""How the tools of a sandbox are described to the model."""

from collections.abc import Mapping
from typing import Any

from pytest_nel.core.types import JsonObject


def _tool(
    name: str, description: str, required: list[str], **properties: Mapping[str, Any]
) -> JsonObject:
    parameters = {"type": "object", "properties": properties, "required": required}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


SANDBOX_TOOLS: tuple[JsonObject, ...] = (
    _tool(
        "bash",
        "Run a shell command in the sandbox. The working directory and exported environment "
        "variables last from one call to the next; stdin is empty. Start what has to go on "
        "running in the background with &.",
        ["command"],
        command=_text("The command, of one or many lines."),
    ),
    _tool(
        "file_read",
        "Read a text file of the sandbox.",
        ["path"],
        path=_text("The file; a relative path starts at the working directory."),
    ),
    _tool(
        "file_write",
        "Write a text file in the sandbox; missing folders are made, and a file that is there is "
        "replaced.",
        ["path", "content"],
        path=_text("The file; a relative path starts at the working directory."),
        content=_text("All of its text."),
    ),
    _tool(
        "str_replace_editor",
        "View and edit files of the sandbox. view shows a file with line numbers, or what a "
        "directory holds; create writes new_str as a file; str_replace replaces old_str, which "
        "must occur exactly once, by new_str; insert puts new_str after line insert_line; "
        "undo_edit takes the last edit of the file back.",
        ["command", "path"],
        command={
            "type": "string",
            "enum": ["view", "create", "str_replace", "insert", "undo_edit"],
            "description": "What to do.",
        },
        path=_text("The file, or for view a directory."),
        old_str=_text("For str_replace: the text to replace, exactly as it stands in the file."),
        new_str=_text("For create: the file's text. For str_replace and insert: the new text."),
        insert_line={
            "type": "integer",
            "description": "For insert: the line after which; 0 is before the first.",
        },
        view_range={
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 2,
            "maxItems": 2,
            "description": "For view: first and last line; a last of -1 is the end.",
        },
    ),
)
"""bash, file_read, file_write and str_replace_editor."""
