"""The tokens of each reply, in the log."""

import logging

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)


class LogTokens(Interceptor):
    """Logs the usage that each reply reports."""

    stage = "account"
    on_reply = True
    observes = True
    answers = False
    streams = "pass"

    class Config(Model):
        """Options of ``log_tokens``: none."""

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Log it; a reply without usage is said to have none."""
        usage = reply.body.get("usage") if isinstance(reply.body, dict) else None
        counts = usage if isinstance(usage, dict) else {}
        _LOG.info(
            "%s: request %s: status %d, %s prompt tokens, %s completion tokens",
            *(self._place.service, exchange.id, reply.status),
            *(counts.get("prompt_tokens", "unknown"), counts.get("completion_tokens", "unknown")),
        )
        return reply
