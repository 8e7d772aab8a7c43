"""Which sockets of this process are connected to the docker daemon."""

import gc
import os
import socket
from urllib.parse import urlsplit

_WITHIN = 10.0


def open_connections() -> list[str]:
    """Those that are; none where no daemon listens."""
    daemon = _daemon()
    if daemon is None:
        return []
    sockets = [one for one in gc.get_objects() if isinstance(one, socket.socket)]
    return [repr(one) for one in sockets if one.fileno() >= 0 and _peer(one) == daemon]


def _daemon() -> object:
    """What the kernel calls its end of a connection: not as DOCKER_HOST does where links lead."""
    where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    url = urlsplit(where)
    try:
        if url.scheme == "unix":
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(_WITHIN)
                probe.connect(where.removeprefix("unix://"))
                return _peer(probe)
        with socket.create_connection((url.hostname or "", url.port or 2375), _WITHIN) as probe:
            return _peer(probe)
    except OSError:
        return None


def _peer(one: socket.socket) -> object:
    try:
        return one.getpeername()
    except OSError:  # it is not connected
        return None
