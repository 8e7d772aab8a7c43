"""The one door to other machines: a command over ssh, without a question that nobody could answer.

``~/.ssh/config`` counts as it does for ``ssh`` itself: names, users, ports, keys, jump hosts. A
machine whose key is not known is refused unless ``StrictHostKeyChecking`` there says otherwise.
"""

import contextlib
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from pytest_nel.core.errors import ConfigError, InfraError, NelError
from pytest_nel.core.text import showable

_PATIENCE = 30
"""Seconds to connect."""
_STILL_THERE = 30
"""Seconds after which a silent connection is asked whether it is still there."""
_LOOK = 0.05
_KNOWN = "~/.ssh/known_hosts"
_KNOWN_TO_ALL = "/etc/ssh/ssh_known_hosts"
_NO_METHOD = "No authentication methods available"
_TRUSTING = {"no", "off", "accept-new"}


class Ran(NamedTuple):
    """How a command has ended.

    Attributes:
        status: As a shell says it.
        output: Its standard output.
        errors: Its standard error.
    """

    status: int
    output: str
    errors: str


class Remote:
    """A machine to which a connection is open.

    Args:
        host: As it was named.
        connection: Open; the library has no annotations.
    """

    def __init__(self, host: str, connection: Any) -> None:
        self.host = host
        self._connection = connection

    def run(self, words: Sequence[str], *, errors: TextIO | None = None) -> Ran:
        """Run a command and wait for its end (blocking).

        Its standard input stays open and empty, and ends when we do: a command that is to end
        with us waits for that.

        Args:
            words: Program and arguments; each arrives as it is.
            errors: Where its standard error is passed on while it runs; None only collects it.

        Raises:
            InfraError: The connection broke.
        """
        torn = import_module("invoke.exceptions").ThreadException
        try:
            # Not waited for by the library, whose wait goes on after Ctrl-C until the command ends.
            begun = self._connection.run(
                shlex.join(words),
                asynchronous=True,
                pty=False,
                warn=True,
                in_stream=False,
                err_stream=errors,
                encoding="utf-8",
            )
            done = _ended(begun)
        except (OSError, EOFError, _kinds().SSHException, torn) as error:
            msg = f"{self.host}: the connection broke: {_said(error)}"
            raise InfraError(msg) from error
        if done.exited < 0:  # no status was sent
            msg = f"{self.host}: the connection broke before the command ended"
            raise InfraError(msg)
        return Ran(done.exited, done.stdout, done.stderr)


@contextlib.contextmanager
def connected(host: str) -> Iterator[Remote]:
    """Connect to a machine (blocking); closed at the end.

    Args:
        host: ``[USER@]HOST[:PORT]``, or a name of ``~/.ssh/config``.

    Raises:
        ConfigError: It is no such name, or the machine refuses us or is not known.
        InfraError: It cannot be reached.
    """
    if not host or host.startswith("-") or any(sign.isspace() for sign in host):
        msg = f"expected [USER@]HOST[:PORT] or a name of ~/.ssh/config, got {host!r}"
        raise ConfigError(msg)
    try:
        connection = import_module("fabric").Connection(host, connect_timeout=_PATIENCE)
    except ValueError as error:
        msg = f"expected [USER@]HOST[:PORT] or a name of ~/.ssh/config, got {host!r}: {error}"
        raise ConfigError(msg) from error
    except _kinds().SSHException as error:
        msg = f"{host}: ~/.ssh/config cannot be read: {_said(error)}"
        raise ConfigError(msg) from error
    named = connection.connect_kwargs.get("key_filename") or []
    there = [name for name in named if Path(name).expanduser().is_file()]  # as ssh takes it
    connection.connect_kwargs["key_filename"] = there
    with contextlib.closing(connection):
        _open(connection, host)
        yield Remote(host, connection)


def _ended(begun: Any) -> Any:
    """Wait for the end of a command; when we are interrupted, it ends with us."""
    over = False
    try:
        while not (begun.runner.process_is_finished or begun.runner.has_dead_threads):
            time.sleep(_LOOK)
        over = True
    finally:
        if not over:
            begun.runner.kill()
    return begun.join()


def _open(connection: Any, host: str) -> None:
    try:
        _know(connection)
        connection.open()
    except _kinds().SSHException as error:
        raise _refused(error, host, connection.user) from error
    except (OSError, EOFError) as error:
        msg = f"{host}: cannot be reached: {_said(error)}"
        raise InfraError(msg) from error
    connection.transport.set_keepalive(_STILL_THERE)


def _refused(error: Exception, host: str, user: str) -> NelError:
    """What can be done about it; the library says some of it in words alone."""
    kinds, said = _kinds(), _said(error)
    if isinstance(error, kinds.BadHostKeyException):
        return ConfigError(
            f"{host}: its key is not the one in {_KNOWN}: another machine may answer in its name"
        )
    if "not found in known_hosts" in said:
        return ConfigError(
            f"{host}: its key is not known: connect once with `ssh {host}`, and look at the key"
        )
    if isinstance(error, kinds.AuthenticationException) or _NO_METHOD in said:
        return ConfigError(
            f"{host}: {user} is not let in: {said}; nobody is asked for a password or a "
            f"passphrase: `ssh -o BatchMode=yes {host} true` must work, by a key or an agent"
        )
    return InfraError(f"{host}: {said}")


def _know(connection: Any) -> None:
    """Make it refuse keys that nobody has looked at, on the machines in between, too.

    Left alone, the library takes any key of any machine.
    """
    paramiko = import_module("paramiko")
    said: Mapping[str, str] = connection.ssh_config
    trusting = said.get("stricthostkeychecking", "").lower() in _TRUSTING
    client = connection.client
    # An explicit "no" of the user's own configuration is the user's decision.
    policy = paramiko.AutoAddPolicy() if trusting else paramiko.RejectPolicy()
    client.set_missing_host_key_policy(policy)
    own = said.get("userknownhostsfile", _KNOWN).split()
    for name in (*own, _KNOWN_TO_ALL):
        path = Path(name).expanduser()
        if path.is_file():
            client.load_system_host_keys(str(path))
    if isinstance(connection.gateway, type(connection)):  # else a command, which is its own ssh
        _know(connection.gateway)


def _kinds() -> Any:
    """The exceptions of the library below; importing it takes a while."""
    return import_module("paramiko.ssh_exception")


def _said(error: BaseException) -> str:
    return showable(str(error) or type(error).__name__, 300)
