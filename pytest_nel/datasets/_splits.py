"""From a configuration and a split to files, as a dataset's repository lays them out.

A repository says it in the head of its README (``configs:``), by folders ``config/split/``, which
is how the hub converts datasets to parquet, or by the names of its files.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from pathlib import PurePosixPath
from typing import Any

import yaml

from pytest_nel.config.problems import suggestion
from pytest_nel.core.errors import DataError
from pytest_nel.datasets.local import kind_of

_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_WORDS: Mapping[str, frozenset[str]] = {
    "train": frozenset({"train", "training"}),
    "validation": frozenset({"validation", "valid", "val", "dev"}),
    "test": frozenset({"test", "testing", "eval", "evaluation"}),
}
_NO_DATA = frozenset({"dataset_infos.json", "dataset_info.json", "config.json", "metadata.json"})
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\b")
Splits = dict[str, list[str]]


class NeedsScript(DataError):
    """The repository holds a program that makes the rows, and we run none."""


def head_of(readme: str) -> Mapping[str, Any]:  # Any: YAML
    """The YAML head of a README; empty where there is none that can be read."""
    match = _HEAD.match(readme)
    try:
        head = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError:
        return {}
    return head if isinstance(head, dict) else {}


def files_of(
    paths: Sequence[str], head: Mapping[str, Any], config: str | None, split: str, where: str
) -> list[str]:
    """The files of a split, in the order in which they are read.

    Args:
        paths: All files of the repository.
        head: The head of its README.
        config: The configuration; None means the only one, or the default.
        split: The split.
        where: The dataset, for messages.

    Raises:
        NeedsScript: Only a program in the repository knows.
        DataError: There is no such configuration or split, or it is of a kind that is not read.
    """
    data = sorted(path for path in paths if _is_data(path))
    configs = _declared(head, data) or _by_folder(data)
    if configs:
        splits = _chosen(configs, config, head, where)
    elif _script(paths):
        msg = f"{where}: a program in the repository makes the rows ({_script(paths)})"
        raise NeedsScript(msg)
    else:
        splits = _by_name(_below(data, config, where))
    if split not in splits:
        msg = f"{where}: there is no split {split!r}{suggestion(split, splits)}"
        raise DataError(msg)
    found = splits[split]
    _check(found, split, where)
    return found


def _check(found: Sequence[str], split: str, where: str) -> None:
    for path in found:
        if kind_of(path) is None:
            msg = f"{where}: split {split!r} is in {path}, a kind of file that is not read here"
            raise DataError(msg)
    counts = {(_SHARD.sub("", path), int(match[2])) for path in found if (match := _shard(path))}
    for stem, count in counts:
        have = sum(_SHARD.sub("", path) == stem for path in found)
        if have != count:
            msg = f"{where}: of the {count} files of split {split!r} only {have} are there"
            raise DataError(msg)
    if not found:
        msg = f"{where}: split {split!r} has no files"
        raise DataError(msg)


def _shard(path: str) -> re.Match[str] | None:
    return _SHARD.search(PurePosixPath(path).name)


def _is_data(path: str) -> bool:
    pure = PurePosixPath(path)
    hidden = any(part.startswith((".", "__")) for part in pure.parts)
    return not hidden and pure.name not in _NO_DATA and pure.suffix.lower() not in {".md", ".py"}


def _script(paths: Iterable[str]) -> str | None:
    return next((path for path in paths if path.endswith(".py") and "/" not in path), None)


def _declared(head: Mapping[str, Any], data: Sequence[str]) -> dict[str, Splits]:
    """``configs:`` of the head; what does not have its form counts as not said."""
    entries = head.get("configs")
    made: dict[str, Splits] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            made[str(entry.get("config_name", "default"))] = _splits_of(entry, data)
    return made


def _splits_of(entry: Mapping[str, Any], data: Sequence[str]) -> Splits:
    folder = str(entry.get("data_dir") or "").strip("/")
    inside = [path for path in data if not folder or path.startswith(f"{folder}/")]
    files = entry.get("data_files")
    if files is None:
        return _by_name(inside)
    if isinstance(files, dict):
        return {str(name): _matching(globs, folder, data) for name, globs in files.items()}
    if isinstance(files, list) and files and all(isinstance(one, dict) for one in files):
        return {
            str(one.get("split", "train")): _matching(one.get("path"), folder, data)
            for one in files
        }
    return {"train": _matching(files, folder, data)}


def _matching(globs: object, folder: str, data: Sequence[str]) -> list[str]:
    """The files that the patterns match, in their order; each once."""
    found: dict[str, None] = {}
    for text in globs if isinstance(globs, list) else [globs]:
        full = "/".join(part for part in (folder, str(text).removeprefix("./").strip("/")) if part)
        pattern = re.compile(_regex(full))
        found |= dict.fromkeys(path for path in data if pattern.fullmatch(path))
    return list(found)


def _regex(glob: str) -> str:
    """``*`` stays within a folder, ``**`` does not, unlike in :mod:`fnmatch`."""
    pieces = re.split(r"(\*\*/|\*\*|\*)", glob)
    own = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*"}
    return "".join(own.get(piece) or _plain(piece) for piece in pieces)


def _plain(piece: str) -> str:
    return translate(piece).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(r")\z")


def _by_folder(data: Sequence[str]) -> dict[str, Splits]:
    """``config/split/0000.parquet``."""
    made: dict[str, Splits] = {}
    for path in data:
        parts = PurePosixPath(path).parts
        if len(parts) != 3 or not re.fullmatch(r"\d{4,}\.parquet", parts[2]):
            return {}
        split = parts[1].removeprefix("partial-")
        made.setdefault(parts[0], {}).setdefault(split, []).append(path)
    return made


def _chosen(
    configs: Mapping[str, Splits], config: str | None, head: Mapping[str, Any], where: str
) -> Splits:
    if config is not None:
        if config not in configs:
            msg = f"{where}: there is no configuration {config!r}{suggestion(config, configs)}"
            raise DataError(msg)
        return configs[config]
    entries = head.get("configs") if isinstance(head.get("configs"), list) else []
    defaults = [
        str(entry.get("config_name", "default"))
        for entry in entries or ()
        if isinstance(entry, dict) and entry.get("default") is True
    ]
    for name in (*defaults, "default", *(configs if len(configs) == 1 else ())):
        if name in configs:
            return configs[name]
    msg = f"{where}: it has several configurations, say which by config=: {', '.join(configs)}"
    raise DataError(msg)


def _below(data: Sequence[str], config: str | None, where: str) -> Sequence[str]:
    if config is None or config == "default":
        return data
    inside = [path for path in data if path.startswith(f"{config}/")]
    if not inside:
        folders = {path.partition("/")[0] for path in data if "/" in path}
        msg = f"{where}: there is no configuration {config!r}{suggestion(config, folders)}"
        raise DataError(msg)
    return inside


def _by_name(data: Sequence[str]) -> Splits:
    """Splits by words in the files' names, else in their folders'; all ``train`` without any."""
    readable = [path for path in data if kind_of(path) is not None]
    for of in (_name_words, _folder_words):
        made: Splits = {}
        for path in readable:
            words = of(path)
            for split, known in _WORDS.items():
                if words & known:
                    made.setdefault(split, []).append(path)
        if made:
            return made
    return {"train": list(readable)} if readable else {}


def _name_words(path: str) -> set[str]:
    return _words_in(PurePosixPath(path).name)


def _folder_words(path: str) -> set[str]:
    return {word for part in PurePosixPath(path).parts[:-1] for word in _words_in(part)}


def _words_in(text: str) -> set[str]:
    return set(re.split(r"[^a-z]+", text.lower()))
