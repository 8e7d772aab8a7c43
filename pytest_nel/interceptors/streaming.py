"""Event streams: asked for where a server needs it, and made one reply."""

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply, Request
from pytest_nel.http.sse import is_stream, merged
from pytest_nel.interceptors.place import Place


class Streaming(Interceptor):
    """Merges the events of a stream into one reply, of chats and of text completions.

    Whoever asked for a stream still gets one, of few events.
    """

    stage = "stream"
    on_request = True
    on_reply = True
    answers = False

    class Config(Model):
        """Options of ``streaming``.

        Attributes:
            force: Ask for a stream where nobody did: some gateways end requests that are silent
                for long.
        """

        force: bool = False

    def __init__(self, config: Config, place: Place) -> None:
        self._force = config.force
        self._place = place

    async def request(self, request: Request, exchange: Exchange) -> Request:  # noqa: ARG002 - the role's signature
        """Ask for a stream, with its usage."""
        if self._force and not request.body.get("stream"):
            request.body["stream"] = True
            request.body.setdefault("stream_options", {"include_usage": True})
        return request

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:  # noqa: ARG002 - the role's signature
        """Merge it."""
        if isinstance(reply.body, bytes) and reply.ok and is_stream(reply.headers):
            return merged(reply)
        return reply
