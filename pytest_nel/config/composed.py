"""Everything between files and validation: layers, playbooks, overrides, references, ``???``."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath

from pytest_nel.config.compose import composed_layers, composed_text, misplaced
from pytest_nel.config.interpolate import Path, Problem
from pytest_nel.config.overrides import Override, apply_overrides
from pytest_nel.config.playbooks import with_playbooks
from pytest_nel.config.problems import refuse
from pytest_nel.config.self_references import resolve_self_references
from pytest_nel.config.tree import NODE_LIMIT, Composed, Node, children, composed_of, size
from pytest_nel.core.errors import ConfigError

MANDATORY = "???"


def compose(
    path: str | FilePath,
    *,
    text: str | None = None,
    env: Mapping[str, str] | None = None,
    overrides: Sequence[Override] = (),
    complete: bool = True,
) -> Composed:
    """Compose a suite; ``${NAME}`` stays as it is, keys that begin with ``_`` are gone.

    Overrides come before ``${.a.b}``, so that what refers to an overridden value changes with it.

    Args:
        path: The suite file.
        text: What stands in it; None means that it is read.
        env: Variables that say where the user's fragments are; None means the process's.
        overrides: What a command line puts in, in that order.
        complete: Whether placeholders ``???`` that are left are a mistake.

    Raises:
        ConfigError: Anything that is wrong with it; the message has file and line.
    """
    file, where = FilePath(path), str(path)
    try:
        layers = composed_layers(file, env) if text is None else composed_text(text, where, env)
        root = _overridden(layers, file, env, overrides)
        if size(root) > NODE_LIMIT:
            msg = f"{where}: this suite is too large: it has more than {NODE_LIMIT:,} values"
            raise ConfigError(msg)
        if complete:
            refuse(_left_open(root), composed_of(root), where)
        resolved, problems = resolve_self_references(root)
        refuse(problems, composed_of(root), where)
        kept = {key: node for key, node in resolved.value.items() if not key.startswith("_")}
        return composed_of(Node(kept, resolved.place))
    except RecursionError:
        msg = f"{where}: nested too deeply to be composed"
        raise ConfigError(msg) from None


def _overridden(
    layers: Node, file: FilePath, env: Mapping[str, str] | None, overrides: Sequence[Override]
) -> Node:
    """An override may name a playbook, and may go into what one says."""
    for override in overrides:
        if wrong := misplaced(str(override.path[0]), override.value):
            msg = f"{override.place}: {wrong}, in a file: a list of defaults cannot be overridden"
            raise ConfigError(msg)
    naming = [override for override in overrides if _names_playbook(override.path)]
    root = with_playbooks(apply_overrides(layers, naming), file, env)
    root = apply_overrides(root, [one for one in overrides if one not in naming])
    return with_playbooks(root, file, env)


def _names_playbook(path: Path) -> bool:
    return len(path) == 3 and path[0] == "benchmarks" and path[2] == "playbook"


def _left_open(node: Node, at: Path = ()) -> Iterator[Problem]:
    if node.value == MANDATORY:
        message = "a value is needed here: set it in a file that builds on this one, or override it"
        yield Problem(at, message)
    for key, inner in children(node):
        yield from _left_open(inner, (*at, key))
