"""A request that the endpoint calls wrong ends what has sent it, at once."""

import logging

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)
_MAY_PASS = (408, 429)


class RaiseClientErrors(Interceptor):
    """Marks 4xx replies (but 408 and 429) as final.

    Their status stays what it is: a client that saw a 500 in its place would ask again. Clients
    of the adapter proxy are told not to by ``x-should-retry``, which those of OpenAI heed; our own
    solvers never repeat such a request.
    """

    stage = "account"
    on_reply = True
    answers = False
    streams = "pass"

    class Config(Model):
        """Options of ``raise_client_errors``: none."""

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Mark it."""
        if 400 <= reply.status < 500 and reply.status not in _MAY_PASS:
            reply.headers["x-should-retry"] = "false"
            _LOG.error(
                "%s: request %s: the endpoint refused it with %d",
                *(self._place.service, exchange.id, reply.status),
            )
        return reply
