"""How many replies came, told to a webhook that nobody waits for."""

import asyncio
import logging
from typing import Annotated

from pydantic import ConfigDict, Field, field_validator

from pytest_nel.config.schema import Model
from pytest_nel.config.urls import secret_in, split_url
from pytest_nel.core.errors import InfraError
from pytest_nel.core.exchange import Exchange, Interceptor, Reply
from pytest_nel.http.webhook import Webhook
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)
_PATIENCE = 30.0  # seconds for one call
_LAST = 5.0  # seconds at the end of the run


class ProgressTracking(Interceptor):
    """Logs the count of successes each so many, and posts it; a webhook that fails is ignored.

    One call is under way at a time: where a webhook is slow, it is told the newest count next.
    """

    stage = "account"
    on_reply = True
    observes = True
    answers = False
    streams = "pass"

    class Config(Model):
        """Options of ``progress_tracking``.

        Attributes:
            webhook_url: Gets ``{"completed": n}`` by POST; null only logs.
            every: Replies between two reports.
        """

        # A webhook's URL may hold a key: no error may quote it.
        model_config = ConfigDict(hide_input_in_errors=True)

        webhook_url: str | None = None
        every: Annotated[int, Field(ge=1)] = 10

        @field_validator("webhook_url")
        @classmethod
        def _can_be_asked(cls, url: str | None) -> str | None:
            parts = None if url is None else split_url(url)
            if parts is None:
                return url
            if parts.scheme not in ("http", "https") or not parts.hostname:
                msg = "expected http(s)://host/…, got something else (not shown)"
                raise ValueError(msg)
            if secret_in(parts):
                msg = "expected a URL without credentials: it is written to the run directory"
                raise ValueError(msg)
            return url

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place
        self._completed = 0
        self._told = 0
        self._call: asyncio.Task[None] | None = None

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:  # noqa: ARG002 - the role's signature
        """Count it when it is a success."""
        if reply.ok:
            self._completed += 1
            if self._completed % self._config.every == 0:
                _LOG.info("%s: %d replies", self._place.service, self._completed)
                self._tell()
        return reply

    async def close(self) -> None:
        """Tell the last count, for a few seconds at most."""
        if self._completed != self._told:
            self._tell()
        call, self._call = self._call, None
        if call is not None:
            await asyncio.wait([call], timeout=_LAST)
            call.cancel()

    def _tell(self) -> None:
        if self._config.webhook_url is not None and (self._call is None or self._call.done()):
            self._call = asyncio.create_task(self._post(self._config.webhook_url))

    async def _post(self, url: str) -> None:
        try:
            async with Webhook(url, patience=_PATIENCE) as webhook:
                while self._told != self._completed:
                    self._told = self._completed
                    await webhook.post({"completed": self._told})
        except InfraError as error:
            _LOG.debug("%s: %s", self._place.service, error)
