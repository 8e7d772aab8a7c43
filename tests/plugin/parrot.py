"""An endpoint that says back what it was sent, the Authorization header included.

The first part of the path decides how: ``ok`` as the answer, ``401`` and ``500`` in an error,
``long`` in an error whose message is cut in the middle of the key, ``reset`` in half a reply,
``headers`` all headers, first in an error, then in the answer.
"""

import asyncio
import json
import sys

if not __package__:  # run as a script
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.unit.http.raw_server import Peer, RawServer, answer, reply


def _header(head: bytes) -> str:
    for line in head.decode("latin-1").split("\r\n"):
        if line.lower().startswith("authorization:"):
            return line
    return "no Authorization header"


_FAILED: set[bytes] = set()


async def _all_headers(peer: Peer) -> None:
    """Each body is refused the first time it comes."""
    said = peer.head.decode("latin-1").partition("\r\n")[2].replace("\r\n", "; ")
    if peer.body in _FAILED:
        await peer.send(reply(answer(f"You sent {said}")))
    else:
        _FAILED.add(peer.body)
        await peer.send(reply(json.dumps({"error": {"message": said}}), "500 Refused"))


async def parrot(peer: Peer) -> None:
    """Play one request."""
    how = peer.head.split(b" ")[1].split(b"/")[1].decode()
    said = _header(peer.head)
    if how == "headers":
        await _all_headers(peer)
    elif how == "ok":
        text = f"You sent {said}"
        await peer.send(reply(answer(text, message={"reasoning_content": text})))
    elif how == "reset":
        await peer.send(reply(answer(said))[:-20])
        peer.reset()
    elif how == "long":
        error = {"error": {"message": "x" * (300 - len(said) + 8) + said}}
        await peer.send(reply(json.dumps(error), "400 Bad Request"))
    else:
        error = {"error": {"message": f"refused {said}"}}
        await peer.send(reply(json.dumps(error), f"{how} Refused", [f"X-Echo: {said}"]))


async def main() -> None:
    """Print the port and serve until ended."""
    server = RawServer([parrot])
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
