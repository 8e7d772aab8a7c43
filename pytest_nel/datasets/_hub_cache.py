"""The hub's cache on disk, in the layout that all its clients share.

``datasets--org--name/`` holds ``refs/<branch>`` (a commit), ``blobs/<hash>`` and
``snapshots/<commit>/<path>``, links to blobs. Beside these we keep ``.nel/<commit>.json``, the list
of a commit's files, so that a second run asks nobody.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pytest_nel.datasets._fetch import Expected, is_oid

COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Listing:
    """A commit of a dataset.

    Attributes:
        commit: Its hash.
        files: Path → what that file must be.
        gated: Whether terms must be accepted; None where nobody says.
        licence: As the publisher names it.
    """

    commit: str
    files: Mapping[str, Expected]
    gated: bool | None = None
    licence: str | None = None


class HubCache:
    """One dataset's folder.

    Args:
        folder: The cache of all.
        name: ``org/name``.
    """

    def __init__(self, folder: Path, name: str) -> None:
        flat = f"datasets--{name.replace('/', '--')}"
        self.folder = folder / flat
        self._locks = folder / ".locks" / flat

    def commit_of(self, revision: str) -> str | None:
        """The commit that a branch or tag was when it was last looked up."""
        path = self.folder / "refs" / revision
        try:
            text = path.read_text(encoding="utf-8").strip()
        except OSError:
            return None
        return text if COMMIT.fullmatch(text) else None

    def listing(self, commit: str) -> Listing | None:
        """What we have written down of a commit."""
        try:
            facts = json.loads((self.folder / ".nel" / f"{commit}.json").read_text("utf-8"))
            files = {path: Expected(**known) for path, known in facts.pop("files").items()}
            return Listing(**facts, files=files)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # not there, or damaged: it is asked for again

    def found(self, commit: str) -> Listing | None:
        """What of a commit is on disk, for those that another program has downloaded."""
        root = self.folder / "snapshots" / commit
        paths = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return Listing(commit, {path.as_posix(): Expected() for path in paths}) if paths else None

    def keep(self, listing: Listing, revision: str) -> None:
        """Write down what the hub said."""
        _write(self.folder / ".nel" / f"{listing.commit}.json", json.dumps(asdict(listing)))
        if revision != listing.commit:
            _write(self.folder / "refs" / revision, listing.commit)

    def path(self, commit: str, file: str) -> Path:
        """Where a file is, or would be."""
        return self.folder / "snapshots" / commit / file

    def has(self, commit: str, file: str, expected: Expected) -> bool:
        """Whether it is there, and as large as it must be."""
        path = self.path(commit, file)
        return path.is_file() and expected.size in {None, path.stat().st_size}

    def blob(self, oid: str) -> Path:
        """Where content lies."""
        return self.folder / "blobs" / oid

    def lock(self, oid: str) -> Path:
        """The lock of a blob, the same that other programs take."""
        return self._locks / f"{oid}.lock"

    def link(self, commit: str, file: str, blob: Path) -> None:
        """Make content a file of a commit; a copy where the disk has no links."""
        path = self.path(commit, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            path.symlink_to(os.path.relpath(blob, path.parent))
        except OSError:
            shutil.copyfile(blob, path)


def _write(path: Path, text: str) -> None:
    """At once or not at all: others may be reading."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid4().hex}.incomplete")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def listing_of(answer: Any) -> Listing | None:  # Any: JSON
    """Read ``/api/datasets/…/revision/…?blobs=true``; None where it is no such answer."""
    if not isinstance(answer, dict) or not COMMIT.fullmatch(str(answer.get("sha"))):
        return None
    files: dict[str, Expected] = {}
    for entry in answer.get("siblings") or ():
        path = entry.get("rfilename") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not _is_inside(path):
            return None
        files[path] = _expected(entry)
    card = answer.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else None
    if isinstance(licence, list):
        licence = ", ".join(map(str, licence))
    gated = bool(answer["gated"]) if "gated" in answer else None
    return Listing(str(answer["sha"]), files, gated, None if licence is None else str(licence))


def _is_inside(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in path.split("/")


def _expected(entry: Mapping[str, Any]) -> Expected:
    lfs = entry.get("lfs")
    sizes = [lfs.get("size") if isinstance(lfs, dict) else None, entry.get("size")]
    oids = [
        *([lfs.get("sha256"), lfs.get("oid")] if isinstance(lfs, dict) else [entry.get("blobId")])
    ]
    size = next((size for size in sizes if isinstance(size, int)), None)
    oid = next((oid for oid in oids if isinstance(oid, str) and is_oid(oid)), None)
    return Expected(size, oid)
