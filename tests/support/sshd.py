"""A real ssh server on a loopback port, with keys of its own; a reason to skip where none is."""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.processes import until

_CONF = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
LogLevel ERROR
SetEnv PATH={path}
"""
_CLIENT = """Host {name}
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {home}/.ssh/id_ed25519
"""


class Sshd(NamedTuple):
    """A server.

    Attributes:
        port: Where it listens.
        folder: Its files.
    """

    port: int
    folder: Path

    def home(self, folder: Path, *, key: bool = True, known: bool = True) -> Path:
        """Make a home from which ``box`` is this server: with a key, and with knowing it."""
        ssh = folder / ".ssh"
        ssh.mkdir(parents=True, mode=0o700)
        (ssh / "config").write_text(
            _CLIENT.format(name="box", port=self.port, user=getpass.getuser(), home=folder)
        )
        if key:
            shutil.copy(self.folder / "user_key", ssh / "id_ed25519")
        if known:
            host = (self.folder / "host_key.pub").read_text()
            (ssh / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host}")
        return folder


def program() -> str | None:
    """The server's program; it is seldom on the path, and must be named with its folder."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def no_sshd() -> str | None:
    """Why there can be none, or None."""
    if program() is None or shutil.which("ssh-keygen") is None:
        return "needs sshd and ssh-keygen (openssh-server)"
    return None


@contextmanager
def running_sshd(folder: Path, path: str) -> Iterator[Sshd]:
    """Run one whose commands have that ``PATH``."""
    for name in ("host_key", "user_key"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(made, check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # it insists
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
    conf = folder / "sshd_config"
    conf.write_text(_CONF.format(port=port, folder=folder, path=path))
    words = [str(program()), "-D", "-e", "-f", str(conf)]
    with (folder / "log").open("wb") as log, subprocess.Popen(words, stderr=log) as server:
        try:
            assert until(lambda: _listens(port)), (folder / "log").read_text()
            yield Sshd(port, folder)
        finally:
            server.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
