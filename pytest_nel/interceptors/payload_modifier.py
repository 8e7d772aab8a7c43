"""Parameters and headers removed, renamed and added."""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, field_validator, model_validator

from pytest_nel.config.interpolate import expand
from pytest_nel.config.proxy import checked_header
from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Request
from pytest_nel.interceptors.place import Place, refuse_of_the_question


class PayloadModifier(Interceptor):
    """Removes, then renames, then adds.

    Parameters are removed and renamed at every depth, inside messages and tools, too; they are
    added at the top, in the place of what is there.
    """

    on_request = True

    class Config(Model):
        """Options of ``payload_modifier``.

        Attributes:
            params_to_remove: Keys to remove, at every depth.
            params_to_add: Keys to set at the top, whatever solver or service say.
            params_to_rename: Old name to new name, at every depth.
            headers_to_add: Headers to set; ``${NAME}`` is read when the client is made.
            headers_to_remove: Headers to leave out.
            headers_to_rename: Old name to new name.
        """

        # A header may be a secret: no error may quote it.
        model_config = ConfigDict(hide_input_in_errors=True)

        params_to_remove: list[str] = Field(default_factory=list)
        params_to_add: dict[str, Any] = Field(default_factory=dict)
        params_to_rename: dict[str, str] = Field(default_factory=dict)
        headers_to_add: dict[str, str] = Field(default_factory=dict)
        headers_to_remove: list[str] = Field(default_factory=list)
        headers_to_rename: dict[str, str] = Field(default_factory=dict)

        @field_validator("headers_to_add")
        @classmethod
        def _may_be_added(cls, headers: dict[str, str]) -> dict[str, str]:
            for name, value in headers.items():
                checked_header(name, value)
            return headers

        @field_validator("headers_to_remove")
        @classmethod
        def _may_be_removed(cls, headers: list[str]) -> list[str]:
            return [checked_header(name) for name in headers]

        @field_validator("headers_to_rename")
        @classmethod
        def _may_be_renamed(cls, headers: dict[str, str]) -> dict[str, str]:
            for names in headers.items():
                for name in names:
                    checked_header(name)
            return headers

        @model_validator(mode="after")
        def _asks_the_same(self) -> "PayloadModifier.Config":
            named = {
                *self.params_to_remove,
                *self.params_to_add,
                *self.params_to_rename,
                *self.params_to_rename.values(),
            }
            refuse_of_the_question(named)
            return self

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place
        self._removed = frozenset(config.params_to_remove)
        added: dict[str, str] = expand(config.headers_to_add)
        self._headers = {name.lower(): value for name, value in added.items()}

    async def request(self, request: Request, exchange: Exchange) -> Request:  # noqa: ARG002 - the role's signature
        """Change body and headers."""
        config = self._config
        if self._removed or config.params_to_rename:
            request.body = changed(request.body, self._removed, config.params_to_rename)
        request.body.update(config.params_to_add)
        self._change(request.headers)
        return request

    def _change(self, headers: dict[str, str]) -> None:
        for name in self._config.headers_to_remove:
            headers.pop(name.lower(), None)
        for old, new in self._config.headers_to_rename.items():
            if old.lower() in headers:
                headers[new.lower()] = headers.pop(old.lower())
        headers.update(self._headers)


def changed(value: Any, removed: frozenset[str], renamed: Mapping[str, str]) -> Any:  # Any: JSON
    """A JSON value with keys removed and renamed at every depth; the order of keys is kept.

    Where a renamed key meets one that has that name already, the renamed one stands.
    """
    if isinstance(value, list):
        return [changed(item, removed, renamed) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: item for name, item in value.items() if name not in removed}
    taken = {renamed[name] for name in kept if renamed.get(name, name) != name}
    return {
        renamed.get(name, name): changed(item, removed, renamed)
        for name, item in kept.items()
        if name in renamed or name not in taken
    }
