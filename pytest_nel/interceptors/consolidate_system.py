"""One system message, at the beginning: what many chat templates insist on."""

import logging

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Request
from pytest_nel.interceptors._messages import is_system, messages_of, text_of
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)


class ConsolidateSystem(Interceptor):
    """Merges system messages into one at the beginning: several of them, or one that is late."""

    on_request = True

    class Config(Model):
        r"""Options of ``consolidate_system``.

        Attributes:
            separator: Stands between their texts.
        """

        separator: str = "\n\n"

    def __init__(self, config: Config, place: Place) -> None:
        self._separator = config.separator
        self._place = place

    async def request(self, request: Request, exchange: Exchange) -> Request:
        """Merge them; parts of their contents become text."""
        messages = messages_of(request.body)
        places = [index for index, message in enumerate(messages) if is_system(message)]
        if places in ([], [0]):
            return request
        texts = [text_of(messages[index].get("content")) for index in places]
        merged = {
            "role": messages[places[0]]["role"],
            "content": self._separator.join(text for text in texts if text),
        }
        rest = [message for message in messages if not is_system(message)]
        request.body["messages"] = [merged, *rest]
        _LOG.debug(
            "%s: request %s: system messages at %s made one",
            *(self._place.service, exchange.id, places),
        )
        return request
