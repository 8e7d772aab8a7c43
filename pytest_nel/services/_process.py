"""A command that ends with us, with all that it has started, and a port that is its alone."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.locks import fcntl
from pytest_nel.core.text import showable
from pytest_nel.http.secret import Secret

HOST = "127.0.0.1"
#: Below the ports that Linux and macOS give to outgoing connections: those of our own client,
#: waiting for a restart, would otherwise take the server's place.
_PORTS = range(10_000, 32_768)
_PORT_TRIES = 200
_LOCK_TRIES = 20
"""Each is in vain only where somebody has let go of the port within microseconds."""
_SUPERVISOR = Path(__file__).with_name("_supervisor.py")
_TAIL_LINES = 15
_TAIL_BYTES = 20_000
_WORTH_HIDING = 8
"""Characters; a shorter value (a device, a switch) may stand anywhere."""
POLITE = 5.0
"""Seconds between SIGTERM and SIGKILL, unless the command needs more."""
_STOPPED_WITHIN = 15.0
"""Seconds beyond those: more than the supervisor itself takes for SIGTERM and SIGKILL."""


class SupervisedProcess:
    """Runs one command at a time under a supervisor that outlives nothing but us.

    The command has a session of its own, so Ctrl-C is not for it; its output goes straight to
    the end of the log file, so that it never waits for a reader.

    Args:
        where: The place to blame in messages, such as ``services.model``.
        log: The file for its output; made with its folder.
    """

    def __init__(self, where: str, log: Path) -> None:
        self._where = where
        self.log = log
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._group: int | None = None
        self._patience = POLITE
        self._lock = threading.Lock()

    def launch(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        patience: float = POLITE,
    ) -> None:
        """Start the command (blocking, some milliseconds).

        Args:
            command: The program and its arguments.
            env: Variables beside ours; they reach the command by no command line.
            cwd: Where it runs; None means here.
            patience: Seconds that it has to end when it is asked to.

        Raises:
            ConfigError: There is no such program or folder, or it may not be used.
            InfraError: The supervisor itself did not come up.
        """
        self.stop()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        order = {
            "command": list(command),
            "env": dict(env or {}),
            "cwd": None if cwd is None else str(cwd),
            "parent": os.getpid(),
            "polite": patience,
        }
        self._patience = patience
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            process = self._process = subprocess.Popen(  # noqa: S603  # our script
                [sys.executable, "-P", "-S", str(_SUPERVISOR)],
                stdin=subprocess.PIPE,  # its end is the supervisor's signal to end
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # told apart below
            process.stdin.write(json.dumps(order).encode("ascii") + b"\n")
            process.stdin.flush()
        said = process.stdout.readline()
        answer = json.loads(said) if said else {}
        if "pid" not in answer:
            self.stop()
            raise self._not_started(answer)
        self._group = answer["pid"]

    def _not_started(self, answer: Mapping[str, str]) -> ConfigError | InfraError:
        if not answer:
            return InfraError(
                f"{self._where}: its supervisor did not start. The end of {self.log}:\n"
                f"{self.tail()}",
                retryable=False,
            )
        return ConfigError(
            f"{self._where}: cannot run {answer['file']!r}: {answer['error']}; a program is "
            "looked up in PATH, or name it with its folder"
        )

    @property
    def running(self) -> bool:
        """Whether the command is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """How it ended, as a shell says it; None while it runs and before it is started."""
        return None if self._process is None else self._process.poll()

    def wait(self, patience: float | None = None) -> int | None:
        """Wait for its end (blocking); its status.

        Args:
            patience: Seconds; None waits for as long as it runs.

        Raises:
            TimeoutError: It still runs.
        """
        process = self._process
        try:
            return None if process is None else process.wait(patience)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def end(self) -> int | None:
        """End the command as :meth:`stop` does; its status, as far as it is known."""
        process = self._process
        self.stop()
        return None if process is None else process.returncode

    def stop(self) -> None:
        """End the command and its descendants (blocking); harmless when there is none."""
        with self._lock:
            process, self._process = self._process, None
            group, self._group = self._group, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(self._patience + _STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            process.stdout.close()
        if process.returncode < 0 and group is not None:  # somebody has killed the supervisor
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def note(self, text: str) -> None:
        """Append a line of ours to the log."""
        with self.log.open("ab") as log:
            log.write(f"[pytest-nel] {text}\n".encode())

    def tail(self, hidden: Collection[str] = ()) -> str:
        """The last lines written since the command was launched, safe to show.

        Args:
            hidden: Values that are not to be seen in them.
        """
        with self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - _TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
        return showable(without("\n".join(lines[-_TAIL_LINES:]), hidden)) or "(it wrote nothing)"


def without(text: str, hidden: Collection[str]) -> str:
    """The text without these values; one that is too short to be a secret stays."""
    for value in sorted(hidden, key=len, reverse=True):
        if len(value) >= _WORTH_HIDING:
            text = Secret(value).out_of_text(text)
    return text


class HeldPort:
    """A loopback port that no other run on this machine takes while it is held.

    That it is free says little: the server of another run may be about to listen there, and
    would be measured instead. So it is held by the lock of a small file in the temporary folder,
    which ends with this process; where none can be made, only what listens is seen.
    """

    def __init__(self, number: int, lock: int | None) -> None:
        self.number = number
        self._lock = lock

    @classmethod
    def take(cls, where: str, wanted: int | None = None) -> "HeldPort":
        """Hold a port.

        Args:
            where: The place to blame, such as ``services.model``.
            wanted: Which; None takes a free one.

        Raises:
            ConfigError: The one that is wanted is in use or held by another run.
            InfraError: No port is free.
        """
        if wanted is not None:
            held = cls._held(wanted)
            if held is None:
                msg = (
                    f"{where}.port: {wanted} is held for the server of another run on this "
                    "machine: wait for its end, or leave port out to take a free one"
                )
                raise ConfigError(msg)
            try:
                held.check(where)
            except ConfigError:
                held.release()
                raise
            return held
        for _ in range(_PORT_TRIES):
            held = cls._held(_PORTS[secrets.randbelow(len(_PORTS))])
            if held is not None and is_free(held.number):
                return held
            if held is not None:
                held.release()
        msg = f"{where}: no free port between {_PORTS.start} and {_PORTS.stop - 1} on {HOST}"
        raise InfraError(msg, retryable=False)

    @classmethod
    def _held(cls, number: int) -> "HeldPort | None":
        path = _lock_of(number)
        for _ in range(_LOCK_TRIES):
            lock = _open(path)
            if lock is None:
                return cls(number, None)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                return None
            except OSError:  # this file system has no locks
                os.close(lock)
                return cls(number, None)
            if _is_at(lock, path):
                return cls(number, lock)
            os.close(lock)  # whoever held it has removed it meanwhile: others lock another file
        return None

    def check(self, where: str) -> None:
        """Refuse a port where somebody listens."""
        if not is_free(self.number):
            msg = (
                f"{where}.port: {self.number} is in use on {HOST}, and what listens there would "
                "be measured instead: end that, or leave port out to take a free one"
            )
            raise ConfigError(msg)

    def release(self) -> None:
        """Let others have it and remove the file; harmless twice."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        path = _lock_of(self.number)
        if _is_at(lock, path):
            with contextlib.suppress(OSError):  # of another user, in a folder for all
                path.unlink()  # while it is locked: who opens it now sees that it is gone
        os.close(lock)


def _lock_of(number: int) -> Path:
    return Path(tempfile.gettempdir(), f"nel-port-{number}.lock")


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file still has its name."""
    try:
        there = path.lstat()
    except OSError:
        return False
    mine = os.fstat(descriptor)
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _open(path: Path) -> int | None:
    """A descriptor of a file for everybody's locks, or None."""
    if fcntl is None:
        return None
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT | os.O_EXCL, os.O_RDONLY):
        try:  # made by nobody else in a folder for all: some systems refuse to create over it
            return os.open(path, flags | os.O_NOFOLLOW, 0o644)
        except (FileNotFoundError, FileExistsError):
            continue
        except OSError:
            return None
    return None


def is_free(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a closed one lingers
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
