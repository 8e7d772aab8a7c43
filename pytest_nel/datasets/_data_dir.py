"""``NEL_DATA_DIR``: local files in the place of datasets of a hub, or of the web.

``datasets.yaml`` in it names them; else they lie where the dataset's name says:
``org__name/config/split.jsonl``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._address import Part
from pytest_nel.datasets._near_misses import near_files, near_key
from pytest_nel.datasets.local import READABLE

VARIABLE = "NEL_DATA_DIR"
_MAP = "datasets.yaml"
_ENDINGS = (*READABLE, *(f"{kind}.gz" for kind in READABLE if kind != ".parquet"))


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found for a dataset.

    Attributes:
        path: The file; None where there is none.
        places: Where one was looked for, in words.
        near: Says what is nearly there; asked only where that is wanted.
    """

    path: Path | None
    places: Sequence[str]
    near: Callable[[], Sequence[str]] = tuple

    @property
    def nor(self) -> str:
        """The end of a message that says where else it is not; nothing where nobody looked."""
        if not self.places:
            return ""
        hints = "".join(f"; {hint}" for hint in self.near())
        return f"; nor is it in {VARIABLE}: no {', no '.join(self.places)}{hints}"


class DataDir:
    """The folder that the variable names.

    Args:
        folder: As above.

    Raises:
        DataError: It is no folder, or its map cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            msg = f"{VARIABLE}: expected a folder, got {folder}: create it, or unset {VARIABLE}"
            raise DataError(msg)
        self._folder = folder
        self._map = _mapping(folder / _MAP)

    def of_hub(self, name: str, part: Part) -> Looked:
        """The file for a part of a hub's dataset.

        Raises:
            DataError: The map names a file that is not there, or there are two.
        """
        key = f"{name}/{part.config}" if part.config else name
        keys = [f"{name}/{part.file}"] if part.file else [f"{key}:{part.split}"]
        if not part.file and part.split == "test":
            keys.append(key)
        mapped = self._mapped(keys)
        if mapped is not None:
            return Looked(mapped, ())
        folder = self._folder / name.replace("/", "__")
        if part.file:
            found, shown = [folder / part.file], str(folder / part.file)
        else:
            folder = folder / part.config if part.config else folder
            found = [folder / f"{part.split}{ending}" for ending in _ENDINGS]
            shown = f"{folder / part.split}{{{','.join(READABLE)}}}"
        there = [path for path in found if path.is_file()]
        if len(there) > 1:
            msg = f"{VARIABLE}: {there[0]} and {there[1].name} are both there: keep one of them"
            raise DataError(msg)
        places = (f"{' or '.join(keys)} in {self._folder / _MAP}", shown)
        return Looked(
            there[0] if there else None,
            places,
            lambda: [*near_files(self._folder, name, part), *self._near_keys(keys[0])],
        )

    def of_web(self, url: str) -> Looked:
        """The file for an address, which only the map can name.

        Raises:
            DataError: As :meth:`of_hub`.
        """
        places = (f"{url} in {self._folder / _MAP}",)
        return Looked(self._mapped([url]), places, lambda: [*self._near_keys(url)])

    def of_name(self, name: str) -> Path | None:
        """The file or folder that the map has for a name.

        Raises:
            DataError: The map names what is not there.
        """
        if name not in self._map:
            return None
        path = self._folder / self._map[name]
        if not path.exists():
            msg = f"{self._folder / _MAP}: {name}: no file or folder {path}"
            raise DataError(msg)
        return path

    def _near_keys(self, key: str) -> Iterator[str]:
        found = near_key(key, self._map)
        if found is not None:
            yield f"{self._folder / _MAP} has {found!r}, which is another name than {key!r}"

    def _mapped(self, keys: Sequence[str]) -> Path | None:
        for key in keys:
            if key in self._map:
                path = self._folder / self._map[key]
                if not path.is_file():
                    msg = f"{self._folder / _MAP}: {key}: no file {path}"
                    raise DataError(msg)
                return path
        return None


def data_dir(getenv: Callable[[str], str | None]) -> DataDir | None:
    """The folder that ``NEL_DATA_DIR`` names; None where it is not set.

    Raises:
        DataError: As :class:`DataDir`.
    """
    text = getenv(VARIABLE)
    return DataDir(Path(text).expanduser().absolute()) if text else None


def _mapping(path: Path) -> Mapping[str, str]:
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_twice(path, text)
        made = yaml.safe_load(text)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        msg = f"{path}{line}: cannot be read: {str(error).splitlines()[0]}"
        raise DataError(msg) from error
    entries = {} if made is None else made
    if not isinstance(entries, dict):
        msg = f"{path}: expected a map from datasets to files, got {type(made).__name__}"
        raise DataError(msg)
    for key, value in entries.items():
        if not isinstance(key, str) or not isinstance(value, str) or not value:
            msg = f"{path}: {key}: expected the path of a file, relative to this one, got {value!r}"
            raise DataError(msg)
    return entries


def _refuse_twice(path: Path, text: str) -> None:
    """Refuse keys that stand twice: which file was meant nobody knows."""
    tree = yaml.compose(text, yaml.SafeLoader)
    seen: dict[str, int] = {}
    for key, _ in tree.value if isinstance(tree, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        first = seen.setdefault(str(key.value), line)
        if first != line:
            msg = f"{path}:{line}: {key.value} stands in line {first} already: keep one of them"
            raise DataError(msg)
