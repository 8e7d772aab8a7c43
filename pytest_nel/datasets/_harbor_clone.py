"""Folders of git repositories: only those that are wanted, of one commit, whole or not at all."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._fetch import locked
from pytest_nel.datasets._harbor_kept import harbor_cache, newest_commit, not_here, of_network
from pytest_nel.datasets._harbor_registry import TaskAt
from pytest_nel.datasets._hub import Getenv, offline

_TIMEOUT = 1800.0
_SETTINGS = ("core.symlinks=true", "core.autocrlf=false", "advice.detachedHead=false")
_UNSET = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")
"""No repository around is meant, as where a hook of git started this."""


class Clones:
    """Checked-out folders of repositories, kept under ``NEL_CACHE_DIR`` or ``~/.cache``.

    What is fetched gets its name when all of it is there: no process sees a part of it.

    Args:
        env: Gives variables.

    Attributes:
        cache: The folder of all of them.
    """

    def __init__(self, env: Getenv) -> None:
        self.cache = harbor_cache(env)
        self._env = env

    def fetched(self, tasks: Sequence[TaskAt]) -> tuple[Path, ...]:
        """The folders of tasks, in their order.

        Raises:
            DataError: A repository, a commit or a folder in it cannot be had.
        """
        groups: dict[tuple[str, str | None], list[TaskAt]] = {}
        for task in tasks:
            groups.setdefault((task.url, task.commit), []).append(task)
        found: dict[TaskAt, Path] = {}
        for (url, commit), members in groups.items():
            tree = self.tree(url, commit, [task.path for task in members])
            found |= {task: tree / task.path for task in members}
        return tuple(found[task] for task in tasks)

    def tree(self, url: str, commit: str | None, paths: Sequence[str]) -> Path:
        """A folder with these folders of a commit in it.

        Args:
            url: The repository.
            commit: None asks the repository for its newest, each time.
            paths: Folders in it; empty: all of it.

        Raises:
            DataError: They cannot be had.
        """
        pinned = commit or newest_commit(url, self._env, lambda: _newest(url))
        mark = sha256("\0".join([url, pinned, *sorted(paths)]).encode()).hexdigest()[:24]
        target = self.cache / mark
        if target.is_dir():
            return target
        forbids = offline(self._env) if of_network(url) else None
        if forbids is not None:
            what = f"{url} at {pinned}"
            raise not_here(what, forbids, self.cache)
        self.cache.mkdir(parents=True, exist_ok=True)
        with locked(self.cache / f".{mark}.lock"):
            if not target.is_dir():  # another process may have been faster
                self._make(target, url, pinned, paths)
        return target

    def _make(self, target: Path, url: str, commit: str, paths: Sequence[str]) -> None:
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=self.cache))
        try:
            _git(["init", "--quiet"], part, url)
            _git(["remote", "add", "origin", "--", url], part, url)
            fetch = ["fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit]
            _git(fetch, part, url)
            if paths:
                _git(["sparse-checkout", "set", "--no-cone", *(f"/{p}/" for p in paths)], part, url)
            _git(["checkout", "--quiet", "--detach", "FETCH_HEAD"], part, url)
            lacks = [path for path in paths if not (part / path).is_dir()]
            if lacks:
                msg = f"{url} at {commit}: there is no folder {', '.join(lacks[:5])}"
                raise DataError(msg)
            shutil.rmtree(part / ".git")
            part.chmod(0o755)
            part.rename(target)
        except OSError as error:
            msg = f"{url} cannot be kept in {self.cache}: {error}"
            raise DataError(msg) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _newest(url: str) -> str:
    said = _git(["ls-remote", "--exit-code", "--", url, "HEAD"], Path.cwd(), url)
    return said.split()[0]


def _git(args: Sequence[str], cwd: Path, url: str) -> str:
    alone = [word for each in _UNSET for word in ("-u", each)]
    settings = [word for each in _SETTINGS for word in ("-c", each)]
    # Nobody is there to be asked for a password.
    words = ["env", *alone, "GIT_TERMINAL_PROMPT=0", "git", *settings, *args]
    try:
        done = subprocess.run(  # noqa: S603  # arguments of our own; addresses stand behind --
            words,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        msg = f"git cannot fetch {url}: {error}"
        raise DataError(msg) from error
    if done.returncode != 0:
        msg = (
            f"git {args[0]} of {url} failed (exit {done.returncode}): {done.stderr.strip()[-500:]}"
        )
        raise DataError(msg)
    return done.stdout
