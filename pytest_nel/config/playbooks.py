"""``benchmarks[].playbook``: settings that an entry builds on."""

from collections.abc import Mapping
from pathlib import Path as FilePath

from pytest_nel.config.compose import composed_layers
from pytest_nel.config.problems import is_file, kind, suggestion
from pytest_nel.config.tree import Node, merge
from pytest_nel.core.errors import ConfigError

PACKAGED = FilePath(__file__).parent / "playbooks"
"""Playbooks that come along."""

_ENDINGS = ("", ".yaml", ".yml")
_KEY = "playbook"


def with_playbooks(root: Node, suite: FilePath, env: Mapping[str, str] | None = None) -> Node:
    """Put below each entry of ``benchmarks`` what its playbook says.

    A null of the entry stays null: within a list nothing is deleted.

    Args:
        root: The suite.
        suite: Its file: a playbook that does not come along is looked for beside it, then in the
            current folder.
        env: As of :func:`~pytest_nel.config.compose.composed_layers`.

    Raises:
        ConfigError: There is no such playbook, or it is malformed.
    """
    benchmarks = root.value.get("benchmarks") if isinstance(root.value, dict) else None
    if benchmarks is None or not isinstance(benchmarks.value, list):
        return root
    entries = [_expanded(entry, suite, env) for entry in benchmarks.value]
    return Node({**root.value, "benchmarks": Node(entries, benchmarks.place)}, root.place)


def _expanded(entry: Node, suite: FilePath, env: Mapping[str, str] | None) -> Node:
    if not isinstance(entry.value, dict) or _KEY not in entry.value:
        return entry
    asked = entry.value[_KEY]
    own = Node({key: node for key, node in entry.value.items() if key != _KEY}, entry.place)
    if asked.value is None:
        return own
    file = _found(asked, suite)
    below = composed_layers(file, env, holds="the keys of a benchmark")
    if _KEY in below.value:
        msg = f"{below.value[_KEY].place}: a playbook names no other; use defaults: [{{_base_: …}}]"
        raise ConfigError(msg)
    return _revived(merge(below, own))


def _found(asked: Node, suite: FilePath) -> FilePath:
    name = asked.value
    if not isinstance(name, str) or not name.strip() or "${" in name or len(name) > 200:
        msg = f"{asked.place}: {_KEY}: expected a plain name or path, got {kind(name)}"
        raise ConfigError(msg)
    folders = [PACKAGED, suite.parent, FilePath()]
    for folder in folders:
        for end in _ENDINGS:
            if is_file(folder / f"{name}{end}"):
                return folder / f"{name}{end}"
    known = sorted({file.stem for file in PACKAGED.glob("*.y*ml")})
    places = ", ".join(dict.fromkeys(str(folder.absolute()) for folder in folders[1:]))
    hint = suggestion(name, known) if known else ""
    msg = f"{asked.place}: {_KEY}: no playbook {name!r} comes along, and no file in {places}{hint}"
    raise ConfigError(msg)


def _revived(node: Node) -> Node:
    """Nulls that would delete say null."""
    if not isinstance(node.value, dict):
        return Node(node.value, node.place)
    return Node({key: _revived(inner) for key, inner in node.value.items()}, node.place)
