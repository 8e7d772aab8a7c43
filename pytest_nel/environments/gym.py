"""``gym://``: a server that seeds and verifies, its own or one of the evaluator's protocol.

The server is asked for its size while the run is planned. Its errors, and those of the network,
leave an attempt unscored; no answer is ever wrong because of them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_nel.config.interpolate import resolve_secret
from pytest_nel.core.errors import ConfigError, FailureKind, InfraError
from pytest_nel.core.keys import digest
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.text import showable
from pytest_nel.core.types import JsonObject, SeedResult, VerifyResult
from pytest_nel.environments._gym_address import Address, GymOptions, Managed, read_address
from pytest_nel.environments._gym_http import GymClient
from pytest_nel.environments._gym_native import (
    ROW,
    NativeRows,
    result_of,
    tidy,
    verify_body,
    was_parsed,
)
from pytest_nel.environments._gym_wire import decoded, encoded

HASHED = 1000
"""Problems that are looked at to tell one set of data from another, at most."""
LARGEST_FIELD = 1 << 20
"""Characters of what a server says of an answer, for each part of it, beside the answer."""
MOST_PROBLEMS = 10_000_000
"""Of a server: the run's plan has all of them in memory."""
_AT_ONCE = 16


class GymEnvironment(EvalEnvironment):
    """Problems and verdicts of an HTTP server.

    Args:
        address: Where it is, or how it is started.
        options: How it is asked.
        base: The folder that relative files are relative to.
        limit: Take the first so many problems.

    Attributes:
        managed: The server that must run before anything is asked; None for one that is there.
        endpoint_type: ``chat`` or ``completions``, as the server says: known with the size.
    """

    def __init__(
        self, address: Address, options: GymOptions, *, base: Path, limit: int | None = None
    ) -> None:
        self._address = address
        self._options = options
        self._limit = limit
        self._rows: NativeRows | None = None
        label = address.label()
        if options.native:
            assert options.data is not None
            self._rows = NativeRows(base / options.data, limit)
            label = Path(options.data).stem
        self.name = options.name or f"{'gym-native' if options.native else 'gym'}@{label}"
        self.managed: Managed | None = address.managed(self.name, base, options.startup_timeout)
        self.endpoint_type = "chat"
        self._size: int | None = None
        self._served: JsonObject = {}
        self._content: JsonObject = {}
        self._client: GymClient | None = None
        if self.managed is None:
            self.at(self._where)

    @classmethod
    def from_name(
        cls, name: str, *, base: Path, limit: int | None, params: Mapping[str, Any]
    ) -> "GymEnvironment":
        """Read the address and its options; nothing is asked or started.

        Raises:
            ConfigError: One of them is wrong, or the rows of a native server are.
        """
        address, options = read_address(name, params)
        return cls(address, options, base=base, limit=limit)

    def at(
        self,
        url: str,
        client: GymClient | None = None,
        gone: Callable[[], str | None] | None = None,
    ) -> None:
        """Say where its server is: of a managed one it is known once it runs.

        Args:
            url: Its base URL.
            client: Asks it; None: one as the options say.
            gone: Says why it has ended, or None; None where nobody watches it.

        Raises:
            ConfigError: The token's variable cannot be used.
        """
        options = self._options
        key = options.api_key
        if key is not None:
            key = resolve_secret(key, where=f"benchmark {self._address.written}: params.api_key")
        self._client = client or GymClient(
            url,
            key=key,
            timeout=options.timeout,
            connect_timeout=options.connect_timeout,
            retries=options.max_retries,
        )
        self._client.gone = gone or self._client.gone

    async def dataset_size(self) -> int:
        """Ask the server, once; also for what tells its data from others.

        Raises:
            ConfigError: Nobody is there, or it is no such server.
        """
        if self._size is None:
            client = self._running()
            try:
                self._size = await self._looked_at(client)
            except InfraError as error:
                raise ConfigError(self._way_out(error)) from error
            finally:
                await client.close()  # it is planned on another loop than it is run
        return self._size

    async def seed(self, idx: int) -> SeedResult:
        """The problem as the server gives it, or the row of a native one.

        Raises:
            InfraError: The server gave none.
        """
        if self._rows is not None:
            return self._rows.seeds[idx]
        return _seed(await self._running().ask("/seed_session", {"idx": idx}))

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        """Have the server judge; what the answer was made in stays here.

        Raises:
            InfraError: It did not.
        """
        del sandbox
        client = self._running()
        if self._rows is not None:
            body = verify_body(self._rows.rows[metadata[ROW]], response)
            return of_fair_size(
                result_of(rewarded(await client.ask("/verify", body)), body), response
            )
        body = {"response": response, "expected": expected, "metadata": metadata}
        reply = rewarded(await client.ask("/verify", body))
        extracted = reply.get("extracted_answer")
        found = VerifyResult(
            reward=reply["reward"],
            extracted_answer=None if extracted is None else str(extracted),
            scoring_details=tidy(_object(reply, "scoring_details")),
            metadata=_object(reply, "metadata"),
            parsed=was_parsed(
                reply, found=extracted is not None or "extracted_answer" not in reply
            ),
        )
        return of_fair_size(found, response)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    @property
    def keys(self) -> Mapping[str, Any]:
        """Of how it is asked, what refers to a secret, as it is written."""
        return {"api_key": self._options.api_key} if self._options.api_key else {}

    @property
    def pass_at(self) -> float:
        """As the suite says, else as the server does."""
        said = self._served.get("pass_at")
        if self._options.pass_at is not None or not isinstance(said, int | float):
            return 1.0 if self._options.pass_at is None else self._options.pass_at
        return float(said)

    @property
    def another_size(self) -> str | None:
        """What the server says of data that are not the whole set; None where it says nothing."""
        note = self._served.get("note")
        return showable(note, 300) if isinstance(note, str) and note else None

    def judging(self) -> Mapping[str, Any]:
        """What the server says of its scorer; of one that says nothing, how it is started.

        Of one that is there and says nothing, its address: the same scorer or not, who knows.
        """
        started = self._address.target
        return {
            "gym": self._options.protocol or ("native" if self._rows is not None else "evaluator"),
            "server": self._where if self._anonymous else self._served.get("judging", started),
            "pass_at": self.pass_at,
        }

    def fingerprint(self) -> Mapping[str, Any]:
        """What the server says of its data, or the hash of the problems that were looked at.

        ``server`` is among it where the address is all that is known of who judges.
        """
        kind = "native" if self._rows is not None else "evaluator"
        where = {"server": self._where} if self._anonymous else {}
        return {"dataset": self.name, "gym": kind, **where, **self._content}

    @property
    def _anonymous(self) -> bool:
        """Whether its address is all that is known of who judges."""
        return self._address.kind == "remote" and self._served.get("judging") is None

    @property
    def _where(self) -> str:
        return self._address.url(tls=self._options.tls)

    def _running(self) -> GymClient:
        if self._client is None:
            msg = (
                f"benchmark {self._address.written}: its server is not started: a run starts it "
                "(nel eval run, pytest -p nel); elsewhere start it yourself and name host:port"
            )
            raise ConfigError(msg)
        return self._client

    async def _looked_at(self, client: GymClient) -> int:
        if self._rows is not None:
            health = await client.send("/health")  # whatever it says: somebody is there
            if self.managed is None and health.is_success:
                self._served = _scorer(health.content)
            self._content = {"content_hash": self._rows.content_hash}
            return len(self._rows.rows)
        health = await client.send("/health")
        if health.is_success:
            self._served = await client.ask("/health")
            self._take_over(self._served)
        size = (await client.ask("/dataset_size")).get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            msg = f'{client.url}/dataset_size: expected {{"size": N}}, got size {size!r}'
            raise InfraError(msg, kind=FailureKind.PROTOCOL, retryable=False)
        size = size if self._limit is None else min(size, self._limit)
        if size > MOST_PROBLEMS:
            msg = (
                f"{client.url}/dataset_size: expected {MOST_PROBLEMS:,} problems at most, "
                f"which a run can hold, got {size:,}"
            )
            raise InfraError(msg, kind=FailureKind.PROTOCOL, retryable=False)
        self._content = await self._told_apart(client, size)
        return size

    def _take_over(self, health: Mapping[str, Any]) -> None:
        """What the server says a run of its benchmark is to be like."""
        kind, least = health.get("endpoint_type"), health.get("min_score")
        if kind in ("chat", "completions"):
            self.endpoint_type = kind
        if isinstance(least, int | float) and not isinstance(least, bool) and 0 <= least <= 1:
            self.min_score = float(least)

    async def _told_apart(self, client: GymClient, size: int) -> JsonObject:
        """What changes when other data are served."""
        told = self._served.get("fingerprint")
        if isinstance(told, Mapping):
            hashes = {"content_hash": told.get("content_hash"), "served": digest(dict(told))}
            return {"benchmark": str(self._served.get("benchmark", "")), **hashes}
        looked = _spread(size, HASHED)
        seeds: list[SeedResult] = []
        for start in range(0, len(looked), _AT_ONCE):
            some = looked[start : start + _AT_ONCE]
            said = [client.ask("/seed_session", {"idx": idx}) for idx in some]
            seeds += map(_seed, await asyncio.gather(*said))
        asked = [[one.prompt, one.messages, one.expected_answer] for one in seeds]
        return {"content_hash": digest(asked), "hashed": len(looked)}

    def _way_out(self, error: InfraError) -> str:
        written = self._address.written
        if self.managed is None:
            hint = "start the server (nel serve -b NAME -p PORT), or correct the address"
        else:
            hint = f"its log is logs/server-*.log of the run; it was started as {written}"
        return f"benchmark {written}: its size is not known: {error}; {hint}"


def _spread(size: int, most: int) -> Sequence[int]:
    """Positions from the first to the last, all where there are no more than ``most``."""
    return [at * size // most for at in range(most)] if size > most else range(size)


def _scorer(page: bytes) -> JsonObject:
    """What a native server says of its scorer: `nel serve` does, most say nothing."""
    try:
        said = decoded(page)
    except (ValueError, RecursionError):
        return {}
    judging = said.get("judging") if isinstance(said, dict) else None
    return {"judging": judging} if isinstance(judging, str) else {}


def _seed(reply: JsonObject) -> SeedResult:
    prompt, messages = reply.get("prompt"), reply.get("messages")
    if not isinstance(prompt, str) or not isinstance(messages, list | None):
        msg = f"/seed_session: expected prompt and messages, got {str(reply)[:300]}"
        raise InfraError(msg, kind=FailureKind.PROTOCOL, retryable=False)
    if not messages and not prompt.strip():
        msg = f"/seed_session: neither prompt nor messages say anything: {str(reply)[:300]}"
        raise InfraError(msg, kind=FailureKind.PROTOCOL, retryable=False)
    expected, system = reply.get("expected_answer"), reply.get("system")
    images = reply.get("images")
    return SeedResult(
        prompt=prompt,
        expected_answer="" if expected is None else str(expected),
        metadata=_object(reply, "metadata"),
        messages=messages or None,
        system=system if isinstance(system, str) else None,
        images=images if isinstance(images, list) and images else None,
    )


def rewarded(reply: JsonObject) -> JsonObject:
    """The reply of ``/verify``, when it has a reward.

    Raises:
        InfraError: It has none.
    """
    reward = reply.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        msg = f"/verify: expected a reward, a number from 0 to 1, got {str(reply)[:300]}"
        raise InfraError(msg, kind=FailureKind.PROTOCOL, retryable=False)
    return reply


def of_fair_size(result: VerifyResult, response: str) -> VerifyResult:
    """The same, when it may stand in every record of a run.

    Args:
        result: What a server says.
        response: Of what; so much may come back: no model makes an attempt unscored by its length.

    Raises:
        InfraError: A part of it is larger than :data:`LARGEST_FIELD`.
    """
    most = LARGEST_FIELD + len(encoded(response))
    parts = {
        "extracted_answer": result.extracted_answer,
        "scoring_details": result.scoring_details,
        "metadata": result.metadata,
    }
    for name, value in parts.items():
        size = len(value if isinstance(value, str) else encoded(value or {}))
        if size > most:
            msg = (
                f"/verify: expected {name} of {LARGEST_FIELD:,} characters at most, beside the "
                f"response itself, since every record has it; got {size:,}"
            )
            raise InfraError(msg, kind=FailureKind.PROTOCOL, retryable=False)
    return result


def _object(reply: JsonObject, name: str) -> JsonObject:
    value = reply.get(name)
    return value if isinstance(value, dict) else {}
