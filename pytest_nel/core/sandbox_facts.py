"""What a sandbox is made of, as plain values that two runs can be compared by."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_nel.core.sandbox import SandboxSpec


def spec_facts(spec: SandboxSpec | None) -> Mapping[str, Any] | None:
    """The fields that say something; local files and folders count by what is in them.

    A folder is read once in a process.
    """
    if spec is None:
        return None
    facts: dict[str, Any] = {
        "image": spec.image,
        "workdir": spec.workdir,
        "env": dict(spec.env),
        "files": {target: content_digest(source) for source, target in spec.files.items()},
        "entrypoint": spec.entrypoint,
        "volumes": list(spec.volumes),
        "environment_dir": spec.environment_dir and content_digest(spec.environment_dir),
        "user": spec.user,
        "network": spec.network,
    }
    return {name: value for name, value in facts.items() if value not in (None, "", {}, [])}


@lru_cache(maxsize=65_536)
def content_digest(path: str) -> str:
    """``sha256:…`` of a file, or of all files of a folder with their names; of nothing: ``none``.

    What cannot be read counts by its name alone: the sandbox says why, when it is made.
    """
    root = Path(path)
    if not root.exists():
        return "none"
    files = [root] if root.is_file() else sorted(each for each in root.rglob("*") if each.is_file())
    total = sha256()
    for each in files:
        name = each.name if each == root else each.relative_to(root).as_posix()
        total.update(f"{name}\0{_digest(each)}\n".encode("utf-8", "surrogatepass"))
    return f"sha256:{total.hexdigest()}"


def distinct(specs: Sequence[SandboxSpec]) -> list[SandboxSpec]:
    """Each once, in the order in which they first come."""
    found: list[SandboxSpec] = []
    for spec in specs:
        if spec not in found:
            found.append(spec)
    return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            total = sha256()
            while chunk := file.read(1 << 20):
                total.update(chunk)
    except OSError:
        return "unreadable"
    return total.hexdigest()
