"""The beginning of each request and reply, in the log; suites call it ``logging``."""

import json
import logging

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply, Request
from pytest_nel.core.text import showable
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)
_HEAD = 512


class RequestLogging(Interceptor):
    """Logs what is sent and what comes, 512 characters of each body; prompts are among them."""

    stage = "wire"
    on_request = True
    on_reply = True
    observes = True
    answers = False
    streams = "pass"

    class Config(Model):
        """Options of ``logging``: none."""

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place

    async def request(self, request: Request, exchange: Exchange) -> Request:
        """Log it."""
        name, head = self._place.service, self._head(request.body)
        _LOG.info("%s: request %s: POST %s %s", name, exchange.id, request.path, head)
        return request

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Log it."""
        name, head = self._place.service, self._head(reply.body)
        _LOG.info("%s: reply %s: status %d %s", name, exchange.id, reply.status, head)
        return reply

    def _head(self, body: JsonObject | bytes) -> str:
        """Secrets go before the text is cut: half a key is a secret, too."""
        if isinstance(body, bytes):
            text = body.decode("utf-8", "replace")
        else:
            text = json.dumps(body, ensure_ascii=False, default=str)
        return showable(self._place.redact(text)[:_HEAD], _HEAD)
